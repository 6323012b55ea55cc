/*
 * Limits that change, plans, and a table that is full.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "../support/rows.h"
#include "limiter/limiter.h"

#define LIMIT_32 UINT64_C(0xffffffff)
#define LIMIT_63 ((uint64_t)INT64_MAX)
#define ENDLESS  UINT64_MAX

static weir *opened(const weir_rule *rules, size_t count, weir_options options)
{
    weir *limiter;

    cr_assert_eq(weir_open(&limiter, rules, count, &options), 0);
    return limiter;
}

static uint64_t keys_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};

    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    return statistics.keys;
}

static uint64_t limit_shown(weir *limiter, uint32_t plan)
{
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;

    request.plan = plan;
    request.cost = 0;
    cr_assert_eq(weir_peek(limiter, &request, 0, &decision), 1);
    return decision.limit;
}

Test(limits, each_algorithm_may_be_raised_as_far_as_it_goes)
{
    static const struct {
        uint32_t algorithm;
        uint64_t at_open;
        uint64_t most;
    } ends[] = {{WEIR_LOG, 5, LIMIT_32},
                {WEIR_COUNTER, 5, LIMIT_32},
                {WEIR_COUNTER, LIMIT_32 + 1, LIMIT_63},
                {WEIR_BUCKETS, 5, LIMIT_63}};

    for (size_t i = 0; i < 4; i++) {
        weir_rule rule = buckets_rule(ends[i].at_open, 10, 5);
        const uint64_t zero = 0;
        const uint64_t most = ends[i].most;
        const uint64_t beyond = most + 1;

        rule.algorithm = ends[i].algorithm;
        if (rule.algorithm != WEIR_BUCKETS)
            rule.buckets = 0;
        weir *limiter = opened(&rule, 1, weir_options_manual());
        cr_assert_eq(weir_set_limits(limiter, 0, &zero, 1), -EINVAL);
        cr_assert_eq(weir_set_limits(limiter, 0, &beyond, 1), -EINVAL, "case %zu", i);
        cr_assert_eq(limit_shown(limiter, 0), ends[i].at_open);
        cr_assert_eq(weir_set_limits(limiter, 0, &most, 1), 0, "case %zu", i);
        cr_assert_eq(limit_shown(limiter, 0), most);
        weir_close(limiter);
    }
}

Test(limits, max_limit_bounds_what_may_be_set_and_widens_a_counter)
{
    weir_rule rule = counter_rule(5, 10);
    weir_options options = weir_options_manual();
    const uint64_t hundred = 100;
    const uint64_t hundred_and_one = 101;
    const uint64_t wide = UINT64_C(1) << 40;
    weir *limiter;

    options.max_limit = hundred;
    limiter = opened(&rule, 1, options);
    cr_assert_eq(weir_set_limits(limiter, 0, &hundred_and_one, 1), -EINVAL);
    cr_assert_eq(limit_shown(limiter, 0), 5);
    cr_assert_eq(weir_set_limits(limiter, 0, &hundred, 1), 0);
    cr_assert_eq(limit_shown(limiter, 0), 100);
    weir_close(limiter);
    options.max_limit = wide;
    limiter = opened(&rule, 1, options);
    cr_assert_eq(weir_set_limits(limiter, 0, &wide, 1), 0);
    const struct row rows[] = {TAKES(0, wide - 1, 1), REFUSES(0, 2, 1, 11), TAKES(0, 1, 0)};
    const char *wrong = rows_wrong(limiter, ROWS(rows));
    cr_assert_null(wrong, "%s", wrong);
    weir_close(limiter);
}

Test(limits, a_wrong_plan_or_count_changes_nothing)
{
    weir_rule rules[] = {log_rule(5, 10), counter_rule(6, 10)};
    const uint64_t limits[] = {1, 2, 3};
    const uint64_t half_bad[] = {1, 0};
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;
    weir *limiter = opened(rules, 2, weir_options_manual());

    cr_assert_eq(weir_set_limits(limiter, 1, limits, 2), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, UINT32_MAX, limits, 2), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, 0, limits, 0), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, 0, limits, 1), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, 0, limits, 3), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, 0, half_bad, 2), -EINVAL);
    cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
    cr_assert_eq(decision.limit, 5);
    cr_assert_eq(decision.remaining, 4);
    weir_close(limiter);
}

Test(limits, plans_have_limits_of_their_own_and_one_account)
{
    const weir_rule rules[] = {log_rule(1, 10), counter_rule(1, 10), buckets_rule(1, 10, 5)};
    const uint64_t waits[] = {10, 16, 11};
    const uint64_t plan_limits[] = {3, 8};
    const uint64_t raised = 4;

    for (size_t i = 0; i < 3; i++) {
        weir_options options = weir_options_manual();
        weir_request request = weir_request_for("key", 3);
        weir_decision decision;
        weir *limiter;

        options.plans = 2;
        options.plan_limits = plan_limits;
        limiter = opened(&rules[i], 1, options);
        request.plan = 1;
        request.cost = 5;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.limit, 8);
        cr_assert_eq(decision.remaining, 3);
        request.plan = 0; /* five of three: in debt */
        request.cost = 0;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 0);
        cr_assert_eq(decision.limit, 3);
        cr_assert_eq(decision.remaining, 0);
        request.cost = 1;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 0);
        cr_assert_eq(decision.retry_after_ns, waits[i]);
        /* Raising one plan leaves the other, and is seen by the next call in spite of the refusal before. */
        cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){6}, 1), 0);
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.remaining, 0);
        cr_assert_eq(weir_set_limits(limiter, 0, &raised, 1), 0);
        request.plan = 1;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.limit, 8);
        cr_assert_eq(decision.remaining, 1);
        request.plan = 2;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), -EINVAL);
        weir_close(limiter);
    }
}

Test(limits, a_full_table_refuses_new_keys_and_keeps_the_old_ones)
{
    const weir_rule rules[] = {log_rule(5, 10), counter_rule(5, 10), buckets_rule(5, 10, 5)};

    for (size_t i = 0; i < 3; i++) {
        weir_options options = weir_options_manual();
        weir_request request;
        weir_decision decision;
        weir *limiter;

        options.max_keys = 3;
        options.max_lateness_ns = 0;
        limiter = opened(&rules[i], 1, options);
        for (uint64_t key = 0; key < 3; key++) {
            request = weir_request_for(&key, sizeof key);
            cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
            cr_assert_eq(decision.flags, 0);
        }
        request = weir_request_for("new", 3);
        for (int round = 0; round < 10; round++) {
            cr_assert_eq(weir_take(limiter, &request, 0, &decision), 0);
            cr_assert_eq(decision.flags, WEIR_TABLE_FULL);
            cr_assert_eq(decision.retry_after_ns, 0);
            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 0);
        }
        /* A peek does not foresee it, and what needs no room is answered as ever. */
        cr_assert_eq(weir_peek(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.remaining, 5);
        request.cost = 6;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 0);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.retry_after_ns, WEIR_NEVER);
        request.cost = 0;
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(keys_of(limiter), 3);
        for (uint64_t key = 0; key < 3; key++) {
            request = weir_request_for(&key, sizeof key);
            cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
            cr_assert_eq(decision.flags, 0);
            cr_assert_eq(decision.remaining, 3);
        }
        /* Room again, once the old ones have expired and are swept. */
        cr_assert_eq(weir_sweep(limiter, 100, 0), 1);
        cr_assert_eq(keys_of(limiter), 0);
        request = weir_request_for("new", 3);
        cr_assert_eq(weir_take(limiter, &request, 100, &decision), 1);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.remaining, 4);
        weir_close(limiter);
    }
}

Test(limits, a_full_table_may_admit_unrecorded_instead)
{
    const weir_rule rules[] = {log_rule(2, 10), counter_rule(2, 10), buckets_rule(2, 10, 5)};

    for (size_t i = 0; i < 3; i++) {
        weir_options options = weir_options_manual();
        weir_request requests[] = {weir_request_for("old", 3), weir_request_for("new", 3)};
        weir_decision decisions[2];
        int verdicts[2];
        weir *limiter;

        options.max_keys = 1;
        options.when_full = WEIR_FULL_ADMIT;
        options.max_lateness_ns = ENDLESS;
        limiter = opened(&rules[i], 1, options);
        cr_assert_eq(weir_take(limiter, &requests[0], 0, NULL), 1);
        for (int round = 0; round < 5; round++) {
            cr_assert_eq(weir_take_batch(limiter, requests, 2, 0, verdicts, decisions), round == 0 ? 2 : 1);
            cr_assert_eq(verdicts[0], round == 0);
            cr_assert_eq(decisions[0].flags, 0);
            cr_assert_eq(verdicts[1], 1);
            cr_assert_eq(decisions[1].verdict, 1);
            cr_assert_eq(decisions[1].flags, WEIR_TABLE_FULL);
            cr_assert_eq(decisions[1].retry_after_ns, 0);
        }
        /* Admitted or not, a cost beyond the limit is refused. */
        requests[1].cost = 3;
        cr_assert_eq(weir_take(limiter, &requests[1], 0, &decisions[1]), 0);
        cr_assert_eq(decisions[1].flags, 0);
        cr_assert_eq(keys_of(limiter), 1);
        weir_close(limiter);
    }
}

/* Old limits wait for a grace period: without a janitor, who changes them often sees to that too (F). */
Test(limits, changed_for_ever_take_hardly_more_than_a_mebibyte)
{
    const uint64_t mebibyte = UINT64_C(1) << 20;
    weir_rule rule = {.limit = 5, .window_ns = 10, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST};
    weir *limiter = manual_limiter(&rule, 1, 0, NULL);
    uint64_t most = 0;

    cr_assert_not_null(limiter);
    for (unsigned i = 0; i < 40000; i++) { /* some hundred bytes each */
        cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){5}, 1), 0);
        weir_statistics statistics = {.struct_size = sizeof statistics};
        cr_assert_eq(weir_stats(limiter, &statistics), 0);
        most = statistics.retired_bytes > most ? statistics.retired_bytes : most;
    }
    cr_assert_gt(most, mebibyte / 2); /* and not every time either */
    cr_assert_leq(most, mebibyte + 2 * sizeof(weiri_limits)); /* found, made ready by one call, and freed by the next */
    weir_close(limiter);
}
