#include "spinlock.h"

#include <ck_pr.h>
#include <sched.h>
#include <time.h>

#include "cancel.h"

enum { SPINS = 10, YIELDS = 16 }; /* 2^10 stalls: some microseconds, more than any holder works when it runs */
enum { NAP = 100000, NAPS_EACH = 3, NAPS_MAX = 40 }; /* ns */

static void stall(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        ck_pr_stall();
}

/* A sleep is a cancellation point, where a thread that holds something must not end. */
static void nap(unsigned times)
{
    int cancel = weiri_no_cancel_begin();
    nanosleep(&(struct timespec){.tv_nsec = (long)times * NAP}, NULL);
    weiri_no_cancel_end(cancel);
}

void weiri_backoff(unsigned attempt)
{
    WEIRI_HOOK(WEIRI_PAUSE, NULL);
    if (WEIRI_HOOKED)
        return; /* the watcher has let others run */
    if (attempt < SPINS)
        stall(1U << attempt);
    else if (attempt < SPINS + YIELDS)
        sched_yield();
    else /* the holder is not on a processor, and yielding does not help it on (a real-time spinner) */
        nap(1);
}

/*
 * --- one lock ---
 *
 * Where threads do little but take one lock, the dear thing is to hand it on: its line, and what it protects, move to
 * another core for one short piece of work. So a waiter looks again only when the holder has had it a dozen times, and
 * not a third time. It sleeps then, and at once where it meets the same lock held again soon: the longer, the more do.
 * So one thread works at full speed, and of its calls fewer than one in a thousand meet another. Two threads on one key
 * took 51 to 82 ns a call where each looked soon, now 30 to 36; with a mutex, 60 to 110. Who has slept looks
 * often: the lock is free half the time at least, so nobody comes away empty for long.
 *
 * However many sleep, together they wake some four times in a millisecond (one alone, ten times), in which the one that
 * works does some ten thousand calls: so the calls that sleep stay well below one in a thousand. Where 15 woke 15
 * times, they were about that many, and p99.9 of 16 threads on 2 cores was now 1 us and now 1 ms; since then 0.5 to
 * 0.7 us, where a mutex has 2 to 4.
 */
enum { FIRST = 5, LAST = 6 }; /* waits, before the second look and before sleeping: 2^5, 2^6 stalls */
enum { LOOKS = 16, PLACES = 64 };
enum { HAMMERED = 50000, REMEMBERED = 50000000 }; /* ns: "soon", after spinning and after sleeping */

static weiri_a32 nappers[PLACES]; /* by the lock's address: two that share a place sleep longer */

/* The lock that this thread has waited for last, and until when meeting it again means that it is hammered. */
static _Thread_local struct {
    const weiri_spinlock *lock;
    uint64_t until;
} met;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* True: got it. */
static bool look_often(weiri_spinlock *lock)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        if (weiri_spinlock_try(lock))
            return true;
        stall(1 + i % 4);
    }
    return false;
}

static void wait_long(weiri_spinlock *lock)
{
    weiri_a32 *place = &nappers[(uintptr_t)lock / 64 % PLACES];
    unsigned naps = weiri_add_relaxed_32(place, 1);
    naps = naps > 1 ? NAPS_EACH * naps : 1;
    do
        nap(naps < NAPS_MAX ? naps : NAPS_MAX);
    while (!look_often(lock));
    weiri_add_relaxed_32(place, UINT32_MAX);
}

void weiri_spinlock_wait(weiri_spinlock *lock)
{
    bool hammered = !WEIRI_HOOKED && met.lock == lock && now() < met.until;
    for (unsigned attempt = FIRST; !hammered && !weiri_spinlock_try(lock); attempt++) {
        weiri_backoff(attempt);
        hammered = !WEIRI_HOOKED && attempt == LAST; /* or its holder is not on a processor */
    }
    if (hammered)
        wait_long(lock);
    if (!WEIRI_HOOKED) {
        met.lock = lock;
        met.until = now() + (hammered ? REMEMBERED : HAMMERED);
    }
}
