/*
 * A spinlock for a few hundred nanoseconds of work on one key. Try, then spin, then sleep: on a busy server the holder
 * may have been preempted, and a waiter that only spins keeps it so. Unfair on purpose, in turns of many calls: a fair
 * lock hands itself to whoever is preempted, and hands over its line and what it protects with every call. Unlocking is
 * one plain store, and wakes nobody: who sleeps looks again by itself, after 0.1 to 4 ms.
 *
 * Under it: no allocation, no system call, no copy of more than a constant number of records. It is taken inside a read
 * section after looking at the fork gate (gate.h), so that no fork finds it held.
 */
#ifndef WEIRI_SYNC_SPINLOCK_H
#define WEIRI_SYNC_SPINLOCK_H

#include "atomic.h"

typedef struct weiri_spinlock {
    weiri_a32 held;
} weiri_spinlock;

/* The test before the swap keeps a held lock's line shared among waiters. */
static inline bool weiri_spinlock_try(weiri_spinlock *lock)
{
    return weiri_load_relaxed_32(&lock->held) == 0 && weiri_cas_32(&lock->held, 0, 1);
}

void weiri_spinlock_wait(weiri_spinlock *lock);

static inline void weiri_spinlock_lock(weiri_spinlock *lock)
{
    if (!weiri_spinlock_try(lock))
        weiri_spinlock_wait(lock);
}

/* Release: what was written under the lock is seen by the next holder, whose swap acquires. */
static inline void weiri_spinlock_unlock(weiri_spinlock *lock)
{
    weiri_store_release_32(&lock->held, 0);
}

/* Lets others run, more of them the longer one has waited: `attempt` counts from 0. */
void weiri_backoff(unsigned attempt);

#endif
