/*
 * The descriptor of a migration and its successors, without the steps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "table_bench.h"

static const uint64_t top = UINT64_C(1) << 63;

Test(migration, takes_bits_of_a_hash_from_the_top)
{
    const uint64_t hash = UINT64_C(0xa5c3f00000000001);

    cr_assert_eq(weiri_hash_bits(hash, 0, 0), 0);
    cr_assert_eq(weiri_hash_bits(hash, 0, 1), 1);
    cr_assert_eq(weiri_hash_bits(hash, 0, 4), 0xa);
    cr_assert_eq(weiri_hash_bits(hash, 1, 1), 0);
    cr_assert_eq(weiri_hash_bits(hash, 4, 8), 0x5c);
    cr_assert_eq(weiri_hash_bits(hash, 63, 1), 1);
    cr_assert_eq(weiri_hash_bits(hash, 63, 0), 0);
    cr_assert_eq(weiri_hash_bits(UINT64_MAX, 0, 63), UINT64_MAX >> 1);
}

static void successor_is(const weiri_segment *successor, uint32_t capacity, uint64_t prefix, unsigned depth,
                         uint64_t floor)
{
    cr_assert_not_null(successor);
    cr_assert_eq(successor->capacity, capacity);
    cr_assert_eq(successor->prefix, prefix);
    cr_assert_eq(successor->depth, depth);
    cr_assert_eq(successor->floor, floor);
}

Test(migration, a_split_has_two_successors_of_one_bit_more_and_no_selection)
{
    struct bench bench;
    bench_without_segment(&bench);
    for (unsigned depth = 0; depth < 48; depth++) {
        uint64_t prefix = depth == 0 ? 0 : UINT64_C(0xa5a5a5a5a5a5a5a5) >> (64 - depth) << (64 - depth);
        uint64_t bit = top >> depth;
        weiri_segment *segment = weiri_segment_new(&bench.memory, 8, prefix, (uint8_t)depth, 50);
        weiri_migration *migration = weiri_migration_new(&bench.memory, segment, 60, true, 8, 8);

        cr_assert_eq(migration->time, 60);
        cr_assert(migration->split);
        successor_is(migration->successor[0], 8, prefix, depth + 1, 60);
        successor_is(migration->successor[1], 8, prefix | bit, depth + 1, 60);
        cr_assert_eq(weiri_successor(segment, migration, prefix), migration->successor[0]);
        cr_assert_eq(weiri_successor(segment, migration, prefix | (bit - 1)), migration->successor[0]);
        cr_assert_eq(weiri_successor(segment, migration, prefix | bit), migration->successor[1]);
        cr_assert_null(weiri_not_selected(migration));
        weiri_migration_free(&bench.memory, migration);
        weiri_segment_free(&bench.memory, segment);
    }
    bench_empty(&bench);
}

Test(migration, of_one_capacity_is_selected_from_the_start)
{
    struct bench bench;
    bench_without_segment(&bench);
    weiri_segment *segment = weiri_segment_new(&bench.memory, 8, top, 1, 50);
    weiri_migration *migration = weiri_migration_new(&bench.memory, segment, 60, false, 16, 16);

    successor_is(migration->successor[0], 16, top, 1, 60);
    cr_assert_null(migration->successor[1]);
    cr_assert_eq(weiri_successor(segment, migration, top), migration->successor[0]);
    cr_assert_null(weiri_not_selected(migration));
    weiri_migration_free(&bench.memory, migration);
    weiri_segment_free(&bench.memory, segment);
    bench_empty(&bench);
}

Test(migration, that_may_shrink_leads_nowhere_until_one_is_selected)
{
    struct bench bench;
    bench_without_segment(&bench);
    for (uint32_t selected = 1; selected <= 2; selected++) {
        weiri_segment *segment = weiri_segment_new(&bench.memory, 8, 0, 0, 0);
        weiri_migration *migration = weiri_migration_new(&bench.memory, segment, 5, false, 8, 2);

        successor_is(migration->successor[0], 8, 0, 0, 5);
        successor_is(migration->successor[1], 2, 0, 0, 5);
        cr_assert_eq(migration->small_fits, 1);
        cr_assert_null(weiri_successor(segment, migration, 0));
        cr_assert(weiri_cas_32(&migration->selected, 0, selected));
        cr_assert_eq(weiri_successor(segment, migration, 0), migration->successor[selected - 1]);
        cr_assert_eq(weiri_not_selected(migration), migration->successor[2 - selected]);
        weiri_migration_free(&bench.memory, migration);
        weiri_segment_free(&bench.memory, segment);
    }
    bench_empty(&bench);
}

Test(migration, inherits_the_floor_and_raises_it_to_the_drop_time)
{
    static const uint64_t floors[][3] = {{0, 0, 0}, {50, 49, 50}, {50, 50, 50}, {50, 51, 51},
                                         {0, UINT64_MAX, UINT64_MAX}};
    struct bench bench;

    bench_without_segment(&bench);
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        for (unsigned split = 0; split < 2; split++) {
            weiri_segment *segment = weiri_segment_new(&bench.memory, 8, 0, 0, floors[i][0]);
            weiri_migration *migration = weiri_migration_new(&bench.memory, segment, floors[i][1], split == 1, 8, 2);
            cr_assert_eq(migration->time, floors[i][1]);
            cr_assert_eq(migration->successor[0]->floor, floors[i][2]);
            cr_assert_eq(migration->successor[1]->floor, floors[i][2]);
            weiri_migration_free(&bench.memory, migration);
            weiri_segment_free(&bench.memory, segment);
        }
    bench_empty(&bench);
}

Test(migration, without_memory_is_not_made_and_leaves_nothing)
{
    struct bench bench;
    bench_without_segment(&bench);
    weiri_segment *segment = weiri_segment_new(&bench.memory, 8, 0, 0, 0);
    uint64_t before = bench.counting.bytes;

    for (uint64_t n = 1; n <= 3; n++)
        for (unsigned split = 0; split < 2; split++) {
            bench.counting.fail_at = n;
            cr_assert_null(weiri_migration_new(&bench.memory, segment, 5, split == 1, 8, 2));
            cr_assert_eq(bench.counting.bytes, before);
        }
    bench.counting.fail_at = 2;
    cr_assert_null(weiri_migration_new(&bench.memory, segment, 5, false, 8, 8));
    weiri_segment_free(&bench.memory, segment);
    bench_empty(&bench);
}

/* A segment that has migrated, taken down by `how`; its selected successors stay the test's. */
static void take_down(struct bench *bench, bool split, uint32_t small, uint32_t selected, bool retire)
{
    weiri_segment *segment = weiri_segment_new(&bench->memory, 8, 0, 0, 0);
    weiri_migration *migration = weiri_migration_new(&bench->memory, segment, 5, split, 8, small);
    weiri_segment *stay[2] = {migration->successor[0], migration->successor[1]};

    cr_assert(weiri_cas_pointer(&segment->forward, NULL, migration));
    if (selected)
        cr_assert(weiri_cas_32(&migration->selected, 0, selected));
    for (unsigned i = 0; i < 2; i++)
        if (stay[i] == weiri_not_selected(migration))
            stay[i] = NULL;
    uint64_t left = 0, before = bench->counting.bytes;
    for (unsigned i = 0; i < 2; i++)
        left += stay[i] ? weiri_segment_size(stay[i]->capacity) : 0;
    if (retire) {
        weiri_segment_retire(&bench->memory, segment);
        cr_assert_eq(weiri_load_relaxed_64(&bench->memory.retired_bytes), before - left);
        cr_assert_eq(bench->counting.bytes, before);
        weiri_reclaim_now(&bench->memory);
        cr_assert_eq(weiri_load_relaxed_64(&bench->memory.retired_bytes), 0);
    } else {
        weiri_segment_destroy(&bench->memory, segment);
    }
    cr_assert_eq(bench->counting.bytes, left);
    weiri_segment_free(&bench->memory, stay[0]);
    weiri_segment_free(&bench->memory, stay[1]);
    bench_empty(bench);
}

Test(migration, a_segment_that_goes_takes_its_descriptor_and_the_successor_not_selected)
{
    struct bench bench;

    bench_without_segment(&bench);
    for (unsigned retire = 0; retire < 2; retire++) {
        take_down(&bench, true, 8, 0, retire == 1);
        take_down(&bench, false, 8, 0, retire == 1);
        take_down(&bench, false, 2, 1, retire == 1);
        take_down(&bench, false, 2, 2, retire == 1);
    }
    weiri_segment_destroy(&bench.memory, weiri_segment_new(&bench.memory, 8, 0, 0, 0));
    bench_empty(&bench);
}
