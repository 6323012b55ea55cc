/*
 * Two keys whose identities differ in word 1 alone, which is 0 in one of them as in an EMPTY cell. A call on that one
 * is interrupted at each of its points in turn by a whole call on the other, which claims the cell it looks at: each
 * is charged for itself. Guarantee D, see T4 of docs/design.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "alone.h"

enum { TABLES = 20 }; /* where a key's first cell is, is chance */

static weir *limiter;
static unsigned at, interrupted_at;
static bool interrupted;

static int take(const char *key)
{
    weir_request request = weir_request_for(key, 8);
    return weir_take(limiter, &request, WEIR_SECOND, NULL);
}

/* Seven bytes stand in word 0, with the length; the last one in word 1. */
static int take_zero(void)
{
    return take("the key\0");
}

static int take_one(void)
{
    return take("the key\1");
}

static void interrupt(enum weiri_access access, const void *place)
{
    (void)access;
    (void)place;
    if (at++ != interrupted_at)
        return;
    interrupted = true;
    alone_want("the key with 1", 1, (uint64_t)take_one());
}

static bool perform(void)
{
    const weir_rule rule = {.limit = 1, .window_ns = WEIR_SECOND, .algorithm = WEIR_COUNTER,
                            .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    at = 0;
    interrupted = false;
    alone_hook = interrupt;
    int verdict = take_zero();
    alone_hook = NULL;
    alone_want("the key with 0", 1, (uint64_t)verdict);
    alone_want("the key with 0 again", 0, (uint64_t)take_zero());
    alone_want("the key with 1 again", !interrupted, (uint64_t)take_one());
    alone_want("close", 0, (uint64_t)weir_close(limiter));
    return interrupted;
}

int main(void)
{
    uint64_t points = 0;
    for (unsigned table = 0; table < TABLES; table++)
        for (interrupted_at = 0; perform(); interrupted_at++)
            points++;
    alone_want("a call has points", 1, points > 10 * TABLES);
    printf("%" PRIu64 " points\n", points);
    return 0;
}
