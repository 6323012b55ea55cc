/*
 * Put before src/limiter/node.c by the build of one test: the unlock of a node's lock no longer orders what was written
 * under it. Everything else is as it is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_UNORDERED_H
#define WEIR_TESTS_UNORDERED_H

#include "sync/spinlock.h"

static inline void unlock_unordered(weiri_spinlock *lock)
{
    __atomic_store_n(&lock->held.word, 0, __ATOMIC_RELAXED); /* a release in src/sync/spinlock.h */
}
#define weiri_spinlock_unlock unlock_unordered

#endif
