/*
 * Several rules together, and the known cases of the contract.
 *
 * SPDX-License-Identifier: MIT
 */
#include "window_states.h"

#define LOG(limit_, window_)                                                                                           \
    {                                                                                                                  \
        .algorithm = WEIR_LOG, .limit = (limit_), .window_ns = (window_), .meter = WEIR_PER_COST                       \
    }
#define COUNTER(limit_, window_)                                                                                       \
    {                                                                                                                  \
        .algorithm = WEIR_COUNTER, .limit = (limit_), .window_ns = (window_), .meter = WEIR_PER_COST                   \
    }
#define BUCKETS(limit_, window_, buckets_)                                                                             \
    {                                                                                                                  \
        .algorithm = WEIR_BUCKETS, .limit = (limit_), .window_ns = (window_), .meter = WEIR_PER_COST,                  \
        .buckets = (buckets_)                                                                                          \
    }

/* One call and its answer: verdict, remaining, retry. */
typedef struct row {
    uint64_t now;
    uint64_t cost;
    int verdict;
    uint64_t remaining;
    uint64_t retry;
} row;

static void check_rows(weir_rule rule, const row *rows, size_t count)
{
    key_states key;
    key_open(&key, &rule, 1);
    for (size_t i = 0; i < count; i++) {
        weir_decision peek = key_peek(&key, rows[i].now, rows[i].cost);
        EQUALS(peek.verdict, rows[i].verdict, "peek %zu", i);
        EQUALS(peek.retry_after_ns, rows[i].retry, "peek %zu", i);
        weir_decision take = key_take(&key, rows[i].now, rows[i].cost);
        EQUALS(take.verdict, rows[i].verdict, "row %zu", i);
        EQUALS(take.remaining, rows[i].remaining, "row %zu", i);
        EQUALS(take.retry_after_ns, rows[i].retry, "row %zu", i);
        EQUALS(take.limit, rule.limit, "row %zu", i);
    }
    key_close(&key);
}

#define CHECK_ROWS(rule, ...)                                                                                          \
    do {                                                                                                               \
        const row rows[] = {__VA_ARGS__};                                                                              \
        check_rows((weir_rule)rule, rows, sizeof rows / sizeof *rows);                                                 \
    } while (0)

Test(window_decide, a_charge_fits_up_to_the_limit_and_sums_beyond_64_bits_do_not_matter)
{
    cr_assert(weiri_fits(0, 5, 5));
    cr_assert(weiri_fits(5, 5, 0));
    cr_assert(weiri_fits(2, 5, 3));
    cr_assert(!weiri_fits(3, 5, 3));
    cr_assert(!weiri_fits(6, 5, 0));
    cr_assert(!weiri_fits(0, 5, 6));
    cr_assert(!weiri_fits(0, 5, UINT64_MAX));
    cr_assert(!weiri_fits(UINT64_MAX, 5, UINT64_MAX));
    cr_assert(!weiri_fits(UINT64_MAX, INT64_MAX, 1));
    cr_assert(weiri_fits(0, UINT64_MAX, UINT64_MAX));
}

Test(window_decide, sums_that_pass_the_largest_limit_are_refused)
{
    CHECK_ROWS(BUCKETS(INT64_MAX, 100, 100), {0, INT64_MAX - 5, 1, 5, 0}, {1, 100, 0, 5, 99}, {1, 5, 1, 0, 0});
    CHECK_ROWS(COUNTER(INT64_MAX, WEIR_WINDOW_MAX), {0, INT64_MAX - 5, 1, 5, 0}, {1, 5, 1, 0, 0},
               {2, UINT64_MAX, 0, 0, WEIR_NEVER});
    CHECK_ROWS(COUNTER(4294967297, 100), {0, 4294967296, 1, 1, 0}, {0, 2, 0, 1, 101}, {0, 1, 1, 0, 0});
    CHECK_ROWS(BUCKETS(4294967297, 100, 1), {0, 4294967296, 1, 1, 0}, {0, 2, 0, 1, 199}, {0, 1, 1, 0, 0});
}

Test(window_decide, a_cost_above_the_limit_never_opens)
{
    CHECK_ROWS(LOG(10, 60), {0, 5, 1, 5, 0}, {1, 100, 0, 5, WEIR_NEVER}, {1, 5, 1, 0, 0});
    CHECK_ROWS(LOG(10, 100), {0, 1, 1, 9, 0}, {0, 10, 0, 9, 100}, {0, 11, 0, 9, WEIR_NEVER}, {100, 10, 1, 0, 0});
}

Test(window_decide, a_wait_is_told_to_the_instant_and_is_never_zero)
{
    CHECK_ROWS(LOG(1, 10), {0, 1, 1, 0, 0}, {9, 1, 0, 0, 1}, {10, 1, 1, 0, 0});
    CHECK_ROWS(LOG(3, 1000), {500, 1, 1, 2, 0}, {500, 1, 1, 1, 0}, {500, 1, 1, 0, 0}, {500, 1, 0, 0, 1000});
    CHECK_ROWS(LOG(10, 60), {0, 8, 1, 2, 0}, {0, 5, 0, 2, 60}, {0, 1, 1, 1, 0});
}

Test(window_decide, a_late_call_is_decided_at_the_newest_stamp_and_waits_in_its_own_time)
{
    CHECK_ROWS(LOG(3, 60), {100, 1, 1, 2, 0}, {89, 1, 1, 1, 0}, {90, 1, 1, 0, 0}, {91, 1, 0, 0, 69});
}

Test(window_decide, cost_zero_records_nothing_and_is_refused_only_in_debt)
{
    CHECK_ROWS(LOG(1, 10), {0, 0, 1, 1, 0}, {0, 1, 1, 0, 0}, {1, 0, 1, 0, 0}, {1, 1, 0, 0, 9});
    key_states key;
    key_open(&key, (weir_rule[]){LOG(5, 100), COUNTER(5, 100), BUCKETS(5, 100, 10)}, 3);
    weiri_call call = key_call(&key, 7, 0);
    weiri_views views;
    weiri_decide(&key.rules, key.states, &call, &views);
    cr_assert(views.accepted && !views.records);
    key_take(&key, 7, 0);
    for (size_t i = 0; i < key.rules.states_size; i++)
        cr_assert(((const char *)key.states)[i] == 0);
    key_close(&key);
}

Test(window_decide, a_lowered_limit_leaves_debt_in_every_algorithm)
{
    const weir_rule rules[] = {LOG(5, 100), COUNTER(5, 100), BUCKETS(5, 100, 10)};
    const uint64_t waits[][2] = {{90, 90}, {150, 130}, {99, 99}}; /* of cost 1, of cost 0 */
    for (size_t i = 0; i < 3; i++) {
        key_states key;
        key_open(&key, &rules[i], 1);
        for (int charge = 0; charge < 5; charge++)
            key_take(&key, 0, 1);
        key.limits[0] = 3;
        for (uint64_t cost = 0; cost < 2; cost++) {
            weir_decision refused = key_take(&key, 10, cost);
            EQUALS(refused.verdict, 0);
            EQUALS(refused.limit, 3);
            EQUALS(refused.remaining, 0);
            EQUALS(refused.retry_after_ns, waits[i][1 - cost]);
        }
        key.limits[0] = 8;
        EQUALS(key_peek(&key, 10, 1).remaining, 3);
        key_close(&key);
    }
}

Test(window_decide, the_refusing_rule_that_opens_last_is_named_and_of_equals_the_first)
{
    key_states key;
    key_open(&key, (weir_rule[]){LOG(2, 50), LOG(2, 100), BUCKETS(2, 100, 100), LOG(9, 500)}, 4);
    key_take(&key, 0, 2);
    weir_decision refused = key_take(&key, 10, 1);
    EQUALS(refused.verdict, 0);
    EQUALS(refused.rule, 1);
    EQUALS(refused.retry_after_ns, 90);
    EQUALS(refused.release_after_ns, 90);
    refused = key_take(&key, 10, 9);
    EQUALS(refused.rule, 0); /* never, as the next two: 9 is above their limits */
    EQUALS(refused.retry_after_ns, WEIR_NEVER);
    EQUALS(refused.release_after_ns, 40);
    key.limits[0] = 9;
    EQUALS(key_take(&key, 10, 9).rule, 1);
    key_close(&key);
}

Test(window_decide, the_accepting_rule_with_least_left_is_named_and_of_equals_the_first)
{
    key_states key;
    key_open(&key, (weir_rule[]){COUNTER(9, 100), LOG(5, 50), BUCKETS(5, 100, 100)}, 3);
    weir_decision peek = key_peek(&key, 3, 2);
    EQUALS(peek.rule, 1);
    EQUALS(peek.remaining, 5);
    EQUALS(peek.release_after_ns, 0);
    weir_decision take = key_take(&key, 3, 2);
    EQUALS(take.rule, 1);
    EQUALS(take.remaining, 3);
    EQUALS(take.release_after_ns, 50);
    key_close(&key);
}

Test(window_decide, a_peek_names_the_rule_that_the_take_will_leave_with_least)
{
    weir_rule rules[] = {LOG(10, 50), LOG(12, 50)};
    rules[0].meter = WEIR_PER_REQUEST;
    key_states key;
    key_open(&key, rules, 2);
    weir_decision peek = key_peek(&key, 0, 8); /* left after it: 9 and 4 */
    EQUALS(peek.rule, 1);
    EQUALS(peek.remaining, 12);
    EQUALS(key_take(&key, 0, 8).remaining, 4);
    key_close(&key);
}

Test(window_decide, a_refusal_by_one_rule_records_nothing_in_any)
{
    key_states key;
    key_open(&key, (weir_rule[]){COUNTER(100, 60), LOG(10, 60), BUCKETS(50, 60, 6)}, 3);
    EQUALS(key_take(&key, 0, 11).verdict, 0);
    EQUALS(weiri_expires(&key.rules, key.states), 0);
    EQUALS(key_peek(&key, 0, 1).remaining, 10);
    key_close(&key);
}

Test(window_decide, the_late_flag_tells_that_the_floor_decided)
{
    key_states key;
    key_open(&key, (weir_rule[]){LOG(5, 100)}, 1);
    key.floor = 50;
    weir_decision late = key_take(&key, 49, 1);
    EQUALS(late.flags, WEIR_LATE);
    EQUALS(late.release_after_ns, 101);
    EQUALS(key_take(&key, 50, 1).flags, 0);
    EQUALS(key_take(&key, 49, 1).flags, 0); /* the key's own time is 50 by now */
    key_close(&key);
}

Test(window_decide, heads_stand_together_so_that_a_short_block_of_zeros_is_nothing_charged)
{
    key_states key;
    key_open(&key,
             (weir_rule[]){BUCKETS(5, 10000, 5000), BUCKETS(6, 10000, 3000), LOG(7, 10), COUNTER(8, 10),
                           BUCKETS(9, 10000, 1)},
             5);
    for (unsigned i = 0; i < 5; i++) {
        EQUALS(key.rules.rule[i].offset % 8, 0);
        cr_assert(key.rules.rule[i].offset + 64 <= WEIRI_STATES_HEAD);
    }
    EQUALS(key.rules.states_size, 3 * sizeof(weiri_buckets) + sizeof(weiri_log) + weiri_log_home_size() +
                                      sizeof(weiri_counter) + (5001 + 3001 + 2) * sizeof(uint64_t));
    void *head = calloc(1, WEIRI_STATES_HEAD); /* exactly: a read beyond it is seen by the address sanitizer */
    void *states = key.states;
    key.states = head;
    for (uint64_t cost = 0; cost < 10; cost++) {
        weir_decision peek = key_peek(&key, 123456, cost);
        EQUALS(peek.verdict, cost <= 5);
        EQUALS(peek.release_after_ns, 0);
    }
    EQUALS(weiri_expires(&key.rules, head), 0);
    key.states = states;
    key_take(&key, 9999, 3);
    key_take(&key, 5000, 2);
    EQUALS(key_take(&key, 9999, 1).retry_after_ns, 10000); /* bucket 9998 ... 9999 of width 2 leaves at 19999 */
    free(head);
    key_close(&key);
}

Test(window_decide, a_size_that_memory_does_not_have_saturates)
{
    weir_rule vast = BUCKETS(1, WEIR_WINDOW_MAX, WEIR_WINDOW_MAX);
    weir_rule half = BUCKETS(1, WEIR_WINDOW_MAX, (UINT64_C(1) << 61) - 100);
    weiri_rules rules = {.count = 2, .rule = {weiri_rule_make(&half, 1), weiri_rule_make(&half, 1)}};
    weiri_rules_layout(&rules);
    EQUALS(rules.states_size, SIZE_MAX);
    rules.count = 1;
    weiri_rules_layout(&rules);
    EQUALS(rules.states_size, sizeof(weiri_buckets) + ((UINT64_C(1) << 61) - 99) * 8);
    rules.rule[0] = weiri_rule_make(&vast, 1);
    weiri_rules_layout(&rules);
    EQUALS(rules.states_size, SIZE_MAX);
}

Test(window_decide, expiry_is_that_of_the_rule_that_remembers_longest)
{
    key_states key;
    key_open(&key, (weir_rule[]){LOG(5, 70), COUNTER(5, 50), BUCKETS(5, 60, 6)}, 3);
    EQUALS(weiri_expires(&key.rules, key.states), 0);
    key_take(&key, 0, 1);
    EQUALS(weiri_expires(&key.rules, key.states), 100);
    key_take(&key, 49, 1);
    EQUALS(weiri_expires(&key.rules, key.states), 119);
    weiri_clear(&key.rules, key.states);
    EQUALS(weiri_expires(&key.rules, key.states), 119);
    EQUALS(key_peek(&key, 0, 1).remaining, 5);
    key_close(&key);
}
