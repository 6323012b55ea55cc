/*
 * Threads stopped in the middle of a call, wherever that is, while others get on. A call of 200 ns that nothing
 * interrupts overlaps with next to nothing.
 *
 *   poke         another thread gets a signal; if it is within a call, it stays there until a few other calls were made
 *   slow motion  the calling thread stops after each instruction (by the processor's trap flag), and at some of them
 *                stays until others have got on: dozens of calls run between two instructions. Some 10 us each. On
 *                x86-64 alone, and not under ThreadSanitizer: its own code would be stepped through with locks held
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_DISTURB_H
#define WEIR_TESTS_DISTURB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Once, before all else. `progress` is what others move on. False: there is no slow motion here. */
bool disturb_init(const _Atomic uint64_t *progress);

/* The calling thread is within a call from begin to end, and goes slowly for so many instructions of it. Nothing but
 * the call should be between. */
void disturb_begin(unsigned slow_instructions, uint64_t random);
void disturb_end(void);

/* Stops a thread, which must not have ended, if it is within a call. */
void disturb_poke(pthread_t thread);

#endif
