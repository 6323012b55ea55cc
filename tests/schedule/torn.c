/*
 * Two refusals of one key are published one after the other: one for a huge cost and for ever, one for a small cost and
 * soon over. A call that neither covers is accepted wherever they come in between its steps, and wherever it comes in
 * between theirs: nobody takes the fields of two refusals for one. Guarantee A, see node.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "alone.h"

enum { LIMIT = 10, WINDOW = 100, CHARGED = 8, HUGE_COST = LIMIT + 1, SMALL = 3, BETWEEN = 5 };

static weir *limiter;

static int take(uint64_t cost, uint64_t now)
{
    weir_request request = weir_request_for("key", 3);
    request.cost = cost;
    return weir_take(limiter, &request, now, NULL);
}

/* Room for it is again when the charge has left. */
static int peek_later(void)
{
    weir_request request = weir_request_for("key", 3);
    request.cost = BETWEEN;
    return weir_peek(limiter, &request, 2 * WINDOW, NULL);
}

static void refuse_for_ever(void)
{
    alone_want("a cost above the limit", 0, (uint64_t)take(HUGE_COST, 50));
}

static void refuse_for_a_while(void)
{
    alone_want("a cost that does not fit now", 0, (uint64_t)take(SMALL, 50));
}

static void charge_again(void)
{
    weir_request request = weir_request_for("key", 3);
    alone_want("reset", 0, (uint64_t)weir_reset(limiter, &request));
    alone_want("charge", 1, (uint64_t)take(CHARGED, 50));
    refuse_for_a_while();
}

static void peek_interrupted(void)
{
    alone_want("a call that others come in between", 1, (uint64_t)peek_later());
}

static void peek_between(void)
{
    alone_want("a call between the steps of a refusal", 1, (uint64_t)peek_later());
}

/* One call, at each of its points in turn interrupted by another. */
static void perform(void (*call)(void), void (*other)(void))
{
    const weir_rule rule = {.limit = LIMIT, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST};
    weir_options options = weir_options_manual();
    unsigned point = 0;
    for (bool more = true; more; point++) {
        alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
        alone_want("the charge", 1, (uint64_t)take(CHARGED, 50));
        refuse_for_ever();
        more = alone_interrupted(point, call, other);
        alone_want("in the end", 1, (uint64_t)peek_later());
        alone_want("close", 0, (uint64_t)weir_close(limiter));
    }
    alone_want("a call has points", 1, point > 10);
    printf("%u points\n", point);
}

int main(void)
{
    perform(peek_interrupted, charge_again);
    perform(refuse_for_a_while, peek_between);
    return 0;
}
