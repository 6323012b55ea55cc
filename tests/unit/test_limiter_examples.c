/*
 * Worked examples, as one would explain a rate limit to somebody.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "../support/rows.h"

#define S       WEIR_SECOND
#define MS      WEIR_MILLISECOND
#define ENDLESS UINT64_MAX

static void holds(const char *wrong)
{
    cr_assert_null(wrong, "%s", wrong);
}

Test(examples, two_in_ten_seconds)
{
    static const struct row rows[] = {
        TAKES(0, 1, 1),
        TAKES(1 * S, 1, 0),
        REFUSES(2 * S, 1, 0, 8 * S),
        TAKES_FOR("another", 2 * S, 1, 1),
        TAKES(10 * S, 1, 0),
        REFUSES(10 * S, 1, 0, S),
        WOULD_TAKE(11 * S, 1, 1),
    };
    holds(rows_wrong_for(log_rule(2, 10 * S), ENDLESS, ROWS(rows)));
}

Test(examples, three_in_a_minute)
{
    static const struct row rows[] = {
        TAKES(0, 1, 2),
        TAKES(5 * S, 1, 1),
        TAKES(30 * S, 1, 0),
        REFUSES(59 * S, 1, 0, S),
        TAKES(61 * S, 1, 0),
    };
    holds(rows_wrong_for(log_rule(3, 60 * S), ENDLESS, ROWS(rows)));
}

Test(examples, four_at_once_where_three_may)
{
    static const struct row rows[] = {
        TAKES(0, 1, 2),
        TAKES(0, 1, 1),
        TAKES(0, 1, 0),
        REFUSES(0, 1, 0, 10 * S),
        REFUSES(9999 * MS, 1, 0, MS),
        TAKES(10 * S, 1, 2),
    };
    holds(rows_wrong_for(log_rule(3, 10 * S), ENDLESS, ROWS(rows)));
}

Test(examples, a_counter_halfway_through_the_next_window_weighs_the_last_one_by_half)
{
    static const struct row rows[] = {
        TAKES(59500 * MS, 10, 0),
        REFUSES(59999 * MS, 1, 0, 6001 * MS),
        TAKES(90 * S, 1, 4),
        TAKES(90 * S, 1, 3),
        TAKES(90 * S, 1, 2),
        TAKES(90 * S, 1, 1),
        TAKES(90 * S, 1, 0),
        REFUSES(90 * S, 1, 0, 6 * S),
    };
    holds(rows_wrong_for(counter_rule(10, 60 * S), ENDLESS, ROWS(rows)));
}

Test(examples, a_counter_filled_at_its_first_instant_refuses_early_in_the_next_window)
{
    static const struct row rows[] = {TAKES(0, 10, 0), REFUSES(61 * S, 1, 0, 5 * S), TAKES(66 * S, 1, 0)};

    holds(rows_wrong_for(counter_rule(10, 60 * S), ENDLESS, ROWS(rows)));
}

Test(examples, buckets_let_go_a_bucket_at_a_time)
{
    static const struct row rows[] = {
        TAKES(0, 2, 1),
        TAKES(5, 1, 0),
        REFUSES(10, 1, 0, 99), /* what was charged at 0 and 5 is one bucket, and leaves as one at 109 */
        TAKES(109, 3, 0),
    };
    holds(rows_wrong_for(buckets_rule(3, 100, 10), ENDLESS, ROWS(rows)));
}

Test(examples, requests_a_minute_and_tokens_a_minute_together)
{
    weir_rule rules[] = {log_rule(3, 60 * S), log_rule(1000, 60 * S)};
    weir_request request = weir_request_for("client", 6);
    weir_decision decision;
    weir *limiter;

    rules[0].meter = WEIR_PER_REQUEST;
    limiter = manual_limiter(rules, 2, ENDLESS, NULL);
    request.cost = 600;
    cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
    cr_assert_eq(decision.rule, 0);
    cr_assert_eq(decision.limit, 3);
    cr_assert_eq(decision.remaining, 2);
    cr_assert_eq(decision.release_after_ns, 60 * S);
    cr_assert_eq(weir_take(limiter, &request, 10 * S, &decision), 0);
    cr_assert_eq(decision.rule, 1);
    cr_assert_eq(decision.limit, 1000);
    cr_assert_eq(decision.remaining, 400);
    cr_assert_eq(decision.retry_after_ns, 50 * S);
    request.cost = 1;
    cr_assert_eq(weir_take(limiter, &request, 10 * S, &decision), 1);
    cr_assert_eq(decision.rule, 0);
    cr_assert_eq(decision.remaining, 1); /* the refused call is not among the three */
    cr_assert_eq(weir_take(limiter, &request, 20 * S, &decision), 1);
    cr_assert_eq(decision.remaining, 0);
    request.cost = 400;
    cr_assert_eq(weir_take(limiter, &request, 30 * S, &decision), 0);
    cr_assert_eq(decision.rule, 0); /* both open at 60 s: the lower index */
    cr_assert_eq(decision.retry_after_ns, 30 * S);
    weir_close(limiter);
}
