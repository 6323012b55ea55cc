/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../src/sync/rcu.h"
#include "world.h"

struct world world;

static struct thread *current(void)
{
    return world.active ? &world.thread[world.current] : &world.outside;
}

/* --- saying what went wrong --- */

static void print_schedule(void)
{
    if (!world.play)
        return;
    fprintf(stderr, "  WEIR_PLAY='%s' WEIR_SCHEDULE='%u", world.play->name, world.first);
    for (unsigned i = 0; i < world.choice_count; i++)
        fprintf(stderr, " %" PRIu64 ":%u", world.choices[i].step, world.choices[i].thread);
    fprintf(stderr, "'\n");
}

void schedule_failed(const char *format, ...)
{
    va_list arguments;
    world.active = false;
    fprintf(stderr, "FAILED: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    print_schedule();
    fflush(NULL);
    _Exit(1);
}

static void crashed(int signal)
{
    world.active = false;
    fprintf(stderr, "FAILED: signal %d at point %" PRIu64 "\n", signal, world.step);
    print_schedule();
    _Exit(1);
}

#if FIBER_ASAN
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

void schedule_catch_crashes(void)
{
    static unsigned char stack[65536];
    static bool done;
    if (done)
        return;
    done = true;
#if FIBER_ASAN
    (void)stack;
    (void)crashed;
    __sanitizer_set_death_callback(print_schedule);
#else
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
#endif
}

/* --- who goes on --- */

static void hand_on(void)
{
    if (++world.step >= STEPS_MAX)
        schedule_failed("no end after %d points", STEPS_MAX);
    unsigned next = schedule_pick();
    struct thread *self = &world.thread[world.current], *other = &world.thread[next];
    other->waits = false;
    world.current = next;
    if (self != other)
        fiber_switch(&self->fiber, &other->fiber, self->finished);
}

/* --- what the library calls --- */

void weiri_hook(enum weiri_access access, const void *place)
{
    (void)place;
    if (!world.active) {
        if (++world.idle >= IDLE_MAX)
            schedule_failed("no end before or after the threads run");
        return;
    }
    struct thread *self = current();
    if (access == WEIRI_PAUSE) {
        self->waits = true;
        if (world.random)
            self->priority = --world.lowest;
    }
    hand_on();
    self->seen = world.working - self->steps;
    if (access != WEIRI_PAUSE) {
        self->steps++;
        world.working++;
    }
}

void weiri_rcu_enter(void)
{
    weiri_hook(WEIRI_STORE, NULL);
    struct thread *self = current();
    if (self->nesting++ == 0)
        self->sections++;
}

void weiri_rcu_leave(void)
{
    weiri_hook(WEIRI_STORE, NULL);
    if (current()->nesting-- == 0)
        schedule_failed("a read section is left that was not entered");
}

bool weiri_rcu_inside(void)
{
    return current()->nesting > 0;
}

bool weiri_rcu_can_wait(void)
{
    return true;
}

bool weiri_rcu_wait(void)
{
    uint64_t sections[SCHEDULE_THREADS];
    if (weiri_rcu_inside())
        schedule_failed("a grace period is waited for inside a read section");
    if (!world.active)
        return true;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++)
        sections[i] = world.thread[i].nesting > 0 ? world.thread[i].sections : 0;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++)
        while (sections[i] != 0 && world.thread[i].nesting > 0 && world.thread[i].sections == sections[i])
            weiri_hook(WEIRI_PAUSE, NULL);
    return true;
}

void weiri_rcu_before_fork(void)
{
}
void weiri_rcu_after_fork_in_parent(void)
{
}
void weiri_rcu_after_fork_in_child(void)
{
}

/* Linked in the place of these: a mutex whose holder is suspended is waited for by handing on, and the secret of a
 * limiter is the same in every run. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!world.active)
        return __real_pthread_mutex_lock(mutex);
    weiri_hook(WEIRI_UPDATE, mutex);
    while (pthread_mutex_trylock(mutex) != 0)
        weiri_hook(WEIRI_PAUSE, mutex);
    return 0;
}

ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    memset(buffer, 0x5a, length);
    return (ssize_t)length;
}

/* --- runs --- */

static void thread_main(void *argument)
{
    unsigned self = (unsigned)((struct thread *)argument - world.thread);
    world.play->body(world.play->argument, self);
    if (world.thread[self].nesting != 0)
        schedule_failed("thread %u ends inside a read section", self);
    world.thread[self].finished = true;
    if (schedule_runnable() != 0 || world.step == 0)
        hand_on();
    for (unsigned i = 0; i < world.play->threads; i++)
        if (!world.thread[i].finished)
            schedule_failed("thread %u waits for ever", i);
    world.active = false;
    fiber_switch(&world.thread[self].fiber, &world.outside.fiber, true);
}

void schedule_run(unsigned first)
{
    const struct schedule_play *play = world.play;
    world.idle = 0;
    play->prepare(play->argument);
    world.step = world.working = 0;
    world.next_choice = 0;
    world.first = world.current = first;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++) {
        struct thread *thread = &world.thread[i];
        thread->finished = i >= play->threads;
        thread->waits = false;
        thread->steps = thread->seen = thread->nesting = 0;
        if (i < play->threads)
            fiber_prepare(&thread->fiber, i, thread_main, thread);
    }
    world.active = true;
    fiber_switch(&world.outside.fiber, &world.thread[first].fiber, false);
    if (world.step > world.longest)
        world.longest = world.step;
    play->check(play->argument);
}
