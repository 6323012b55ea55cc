/*
 * Coroutines: a context and a stack of its own, the stack at the same address in every process, since the code under
 * test spreads its work by stack addresses. AddressSanitizer is told of each switch.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_FIBER_H
#define WEIR_TESTS_SCHEDULE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#ifndef FIBER_ASAN
#define FIBER_ASAN 0
#endif

struct fiber {
    ucontext_t context;
    void (*main)(void *argument);
    void *argument;
    const void *stack; /* of the outside: known once it has been left */
    size_t size;
    void *fake; /* AddressSanitizer's */
};

/* Makes `fiber` start in `main` when first switched to. `slot`: which stack. `main` does not return. */
void fiber_prepare(struct fiber *fiber, unsigned slot, void (*main)(void *argument), void *argument);

/* Leaves `from`, for ever where it is over, and goes on in `to`. */
void fiber_switch(struct fiber *from, struct fiber *to, bool over);

#endif
