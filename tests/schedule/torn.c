/*
 * Two refusals of one key are published one after the other: one for a huge cost and for ever, one for a small cost and
 * soon over. A call that neither covers is accepted wherever they come in between its steps, and wherever it comes in
 * between theirs: nobody takes the fields of two refusals for one. Then whole decisions, of two that are published
 * together: they are told as they were before what comes in between, or as they are after it, in every field. Guarantee
 * A, see node.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>

#include "alone.h"

enum { LIMIT = 10, WINDOW = 100, CHARGED = 8, HUGE_COST = LIMIT + 1, SMALL = 3, BETWEEN = 5, ASKED = 70 };

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

/* --- whole decisions --- */

/* Charges 4 at `now` and 4 five ns later; then what costs 3, 7 and 11 are told is known. */
static void charge_twice(uint64_t now)
{
    alone_want("a charge", 1, (uint64_t)take(CHARGED / 2, now));
    alone_want("another", 1, (uint64_t)take(CHARGED / 2, now + 5));
}

/* What `cost` is told is what one of so many, charged from `first` or `second` on, is told. */
static void ask(uint64_t cost, uint64_t first, uint64_t second)
{
    weir_request request = weir_request_for("key", 3);
    weir_decision told;
    request.cost = cost;
    alone_want("refused", 0, (uint64_t)weir_peek(limiter, &request, ASKED, &told));
    uint64_t begin = told.release_after_ns == second + WINDOW - ASKED ? second : first;
    alone_want("release", begin + WINDOW - ASKED, told.release_after_ns);
    alone_want("retry", cost > LIMIT ? WEIR_NEVER : begin + (cost > 6 ? 5 : 0) + WINDOW - ASKED, told.retry_after_ns);
    alone_want("remaining", LIMIT - CHARGED, told.remaining);
    alone_want("flags", 0, told.flags);
}

static void ask_three(void)
{
    ask(3, 50, 50);
    ask(7, 50, 50);
    ask(HUGE_COST, 50, 50);
}

static void ask_seven(void)
{
    ask(7, 50, 60);
}

static void ask_all(void)
{
    ask_seven();
    ask(3, 50, 60);
}

static void charge_again_twice(void)
{
    weir_request request = weir_request_for("key", 3);
    alone_want("reset", 0, (uint64_t)weir_reset(limiter, &request));
    charge_twice(60);
    ask(HUGE_COST, 60, 60);
    ask(7, 60, 60);
}

static void charged_twice(void)
{
    charge_twice(50);
    ask(7, 50, 50);
    ask(HUGE_COST, 50, 50);
}

static void charged_once(void)
{
    alone_want("the charge", 1, (uint64_t)take(CHARGED, 50));
    refuse_for_ever();
}

/* --- a sole counter --- */

/* What cost 7 is told at 160, of 8 at 50 or of 9 at 150. */
static void ask_counter(void)
{
    weir_request request = weir_request_for("key", 3);
    weir_decision told;
    request.cost = 7;
    alone_want("refused by a counter", 0, (uint64_t)weir_peek(limiter, &request, 160, &told));
    bool later = told.remaining == 1;
    alone_want("remaining", later ? 1 : 6, told.remaining);
    alone_want("retry", later ? 107 : 3, told.retry_after_ns);
    alone_want("release", later ? 52 : 3, told.release_after_ns);
}

static void count_again(void)
{
    weir_request request = weir_request_for("key", 3);
    alone_want("reset", 0, (uint64_t)weir_reset(limiter, &request));
    alone_want("charge", 1, (uint64_t)take(9, 150));
    ask_counter();
}

static void counted(void)
{
    alone_want("the charge", 1, (uint64_t)take(CHARGED, 50));
    ask_counter();
}

/* One call, at each of its points in turn interrupted by another, after `before`. */
static void perform(uint32_t algorithm, void (*before)(void), void (*call)(void), void (*other)(void),
                    void (*after)(void))
{
    const weir_rule rule = {.limit = LIMIT, .window_ns = WINDOW, .algorithm = algorithm, .meter = WEIR_PER_COST};
    weir_options options = weir_options_manual();
    options.max_limit = algorithm == WEIR_COUNTER ? UINT64_C(1) << 32 : 0; /* none that fits a cell */
    unsigned point = 0;
    for (bool more = true; more; point++) {
        alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
        before();
        more = alone_interrupted(point, call, other);
        after();
        alone_want("close", 0, (uint64_t)weir_close(limiter));
    }
    alone_want("a call has points", 1, point > 10);
    printf("%u points\n", point);
}

int main(void)
{
    perform(WEIR_LOG, charged_once, peek_interrupted, charge_again, peek_between);
    perform(WEIR_LOG, charged_once, refuse_for_a_while, peek_between, peek_between);
    perform(WEIR_LOG, charged_twice, ask_seven, charge_again_twice, ask_all);
    perform(WEIR_LOG, charged_twice, ask_three, ask_three, ask_three);
    perform(WEIR_COUNTER, counted, ask_counter, count_again, ask_counter);
    return 0;
}
