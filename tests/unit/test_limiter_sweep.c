/*
 * Sweeping, looked into: which segments and nodes a sweep touches, and what it leaves in their place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sweep_bench.h"

#include <errno.h>
#include <sched.h>

enum { KEYS = 400 };

static weir_identity number(const weir *limiter, uint64_t i)
{
    weir_identity identity;
    cr_assert_eq(weir_identify(limiter, &i, sizeof i, &identity), 0);
    return identity;
}

static void fill(weir *limiter, uint64_t now)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        weir_identity key = number(limiter, i);
        cr_assert_eq(take(limiter, &key, 5, now), 1);
    }
}

Test(sweep, in_bounded_steps_comes_to_each_segment_once_a_round)
{
    for (size_t which = 0; which < RULES; which++) {
        struct bench bench;
        weir *limiter = bench_open(&bench, &rules[which], 1, 0);
        fill(limiter, 0);

        for (unsigned round = 0; round < 3; round++) {
            uint64_t hash = 0, segments = 0;
            do { /* nothing has expired: the segments stay as they are */
                weiri_segment *segment = weiri_table_settled(&limiter->table, hash);
                hash = weiri_segment_end(segment);
                cr_assert_eq(weir_sweep(limiter, 5, 1), hash == 0);
                cr_assert_eq(weiri_load_acquire_64(&limiter->sweep_at), hash);
                segments++;
            } while (hash != 0);
            cr_assert_eq(segments, weiri_load_relaxed_64(&limiter->table.directory.segments));
            cr_assert_eq(stats_of(limiter).keys, KEYS);
        }
        cr_assert_eq(weir_sweep(limiter, 5, 1), 0);
        uint64_t at = weiri_load_acquire_64(&limiter->sweep_at);
        cr_assert_eq(weir_sweep(limiter, 5, 0), 1); /* a whole one leaves the bounded one where it was */
        cr_assert_eq(weiri_load_acquire_64(&limiter->sweep_at), at);
        bench_close(&bench);
    }
}

Test(sweep, in_bounded_steps_drops_each_expired_key_and_leaves_bare_headers)
{
    for (size_t which = 0; which < RULES; which++) {
        struct bench bench;
        weir *limiter = bench_open(&bench, &rules[which], 1, 0);
        fill(limiter, 0);

        uint64_t hash = 0, left = KEYS;
        while (left > 0) {
            weiri_segment *segment = weiri_table_settled(&limiter->table, hash);
            weiri_census census = weiri_segment_census(&limiter->table, segment, 0);
            uint64_t end = weiri_segment_end(segment);
            weir_sweep(limiter, 50, 1);
            left -= census.claimed;
            cr_assert_eq(stats_of(limiter).keys, left);
            weiri_segment *now = weiri_directory_find(&limiter->table.directory, hash);
            cr_assert_eq(now->capacity, 0);
            cr_assert_eq(now->floor, 50);
            hash = end;
        }
        cr_assert_eq(stats_of(limiter).swept, KEYS);
        cr_assert_eq(weir_reclaim(limiter), 0);
        bench_close(&bench);
    }
}

/* A new node that one rule alone charges: what the other had recorded was dropped, and stays so for late calls. */
Test(sweep, a_rule_that_a_new_node_does_not_charge_knows_when_its_charges_were_dropped)
{
    static const weir_rule two[] = {
        {.limit = 100, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST},
        {.limit = 5, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    };
    struct bench bench;
    weir *limiter = bench_open(&bench, two, 2, 0);
    weir_identity key = key_at(limiter, 0, 1, 1);
    weir_request request = request_for(&key, 5);
    weir_decision decision;

    cr_assert_eq(take(limiter, &key, 5, 0), 1);
    weiri_rcu_enter();
    cr_assert(weiri_sweep_nodes(limiter, segment_of(limiter, &key), 50, false, false));
    weiri_rcu_leave();
    state_is(limiter, &key, WEIRI_FRESH, 50); /* the segment's own floor is still 0 */
    cr_assert_eq(take(limiter, &key, 0, 60), 1);
    cr_assert_eq(weir_take(limiter, &request, 5, &decision), 1); /* the charge at 0 would refuse it, were it there */
    cr_assert_eq(decision.flags, WEIR_LATE);
    cr_assert_eq(take(limiter, &key, 5, 59), 0); /* it bears the time of the drop */
    cr_assert_eq(take(limiter, &key, 5, 60), 1);
    bench_close(&bench);
}

Test(sweep, drops_nothing_before_max_lateness_has_passed_nor_near_time_zero)
{
    enum { LATENESS = 1000 };
    for (size_t which = 0; which < RULES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, LATENESS); /* charged at 0, in no window from 3 * WINDOW on */
        for (uint64_t now = 0; now <= LATENESS; now += 10)
            cr_assert_eq(weir_sweep(limiter, now, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 1);
        cr_assert_eq(weir_sweep(limiter, LATENESS + 3 * WINDOW, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        bench_close(&bench);
    }
}

/* The table is full, and one key has expired: in the new key's segment, far from where the next sweep begins. */
Test(sweep, a_full_table_drops_what_has_expired_in_the_new_keys_own_segment)
{
    for (size_t which = 0; which < RULES; which++) {
        struct bench bench;
        weir *limiter = bench_open(&bench, &rules[which], 1, 40);
        weir_identity expired = key_at(limiter, UINT64_MAX << 32, 1, KEYS);
        weir_identity new = key_at(limiter, UINT64_MAX << 32, 2, KEYS + 1);

        limiter->table.max_keys = KEYS + 1;
        fill(limiter, 45);
        cr_assert_eq(take(limiter, &expired, 5, 5), 1);
        cr_assert_eq(stats_of(limiter).keys, KEYS + 1);
        cr_assert_eq(weiri_load_acquire_64(&limiter->sweep_at), 0);
        cr_assert_gt(segment_of(limiter, &new)->depth, 0);
        cr_assert_eq(take(limiter, &new, 5, 65), 1);
        cr_assert_eq(stats_of(limiter).keys, KEYS + 1);
        cr_assert_eq(stats_of(limiter).swept, 1);
        bench_close(&bench);
    }
}

static uint64_t custom_now;

static uint64_t custom_clock(void *unused)
{
    (void)unused;
    return custom_now;
}

/* The time of a drop is never of a caller's future, and a clock's nonsense is no time. */
Test(sweep, goes_by_the_clock_where_a_caller_is_ahead_of_it)
{
    for (size_t which = 0; which < RULES; which++) {
        weir_options options = weir_options_manual();
        weir *limiter;
        options.clock = WEIR_CLOCK_CUSTOM;
        options.clock_read = custom_clock;
        options.max_lateness_ns = 0;
        custom_now = 0;
        cr_assert_eq(weir_open(&limiter, &rules[which], 1, &options), 0);
        weir_identity key = key_at(limiter, 0, 1, 1);
        cr_assert_eq(take(limiter, &key, 5, WEIR_NOW), 1);

        cr_assert_eq(weir_sweep(limiter, 1000, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 1);
        cr_assert_eq(take(limiter, &key, 5, WEIR_NOW), 0);
        custom_now = WEIR_TIME_MAX + 1;
        cr_assert_eq(take(limiter, &key, 5, WEIR_NOW), -EINVAL);
        cr_assert_eq(weir_now(limiter), WEIR_NOW);
        cr_assert_eq(weir_sweep(limiter, 1000, 0), 1); /* nor may anything be dropped by it */
        cr_assert_eq(stats_of(limiter).keys, 1);
        custom_now = WEIR_TIME_MAX;
        cr_assert_eq(weir_now(limiter), WEIR_TIME_MAX);
        cr_assert_eq(weir_sweep(limiter, 1000, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        weir_close(limiter);
    }
}

Test(sweep, leaves_a_busy_node_and_takes_it_the_next_time)
{
    for (size_t which = 0; which < NODES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, 0);
        weir_identity other = key_at(limiter, 0, 2, 2);
        weiri_node *node = node_of(limiter, &key);

        cr_assert_eq(take(limiter, &other, 5, 0), 1);
        cr_assert(weiri_spinlock_try(&node->lock)); /* somebody decides on it */
        cr_assert_eq(weir_sweep(limiter, 50, 0), 1);
        cr_assert(!node->dead);
        cr_assert_eq(node_of(limiter, &key), node);
        cr_assert_eq(stats_of(limiter).keys, 1); /* the other one went */
        cr_assert(!spot_of(limiter, &other).held);
        weiri_spinlock_unlock(&node->lock);
        cr_assert_eq(weir_sweep(limiter, 50, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        cr_assert_eq(stats_of(limiter).swept, 2);
        cr_assert_eq(weir_reclaim(limiter), 0);
        bench_close(&bench);
    }
}

Test(sweep, touches_no_node_while_the_fork_gate_is_not_open_save_for_a_holder)
{
    struct bench bench;
    weir_identity key;
    weir *limiter = open_one(&bench, 0, &key, 0);
    weiri_segment *segment = segment_of(limiter, &key);
    weiri_node *node = node_of(limiter, &key);

    weiri_store_release_32(&weiri_gate, WEIRI_GATE_CLOSING);
    cr_assert(!weiri_sweep_nodes(limiter, segment, 50, true, false));
    cr_assert(!node->dead);
    cr_assert(weiri_sweep_nodes(limiter, segment, 50, true, true));
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_OPEN);
    state_is(limiter, &key, WEIRI_FRESH, 50);
    bench_close(&bench);
}

/* Opens the gate when the sweep has had time to meet it closed; if it has not, the test shows less, and no failure. */
static void *open_gate(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 2000; i++)
        sched_yield();
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_OPEN);
    return NULL;
}

Test(sweep, that_begins_while_the_fork_gate_is_closed_goes_on_when_it_opens)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &rules[0], 1, 0);
    pthread_t thread;

    fill(limiter, 0);
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_CLOSED);
    cr_assert_eq(pthread_create(&thread, NULL, open_gate, NULL), 0);
    cr_assert_eq(weir_sweep(limiter, 2 * WINDOW, 0), 1);
    cr_assert_eq(stats_of(limiter).keys, 0);
    pthread_join(thread, NULL);
    bench_close(&bench);
}

Test(sweep, gives_back_what_a_log_no_longer_needs)
{
    weir_rule rule = {.limit = 100000, .window_ns = 1000, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    struct bench bench;
    weir *limiter = bench_open(&bench, &rule, 1, 0);
    weir_identity key = key_at(limiter, 0, 1, 1);

    for (unsigned i = 0; i < 5000; i++)
        cr_assert_eq(take(limiter, &key, 1, 0), 1);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(take(limiter, &key, 1, 900), 1);
    weiri_node *node = node_of(limiter, &key);
    cr_assert_geq(stats_of(limiter).bytes, 5000 * 8);
    cr_assert_eq(weir_sweep(limiter, 1000, 0), 1);
    cr_assert_eq(weir_reclaim(limiter), 0);
    cr_assert_lt(stats_of(limiter).bytes, 8192 + sizeof(weir));
    cr_assert_eq(node_of(limiter, &key), node); /* its three live charges stay */
    cr_assert_eq(node->drop, 1000);
    weir_request request = request_for(&key, 1);
    weir_decision decision;
    cr_assert_eq(weir_take(limiter, &request, 1000, &decision), 1);
    cr_assert_eq(decision.remaining, 100000 - 4);
    cr_assert_eq(weir_peek(limiter, &request, 500, &decision), 1);
    cr_assert_eq(decision.remaining, 100000 - 4);
    bench_close(&bench);
}
