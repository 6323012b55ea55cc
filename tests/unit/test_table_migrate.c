/*
 * A migration, step by step: stopped by hand behind each of them, looked at, charged, and finished.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "table_bench.h"

#define T    UINT64_C(100) /* the drop time of these migrations */
#define LONG UINT64_C(1000)
#define NONE ((weiri_pair){{0, 0}})

/* Publishes a descriptor by hand, so that a test has the capacities it wants with segments of any size. */
static weiri_migration *begin(struct bench *bench, weiri_segment *segment, uint64_t time, bool split, uint32_t capacity,
                              uint32_t small)
{
    weiri_migration *migration = weiri_migration_new(&bench->memory, segment, time, split, capacity, small);
    cr_assert_not_null(migration);
    cr_assert(weiri_cas_pointer(&segment->forward, NULL, migration));
    return migration;
}

static void freeze_rest(weiri_segment *segment)
{
    for (uint32_t i = 0; i < segment->capacity; i++) {
        weiri_cell *cell = &segment->cell[i];
        bool sealed = weiri_load_once_128(&cell->identity).word[0] == WEIRI_MARK_SEALED;
        if (!sealed && !(weiri_load_snapshot_128(&cell->state).word[0] & WEIRI_FROZEN))
            freeze_cell(cell);
    }
}

static bool untouched(const weiri_segment *segment)
{
    for (uint32_t i = 0; i < segment->capacity; i++)
        if (weiri_load_once_128(&segment->cell[i].identity).word[0] != 0 ||
            !weiri_uninit(weiri_load_snapshot_128(&segment->cell[i].state)))
            return false;
    return !weiri_forward(segment);
}

/* Three keys in a segment of 8: `a` and `c` are live at T, `b` is not; `d` is not there. */
struct scene {
    struct bench bench;
    weiri_segment *old;
    weiri_migration *migration;
    weir_identity a, b, c, d;
};

static void scene_open(struct scene *scene, uint64_t floor)
{
    scene->old = bench_open(&scene->bench, 8, floor);
    scene->a = key_at(0, 1, 'a');
    scene->b = key_at(UINT64_C(1) << 63, 2, 'b');
    scene->c = key_at(UINT64_C(1) << 63, 3, 'c');
    scene->d = key_at(0, 4, 'd');
    put_in(&scene->bench, scene->old, &scene->a, state_of(1, LONG));
    put_in(&scene->bench, scene->old, &scene->b, state_of(2, T));
    put_in(&scene->bench, scene->old, &scene->c, state_of(3, T + 1));
}

Test(migrate, started_only_everything_goes_on_in_the_old_segment)
{
    struct scene s;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);

    looks(&s.bench, s.old, &s.a, &s.old->cell[1], true, state_of(1, LONG), 10);
    looks(&s.bench, s.old, &s.b, &s.old->cell[2], true, state_of(2, T), 10); /* not dropped so far */
    looks(&s.bench, s.old, &s.d, &s.old->cell[4], false, NONE, 10);
    /* Charged, and claimed, where it stands: the freeze finds it. */
    cr_assert(charge(&s.bench, &s.b, state_of(9, LONG), 0));
    cr_assert(charge(&s.bench, &s.d, state_of(4, LONG), 0));
    looks(&s.bench, s.old, &s.d, &s.old->cell[4], true, state_of(4, LONG), 10);
    weiri_complete(&s.bench.table, s.old);
    weiri_segment *successor = s.migration->successor[0]; /* four live: more than half of 4 */
    same_pair(state_in(successor, &s.a), state_of(1, LONG), "a");
    same_pair(state_in(successor, &s.b), state_of(9, LONG), "b, charged after the start");
    same_pair(state_in(successor, &s.c), state_of(3, T + 1), "c");
    same_pair(state_in(successor, &s.d), state_of(4, LONG), "d, claimed after the start");
    cr_assert_eq(weiri_table_count(&s.bench.table), 4);
    bench_close(&s.bench);
}

Test(migrate, with_the_selection_open_a_frozen_value_stands)
{
    struct scene s;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    for (uint32_t i = 1; i <= 4; i += i == 1 ? 1 : 2) /* a, b and the place of d; c is as it was */
        freeze_cell(&s.old->cell[i]);

    looks(&s.bench, s.old, &s.a, NULL, false, state_of(1, LONG), 10);
    looks(&s.bench, s.old, &s.b, NULL, false, NONE, T); /* dropped: T is its floor already */
    looks(&s.bench, s.old, &s.c, &s.old->cell[3], true, state_of(3, T + 1), 10);
    looks(&s.bench, s.old, &s.d, NULL, false, NONE, 10);
    freeze_rest(s.old);
    looks(&s.bench, s.old, &s.c, NULL, false, state_of(3, T + 1), 10);
    cr_assert_eq(weiri_load_acquire_32(&s.migration->selected), 0); /* looking decides nothing */
    cr_assert(untouched(s.migration->successor[0]));
    cr_assert(untouched(s.migration->successor[1]));
    bench_close(&s.bench);
}

Test(migrate, selected_but_not_copied_frozen_values_stand_at_the_new_floor)
{
    struct scene s;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    freeze_rest(s.old);
    cr_assert(weiri_cas_32(&s.migration->selected, 0, 2));

    looks(&s.bench, s.old, &s.a, NULL, false, state_of(1, LONG), T);
    looks(&s.bench, s.old, &s.b, NULL, false, NONE, T);
    looks(&s.bench, s.old, &s.c, NULL, false, state_of(3, T + 1), T);
    looks(&s.bench, s.old, &s.d, NULL, false, NONE, T);
    /* A copy half made: the identity is there, the value is not. */
    cr_assert(weiri_claim(&s.migration->successor[1]->cell[3], weiri_identity_pair(&s.c)));
    looks(&s.bench, s.old, &s.c, NULL, false, state_of(3, T + 1), T);
    weiri_complete(&s.bench.table, s.old);
    same_pair(state_in(s.migration->successor[1], &s.c), state_of(3, T + 1), "the other half");
    cr_assert(untouched(s.migration->successor[0]));
    bench_close(&s.bench);
}

Test(migrate, who_meets_its_own_frozen_cell_copies_that_alone_and_goes_on)
{
    struct scene s;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    freeze_cell(&s.old->cell[1]); /* a; the selection is open */

    weiri_segment *successor = s.migration->successor[1];
    cr_assert_eq(weiri_advance(&s.bench.table, s.old, &s.a), successor);
    cr_assert_eq(weiri_load_acquire_32(&s.migration->selected), 2);
    cr_assert_eq(weiri_sum_read(&s.bench.table.helped), 1);
    cr_assert(!weiri_done(s.old));
    looks(&s.bench, s.old, &s.a, &successor->cell[1], true, state_of(1, LONG), T);
    looks(&s.bench, s.old, &s.c, NULL, false, state_of(3, T + 1), T);
    /* Charged in the successor: neither the rest of the migration nor a second helper undoes it. */
    cr_assert(charge(&s.bench, &s.a, state_of(11, LONG), 0));
    looks(&s.bench, s.old, &s.a, &successor->cell[1], true, state_of(11, LONG), T);
    cr_assert_eq(weiri_advance(&s.bench.table, s.old, &s.a), successor);
    same_pair(state_in(successor, &s.a), state_of(11, LONG), "copied twice");
    weiri_complete(&s.bench.table, s.old);
    same_pair(state_in(successor, &s.a), state_of(11, LONG), "completed");
    cr_assert_eq(weiri_find(successor, weiri_identity_pair(&s.b), s.b.hash).found, WEIRI_FREE);
    bench_close(&s.bench);
}

Test(migrate, a_new_key_enters_only_when_the_predecessor_is_done)
{
    struct scene s;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    freeze_cell(&s.old->cell[4]); /* SEALED where d would go */

    cr_assert(!weiri_done(s.old));
    weiri_segment *successor = weiri_advance(&s.bench.table, s.old, &s.d);
    cr_assert_eq(successor, s.migration->successor[1]);
    cr_assert(weiri_done(s.old));
    same_pair(state_in(successor, &s.a), state_of(1, LONG), "a");
    same_pair(state_in(successor, &s.c), state_of(3, T + 1), "c");
    cr_assert_eq(weiri_find(successor, weiri_identity_pair(&s.d), s.d.hash).found, WEIRI_FREE);
    bench_close(&s.bench);
}

Test(migrate, a_dropped_key_of_ones_own_is_helped_in_full_too)
{
    struct scene s;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    freeze_cell(&s.old->cell[2]);

    weiri_segment *successor = weiri_advance(&s.bench.table, s.old, &s.b);
    cr_assert(weiri_done(s.old));
    looks(&s.bench, successor, &s.b, &successor->cell[2], false, NONE, T);
    cr_assert_eq(weiri_sum_read(&s.bench.table.helped), 0);
    bench_close(&s.bench);
}

Test(migrate, done_but_not_published_the_way_leads_over_forward)
{
    struct scene s;
    weiri_directory *directory = &s.bench.table.directory;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    weiri_complete(&s.bench.table, s.old);

    weiri_segment *successor = s.migration->successor[1];
    cr_assert_eq(weiri_directory_find(directory, s.a.hash), s.old);
    looks(&s.bench, s.old, &s.a, &successor->cell[1], true, state_of(1, LONG), T);
    looks(&s.bench, s.old, &s.b, NULL, false, NONE, T);
    looks(&s.bench, s.old, &s.d, NULL, false, NONE, T); /* a claim is made after an advance, not from here */
    cr_assert(charge(&s.bench, &s.d, state_of(4, LONG), 0));
    same_pair(state_in(successor, &s.d), state_of(4, LONG), "d");
    cr_assert_eq(weiri_directory_find(directory, s.a.hash), successor); /* published by who came by */
    cr_assert_eq(weiri_load_relaxed_64(&s.bench.memory.retired_bytes),
                 weiri_segment_size(8) + sizeof(weiri_migration) + weiri_segment_size(8));
    bench_reclaim(&s.bench);
    looks(&s.bench, successor, &s.a, &successor->cell[1], true, state_of(1, LONG), T);
    bench_close(&s.bench);
}

Test(migrate, the_winner_settles_the_accounts_once)
{
    for (uint64_t max_keys = 0; max_keys <= 3; max_keys += 3) {
        struct scene s;
        scene_open(&s, 0);
        if (max_keys != 0) {
            s.bench.table.max_keys = max_keys;
            weiri_cas_64(&s.bench.table.keys, 0, 3);
        }
        cr_assert_eq(weiri_table_count(&s.bench.table), 3);
        begin(&s.bench, s.old, T, false, 8, 4);
        for (unsigned times = 0; times < 3; times++)
            weiri_complete(&s.bench.table, s.old);
        cr_assert_eq(weiri_table_count(&s.bench.table), 2);
        cr_assert_eq(weiri_sum_read(&s.bench.table.swept), 1);
        bench_close(&s.bench);
    }
}

struct helpers {
    struct scene scene;
    pthread_barrier_t together;
};

static void *complete_together(void *argument)
{
    struct helpers *helpers = argument;
    pthread_barrier_wait(&helpers->together);
    weiri_complete(&helpers->scene.bench.table, helpers->scene.old);
    return NULL;
}

Test(migrate, of_helpers_at_once_one_settles_the_accounts)
{
    enum { HELPERS = 3 };
    static struct helpers helpers;
    pthread_t thread[HELPERS];

    cr_assert_eq(pthread_barrier_init(&helpers.together, NULL, HELPERS), 0);
    for (uint64_t round = 0; round < random_scaled(300); round++) {
        struct scene *s = &helpers.scene;
        scene_open(s, 0);
        s->migration = begin(&s->bench, s->old, T, false, 8, 4);
        for (unsigned i = 0; i < HELPERS; i++)
            cr_assert_eq(pthread_create(&thread[i], NULL, complete_together, &helpers), 0);
        for (unsigned i = 0; i < HELPERS; i++)
            pthread_join(thread[i], NULL);
        cr_assert_eq(weiri_table_count(&s->bench.table), 2);
        cr_assert_eq(weiri_sum_read(&s->bench.table.swept), 1);
        cr_assert_eq(weiri_segment_census(&s->bench.table, s->migration->successor[1], 0).claimed, 2);
        same_pair(state_in(s->migration->successor[1], &s->a), state_of(1, LONG), "a");
        same_pair(state_in(s->migration->successor[1], &s->c), state_of(3, T + 1), "c");
        bench_close(&s->bench);
    }
}

/* A claim whose charge was not made in time: its maker lost against the freeze, and claims again in the successor. */
Test(migrate, an_identity_without_a_charge_is_dropped)
{
    struct scene s;
    scene_open(&s, 0);
    cr_assert(weiri_table_reserve(&s.bench.table));
    cr_assert(weiri_claim(&s.old->cell[4], weiri_identity_pair(&s.d)));
    s.migration = begin(&s.bench, s.old, 0, false, 8, 4); /* at 0 all three others are live */

    weiri_complete(&s.bench.table, s.old);
    cr_assert_eq(weiri_load_acquire_32(&s.migration->selected), 1);
    weiri_finding finding = weiri_find(s.migration->successor[0], weiri_identity_pair(&s.d), s.d.hash);
    cr_assert_eq(finding.found, WEIRI_FREE);
    same_pair(weiri_load_snapshot_128(&s.old->cell[4].state), (weiri_pair){{WEIRI_FROZEN, 0}}, "takes no late charge");
    cr_assert_eq(weiri_table_count(&s.bench.table), 3);
    bench_close(&s.bench);
}

Test(migrate, the_small_successor_is_selected_only_where_it_fits)
{
    for (uint32_t live = 0; live <= 8; live++)
        for (uint32_t small = 0; small <= 4; small = small == 0 ? 2 : 2 * small) {
            struct bench bench;
            weiri_segment *old = bench_open(&bench, 8, 0);

            for (uint32_t i = 0; i < 8; i++) {
                weir_identity key = key_at(0, i, i);
                put_in(&bench, old, &key, state_of(i + 1, i < live ? T + 1 : T));
            }
            weiri_migration *migration = begin(&bench, old, T, false, 8, small);
            weiri_complete(&bench.table, old);
            unsigned selected = live <= small / 2 ? 2 : 1;
            cr_assert_eq(weiri_load_acquire_32(&migration->selected), selected, "%u live, %u small", live, small);
            cr_assert(untouched(migration->successor[2 - selected]));
            for (uint32_t i = 0; i < live; i++) {
                weir_identity key = key_at(0, i, i);
                same_pair(state_in(migration->successor[selected - 1], &key), state_of(i + 1, T + 1), "a live one");
            }
            cr_assert_eq(weiri_segment_census(&bench.table, migration->successor[selected - 1], 0).claimed, live);
            cr_assert_eq(weiri_table_count(&bench.table), live);
            bench_close(&bench);
        }
}

Test(migrate, charges_made_between_the_count_and_the_freeze_keep_the_small_one_from_overflowing)
{
    struct bench bench;
    weiri_segment *old = bench_open(&bench, 8, 0);
    weir_identity key[5];

    for (uint32_t i = 0; i < 5; i++)
        key[i] = key_at(0, i, i);
    put_in(&bench, old, &key[0], state_of(1, LONG));
    weiri_migration *migration = begin(&bench, old, T, false, 8, 2); /* one is live, one fits */
    for (uint32_t i = 1; i < 5; i++)
        put_in(&bench, old, &key[i], state_of(i + 1, LONG));
    weiri_complete(&bench.table, old);
    cr_assert_eq(weiri_load_acquire_32(&migration->selected), 1);
    for (uint32_t i = 0; i < 5; i++)
        same_pair(state_in(migration->successor[0], &key[i]), state_of(i + 1, LONG), "a charge");
    bench_close(&bench);
}

Test(migrate, a_selection_once_fixed_is_kept_by_later_helpers)
{
    struct scene s;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    freeze_rest(s.old);
    cr_assert(weiri_cas_32(&s.migration->selected, 0, 1)); /* two would fit the small one */
    weiri_complete(&s.bench.table, s.old);
    cr_assert_eq(weiri_load_acquire_32(&s.migration->selected), 1);
    cr_assert(untouched(s.migration->successor[1]));
    same_pair(state_in(s.migration->successor[0], &s.a), state_of(1, LONG), "a");
    bench_close(&s.bench);
}

Test(migrate, copies_go_anywhere_in_the_probe_order)
{
    const uint32_t capacity = 2 * WEIRI_PROBES;
    struct bench bench;
    weiri_segment *old = bench_open(&bench, capacity, 0);

    /* All begin at the last cell; more than claims may look at. */
    for (uint32_t i = 0; i < capacity; i++) {
        weir_identity key = key_at(0, capacity - 1, i);
        weiri_cell *cell = &old->cell[(capacity - 1 + i) % capacity];
        cr_assert(weiri_claim(cell, weiri_identity_pair(&key)));
        cr_assert(weiri_cas_128(&cell->state, NONE, state_of(i + 1, LONG)));
        cr_assert(weiri_table_reserve(&bench.table));
    }
    weiri_migration *migration = begin(&bench, old, T, false, capacity, capacity);
    weiri_complete(&bench.table, old);
    for (uint32_t i = 0; i < capacity; i++) {
        weir_identity key = key_at(0, capacity - 1, i);
        same_pair(state_in(migration->successor[0], &key), state_of(i + 1, LONG), "a copy");
    }
    bench_close(&bench);
}

Test(migrate, a_split_parts_the_keys_by_the_next_bit_of_their_hash)
{
    struct scene s;
    scene_open(&s, 10);
    s.migration = begin(&s.bench, s.old, T, true, 8, 8);

    weiri_complete(&s.bench.table, s.old);
    same_pair(state_in(s.migration->successor[0], &s.a), state_of(1, LONG), "a");
    same_pair(state_in(s.migration->successor[1], &s.c), state_of(3, T + 1), "c");
    cr_assert_eq(weiri_segment_census(&s.bench.table, s.migration->successor[0], 0).claimed, 1);
    cr_assert_eq(weiri_segment_census(&s.bench.table, s.migration->successor[1], 0).claimed, 1);
    cr_assert_eq(weiri_table_count(&s.bench.table), 2);
    bench_close(&s.bench);
}

/* A helper stopped before `done`: for it the flag is taken back. (It then settles the accounts a second time: no test
 * that uses this looks at them.) */
static void wake_late_helper(struct bench *bench, weiri_segment *segment, const weir_identity *own)
{
    weiri_store_release_32(&segment->done, 0);
    if (own)
        weiri_advance(&bench->table, segment, own);
    else
        weiri_complete(&bench->table, segment);
    weiri_store_release_32(&segment->done, 1);
}

Test(migrate, a_helper_late_by_a_generation_changes_nothing)
{
    struct scene s;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 4);
    weiri_complete(&s.bench.table, s.old);
    weiri_segment *successor = s.migration->successor[1];
    unsigned char before[64 + 4 * 32];

    cr_assert(weiri_cas_128(&cell_of(successor, &s.a)->state, state_of(1, LONG), state_of(50, LONG)));
    memcpy(before, successor, sizeof before);
    wake_late_helper(&s.bench, s.old, NULL);
    cr_assert_eq(memcmp(before, successor, sizeof before), 0);
    wake_late_helper(&s.bench, s.old, &s.a);
    cr_assert_eq(memcmp(before, successor, sizeof before), 0);
    cr_assert(untouched(s.migration->successor[0]));
    bench_close(&s.bench);
}

Test(migrate, a_helper_late_by_two_generations_changes_nothing)
{
    struct scene s;
    weiri_table *table = &s.bench.table;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 8);
    weiri_complete(table, s.old);
    weiri_segment *middle = s.migration->successor[0];
    unsigned char before[2][64 + 8 * 32];

    /* In the middle `a` is charged, `c` runs out, and `d` is new; then the middle one migrates, dropping `c`. */
    cr_assert(weiri_cas_128(&cell_of(middle, &s.a)->state, state_of(1, LONG), state_of(50, LONG)));
    put_in(&s.bench, middle, &s.d, state_of(4, LONG));
    weiri_migration *second = begin(&s.bench, middle, T + 1, false, 8, 8);
    weiri_complete(table, middle);
    weiri_segment *last = second->successor[0];
    cr_assert(weiri_cas_128(&cell_of(last, &s.a)->state, state_of(50, LONG), state_of(60, LONG)));
    cr_assert_eq(weiri_segment_census(table, last, 0).claimed, 2);
    memcpy(before[0], middle, sizeof before[0]);
    memcpy(before[1], last, sizeof before[1]);
    for (unsigned times = 0; times < 2; times++) {
        wake_late_helper(&s.bench, s.old, NULL);
        wake_late_helper(&s.bench, s.old, &s.c);
        wake_late_helper(&s.bench, middle, NULL);
        wake_late_helper(&s.bench, middle, &s.a);
    }
    cr_assert_eq(memcmp(before[0], middle, sizeof before[0]), 0);
    cr_assert_eq(memcmp(before[1], last, sizeof before[1]), 0);
    /* A look from the very first one follows both, and the largest floor counts. */
    looks(&s.bench, s.old, &s.a, cell_of(last, &s.a), true, state_of(60, LONG), T + 1);
    looks(&s.bench, s.old, &s.c, NULL, false, NONE, T + 1);
    bench_close(&s.bench);
}

Test(migrate, a_late_copy_that_meets_a_sealed_cell_was_made_long_ago)
{
    struct scene s;
    scene_open(&s, 0);
    s.migration = begin(&s.bench, s.old, T, false, 8, 8);
    freeze_rest(s.old);
    /* No run of the library seals a successor before its copies are made; a copy that finds one sealed keeps off it. */
    weiri_segment *successor = s.migration->successor[0];
    for (uint32_t i = 1; i < 8; i++) /* all but the last in the probe order of `a` */
        freeze_cell(&successor->cell[i]);
    weiri_advance(&s.bench.table, s.old, &s.a);
    same_pair(weiri_load_once_128(&successor->cell[0].identity), NONE, "EMPTY");
    for (uint32_t i = 1; i < 8; i++) {
        same_pair(weiri_load_once_128(&successor->cell[i].identity), (weiri_pair){{WEIRI_MARK_SEALED, 0}}, "SEALED");
        cr_assert(weiri_uninit(weiri_load_snapshot_128(&successor->cell[i].state)));
    }
    for (uint32_t i = 0; i < 8; i++) /* its memory is whole again: everything can be freed */
        successor->cell[i].identity = (weiri_a128){{0, 0}};
    bench_close(&s.bench);
}

Test(migrate, without_memory_nothing_is_begun)
{
    struct scene s;
    scene_open(&s, 0);

    for (uint64_t n = 1; n <= 3; n++) {
        s.bench.counting.fail_at = n;
        cr_assert(!weiri_split(&s.bench.table, s.old, T));
        if (n <= 2) {
            s.bench.counting.fail_at = n;
            cr_assert(!weiri_make_room(&s.bench.table, s.old, 0));
            s.bench.counting.fail_at = n;
            cr_assert(!weiri_compact(&s.bench.table, s.old, T));
        }
        cr_assert_null(weiri_forward(s.old));
    }
    looks(&s.bench, s.old, &s.a, &s.old->cell[1], true, state_of(1, LONG), 0);
    cr_assert_eq(weiri_sum_read(&s.bench.table.splits) + weiri_sum_read(&s.bench.table.compactions), 0);
    /* Once begun, no step needs any. */
    cr_assert(weiri_compact(&s.bench.table, s.old, T));
    s.bench.counting.fail_from = 1;
    weiri_help(&s.bench.table, s.old, 0);
    cr_assert(weiri_done(s.old));
    cr_assert_eq(s.bench.counting.failed, 7);
    test_allocator_relent(&s.bench.counting);
    bench_close(&s.bench);
}

Test(migrate, the_census_counts_what_is_claimed_and_what_is_live)
{
    struct scene s;
    scene_open(&s, 0);

    cr_assert(weiri_claim(&s.old->cell[4], weiri_identity_pair(&s.d))); /* not charged so far */
    freeze_cell(&s.old->cell[0]);                                       /* SEALED is no key */
    freeze_cell(&s.old->cell[1]);                                       /* FROZEN is */
    weiri_census census = weiri_segment_census(&s.bench.table, s.old, T);
    cr_assert_eq(census.claimed, 4);
    cr_assert_eq(census.live, 2);
    cr_assert_eq(weiri_segment_census(&s.bench.table, s.old, T - 1).live, 3);
    cr_assert_eq(weiri_segment_census(&s.bench.table, s.old, T + 1).live, 1);
    cr_assert_eq(weiri_segment_census(&s.bench.table, s.old, LONG).live, 0);
    bench_close(&s.bench);
}
