/*
 * Guarantees E and H: threads of a real-time priority that wait for a key's lock let its holder run, which has none.
 * All of them are on one processor, where a real-time thread that spins is never taken off for another of a normal
 * priority: a waiter that never slept would wait for ever, or until the kernel's throttling steps in, after most of a
 * second.
 *
 * First the lock alone: the holder releases it when all waiters are at it, and each of them must have slept. Then whole
 * calls: real-time threads wake up at any moment of the normal thread's calls on the same key. No call of theirs may
 * take more of the processor than a hundredth of what the throttling would let through.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

#include <semaphore.h>
#include <sys/resource.h>

#include "sync/spinlock.h"

enum { WAITERS = 3, SECONDS = 120 };

#define CALL_AT_MOST (100 * WEIR_MILLISECOND) /* of the processor */

static weiri_spinlock lock;
static sem_t go, released;
static _Atomic unsigned at_it; /* waiters that try to have the lock */
static uint64_t holds, wakes;

static weir *limiter;
static _Atomic uint64_t calls_made[2], accepted, longest;

static uint64_t time_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
}

static long sleeps(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw; /* sched_yield is not counted here */
}

static bool make_realtime(void)
{
    const struct sched_param priority = {.sched_priority = 10};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0;
}

/* ---- the lock alone ---- */

static void wait_for_lock(void)
{
    for (uint64_t hold = 0; hold < holds; hold++) {
        while (sem_wait(&go) != 0)
            continue;
        long before = sleeps();
        uint64_t worked = time_of(CLOCK_THREAD_CPUTIME_ID);
        atomic_fetch_add(&at_it, 1);
        weiri_spinlock_lock(&lock);
        worked = time_of(CLOCK_THREAD_CPUTIME_ID) - worked;
        weiri_spinlock_unlock(&lock);
        if (sleeps() == before)
            failed("a real-time waiter got the lock without having slept, when its holder could not run");
        want_at_most("ns of the processor that a wait has taken", CALL_AT_MOST, worked);
        sem_post(&released);
    }
}

static void hold_lock(void)
{
    for (uint64_t hold = 0; hold < holds; hold++) {
        atomic_store(&at_it, 0);
        weiri_spinlock_lock(&lock);
        for (unsigned i = 0; i < WAITERS; i++)
            sem_post(&go); /* each takes the processor at once, and gives it back only by sleeping */
        while (atomic_load(&at_it) < WAITERS)
            sched_yield();
        weiri_spinlock_unlock(&lock);
        for (unsigned i = 0; i < WAITERS; i++)
            while (sem_wait(&released) != 0)
                continue;
    }
}

/* ---- calls ---- */

static int call(void)
{
    weir_request request = weir_request_for("key", 3);
    return weir_take(limiter, &request, 1, NULL);
}

static void call_normally(void)
{
    while (atomic_load(&calls_made[1]) < wakes * WAITERS) {
        int verdict = call();
        if (verdict < 0)
            failed("weir_take: got %d", verdict);
        atomic_fetch_add(&accepted, (uint64_t)verdict);
        atomic_fetch_add(&calls_made[0], 1);
    }
}

static void call_waking_up(unsigned index)
{
    for (uint64_t wake = 0; wake < wakes; wake++) {
        struct timespec pause = {.tv_nsec = 20000 + (long)(mix(wake * WAITERS + index) % 30000)};
        nanosleep(&pause, NULL); /* a busy real-time thread leaves nothing to others, whatever it calls */
        uint64_t worked = time_of(CLOCK_THREAD_CPUTIME_ID);
        int verdict = call();
        worked = time_of(CLOCK_THREAD_CPUTIME_ID) - worked;
        want_at_most("ns of the processor that a call has taken", CALL_AT_MOST, worked);
        if (worked > atomic_load(&longest))
            atomic_store(&longest, worked);
        if (verdict < 0)
            failed("weir_take: got %d", verdict);
        atomic_fetch_add(&accepted, (uint64_t)verdict);
        atomic_fetch_add(&calls_made[1], 1);
    }
}

static void work(void *alone, unsigned index)
{
    if (index > 0 && !make_realtime())
        failed("SCHED_FIFO: %s", strerror(errno));
    if (*(bool *)alone && index > 0)
        wait_for_lock();
    else if (*(bool *)alone)
        hold_lock();
    else if (index > 0)
        call_waking_up(index);
    else
        call_normally();
}

static void run_calls(enum kind kind)
{
    bool alone = false;
    rule_set set = rule_set_of(kind, 2000000, WEIR_SECOND);
    weir_options options = weir_options_manual();
    limiter = opened(&set, &options);
    atomic_store(&calls_made[0], 0);
    atomic_store(&calls_made[1], 0);
    atomic_store(&accepted, 0);
    atomic_store(&longest, 0);
    run_threads(1 + WAITERS, work, &alone);
    uint64_t calls = calls_made[0] + calls_made[1];
    want_equal("calls of the real-time threads", wakes * WAITERS, calls_made[1]);
    want_equal("accepted", calls < 2000000 ? calls : 2000000, accepted);
    want_done("weir_close", weir_close(limiter));
    printf("realtime: %s: %" PRIu64 " calls, %" PRIu64 " of them real-time, the longest %" PRIu64 " ns\n", set.name,
           calls, calls_made[1], atomic_load(&longest));
}

/* In a thread of its own, so that this one stays as it is. */
static void *try_realtime(void *unused)
{
    (void)unused;
    return make_realtime() ? &lock : NULL;
}

static bool may_be_realtime(void)
{
    pthread_t thread;
    void *may = NULL;
    return pthread_create(&thread, NULL, try_realtime, NULL) == 0 && pthread_join(thread, &may) == 0 && may;
}

static bool stay_on_one_processor(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) {
            CPU_SET(i, &one);
            return sched_setaffinity(0, sizeof one, &one) == 0;
        }
    return false;
}

int main(void)
{
    bool alone = true;
    if (!may_be_realtime()) {
        printf("realtime: skipped: threads may not have SCHED_FIFO here (no CAP_SYS_NICE?)\n");
        return TEST_SKIPPED;
    }
    if (!stay_on_one_processor()) {
        printf("realtime: skipped: the processor cannot be chosen here\n");
        return TEST_SKIPPED;
    }
    alarm(SECONDS);
    holds = scaled(300, 20);
    wakes = scaled(3000, 200);
    sem_init(&go, 0, 0);
    sem_init(&released, 0, 0);
    run_threads(1 + WAITERS, work, &alone);
    printf("realtime: the lock was held %" PRIu64 " times before %d waiters\n", holds, WAITERS);
    run_calls(KIND_LOG);
    run_calls(KIND_TWO);
    return 0;
}
