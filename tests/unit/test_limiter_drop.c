/*
 * One node that has expired, looked into: who judges it, who takes it out, and what time it leaves in its place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sweep_bench.h"

Test(drop, judges_a_node_by_its_newest_charge)
{
    for (size_t which = 0; which < NODES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, 0);
        weiri_node *node = node_of(limiter, &key);

        cr_assert_eq(take(limiter, &key, 5, 40), 1);
        cr_assert_eq(weir_sweep(limiter, 40 + counts_for[which] - 1, 0), 1);
        cr_assert(!node->dead);
        cr_assert_eq(node_of(limiter, &key), node);
        cr_assert_eq(weir_sweep(limiter, 40 + counts_for[which], 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        bench_close(&bench);
    }
}

/* What a sweep does up to the moment at which the cell still holds the dead node. */
static void sweep_stopped(weir *limiter, weiri_node *node, uint64_t time)
{
    weiri_husks husks;
    weiri_spinlock_lock(&node->lock);
    cr_assert_leq(weiri_expires(&limiter->rules, node->states), time);
    node->dead = true;
    node->drop = time;
    weiri_refusal_clear(node);
    weiri_node_gut(limiter, node, &husks);
    weiri_spinlock_unlock(&node->lock);
    weiri_husks_free(limiter, &husks);
}

static void charge_a_dead_node(bool with_peek)
{
    for (size_t which = 0; which < NODES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, 0);
        weiri_node *dead = node_of(limiter, &key);
        weir_request four = request_for(&key, 4), one = request_for(&key, 1);
        weir_decision decision;
        sweep_stopped(limiter, dead, 95);

        if (with_peek) { /* whoever finds it dead takes it out (N3), a peek too, and charges nothing */
            cr_assert_eq(weir_peek(limiter, &four, 3, &decision), 1);
            cr_assert_eq(decision.flags, WEIR_LATE);
            cr_assert_eq(decision.remaining, 5);
            state_is(limiter, &key, WEIRI_FRESH, 95);
        }
        cr_assert_eq(weir_take(limiter, &four, 3, &decision), 1); /* far too late: decided at 95 */
        cr_assert_eq(decision.flags, WEIR_LATE);
        weiri_node *node = node_of(limiter, &key);
        cr_assert_neq(node, dead);
        cr_assert(!node->dead);
        state_is(limiter, &key, (uintptr_t)node, 105);
        cr_assert_eq(node->drop, 95); /* the drop time goes on with it */
        cr_assert_eq(weir_take(limiter, &one, 95, &decision), 1);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(weir_take(limiter, &one, 95, NULL), 0);
        weiri_node_retire(limiter, dead); /* the sweep goes on and sees that it is out */
        cr_assert_eq(weir_reclaim(limiter), 0);
        cr_assert_eq(weir_take(limiter, &one, 95, NULL), 0);
        bench_close(&bench);
    }
}

Test(drop, a_charge_that_finds_the_node_dead_replaces_it_and_is_kept)
{
    charge_a_dead_node(false);
    charge_a_dead_node(true);
}

Test(drop, a_reset_that_finds_the_node_dead_leaves_its_drop_time)
{
    struct bench bench;
    weir_identity key;
    weir *limiter = open_one(&bench, 0, &key, 0);
    weiri_node *dead = node_of(limiter, &key);
    weir_request request = request_for(&key, 5);
    sweep_stopped(limiter, dead, 95);

    cr_assert_eq(weir_reset(limiter, &request), 0);
    state_is(limiter, &key, WEIRI_FRESH, 95);
    weiri_node_retire(limiter, dead);
    bench_close(&bench);
}

/* A sweep that cannot shrink the segment leaves FRESH and the drop time in the cell. */
static void sweep_without_memory(struct bench *bench, uint64_t now)
{
    bench->counting.fail_from = 1;
    cr_assert_eq(weir_sweep(bench->limiter, now, 0), 1);
    test_allocator_relent(&bench->counting);
}

Test(drop, without_memory_leaves_the_drop_time_in_the_cell_and_it_only_grows)
{
    for (size_t which = 0; which < NODES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, 0);
        weir_request request = request_for(&key, 5);
        weir_decision decision;

        sweep_without_memory(&bench, 50);
        state_is(limiter, &key, WEIRI_FRESH, 50);
        cr_assert_eq(segment_of(limiter, &key)->floor, 0); /* one key's own floor */
        cr_assert_eq(weir_peek(limiter, &request, 49, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        state_is(limiter, &key, WEIRI_FRESH, 50);
        cr_assert_eq(weir_take(limiter, &request, 7, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        uint64_t end = 50 + counts_for[which];
        state_is(limiter, &key, (uintptr_t)node_of(limiter, &key), end);
        cr_assert_eq(node_of(limiter, &key)->drop, 50);
        cr_assert_eq(weir_take(limiter, &request, end - 1, NULL), 0); /* what came at 7 counts from 50 on */
        cr_assert_eq(weir_take(limiter, &request, end, &decision), 1);
        cr_assert_eq(decision.flags, 0);
        sweep_without_memory(&bench, 80);
        state_is(limiter, &key, WEIRI_FRESH, 80);
        sweep_without_memory(&bench, 60); /* an earlier sweep takes nothing back */
        state_is(limiter, &key, WEIRI_FRESH, 80);
        cr_assert_eq(weir_sweep(limiter, 80, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        cr_assert_eq(segment_of(limiter, &key)->floor, 80);
        bench_close(&bench);
    }
}

/* A reset leaves no charge, but its time: so an earlier sweep does not judge the node expired. */
Test(drop, an_earlier_drop_does_not_lower_the_time_left_by_a_later_one)
{
    for (size_t which = 0; which < NODES; which++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, which, &key, 0);
        weir_request request = request_for(&key, 5);

        sweep_without_memory(&bench, 80);
        cr_assert_eq(weir_take(limiter, &request, 7, NULL), 1);
        cr_assert_eq(weir_reset(limiter, &request), 0);
        sweep_without_memory(&bench, 200);
        cr_assert_eq(weir_take(limiter, &request, 7, NULL), 1);
        cr_assert_eq(weir_reset(limiter, &request), 0);
        sweep_without_memory(&bench, 60);
        cr_assert_eq(node_of(limiter, &key)->drop, 200);
        bench_close(&bench);
    }
}

Test(drop, a_migration_carries_a_later_drop_time_and_drops_the_others)
{
    static const struct {
        uint64_t time;
        bool carried;
    } cases[] = {{0, true}, {49, true}, {50, false}, {60, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_one(&bench, 0, &key, 0);
        weir_request request = request_for(&key, 5);
        weir_decision decision;

        sweep_without_memory(&bench, 50);
        weiri_segment *old = segment_of(limiter, &key);
        cr_assert(weiri_split(&limiter->table, old, cases[i].time));
        weiri_segment *now = weiri_help(&limiter->table, old, key.hash);
        cr_assert_eq(now->floor, cases[i].time);
        cr_assert_eq(spot_of(limiter, &key).held, cases[i].carried);
        if (cases[i].carried)
            state_is(limiter, &key, WEIRI_FRESH, 50);
        cr_assert_eq(stats_of(limiter).keys, cases[i].carried);
        /* Either way nothing is decided before the drop. */
        cr_assert_eq(weir_take(limiter, &request, 7, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        uint64_t floor = cases[i].carried ? 50 : cases[i].time;
        cr_assert_eq(weir_take(limiter, &request, floor + WINDOW - 1, NULL), 0);
        cr_assert_eq(weir_take(limiter, &request, floor + WINDOW, NULL), 1);
        bench_close(&bench);
    }
}

/* The sweep judged the node in a segment that was frozen meanwhile: it follows the pointer to where it stands now. */
Test(drop, follows_a_node_through_migrations_that_are_under_way)
{
    for (size_t which = 0; which < NODES; which++)
        for (unsigned generations = 1; generations <= 3; generations++) {
            struct bench bench;
            weir_identity key;
            weir *limiter = open_one(&bench, which, &key, 0);
            weiri_segment *segment = segment_of(limiter, &key);

            for (unsigned i = 0; i < generations; i++) {
                cr_assert(weiri_split(&limiter->table, segment, 0));
                if (i + 1 < generations) {
                    weiri_complete(&limiter->table, segment);
                    segment = weiri_successor(segment, weiri_forward(segment), key.hash);
                } else if (which == 0) {
                    freeze_all_of(segment);
                }
            }
            cr_assert_eq(weir_sweep(limiter, 50, 0), 1);
            cr_assert_eq(stats_of(limiter).keys, 0);
            cr_assert_eq(weir_reclaim(limiter), 0);
            cr_assert_eq(stats_of(limiter).retired_bytes, 0);
            cr_assert_eq(take(limiter, &key, 5, 50), 1);
            cr_assert_eq(take(limiter, &key, 1, 50), 0);
            bench_close(&bench);
        }
}

Test(drop, nodes_in_a_frozen_segment_are_left_to_its_successor)
{
    struct bench bench;
    weir_identity key;
    weir *limiter = open_one(&bench, 0, &key, 0);
    weiri_segment *segment = segment_of(limiter, &key);
    weiri_node *node = node_of(limiter, &key);

    cr_assert(weiri_split(&limiter->table, segment, 0));
    freeze_all_of(segment);
    cr_assert(weiri_sweep_nodes(limiter, segment, 50, true, false));
    cr_assert(!node->dead);
    bench_close(&bench);
}
