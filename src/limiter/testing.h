/* Entry points for tests that force what otherwise needs many keys or luck. Not in the library that is installed. */
#ifndef WEIRI_LIMITER_TESTING_H
#define WEIRI_LIMITER_TESTING_H

#include <weir/weir.h>

enum weiri_test_migration {
    WEIRI_TEST_SPLIT,     /* whatever the segment holds */
    WEIRI_TEST_MAKE_ROOM, /* rebuild, grow or split, as for a new key */
    WEIRI_TEST_COMPACT
};

/* Starts a migration of the segment for `hash` with a drop time as of `now`, if there is something to gain; `helps`: and
 * helps it in full, else callers find it under way. */
void weiri_test_start(weir *limiter, uint64_t hash, enum weiri_test_migration kind, uint64_t now, bool helps);

/* Picks a segment and a kind of migration (split, make room, compact) from `random`, with a drop time as of `now`, and
 * starts it; every other time it also helps it in full, else callers find it under way. */
void weiri_test_migrate(weir *limiter, uint64_t random, uint64_t now);

/* The same, left as by a helper that was preempted while it froze: some cells, from any on, are frozen or sealed,
 * nothing is selected or copied. One thread alone never leaves a migration there. */
void weiri_test_freeze(weir *limiter, uint64_t random, uint64_t now);

/* The key that keys are hashed under, which is random else, so that a table grows the same way again. Before any call. */
void weiri_test_hash_key(weir *limiter, uint64_t word0, uint64_t word1);

#endif
