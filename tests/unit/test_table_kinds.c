/*
 * Which kind of migration is started, and when none is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "table_bench.h"

#define T    UINT64_C(100) /* the drop time of these migrations */
#define LONG UINT64_C(1000)

static void fill(struct bench *bench, weiri_segment *segment, uint32_t claimed, uint32_t live)
{
    for (uint32_t i = 0; i < claimed; i++) { /* both sides of the next bit */
        weir_identity key = key_at((uint64_t)(i & 1) << 63, i, i);
        put_in(bench, segment, &key, state_of(i + 1, i < live ? T + 1 : T));
    }
}

static weiri_migration *room_made(struct bench *bench, weiri_segment *segment)
{
    cr_assert(weiri_make_room(&bench->table, segment, T));
    cr_assert_eq(weiri_forward(segment)->time, T);
    return weiri_forward(segment);
}

Test(kinds, room_is_made_by_dropping_where_a_quarter_is_dead_else_by_growing)
{
    const uint32_t min = WEIRI_CAPACITY_MIN;

    for (uint32_t live = 0; live <= min; live++) {
        struct bench bench;
        weiri_segment *segment = bench_open(&bench, min, 0);
        fill(&bench, segment, min, live);
        weiri_migration *migration = room_made(&bench, segment);
        bool drops = live < min && live <= min - min / 4;
        cr_assert(!migration->split);
        cr_assert_eq(migration->successor[0]->capacity, drops ? min : 2 * min, "%u live of %u", live, min);
        cr_assert_null(migration->successor[1]);
        cr_assert_eq(weiri_sum_read(&bench.table.splits), !drops);
        cr_assert_eq(weiri_sum_read(&bench.table.compactions), drops);
        /* A second one finds the first. */
        cr_assert(weiri_make_room(&bench.table, segment, T + 5));
        cr_assert_eq(weiri_forward(segment), migration);
        cr_assert_eq(weiri_sum_read(&bench.table.splits) + weiri_sum_read(&bench.table.compactions), 1);
        bench_close(&bench);
    }
}

Test(kinds, few_keys_that_are_all_live_ask_for_more_cells)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, WEIRI_CAPACITY_MIN, 0);

    fill(&bench, segment, WEIRI_CAPACITY_MIN / 2, WEIRI_CAPACITY_MIN / 2); /* dropping would give nothing */
    cr_assert_eq(room_made(&bench, segment)->successor[0]->capacity, 2 * WEIRI_CAPACITY_MIN);
    bench_close(&bench);
}

Test(kinds, a_bare_header_gets_its_first_cells)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 0, 0);

    cr_assert_eq(room_made(&bench, segment)->successor[0]->capacity, WEIRI_CAPACITY_MIN);
    weiri_complete(&bench.table, segment);
    cr_assert(weiri_done(segment));
    bench_close(&bench);
}

Test(kinds, the_largest_segment_splits)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, WEIRI_CAPACITY_MAX, 0);

    fill(&bench, segment, WEIRI_CAPACITY_MAX, WEIRI_CAPACITY_MAX);
    weiri_migration *migration = room_made(&bench, segment);
    cr_assert(migration->split);
    cr_assert_eq(migration->successor[0]->capacity, WEIRI_CAPACITY_MAX);
    cr_assert_eq(migration->successor[1]->capacity, WEIRI_CAPACITY_MAX);
    bench_close(&bench);
}

static void grows_instead(uint8_t depth, uint64_t bits, bool crowded)
{
    struct bench bench;
    weiri_segment *root = bench_open(&bench, 0, 0);
    weiri_segment *segment = weiri_segment_new(&bench.memory, WEIRI_CAPACITY_MAX, 0, depth, 0);

    for (uint32_t i = 0; i < WEIRI_CAPACITY_MAX; i++) {
        weir_identity key = key_at(i & 1 ? bits : 0, i, i);
        put_in(&bench, segment, &key, state_of(i + 1, LONG));
    }
    if (crowded)
        weiri_store_relaxed_64(&bench.table.directory.entries, 8 + 512); /* one more is one too many */
    weiri_migration *migration = room_made(&bench, segment);
    cr_assert(!migration->split);
    cr_assert_eq(migration->successor[0]->capacity, 2 * WEIRI_CAPACITY_MAX);
    weiri_complete(&bench.table, segment);
    cr_assert_eq(weiri_segment_census(&bench.table, migration->successor[0], 0).live, WEIRI_CAPACITY_MAX);
    weiri_segment_free(&bench.memory, migration->successor[0]);
    weiri_segment_destroy(&bench.memory, segment);
    cr_assert_eq(weiri_directory_find(&bench.table.directory, 0), root);
    bench_close(&bench);
}

Test(kinds, grows_beyond_the_largest_where_a_split_would_not_help)
{
    grows_instead(0, 0, false);                     /* all keys on one side, */
    grows_instead(3, UINT64_C(1) << 61, false);     /* though an earlier bit differs; */
    grows_instead(48, UINT64_C(1) << 15, false);    /* so deep that the bits left find the cell; */
    grows_instead(0, UINT64_C(1) << 63, true);      /* a directory much longer than its segments */
}

Test(kinds, a_split_can_be_had_down_to_depth_47)
{
    struct bench bench;
    bench_open(&bench, 0, 0);

    for (unsigned depth = 47; depth <= 48; depth++) {
        weiri_segment *segment = weiri_segment_new(&bench.memory, 8, 0, (uint8_t)depth, 0);
        cr_assert_eq(weiri_split(&bench.table, segment, 0), depth == 47);
        if (depth == 47) {
            cr_assert_eq(weiri_forward(segment)->successor[1]->prefix, UINT64_C(1) << 16);
            weiri_segment_free(&bench.memory, weiri_forward(segment)->successor[0]);
            weiri_segment_free(&bench.memory, weiri_forward(segment)->successor[1]);
        }
        weiri_segment_destroy(&bench.memory, segment);
    }
    bench_close(&bench);
}

Test(kinds, compacting_goes_to_the_smallest_capacity_half_used_or_not_at_all)
{
    for (uint32_t capacity = WEIRI_CAPACITY_MIN; capacity <= WEIRI_CAPACITY_MAX; capacity *= 2)
        for (uint32_t claimed = 0; claimed <= capacity; claimed += 1 + claimed / 8)
            for (uint32_t live = 0; live <= claimed; live += 1 + live / 3) {
                struct bench bench;
                weiri_segment *segment = bench_open(&bench, capacity, 0);
                uint32_t small = live == 0 ? 0 : WEIRI_CAPACITY_MIN;

                fill(&bench, segment, claimed, live);
                while (small < 2 * live)
                    small *= 2;
                bool gains = small < capacity || live < claimed;
                cr_assert_eq(weiri_compact(&bench.table, segment, T), gains, "%u of %u in %u", live, claimed, capacity);
                if (gains) {
                    weiri_complete(&bench.table, segment);
                    const weiri_segment *now = weiri_successor(segment, weiri_forward(segment), 0);
                    cr_assert_eq(now->capacity, small < capacity ? small : capacity);
                    cr_assert_eq(weiri_segment_census(&bench.table, now, T).live, live);
                    cr_assert_eq(weiri_table_count(&bench.table), live);
                }
                cr_assert_eq(weiri_sum_read(&bench.table.compactions), gains);
                bench_close(&bench);
            }
}
