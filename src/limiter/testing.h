/* Entry points for tests that force what otherwise needs many keys or luck. Not in the library that is installed. */
#ifndef WEIRI_LIMITER_TESTING_H
#define WEIRI_LIMITER_TESTING_H

#include <weir/weir.h>

/* Picks a segment and a kind of migration (split, make room, compact) from `random`, with a drop time as of `now`, and
 * starts it; every other time it also helps it in full, else callers find it under way. */
void weiri_test_migrate(weir *limiter, uint64_t random, uint64_t now);

#endif
