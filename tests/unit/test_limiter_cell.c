/*
 * The inline counter in its cell: the very words, who changes them, and who goes on where a migration stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "limiter_bench.h"

/* current and previous as they stand in word 1 */
#define COUNTS(current, previous) ((uint64_t)(current) << 32 | (previous))

enum { WINDOW = 10 };

static weir *open_counter(struct bench *bench, uint64_t limit)
{
    weir_rule rule = counter_rule(limit, WINDOW);
    weir *limiter = bench_open(bench, &rule, 1, 0);
    cr_assert(!limiter->nodes);
    return limiter;
}

Test(cell, holds_the_window_and_its_two_counts)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 100);
    weir_identity key = key_at(limiter, 0, 1, 1);

    cr_assert_eq(take(limiter, &key, 3, 0), 1);
    state_is(limiter, &key, 0, COUNTS(3, 0));
    cr_assert_eq(take(limiter, &key, 4, 9), 1);
    state_is(limiter, &key, 0, COUNTS(7, 0));
    cr_assert_eq(take(limiter, &key, 5, 10), 1);
    state_is(limiter, &key, 1 << 1, COUNTS(5, 7));
    cr_assert_eq(take(limiter, &key, 6, 20), 1);
    state_is(limiter, &key, 2 << 1, COUNTS(6, 5));
    cr_assert_eq(take(limiter, &key, 7, 3), 1); /* late: charged to the newest window */
    state_is(limiter, &key, 2 << 1, COUNTS(13, 5));
    cr_assert_eq(take(limiter, &key, 8, 45), 1); /* a window passed without a charge */
    state_is(limiter, &key, 4 << 1, COUNTS(8, 0));
    bench_close(&bench);
}

Test(cell, holds_the_largest_window_and_counts)
{
    weir_rule rule = counter_rule(UINT32_MAX, 1);
    struct bench bench;
    weir *limiter = bench_open(&bench, &rule, 1, 0);
    weir_identity key = key_at(limiter, 0, 1, 1);

    cr_assert_eq(take(limiter, &key, UINT32_MAX, WEIR_TIME_MAX - 1), 1);
    state_is(limiter, &key, (WEIR_TIME_MAX - 1) << 1, COUNTS(UINT32_MAX, 0));
    cr_assert_eq(take(limiter, &key, 1, WEIR_TIME_MAX), 0);
    state_is(limiter, &key, (WEIR_TIME_MAX - 1) << 1, COUNTS(UINT32_MAX, 0));
    bench_close(&bench);
}

Test(cell, is_not_written_by_what_records_nothing)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 5);
    weir_identity key = key_at(limiter, 0, 1, 1), other = key_at(limiter, 0, 1, 2);
    weir_request none = request_for(&key, 0), one = request_for(&key, 1), six = request_for(&key, 6);

    cr_assert_eq(take(limiter, &key, 5, 0), 1);
    uint64_t bytes = bench.counting.bytes;
    for (uint64_t now = 0; now < 40; now++) {
        cr_assert_eq(weir_take(limiter, &six, now, NULL), 0);
        cr_assert_eq(weir_take(limiter, &none, now, NULL), 1);
        cr_assert_eq(weir_peek(limiter, &one, now, NULL), now > 11);
        cr_assert_eq(take(limiter, &other, 6, now), 0);
        cr_assert_eq(take(limiter, &other, 0, now), 1);
        state_is(limiter, &key, 0, COUNTS(5, 0));
    }
    cr_assert(!spot_of(limiter, &other).held);
    cr_assert_eq(weiri_table_count(&limiter->table), 1);
    cr_assert_eq(bench.counting.bytes, bytes);
    bench_close(&bench);
}

Test(cell, a_reset_keeps_the_window_and_never_stores_uninit)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 5);
    weir_identity key = key_at(limiter, 0, 1, 1), missing = key_at(limiter, 0, 2, 2);
    weir_request request = request_for(&key, 5), nobody = request_for(&missing, 5);
    weir_decision decision;

    cr_assert_eq(weir_take(limiter, &request, 9, NULL), 1);
    cr_assert_eq(weir_reset(limiter, &request), 0);
    state_is(limiter, &key, 0, COUNTS(0, 1)); /* stands for nothing charged in window 0 */
    cr_assert_eq(weir_peek(limiter, &request, 0, &decision), 1);
    cr_assert_eq(decision.remaining, 5);
    cr_assert_eq(weir_reset(limiter, &request), 0);
    state_is(limiter, &key, 0, COUNTS(0, 1));
    cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
    state_is(limiter, &key, 0, COUNTS(5, 0));
    cr_assert_eq(weir_take(limiter, &request, 20, NULL), 1);
    cr_assert_eq(weir_reset(limiter, &request), 0);
    state_is(limiter, &key, 2 << 1, 0);
    cr_assert_eq(weir_take(limiter, &request, 3, NULL), 1); /* no earlier than before the reset */
    state_is(limiter, &key, 2 << 1, COUNTS(5, 0));
    cr_assert_eq(weir_reset(limiter, &nobody), 0);
    cr_assert(!spot_of(limiter, &missing).held);
    bench_close(&bench);
}

/* A previous count of 1 that a reset made does not follow the key into the next window. */
Test(cell, a_reset_in_the_first_window_leaves_no_weight_in_the_next)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 5);
    weir_identity key = key_at(limiter, 0, 1, 1);
    weir_request request = request_for(&key, 5);

    cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
    cr_assert_eq(weir_reset(limiter, &request), 0);
    cr_assert_eq(weir_take(limiter, &request, 10, NULL), 1);
    state_is(limiter, &key, 1 << 1, COUNTS(5, 0));
    bench_close(&bench);
}

Test(cell, is_live_until_the_end_of_the_window_after_its_own)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 5);
    const weiri_pair states[] = {{{0, COUNTS(1, 0)}}, {{0, COUNTS(0, 1)}}, {{7 << 1, COUNTS(1, 2)}}, {{7 << 1, 0}}};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        uint64_t end = ((states[i].word[0] >> 1) + 2) * WINDOW;
        cr_assert(weiri_cell_live(limiter, states[i], 0));
        cr_assert(weiri_cell_live(limiter, states[i], end - 1));
        cr_assert(!weiri_cell_live(limiter, states[i], end));
    }
    bench_close(&bench);
}

/* --- across a migration that stopped --- */

/* Two keys of 3 charged at 9, in a segment that begins to drop at `time`: split or, where `shrinks`, made smaller. */
struct scene {
    struct bench bench;
    weir *limiter;
    weir_identity key, other, fresh;
    weiri_segment *old;
};

static void scene_open(struct scene *scene)
{
    scene->limiter = open_counter(&scene->bench, 5);
    scene->key = key_at(scene->limiter, 0, 1, 1);
    scene->other = key_at(scene->limiter, UINT64_C(1) << 63, 2, 2);
    scene->fresh = key_at(scene->limiter, 0, 3, 3);
    cr_assert_eq(take(scene->limiter, &scene->key, 3, 9), 1);
    cr_assert_eq(take(scene->limiter, &scene->other, 3, 9), 1);
    scene->old = weiri_table_settled(&scene->limiter->table, 0);
    while (scene->old->capacity < 8) { /* room for a third in a segment of any size */
        cr_assert(weiri_make_room(&scene->limiter->table, scene->old, 0));
        scene->old = weiri_help(&scene->limiter->table, scene->old, 0);
    }
    cr_assert_eq(scene->old->depth, 0);
}

enum step { STARTED, SOME_FROZEN, ALL_FROZEN, OWN_COPIED, OTHER_COPIED, DONE, STEPS };

static void stop_behind(struct scene *scene, enum step step, uint64_t time)
{
    weiri_table *table = &scene->limiter->table;
    cr_assert(weiri_split(table, scene->old, time));
    if (step == SOME_FROZEN) {
        weiri_finding finding = weiri_find(scene->old, weiri_identity_pair(&scene->key), scene->key.hash);
        freeze_cell(finding.cell);
    }
    if (step >= ALL_FROZEN && step != DONE)
        freeze_all_of(scene->old);
    if (step == OWN_COPIED)
        weiri_advance(table, scene->old, &scene->key);
    if (step == OTHER_COPIED)
        weiri_advance(table, scene->old, &scene->other);
    if (step == DONE)
        weiri_complete(table, scene->old);
}

Test(cell, charges_and_refusals_go_on_wherever_a_migration_stopped)
{
    for (enum step step = STARTED; step < STEPS; step++) {
        struct scene s;
        weir_decision decision;
        scene_open(&s);
        stop_behind(&s, step, 0);
        weir_request one = request_for(&s.key, 1), three = request_for(&s.key, 3);

        cr_assert_eq(weir_peek(s.limiter, &one, 9, &decision), 1);
        cr_assert_eq(decision.remaining, 2, "step %d", (int)step);
        cr_assert_eq(weir_take(s.limiter, &three, 9, &decision), 0);
        cr_assert_eq(decision.remaining, 2, "step %d", (int)step);
        cr_assert_eq(segment_of(s.limiter, &s.key), s.old); /* neither helped */
        cr_assert_eq(weir_take(s.limiter, &one, 9, &decision), 1);
        cr_assert_eq(decision.remaining, 1, "step %d", (int)step);
        state_is(s.limiter, &s.key, 0, COUNTS(4, 0));
        cr_assert_eq(weiri_done(s.old), step == DONE); /* it copied its own cell at most */
        static const unsigned helped[STEPS] = {0, 1, 1, 1, 2, 0}; /* the copy that the test made included */
        cr_assert_eq(stats_of(s.limiter).cells_helped, helped[step]);
        /* A new key helps in full where it finds its place sealed. */
        cr_assert_eq(take(s.limiter, &s.fresh, 5, 9), 1);
        cr_assert_eq(take(s.limiter, &s.fresh, 1, 9), 0);
        cr_assert_eq(weiri_done(s.old), step >= ALL_FROZEN);
        weiri_table_settled(&s.limiter->table, 0);
        state_is(s.limiter, &s.key, 0, COUNTS(4, 0));
        state_is(s.limiter, &s.other, 0, COUNTS(3, 0));
        state_is(s.limiter, &s.fresh, 0, COUNTS(5, 0));
        cr_assert_eq(stats_of(s.limiter).keys, 3);
        bench_close(&s.bench);
    }
}

Test(cell, resets_go_on_wherever_a_migration_stopped)
{
    for (enum step step = STARTED; step < STEPS; step++) {
        struct scene s;
        scene_open(&s);
        stop_behind(&s, step, 0);
        weir_request request = request_for(&s.key, 5);

        cr_assert_eq(weir_reset(s.limiter, &request), 0);
        state_is(s.limiter, &s.key, 0, COUNTS(0, 1));
        weiri_table_settled(&s.limiter->table, 0);
        state_is(s.limiter, &s.key, 0, COUNTS(0, 1));
        state_is(s.limiter, &s.other, 0, COUNTS(3, 0));
        cr_assert_eq(weir_take(s.limiter, &request, 9, NULL), 1);
        bench_close(&s.bench);
    }
}

/* The migration drops at 20, when what was charged at 9 counts nothing: no later call is decided before that. */
Test(cell, a_key_dropped_on_the_way_gets_no_fresh_quota_in_the_past)
{
    for (enum step step = SOME_FROZEN; step < STEPS; step++) {
        struct scene s;
        weir_decision decision;
        scene_open(&s);
        stop_behind(&s, step, 20);
        weir_request five = request_for(&s.key, 5), one = request_for(&s.key, 1);

        cr_assert_eq(weir_peek(s.limiter, &five, 9, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE, "step %d", (int)step);
        cr_assert_eq(weir_take(s.limiter, &five, 9, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        state_is(s.limiter, &s.key, 2 << 1, COUNTS(5, 0));
        cr_assert_eq(weir_take(s.limiter, &one, 20, NULL), 0);
        cr_assert_eq(segment_of(s.limiter, &s.key)->floor, 20);
        bench_close(&s.bench);
    }
}

/* Charged in [10, 20), carried through a migration that drops at 25: a call at 3 is decided at 25, where half counts. */
Test(cell, a_verdict_alone_runs_no_earlier_than_the_floor)
{
    struct bench bench;
    weir *limiter = open_counter(&bench, 4);
    weir_identity key = key_at(limiter, 0, 1, 1), other = key_at(limiter, 0, 2, 2);

    cr_assert_eq(take(limiter, &other, 1, 9), 1); /* expired at 20 */
    cr_assert_eq(take(limiter, &key, 4, 15), 1);
    cr_assert_eq(weir_sweep(limiter, 25, 0), 1);
    cr_assert_eq(segment_of(limiter, &key)->floor, 25);
    cr_assert_eq(take(limiter, &key, 3, 3), 0);
    cr_assert_eq(take(limiter, &key, 2, 3), 1);
    state_is(limiter, &key, 2 << 1, COUNTS(2, 4));
    bench_close(&bench);
}

Test(cell, a_shrinking_migration_is_selected_by_who_needs_it)
{
    struct scene s;
    scene_open(&s);
    for (uint32_t i = 0; i < 40; i++) { /* one large segment, nearly all of it short-lived */
        weir_identity key = key_at(s.limiter, 0, i, 100 + i);
        cr_assert_eq(take(s.limiter, &key, 1, 9), 1);
    }
    cr_assert_eq(take(s.limiter, &s.key, 1, 10), 1);
    weiri_segment *segment = weiri_table_settled(&s.limiter->table, s.key.hash);
    uint32_t before = segment->capacity;
    cr_assert(weiri_compact(&s.limiter->table, segment, 20));
    freeze_all_of(segment);
    cr_assert_eq(weiri_load_acquire_32(&weiri_forward(segment)->selected), 0);
    cr_assert_eq(take(s.limiter, &s.key, 1, 20), 1);
    cr_assert_eq(weiri_load_acquire_32(&weiri_forward(segment)->selected), 2);
    state_is(s.limiter, &s.key, 2 << 1, COUNTS(1, 1));
    weiri_table_settled(&s.limiter->table, s.key.hash);
    cr_assert_lt(segment_of(s.limiter, &s.key)->capacity, before);
    state_is(s.limiter, &s.key, 2 << 1, COUNTS(1, 1));
    bench_close(&s.bench);
}
