/*
 * The table as a whole: its count, its end, many keys, and keys that were aimed at one place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "table_bench.h"

#define T    UINT64_C(100)
#define LONG UINT64_C(1000)

Test(table, begins_without_a_cell_and_fails_whole_without_memory)
{
    struct bench bench;

    for (uint64_t n = 1; n <= 3; n++) {
        bench_without_segment(&bench);
        bench.counting.fail_at = n;
        cr_assert(!weiri_table_init(&bench.table, &bench.memory));
        bench_empty(&bench);
    }
    bench_without_segment(&bench);
    cr_assert(weiri_table_init(&bench.table, &bench.memory));
    weir_identity key = key_at(0, 0, 1);
    weiri_segment *segment = weiri_directory_find(&bench.table.directory, 0);
    cr_assert_eq(segment->capacity, 0);
    looks(&bench, segment, &key, NULL, false, (weiri_pair){{0, 0}}, 0);
    cr_assert_eq(weiri_table_count(&bench.table), 0);
    bench_close(&bench);
}

Test(table, reserves_up_to_the_bound_and_takes_back)
{
    struct bench bench;
    bench_open(&bench, 0, 0);
    weiri_table *table = &bench.table;

    for (uint64_t i = 0; i < 5; i++)
        cr_assert(weiri_table_reserve(table));
    cr_assert_eq(weiri_table_count(table), 5);
    weiri_table_unreserve(table, 0);
    weiri_table_unreserve(table, 2);
    cr_assert_eq(weiri_table_count(table), 3);
    weiri_table_unreserve(table, 3);
    table->max_keys = 2;
    cr_assert(weiri_table_reserve(table));
    cr_assert(weiri_table_reserve(table));
    cr_assert(!weiri_table_reserve(table));
    cr_assert_eq(weiri_table_count(table), 2);
    weiri_table_unreserve(table, 1);
    cr_assert(weiri_table_reserve(table));
    cr_assert(!weiri_table_reserve(table));
    weiri_table_unreserve(table, 2);
    weiri_table_unreserve(table, 0);
    cr_assert_eq(weiri_table_count(table), 0);
    bench_close(&bench);
}

Test(table, tells_the_first_hash_behind_a_segment)
{
    struct bench bench;
    bench_without_segment(&bench);
    static const struct {
        uint64_t prefix, end;
        uint8_t depth;
    } ends[] = {{0, 0, 0},
                {0, UINT64_C(1) << 63, 1},
                {UINT64_C(1) << 63, 0, 1},
                {UINT64_C(0xc) << 60, UINT64_C(0xd) << 60, 4},
                {UINT64_C(0xf) << 60, 0, 4},
                {UINT64_MAX << 16, 0, 48}};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        weiri_segment *segment = weiri_segment_new(&bench.memory, 0, ends[i].prefix, ends[i].depth, 0);
        cr_assert_eq(weiri_segment_end(segment), ends[i].end);
        weiri_segment_free(&bench.memory, segment);
    }
    bench_empty(&bench);
}

Test(table, settling_helps_every_migration_on_the_way)
{
    struct bench bench;
    weiri_segment *first = bench_open(&bench, 8, 0);
    weir_identity key = key_at(UINT64_C(1) << 63, 3, 1);

    put_in(&bench, first, &key, state_of(1, LONG));
    cr_assert(weiri_split(&bench.table, first, T));
    weiri_complete(&bench.table, first);
    weiri_segment *second = weiri_forward(first)->successor[1];
    cr_assert(weiri_split(&bench.table, second, T + 1));
    weiri_segment *settled = weiri_table_settled(&bench.table, key.hash);
    cr_assert_eq(settled, weiri_forward(second)->successor[0]);
    cr_assert_null(weiri_forward(settled));
    cr_assert(weiri_done(second));
    cr_assert_eq(weiri_directory_find(&bench.table.directory, key.hash), settled);
    looks(&bench, settled, &key, cell_of(settled, &key), true, state_of(1, LONG), T + 1);
    bench_close(&bench);
}

/* The states that the end of the table shows: each once, wherever a migration stopped, and without memory. */
Test(table, the_end_visits_every_live_state_once_at_any_step_of_a_migration)
{
    for (unsigned step = 0; step <= 5; step++) {
        struct bench bench;
        weiri_segment *old = bench_open(&bench, 8, 0);
        weiri_table *table = &bench.table;
        weir_identity key[6];

        for (uint32_t i = 0; i < 6; i++) {
            key[i] = key_at((uint64_t)(i & 1) << 63, i, i);
            put_in(&bench, old, &key[i], state_of(i + 1, i < 4 ? LONG : T));
        }
        if (step >= 1)
            cr_assert(weiri_split(table, old, T));
        if (step >= 2)
            for (uint32_t i = 2; i < 7; i++)
                freeze_cell(&old->cell[i]);
        if (step >= 3)
            weiri_advance(table, old, &key[2]);
        if (step >= 4)
            weiri_complete(table, old);
        if (step >= 5) /* two generations that the directory does not know */
            cr_assert(weiri_split(table, weiri_forward(old)->successor[1], T));
        bench.counting.fail_from = 1;
        bench_close(&bench);
        cr_assert_eq(bench.visited, step == 0 ? 6 : 4, "step %u", step);
    }
}

Test(table, holds_many_keys_and_forgets_what_expired)
{
    random_source random = random_from(random_seed("table"), 0);
    enum { KEYS = 5000 };
    static weir_identity key[KEYS];
    static weiri_pair state[KEYS];
    struct bench bench;
    bench_open(&bench, 0, 0);

    for (uint64_t i = 0; i < KEYS; i++) {
        key[i] = key_at(random_next(&random) & ~UINT64_C(0xff), 0, i);
        state[i] = state_of(i + 1, random_one_in(&random, 2) ? LONG : T);
        cr_assert(charge(&bench, &key[i], state[i], 0));
    }
    cr_assert_eq(weiri_table_count(&bench.table), KEYS);
    cr_assert_eq(weiri_sum_read(&bench.table.swept), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        same_pair(look(&bench, &key[i]).state, state[i], "a key");
    /* Every segment compacted at T, one after the other. */
    uint64_t hash = 0, live = 0;
    do {
        weiri_segment *segment = weiri_table_settled(&bench.table, hash);
        if (weiri_compact(&bench.table, segment, T))
            weiri_help(&bench.table, segment, hash);
        hash = weiri_segment_end(segment);
    } while (hash != 0);
    for (uint64_t i = 0; i < KEYS; i++) {
        weiri_spot spot = look(&bench, &key[i]);
        bool kept = state[i].word[1] == LONG;
        live += kept;
        cr_assert_eq(spot.held, kept);
        same_pair(spot.state, kept ? state[i] : (weiri_pair){{0, 0}}, "a key afterwards");
    }
    cr_assert_eq(weiri_table_count(&bench.table), live);
    cr_assert_eq(weiri_sum_read(&bench.table.swept), KEYS - live);
    bench_close(&bench);
    cr_assert_eq(bench.visited, live);
}

/* All hashes equal, as nobody outside can make them: slow, never a loop, and in bounded memory. */
Test(table, ten_thousand_keys_aimed_at_one_place_are_held_in_eight_cells_a_key)
{
    enum { KEYS = 10000 };
    struct bench bench;
    bench_open(&bench, 0, 0);

    for (uint64_t i = 0; i < KEYS; i++) {
        weir_identity key = key_at(UINT64_C(0x123456) << 40, 5, i);
        cr_assert(charge(&bench, &key, state_of(i + 1, LONG), 0));
    }
    bench_reclaim(&bench);
    cr_assert_eq(weiri_table_count(&bench.table), KEYS);
    cr_assert_leq(weiri_sum_read(&bench.memory.bytes), UINT64_C(8) * 32 * KEYS);
    weiri_segment *segment = weiri_directory_find(&bench.table.directory, UINT64_C(0x123456) << 40);
    cr_assert_eq(segment->depth, 0); /* no split would have helped */
    cr_assert_eq(weiri_sum_read(&bench.table.compactions), 0);
    for (uint64_t i = 0; i < KEYS; i += 97) {
        weir_identity key = key_at(UINT64_C(0x123456) << 40, 5, i);
        same_pair(look(&bench, &key).state, state_of(i + 1, LONG), "a key");
    }
    bench_close(&bench);
    cr_assert_eq(bench.visited, KEYS);
}

/* Hashes that agree in their first 30 bits and then differ: the directory stays in proportion. */
Test(table, keys_that_agree_in_thirty_bits_do_not_blow_up_the_directory)
{
    random_source random = random_from(random_seed("table"), 1);
    enum { KEYS = 2000 };
    struct bench bench;
    static weir_identity key[KEYS];
    bench_open(&bench, 0, 0);

    for (uint64_t i = 0; i < KEYS; i++) {
        key[i] = key_at(UINT64_C(0x15a5a5a5) << 34 | (random_next(&random) >> 30 & ~UINT64_C(0xff)), 0, i);
        cr_assert(charge(&bench, &key[i], state_of(i + 1, LONG), 0));
    }
    for (uint64_t i = 0; i < KEYS; i++)
        same_pair(look(&bench, &key[i]).state, state_of(i + 1, LONG), "a key");
    const weiri_directory *directory = &bench.table.directory;
    cr_assert_leq(weiri_load_relaxed_64(&directory->entries), 8 * weiri_load_relaxed_64(&directory->segments) + 512);
    bench_reclaim(&bench);
    cr_assert_leq(weiri_sum_read(&bench.memory.bytes), UINT64_C(9) * 32 * KEYS);
    bench_close(&bench);
    cr_assert_eq(bench.visited, KEYS);
}
