/*
 * A charge for which a log has no room asks for memory outside the lock; before it has the lock again, others may have
 * used what was there, and more is needed. At each of its points others come in between: every charge is kept (C), none
 * is made twice (A), and all memory comes back (F, G). Where there is none at all, it does not ask for ever.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "../support/allocator.h"
#include "alone.h"

enum { BEFORE = 200, MORE = 40, LIMIT = 1000 };

static weir *limiter;
static uint64_t charged;

static void take(void)
{
    weir_request request = weir_request_for("key", 3);
    alone_want("take", 1, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
    charged++;
}

static void take_more(void)
{
    for (unsigned i = 0; i < MORE; i++)
        take();
}

/* The last charge before which there were `before`. False: it has no such point. */
static bool perform(unsigned before, unsigned point)
{
    const weir_rule rule = {.limit = LIMIT, .window_ns = WEIR_SECOND, .algorithm = WEIR_LOG,
                            .meter = WEIR_PER_REQUEST};
    test_allocator counting = {0};
    weir_options options = weir_options_manual();
    options.allocator = test_allocator_for(&counting);
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    charged = 0;
    while (charged < before)
        take();
    bool more = alone_interrupted(point, take, take_more);
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;
    alone_want("peek", 1, (uint64_t)weir_peek(limiter, &request, WEIR_SECOND, &decision));
    alone_want("remaining", LIMIT - charged, decision.remaining);
    alone_want("close", 0, (uint64_t)weir_close(limiter));
    alone_want("blocks that are left", 0, counting.blocks);
    alone_want("faults of memory", 0, counting.faults);
    return more;
}

/* The memory of a log that grows is refused, as often as it is asked for. */
static void perform_without(void)
{
    const weir_rule rule = {.limit = LIMIT, .window_ns = WEIR_SECOND, .algorithm = WEIR_LOG,
                            .meter = WEIR_PER_REQUEST};
    test_allocator counting = {0};
    weir_options options = weir_options_manual();
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;
    options.allocator = test_allocator_for(&counting);
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    take();
    counting.fail_from = 1;
    unsigned taken = 1;
    while (weir_take(limiter, &request, WEIR_SECOND, &decision) == 1)
        taken++;
    alone_want("charges that there was room for", 8, taken);
    alone_want("why no more", WEIR_NO_MEMORY, decision.flags);
    test_allocator_relent(&counting);
    take();
    alone_want("close", 0, (uint64_t)weir_close(limiter));
    alone_want("blocks that are left", 0, counting.blocks);
}

int main(void)
{
    perform_without();
    uint64_t points = 0;
    for (unsigned before = 1; before < BEFORE; before++) /* in some of them there is room, in others not */
        for (unsigned point = 0; perform(before, point); point++)
            points++;
    alone_want("a charge has points", 1, points > 10 * BEFORE);
    printf("%" PRIu64 " points\n", points);
    return 0;
}
