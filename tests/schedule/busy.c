/*
 * A sweep comes back to a key that was busy when it came by: the lock of its node is held when it is first tried, and
 * free the second time. Guarantee F.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "alone.h"

static uint32_t *lock; /* of the key's node */
static unsigned looks;

/* The one thing that a call on a key updates is its node's lock. */
static void find_lock(enum weiri_access access, const void *place)
{
    if (access == WEIRI_UPDATE)
        lock = (uint32_t *)(uintptr_t)place;
}

static void let_go_at_the_second_look(enum weiri_access access, const void *place)
{
    if (access == WEIRI_LOAD && place == lock && ++looks == 2)
        *lock = 0;
}

static weir_statistics statistics_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    alone_want("stats", 0, (uint64_t)weir_stats(limiter, &statistics));
    return statistics;
}

int main(void)
{
    const weir_rule rule = {.limit = 5, .window_ns = WEIR_SECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    weir_request request = weir_request_for("key", 3);
    weir *limiter;
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    alone_want("take", 1, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
    alone_hook = find_lock;
    alone_want("take", 1, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
    *lock = 1;
    alone_hook = let_go_at_the_second_look;
    alone_want("sweep", 1, (uint64_t)weir_sweep(limiter, 10 * WEIR_SECOND, 0));
    alone_hook = NULL;
    alone_want("looks at the lock", 2, looks);
    alone_want("keys", 0, statistics_of(limiter).keys);
    alone_want("keys that were dropped", 1, statistics_of(limiter).swept);
    alone_want("close", 0, (uint64_t)weir_close(limiter));
    puts("a busy key is swept the second time");
    return 0;
}
