/* SPDX-License-Identifier: MIT */
#include "fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STACK = 256 * 1024, SLOTS = 4 };

static struct fiber *entered, *came_from;

#if FIBER_ASAN
#include <dlfcn.h>

void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);

/* The C library's own: AddressSanitizer's does not know that it is told of each switch, and says so where faults are
 * looked for. */
static void swap(ucontext_t *from, const ucontext_t *to)
{
    static int (*libc_swapcontext)(ucontext_t *, const ucontext_t *);
    if (!libc_swapcontext) {
        void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        *(void **)&libc_swapcontext = libc ? dlsym(libc, "swapcontext") : NULL;
        if (!libc_swapcontext)
            abort();
    }
    libc_swapcontext(from, to);
}
#else
static void swap(ucontext_t *from, const ucontext_t *to)
{
    swapcontext(from, to);
}
#endif

static void arrived(struct fiber *self)
{
#if FIBER_ASAN
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(self->fake, &stack, &size);
    if (!came_from->stack) {
        came_from->stack = stack;
        came_from->size = size;
    }
#else
    (void)self;
#endif
}

void fiber_switch(struct fiber *from, struct fiber *to, bool over)
{
    entered = to;
    came_from = from;
#if FIBER_ASAN
    __sanitizer_start_switch_fiber(over ? NULL : &from->fake, to->stack, to->size);
#endif
    if (over)
        setcontext(&to->context);
    else
        swap(&from->context, &to->context);
    arrived(from);
}

static void start(void)
{
    struct fiber *self = entered;
    arrived(self);
    self->main(self->argument);
    abort(); /* it does not return */
}

static unsigned char *stacks(void)
{
    static unsigned char *memory;
    if (!memory) {
        void *wish = (void *)(uintptr_t)0x200000000000;
        void *got = mmap(wish, (size_t)STACK * SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got == MAP_FAILED)
            abort();
        if (got != wish)
            fprintf(stderr, "schedules of this run may not be the same in another: the stacks lie elsewhere\n");
        memory = got;
    }
    return memory;
}

void fiber_prepare(struct fiber *fiber, unsigned slot, void (*main)(void *argument), void *argument)
{
    getcontext(&fiber->context);
    fiber->stack = stacks() + (size_t)STACK * slot;
    fiber->size = STACK;
    fiber->main = main;
    fiber->argument = argument;
    fiber->fake = NULL;
#if FIBER_ASAN
    __asan_unpoison_memory_region(fiber->stack, STACK); /* from frames of a run before, which never returned */
#endif
    fiber->context.uc_stack.ss_sp = stacks() + (size_t)STACK * slot;
    fiber->context.uc_stack.ss_size = STACK;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, start, 0);
}
