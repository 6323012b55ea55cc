/*
 * Faults that other limiters have had in their arithmetic and windows, each as the input that shows it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "../support/rows.h"

#define S            WEIR_SECOND
#define ENDLESS      UINT64_MAX
#define LIMIT_63     ((uint64_t)INT64_MAX)

static void holds(const char *wrong)
{
    cr_assert_null(wrong, "%s", wrong);
}

Test(arithmetic, a_sum_beyond_63_bits_does_not_wrap_below_the_limit)
{
    static const struct row rows[] = {
        TAKES(0, LIMIT_63 - 5, 5),
        REFUSES(1, 100, 5, 198),
        TAKES(1, 5, 0),
    };
    holds(rows_wrong_for(buckets_rule(LIMIT_63, 100, 1), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_cost_of_all_ones_is_never_accepted_and_changes_nothing)
{
    static const struct row rows[] = {
        TAKES(0, 5, 5),
        REFUSES(1, UINT64_MAX, 5, WEIR_NEVER),
        WOULD_REFUSE(1, UINT64_MAX, 5, WEIR_NEVER),
        TAKES(1, 5, 0),
    };
    holds(rows_wrong_for(log_rule(10, 60 * S), ENDLESS, ROWS(rows)));
    holds(rows_wrong_for(counter_rule(10, 60 * S), ENDLESS, ROWS(rows)));
    holds(rows_wrong_for(buckets_rule(10, 60 * S, 6), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_cost_above_the_limit_is_refused_for_ever_and_leaves_the_rest)
{
    static const struct row rows[] = {TAKES(0, 5, 5), REFUSES(S, 100, 5, WEIR_NEVER), TAKES(S, 5, 0)};

    holds(rows_wrong_for(log_rule(10, 60 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_cost_equal_to_the_limit_waits_and_one_more_never_passes)
{
    static const struct row rows[] = {
        TAKES(0, 1, 9), REFUSES(0, 10, 9, 100), REFUSES(0, 11, 9, WEIR_NEVER), TAKES(100, 10, 0)};

    holds(rows_wrong_for(log_rule(10, 100), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_charge_leaves_exactly_when_the_window_has_passed)
{
    static const struct row rows[] = {TAKES(0, 1, 0), REFUSES(9, 1, 0, 1), TAKES(10, 1, 0)};

    holds(rows_wrong_for(log_rule(1, 10), ENDLESS, ROWS(rows)));
}

Test(arithmetic, calls_with_the_same_stamp_all_count)
{
    static const struct row rows[] = {
        TAKES(500, 1, 2),
        TAKES(500, 1, 1),
        TAKES(500, 1, 0),
        REFUSES(500, 1, 0, 1000),
        REFUSES(500, 1, 0, 1000),
        REFUSES(1499, 3, 0, 1), /* all three are there until the last instant ... */
        TAKES(1500, 3, 0),      /* ... and gone at once */
    };
    holds(rows_wrong_for(log_rule(3, 1000), ENDLESS, ROWS(rows)));
}

Test(arithmetic, retrying_does_not_make_the_wait_grow)
{
    static const struct row rows[] = {
        TAKES(0, 1, 0),      REFUSES(1, 1, 0, 9), REFUSES(2, 1, 0, 8), REFUSES(3, 1, 0, 7),
        REFUSES(4, 1, 0, 6), REFUSES(5, 1, 0, 5), REFUSES(6, 1, 0, 4), REFUSES(7, 1, 0, 3),
        REFUSES(8, 1, 0, 2), REFUSES(9, 1, 0, 1), TAKES(10, 1, 0),
    };
    holds(rows_wrong_for(log_rule(1, 10), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_refused_cost_is_not_charged)
{
    static const struct row rows[] = {TAKES(0, 8, 2), REFUSES(0, 5, 2, 60), TAKES(0, 1, 1)};

    holds(rows_wrong_for(log_rule(10, 60), ENDLESS, ROWS(rows)));
}

Test(arithmetic, the_wait_waits_for_as_many_expiries_as_the_cost_needs)
{
    static const struct row rows[] = {
        TAKES(0, 3, 7),
        TAKES(10, 4, 3),
        TAKES(20, 3, 0),
        REFUSES(30, 1, 0, 70),
        REFUSES(30, 5, 0, 80),
        REFUSES(30, 8, 0, 90),
        REFUSES(30, 11, 0, WEIR_NEVER),
    };
    holds(rows_wrong_for(log_rule(10, 100), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_very_old_window_weighs_nothing_rather_than_less_than_nothing)
{
    static const struct row rows[] = {TAKES(0, 10, 0), TAKES(300 * S, 1, 9), TAKES(301 * S, 1, 8)};

    holds(rows_wrong_for(counter_rule(10, 60 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_ring_that_has_slept_wakes_up_once)
{
    static const struct row buckets[] = {
        TAKES(0, 1, 4),        TAKES(3600 * S, 1, 4), TAKES(3601 * S, 1, 3),
        TAKES(3602 * S, 1, 2), TAKES(3603 * S, 1, 1), TAKES(3604 * S, 1, 0),
        REFUSES(3605 * S, 1, 0, 154999999999),
    };
    static const struct row log[] = {
        TAKES(0, 1, 4),        TAKES(3600 * S, 1, 4), TAKES(3601 * S, 1, 3),
        TAKES(3602 * S, 1, 2), TAKES(3603 * S, 1, 1), TAKES(3604 * S, 1, 0),
        REFUSES(3605 * S, 1, 0, 115 * S),
    };
    holds(rows_wrong_for(buckets_rule(5, 120 * S, 3), ENDLESS, ROWS(buckets)));
    holds(rows_wrong_for(log_rule(5, 120 * S), ENDLESS, ROWS(log)));
}

Test(arithmetic, a_clock_that_steps_back_grants_nothing)
{
    static const struct row rows[] = {
        TAKES(100 * S, 1, 2),
        TAKES(89 * S, 1, 1),
        TAKES(90 * S, 1, 0),
        REFUSES(91 * S, 1, 0, 69 * S),
        REFUSES(160 * S - 1, 1, 0, 1),
        TAKES(160 * S, 1, 2),
    };
    holds(rows_wrong_for(log_rule(3, 60 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_stamp_far_in_the_future_holds_back_its_own_key_alone_and_reset_keeps_its_time)
{
    const uint64_t far = UINT64_C(1) << 62;
    const struct row rows[] = {
        TAKES(far, 1, 0),
        REFUSES(5, 1, 0, far + 10 - 5),
        TAKES_FOR("other", 5, 1, 0),
        REFUSES_FOR("other", 14, 1, 0, 1),
        RESETS,
        TAKES(5, 1, 0),
        REFUSES(5, 1, 0, far + 10 - 5),
    };
    holds(rows_wrong_for(log_rule(1, 10), ENDLESS, ROWS(rows)));
}

static uint64_t hundred_seconds(void *argument)
{
    (void)argument;
    return 100 * S;
}

Test(arithmetic, on_a_limiter_with_a_clock_a_stamp_in_the_future_drops_no_neighbour)
{
    weir_rule rule = log_rule(1, 60 * S);
    weir_options options = weir_options_default();
    static const struct row rows[] = {
        TAKES_FOR("neighbour", 100 * S, 1, 0),
        TAKES_FOR("future", 1000000 * S, 1, 0),
        SWEEPS(1000000 * S),
        REFUSES_FOR("neighbour", 100 * S, 1, 0, 60 * S),
    };
    weir *limiter;

    options.clock = WEIR_CLOCK_CUSTOM;
    options.clock_read = hundred_seconds;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    holds(rows_wrong(limiter, ROWS(rows)));
    weir_close(limiter);
}

Test(arithmetic, a_late_stamp_does_not_unsort_the_log)
{
    static const struct row rows[] = {
        TAKES(101, 1, 9), TAKES(100, 1, 8), WOULD_TAKE(110, 1, 8), TAKES(110, 1, 7), TAKES(111, 1, 8)};

    holds(rows_wrong_for(log_rule(10, 10), ENDLESS, ROWS(rows)));
}

Test(arithmetic, expiry_does_not_need_a_call_at_the_exact_instant)
{
    static const struct row rows[] = {TAKES(0, 1, 1), TAKES(1, 1, 0), TAKES(25, 1, 1)};

    holds(rows_wrong_for(log_rule(2, 10), ENDLESS, ROWS(rows)));
}

Test(arithmetic, parts_of_a_second_are_time_too)
{
    static const struct row rows[] = {
        TAKES(900000000, 1, 0), REFUSES(1100000000, 1, 0, 1800000000), TAKES(2900000000, 1, 0)};

    holds(rows_wrong_for(log_rule(1, 2 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, limits_and_costs_of_33_bits_are_whole)
{
    const uint64_t limit = (UINT64_C(1) << 32) + 1;
    const struct row counter[] = {TAKES(0, limit - 1, 1), REFUSES(0, 2, 1, 101), TAKES(0, 1, 0)};
    const struct row buckets[] = {TAKES(0, limit - 1, 1), REFUSES(0, 2, 1, 109), TAKES(0, 1, 0)};
    weir_rule log = log_rule(limit, 100);
    weir *limiter;

    holds(rows_wrong_for(counter_rule(limit, 100), ENDLESS, ROWS(counter)));
    holds(rows_wrong_for(buckets_rule(limit, 100, 10), ENDLESS, ROWS(buckets)));
    cr_assert_eq(weir_open(&limiter, &log, 1, NULL), -EINVAL);
}

Test(arithmetic, a_counters_wait_is_shorter_than_the_rest_of_the_window)
{
    static const struct row rows[] = {
        TAKES(30 * S, 60, 0),          TAKES(72 * S, 12, 0), REFUSES(72 * S, 1, 0, S),
        REFUSES(73 * S - 1, 1, 0, 1), TAKES(73 * S, 1, 0),
    };
    holds(rows_wrong_for(counter_rule(60, 60 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_counters_remaining_regards_the_window_before)
{
    static const struct row rows[] = {
        TAKES(50, 50, 50), TAKES(110, 10, 45), REFUSES(110, 46, 45, 2), TAKES(110, 45, 0)};

    holds(rows_wrong_for(counter_rule(100, 100), ENDLESS, ROWS(rows)));
}

Test(arithmetic, peek_says_what_take_then_does)
{
    static const struct row rows[] = {
        WOULD_TAKE(0, 1, 2), TAKES(0, 1, 1), TAKES(S, 1, 0), WOULD_REFUSE(S, 1, 0, 59 * S), REFUSES(S, 1, 0, 59 * S)};

    holds(rows_wrong_for(log_rule(2, 60 * S), ENDLESS, ROWS(rows)));
}

Test(arithmetic, a_key_at_the_end_of_its_window_has_no_negative_wait)
{
    static const struct row rows[] = {TAKES(7, 1, 0), WOULD_TAKE(17, 1, 1), TAKES(17, 1, 0), REFUSES(17, 1, 0, 10)};

    holds(rows_wrong_for(log_rule(1, 10), ENDLESS, ROWS(rows)));
    holds(rows_wrong_for(log_rule(1, 10), 0, ROWS(rows)));
}

Test(arithmetic, a_cost_of_0_is_answered_and_never_stored)
{
    static const struct row rows[] = {TAKES(0, 0, 1), TAKES(0, 1, 0), TAKES(1, 0, 0), REFUSES(1, 1, 0, 9)};

    holds(rows_wrong_for(log_rule(1, 10), ENDLESS, ROWS(rows)));
}

Test(arithmetic, limits_and_windows_out_of_range_are_errors_and_the_largest_are_not)
{
    const weir_rule bad[] = {log_rule(0, 10),
                             log_rule(1, 0),
                             log_rule(1, WEIR_WINDOW_MAX + 1),
                             counter_rule(LIMIT_63 + 1, 10),
                             buckets_rule(LIMIT_63 + 1, 10, 1)};
    const uint64_t zero = 0;
    const uint64_t beyond = LIMIT_63 + 1;
    weir *limiter;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(weir_open(&limiter, &bad[i], 1, NULL), -EINVAL, "rule %zu", i);
    weir_rule largest = counter_rule(LIMIT_63, WEIR_WINDOW_MAX);
    limiter = manual_limiter(&largest, 1, ENDLESS, NULL);
    cr_assert_not_null(limiter);
    cr_assert_eq(weir_set_limits(limiter, 0, &zero, 1), -EINVAL);
    cr_assert_eq(weir_set_limits(limiter, 0, &beyond, 1), -EINVAL);
    static const struct row rows[] = {TAKES(0, LIMIT_63, 0), REFUSES(1, 1, 0, WEIR_WINDOW_MAX)};
    holds(rows_wrong(limiter, ROWS(rows)));
    weir_close(limiter);
}

Test(arithmetic, a_lowered_limit_is_a_debt_and_a_raised_one_is_quota_in_every_algorithm)
{
    static const struct row log[] = {
        TAKES(0, 5, 0),       LIMIT(3), REFUSES(10, 1, 0, 90), REFUSES(10, 0, 0, 90),
        LIMIT(8),             WOULD_TAKE(10, 1, 3), TAKES(10, 3, 0),
    };
    static const struct row counter[] = {
        TAKES(0, 5, 0),       LIMIT(3), REFUSES(10, 1, 0, 150), REFUSES(10, 0, 0, 130),
        LIMIT(8),             WOULD_TAKE(10, 1, 3), TAKES(10, 3, 0),
    };
    static const struct row buckets[] = {
        TAKES(0, 5, 0),       LIMIT(3), REFUSES(10, 1, 0, 99), REFUSES(10, 0, 0, 99),
        LIMIT(8),             WOULD_TAKE(10, 1, 3), TAKES(10, 3, 0),
    };
    holds(rows_wrong_for(log_rule(5, 100), ENDLESS, ROWS(log)));
    holds(rows_wrong_for(counter_rule(5, 100), ENDLESS, ROWS(counter)));
    holds(rows_wrong_for(buckets_rule(5, 100, 10), ENDLESS, ROWS(buckets)));
}

Test(arithmetic, every_algorithm_charges_the_cost)
{
    static const struct row log[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 60)};
    static const struct row counter[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 75)};
    static const struct row buckets[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 69)};

    holds(rows_wrong_for(log_rule(10, 60), ENDLESS, ROWS(log)));
    holds(rows_wrong_for(counter_rule(10, 60), ENDLESS, ROWS(counter)));
    holds(rows_wrong_for(buckets_rule(10, 60, 6), ENDLESS, ROWS(buckets)));
}
