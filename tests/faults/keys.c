/*
 * Faults that other limiters have had with keys, several limits, sweeps and memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/rows.h"

#define S       WEIR_SECOND
#define MANY    100000
#define ENDLESS UINT64_MAX

static void holds(const char *wrong)
{
    cr_assert_null(wrong, "%s", wrong);
}

static weir_statistics stats_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};

    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    return statistics;
}

Test(keys, a_sweep_drops_a_log_at_the_end_of_its_window_and_no_sooner)
{
    static const struct row rows[] = {
        TAKES(0, 1, 0), SWEEPS(7200 * S - 1), REFUSES(7200 * S - 1, 1, 0, 1), SWEEPS(7200 * S), TAKES(7200 * S, 1, 0)};

    holds(rows_wrong_for(log_rule(1, 7200 * S), 0, ROWS(rows)));
}

Test(keys, a_sweep_keeps_a_counter_for_two_windows)
{
    static const struct row rows[] = {
        TAKES(0, 1, 0),
        SWEEPS(7200 * S),
        REFUSES(7200 * S, 1, 0, 7200 * S),
        SWEEPS(14400 * S - 1),
        REFUSES(14400 * S - 1, 1, 0, 1),
        SWEEPS(14400 * S),
        TAKES(14400 * S, 1, 0),
    };
    holds(rows_wrong_for(counter_rule(1, 7200 * S), 0, ROWS(rows)));
}

Test(keys, a_sweep_keeps_buckets_until_the_trailing_one_has_left)
{
    static const struct row rows[] = {
        TAKES(0, 1, 0), SWEEPS(108), REFUSES(108, 1, 0, 1), SWEEPS(109), TAKES(109, 1, 0)};

    holds(rows_wrong_for(buckets_rule(1, 100, 10), 0, ROWS(rows)));
}

Test(keys, a_sweep_at_the_instant_of_the_first_charge_keeps_it)
{
    static const struct row rows[] = {TAKES(5, 1, 0), SWEEPS(5), REFUSES(5, 1, 0, 10)};
    static const struct row counter[] = {TAKES(5, 1, 0), SWEEPS(5), REFUSES(5, 1, 0, 15)};
    static const struct row buckets[] = {TAKES(5, 1, 0), SWEEPS(5), REFUSES(5, 1, 0, 10)};

    holds(rows_wrong_for(log_rule(1, 10), 0, ROWS(rows)));
    holds(rows_wrong_for(counter_rule(1, 10), 0, ROWS(counter)));
    holds(rows_wrong_for(buckets_rule(1, 10, 10), 0, ROWS(buckets)));
}

/* MANY keys come, expire and are swept, ten times: nothing stays, and the table costs what it may. */
static void no_key_leaks(weir_rule rule, uint64_t many)
{
    test_allocator memory = {0};
    weir_allocator callbacks = test_allocator_for(&memory);
    weir *limiter = manual_limiter(&rule, 1, S, &callbacks);

    cr_assert_not_null(limiter);
    for (uint64_t round = 0; round < 10; round++) {
        uint64_t now = round * 100 * S;

        for (uint64_t i = 0; i < many; i++) {
            weir_request request = weir_request_for(&i, sizeof i);

            cr_assert_eq(weir_take(limiter, &request, now, NULL), 1);
        }
        cr_assert_eq(stats_of(limiter).keys, many);
        cr_assert_eq(weir_sweep(limiter, now + 30 * S, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        cr_assert_eq(stats_of(limiter).swept, many * (round + 1));
        cr_assert_eq(weir_reclaim(limiter), 0);
        cr_assert_eq(stats_of(limiter).retired_bytes, 0);
        cr_assert_eq(stats_of(limiter).bytes, memory.bytes);
        cr_assert_leq(memory.bytes, 64 * 1024 + 6 * many, "round %" PRIu64 ": %" PRIu64 " bytes", round,
                      (uint64_t)memory.bytes);
    }
    cr_assert_eq(weir_close(limiter), 0);
    cr_assert_eq(memory.blocks, 0);
    cr_assert_eq(memory.faults, 0);
}

Test(keys, idle_keys_of_a_counter_leave_nothing_after_ten_rounds)
{
    no_key_leaks(counter_rule(10, 10 * S), MANY);
}

Test(keys, idle_keys_of_a_log_leave_nothing_after_ten_rounds)
{
    no_key_leaks(log_rule(10, 10 * S), MANY / 5);
}

Test(keys, refused_calls_peeks_and_costs_of_0_leave_no_entry)
{
    const weir_rule rules[] = {log_rule(10, 10 * S), counter_rule(10, 10 * S), buckets_rule(10, 10 * S, 5)};

    for (size_t i = 0; i < 3; i++) {
        test_allocator memory = {0};
        weir_allocator callbacks = test_allocator_for(&memory);
        weir *limiter = manual_limiter(&rules[i], 1, S, &callbacks);
        uint64_t calls = memory.calls;

        for (uint64_t key = 0; key < 10000; key++) {
            weir_request request = weir_request_for(&key, sizeof key);

            request.cost = 11;
            cr_assert_eq(weir_take(limiter, &request, key, NULL), 0);
            cr_assert_eq(weir_peek(limiter, &request, key, NULL), 0);
            request.cost = 0;
            cr_assert_eq(weir_take(limiter, &request, key, NULL), 1);
            request.cost = 1;
            cr_assert_eq(weir_peek(limiter, &request, key, NULL), 1);
            cr_assert_eq(weir_reset(limiter, &request), 0);
        }
        cr_assert_eq(stats_of(limiter).keys, 0);
        cr_assert_eq(memory.calls, calls);
        weir_close(limiter);
    }
}

Test(keys, parts_of_a_key_do_not_run_together)
{
    static const char keys[][6] = {"a_b\0c", "a\0b_c", "ab\0c", "a\0bc"};
    static const size_t lengths[] = {5, 5, 4, 4};
    const weir_rule rules[] = {log_rule(1, 10), counter_rule(1, 10), buckets_rule(1, 10, 2)};

    for (size_t i = 0; i < 3; i++) {
        weir *limiter = manual_limiter(&rules[i], 1, ENDLESS, NULL);

        for (int round = 0; round < 2; round++)
            for (size_t k = 0; k < 4; k++) {
                weir_request request = weir_request_for(keys[k], lengths[k]);

                cr_assert_eq(weir_take(limiter, &request, 0, NULL), round == 0, "key %zu", k);
            }
        weir_close(limiter);
    }
}

Test(keys, keys_are_told_apart_by_their_length_and_every_byte)
{
    static const size_t lengths[] = {1, 2, 14, 15, 16, 17, 4096, WEIR_KEY_MAX};
    static unsigned char bytes[WEIR_KEY_MAX];
    weir_rule rule = log_rule(1, 10);
    weir *limiter = manual_limiter(&rule, 1, ENDLESS, NULL);
    uint64_t keys = 0;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t places[] = {0, lengths[i] / 2, lengths[i] - 1};

        /* All zero; then one byte changed, at the start, in the middle, at the end. */
        weir_request request = weir_request_for(bytes, lengths[i]);
        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 0);
        keys++;
        for (size_t p = 0; p < 3; p++) {
            bytes[places[p]] = (unsigned char)(p + 1);
            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1, "length %zu, place %zu", lengths[i], p);
            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 0);
            bytes[places[p]] = 0;
            keys++;
        }
    }
    cr_assert_eq(stats_of(limiter).keys, keys);
    weir_close(limiter);
}

Test(keys, two_rules_on_one_client_count_apart)
{
    weir_rule rules[] = {log_rule(1000, 60 * S), log_rule(10, 60 * S)};
    weir *limiter = manual_limiter(rules, 2, ENDLESS, NULL);
    weir_request request = weir_request_for("client", 6);
    int accepted = 0;

    for (int i = 0; i < 20; i++)
        accepted += weir_take(limiter, &request, 0, NULL);
    cr_assert_eq(accepted, 10);
    weir_close(limiter);
}

Test(keys, each_rule_moves_its_own_window)
{
    weir_rule rules[] = {log_rule(100, 60 * S), log_rule(186, 60 * S)};
    weir_request request = weir_request_for("client", 6);
    weir_decision decision;
    weir *limiter;

    rules[0].meter = WEIR_PER_REQUEST;
    limiter = manual_limiter(rules, 2, ENDLESS, NULL);
    request.cost = 31;
    for (uint64_t i = 0; i < 30; i++) {
        cr_assert_eq(weir_take(limiter, &request, i * 10 * S, &decision), 1, "call %" PRIu64, i);
        cr_assert_eq(decision.rule, i < 3 ? (i == 0 ? 0U : i == 1 ? 0U : 1U) : 1U);
        if (i >= 5)
            cr_assert_eq(decision.remaining, 0);
    }
    weir_close(limiter);
}

Test(keys, inserting_expiring_sweeping_and_closing_leaves_no_memory)
{
    const weir_rule rules[] = {log_rule(10, 10), counter_rule(10, 10), buckets_rule(10, 10, 5)};

    for (size_t i = 0; i < 3; i++) {
        test_allocator memory = {0};
        weir_allocator callbacks = test_allocator_for(&memory);
        weir *limiter = manual_limiter(&rules[i], 1, 0, &callbacks);

        for (uint64_t key = 0; key < 1000; key++) {
            weir_request request = weir_request_for(&key, sizeof key);

            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        }
        cr_assert_eq(weir_sweep(limiter, 100, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        /* What the sweep retired is still held: close waits for it. */
        cr_assert_gt(stats_of(limiter).retired_bytes, 0);
        cr_assert_eq(weir_close(limiter), 0);
        cr_assert_eq(memory.blocks, 0);
        cr_assert_eq(memory.faults, 0);
    }
}
