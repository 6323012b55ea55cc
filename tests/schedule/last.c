/*
 * Two calls, one place: a call on a new key is interrupted at each of its points in turn by a whole call on another,
 * with room for one. One is recorded, the other refused for that reason, and at no point more keys are held than
 * max_keys: guarantee F.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "alone.h"

enum { MAX_KEYS = 3 };

static weir *limiter;
static unsigned at, interrupted_at;
static bool interrupted;
static int other;

static int take(const char *key)
{
    weir_request request = weir_request_for(key, 1);
    weir_decision decision;
    int verdict = weir_take(limiter, &request, WEIR_SECOND, &decision);
    alone_want("why it is refused", verdict ? 0 : WEIR_TABLE_FULL, decision.flags);
    return verdict;
}

static uint64_t keys(void)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    alone_want("stats", 0, (uint64_t)weir_stats(limiter, &statistics));
    return statistics.keys;
}

static void interrupt(enum weiri_access access, const void *place)
{
    (void)access;
    (void)place;
    if (interrupted && keys() > MAX_KEYS)
        alone_want("keys held", MAX_KEYS, keys());
    if (at++ != interrupted_at)
        return;
    interrupted = true;
    other = take("b");
}

/* False: the call had fewer points than that. */
static bool perform(uint32_t algorithm)
{
    const weir_rule rule = {.limit = 1, .window_ns = WEIR_SECOND, .algorithm = algorithm, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    options.max_keys = MAX_KEYS;
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    alone_want("the first key", 1, (uint64_t)take("x"));
    alone_want("the second key", 1, (uint64_t)take("y"));

    at = 0;
    interrupted = false;
    alone_hook = interrupt;
    int one = take("a");
    alone_hook = NULL;
    if (interrupted)
        alone_want("calls that got the last place", 1, (uint64_t)(one + other));
    alone_want("keys held in the end", MAX_KEYS, keys());
    alone_want("close", 0, (uint64_t)weir_close(limiter));
    return interrupted;
}

static void perform_all(uint32_t algorithm)
{
    interrupted_at = 0;
    while (perform(algorithm))
        interrupted_at++;
    alone_want("a call has points", 1, interrupted_at > 10);
    printf("%u points\n", interrupted_at);
}

int main(void)
{
    perform_all(WEIR_COUNTER);
    perform_all(WEIR_LOG);
    return 0;
}
