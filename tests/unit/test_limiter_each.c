/*
 * Walks over keys while the table is on the move, over segments larger than usual, and with callbacks that call back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "limiter_bench.h"

enum { KEYS = 6, WINDOW = 10 };

static const weir_rule log_one = {.limit = 5, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST};
static const weir_rule counter_one = {
    .limit = 5, .window_ns = WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST};

struct walk {
    weir *limiter;
    unsigned seen[2000];
    uint64_t visits;
    uint64_t stop_after;
    void (*also)(struct walk *walk);
};

/* Keys of these tests bear their number in word 1. */
static int visit(void *argument, const weir_key *key)
{
    struct walk *walk = argument;

    cr_assert(!weiri_rcu_inside());
    cr_assert(key->hashed);
    cr_assert_eq(key->identity.owner, walk->limiter->owner);
    cr_assert_eq(key->identity.hash, key->identity.word[0] & ~UINT64_C(0xff));
    cr_assert_lt(key->identity.word[1], 2000);
    walk->seen[key->identity.word[1]]++;
    if (walk->also)
        walk->also(walk);
    return ++walk->visits == walk->stop_after ? 42 : 0;
}

static void walks(struct walk *walk, weir *limiter, uint64_t now)
{
    memset(walk->seen, 0, sizeof walk->seen);
    walk->limiter = limiter;
    walk->visits = 0;
    cr_assert_eq(weir_each(limiter, now, visit, walk), 0);
}

/* Keys 0, 1, 2 ... of one segment of 8, half of them on each side of a split. */
static weiri_segment *fill(weir *limiter, unsigned keys, uint64_t now)
{
    weiri_table *table = &limiter->table;
    weiri_segment *segment = weiri_table_settled(table, 0);
    while (segment->capacity < 8) {
        cr_assert(weiri_make_room(table, segment, 0));
        segment = weiri_help(table, segment, 0);
    }
    for (unsigned i = 0; i < keys; i++) {
        weir_identity key = key_at(limiter, (uint64_t)(i & 1) << 63, i, i);
        cr_assert_eq(take(limiter, &key, 5, now), 1);
    }
    return segment;
}

Test(each, of_no_key_visits_none)
{
    struct bench bench;
    struct walk walk = {.also = NULL};
    weir *limiter = bench_open(&bench, &log_one, 1, 0);

    walks(&walk, limiter, 0);
    cr_assert_eq(walk.visits, 0);
    bench_close(&bench);
}

Test(each, sees_every_key_once_at_any_step_of_a_migration)
{
    for (unsigned nodes = 0; nodes < 2; nodes++)
        for (unsigned step = 0; step <= 6; step++) {
            struct bench bench;
            struct walk walk = {.also = NULL};
            weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);
            weiri_segment *old = fill(limiter, KEYS, 0);
            weiri_table *table = &limiter->table;
            weir_identity own = key_at(limiter, 0, 2, 2);

            if (step >= 1)
                cr_assert(weiri_split(table, old, 0));
            if (step >= 2)
                for (uint32_t i = 1; i < 4; i++)
                    freeze_cell(&old->cell[i]);
            if (step >= 3)
                weiri_advance(table, old, &own);
            if (step >= 4)
                weiri_complete(table, old);
            if (step >= 5)
                cr_assert(weiri_split(table, weiri_forward(old)->successor[1], 0));
            if (step >= 6)
                freeze_all_of(weiri_forward(old)->successor[1]);
            walks(&walk, limiter, 0);
            cr_assert_eq(walk.visits, KEYS, "step %u", step);
            for (unsigned i = 0; i < KEYS; i++)
                cr_assert_eq(walk.seen[i], 1, "step %u", step);
            bench_close(&bench);
        }
}

Test(each, sees_keys_that_the_directory_does_not_lead_to_so_far)
{
    for (unsigned nodes = 0; nodes < 2; nodes++) {
        struct bench bench;
        struct walk walk = {.also = NULL};
        weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);
        weiri_segment *old = fill(limiter, KEYS, 0);
        weir_identity late = key_at(limiter, 0, 7, KEYS);

        cr_assert(weiri_spinlock_try(&limiter->table.directory.lock)); /* nobody can publish */
        cr_assert(weiri_split(&limiter->table, old, 0));
        weiri_complete(&limiter->table, old);
        cr_assert_eq(take(limiter, &late, 5, 0), 1);
        cr_assert_eq(weiri_directory_find(&limiter->table.directory, 0), old);
        walks(&walk, limiter, 0);
        cr_assert_eq(walk.visits, KEYS + 1);
        cr_assert_eq(walk.seen[KEYS], 1);
        weiri_spinlock_unlock(&limiter->table.directory.lock);
        bench_close(&bench);
    }
}

Test(each, leaves_out_dead_nodes_drop_times_and_claims_without_a_charge)
{
    struct bench bench;
    struct walk walk = {.also = NULL};
    weir *limiter = bench_open(&bench, &log_one, 1, 0);
    weiri_segment *segment = fill(limiter, 3, 0);
    weir_identity dead = key_at(limiter, 0, 0, 0), fresh = key_at(limiter, UINT64_C(1) << 63, 1, 1);
    weir_identity claimed = key_at(limiter, 0, 5, 5);

    /* Claimed by somebody whose charge is not made so far. */
    cr_assert(weiri_table_reserve(&limiter->table));
    cr_assert(weiri_claim(&segment->cell[5], weiri_identity_pair(&claimed)));
    weiri_node *gone = node_of(limiter, &fresh);
    weiri_pair state = spot_of(limiter, &fresh).state;
    cr_assert(weiri_cas_128(&spot_of(limiter, &fresh).cell->state, state, (weiri_pair){{WEIRI_FRESH, 90}}));
    weiri_node_free(limiter, gone);
    node_of(limiter, &dead)->dead = true;
    walks(&walk, limiter, 0);
    cr_assert_eq(walk.visits, 1);
    cr_assert_eq(walk.seen[2], 1);
    bench_close(&bench);
}

Test(each, walks_segments_larger_than_usual_and_gives_back_what_it_took)
{
    enum { AIMED = 700, BEFORE = 100 }; /* at two places: the walk first comes to the one with fewer */
    for (unsigned nodes = 0; nodes < 2; nodes++) {
        struct bench bench;
        struct walk walk = {.also = NULL};
        weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);

        for (uint64_t i = 0; i < AIMED; i++) {
            weir_identity key = key_at(limiter, (uint64_t)(i < BEFORE ? 3 : 15) << 60, 3, i);
            cr_assert_eq(take(limiter, &key, 5, 0), 1);
        }
        weir_identity far = key_at(limiter, 0, 0, AIMED);
        cr_assert_eq(take(limiter, &far, 5, 0), 1);
        uint32_t smaller = weiri_table_settled(&limiter->table, UINT64_C(3) << 60)->capacity;
        cr_assert_gt(smaller, WEIRI_CAPACITY_MAX);
        cr_assert_gt(weiri_table_settled(&limiter->table, UINT64_C(15) << 60)->capacity, smaller);
        uint64_t bytes = bench.counting.bytes, blocks = bench.counting.blocks;
        walks(&walk, limiter, 0);
        cr_assert_eq(walk.visits, AIMED + 1);
        for (uint64_t i = 0; i <= AIMED; i++)
            cr_assert_eq(walk.seen[i], 1);
        cr_assert_eq(bench.counting.bytes, bytes);
        walk.stop_after = 100; /* on the way too */
        walk.visits = 0;
        cr_assert_eq(weir_each(limiter, 0, visit, &walk), 42);
        cr_assert_eq(walk.visits, 100);
        cr_assert_eq(bench.counting.bytes, bytes);
        walk.visits = 0;
        bench.counting.fail_from = 1;
        cr_assert_eq(weir_each(limiter, 0, visit, &walk), -ENOMEM);
        test_allocator_relent(&bench.counting);
        cr_assert_eq(bench.counting.blocks, blocks);
        cr_assert_eq(stats_of(limiter).bytes, bytes);
        bench_close(&bench);
    }
}

static void call_everything(struct walk *walk)
{
    weir_identity key = key_at(walk->limiter, 0, 2, 2);
    weir_request request = request_for(&key, 1);
    struct walk inner = {.limiter = walk->limiter};

    cr_assert_eq(weir_take(walk->limiter, &request, 0, NULL), 0);
    cr_assert_eq(weir_peek(walk->limiter, &request, 0, NULL), 0);
    cr_assert_eq(weir_set_limits(walk->limiter, 0, &(uint64_t){5}, 1), 0);
    cr_assert_eq(weir_sweep(walk->limiter, 0, 0), 1);
    cr_assert_eq(weir_reclaim(walk->limiter), 0);
    cr_assert_eq(weir_each(walk->limiter, 0, visit, &inner), 0);
    cr_assert_eq(inner.visits, KEYS);
}

static void drop_everything(struct walk *walk)
{
    cr_assert_eq(weir_sweep(walk->limiter, 100, 0), 1);
    cr_assert_eq(weir_reclaim(walk->limiter), 0);
}

/* Moves every key to other segments, twice for each one that is shown. */
static void split_everything(struct walk *walk)
{
    weiri_table *table = &walk->limiter->table;
    for (unsigned times = 0; times < 2; times++) {
        uint64_t hash = 0;
        do {
            weiri_segment *segment = weiri_table_settled(table, hash);
            hash = weiri_segment_end(segment);
            if (segment->depth < 8) {
                cr_assert(weiri_split(table, segment, 0));
                weiri_help(table, segment, segment->prefix);
            }
        } while (hash != 0);
    }
}

Test(each, lets_its_callback_call_everything)
{
    for (unsigned nodes = 0; nodes < 2; nodes++) {
        struct bench bench;
        struct walk walk = {.also = call_everything};
        weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);
        fill(limiter, KEYS, 0);
        walks(&walk, limiter, 0);
        cr_assert_eq(walk.visits, KEYS);
        bench_close(&bench);
    }
}

Test(each, shows_keys_once_though_they_move_or_go_meanwhile)
{
    for (unsigned nodes = 0; nodes < 2; nodes++) {
        struct bench bench;
        struct walk walk = {.also = split_everything};
        weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);
        fill(limiter, KEYS, 0);
        walks(&walk, limiter, 0);
        cr_assert_eq(walk.visits, KEYS);
        for (unsigned i = 0; i < KEYS; i++)
            cr_assert_eq(walk.seen[i], 1);
        walk.also = drop_everything; /* what was taken down is shown; the next segments are empty */
        walks(&walk, limiter, 0);
        cr_assert_geq(walk.visits, 1);
        for (unsigned i = 0; i < KEYS; i++)
            cr_assert_leq(walk.seen[i], 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        bench_close(&bench);
    }
}

Test(each, of_a_reset_key_tells_what_a_sweep_would_keep)
{
    /* The node of a log has nothing left to keep; a counter's window is kept until it ends. */
    for (unsigned nodes = 0; nodes < 2; nodes++) {
        struct bench bench;
        struct walk walk = {.also = NULL};
        weir *limiter = bench_open(&bench, nodes ? &log_one : &counter_one, 1, 0);
        weir_identity key = key_at(limiter, 0, 1, 1);
        weir_request request = request_for(&key, 1);

        cr_assert_eq(weir_take(limiter, &request, 25, NULL), 1);
        cr_assert_eq(weir_reset(limiter, &request), 0);
        for (uint64_t now = 25; now <= 45; now++) {
            walks(&walk, limiter, now);
            bool shown = walk.visits == 1;
            cr_assert_eq(shown, now < (nodes ? 35 : 40), "at %" PRIu64, now);
        }
        bench_close(&bench);
    }
}
