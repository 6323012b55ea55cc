/*
 * A sweep tells the bound of the node it has looked at, and at each of its points in turn another sweep comes in
 * between, much later, drops that node, and the key is charged anew: the bound is not put beside what is there by then.
 * Guarantees C and F, see N6 in node.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "../support/allocator.h"
#include "alone.h"

enum { LIMIT = 3, WINDOW = 100, LATER = 1000 };

static weir *limiter;
static test_allocator counting;
static bool charged_anew;

static int take(uint64_t now)
{
    weir_request request = weir_request_for("key", 3);
    return weir_take(limiter, &request, now, NULL);
}

/* Charged twice, so that the bound of the first charge is over when the sweep looks. */
static void sweep(void)
{
    alone_want("sweep", 1, (uint64_t)weir_sweep(limiter, 150, 0));
}

/* Without memory for a migration the new node comes into the cell of the old one. */
static void drop_and_charge(void)
{
    counting.fail_from = 1;
    int end = weir_sweep(limiter, LATER, 0);
    test_allocator_relent(&counting);
    alone_want("a later sweep", 1, (uint64_t)end);
    alone_want("a charge anew", 1, (uint64_t)take(LATER));
    charged_anew = true;
}

int main(void)
{
    const weir_rule rule = {.limit = LIMIT, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    options.max_lateness_ns = 0;
    options.allocator = test_allocator_for(&counting);
    unsigned point = 0, anew = 0;
    for (bool more = true; more; point++) {
        alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
        alone_want("a charge", 1, (uint64_t)take(40));
        alone_want("another", 1, (uint64_t)take(90));
        charged_anew = false;
        more = alone_interrupted(point, sweep, drop_and_charge);
        anew += charged_anew;
        for (unsigned i = charged_anew; i < LIMIT; i++)
            alone_want("a charge up to the limit", 1, (uint64_t)take(LATER));
        alone_want("a charge above it", 0, (uint64_t)take(LATER));
        alone_want("close", 0, (uint64_t)weir_close(limiter));
    }
    alone_want("points at which the key was charged anew", 1, anew > 5);
    printf("%u points, at %u of them charged anew\n", point, anew);
    return 0;
}
