/*
 * One segment: where keys are looked for, claimed, sealed and frozen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "table_bench.h"

static weiri_finding find(weiri_segment *segment, const weir_identity *key)
{
    return weiri_find(segment, weiri_identity_pair(key), key->hash);
}

static void claim(weiri_segment *segment, uint32_t cell, const weir_identity *key)
{
    cr_assert(weiri_claim(&segment->cell[cell], weiri_identity_pair(key)));
}

Test(segment, begins_empty_whatever_the_memory_held)
{
    struct bench bench;

    bench_without_segment(&bench);
    for (uint32_t capacity = 0; capacity <= 64; capacity = capacity ? 2 * capacity : 2) {
        weiri_segment *segment = weiri_segment_new(&bench.memory, capacity, UINT64_C(5) << 61, 3, 77);
        cr_assert_not_null(segment);
        cr_assert(capacity == 0 || (uintptr_t)segment % 64 == 0); /* a line holds two whole cells */
        cr_assert_eq(bench.counting.bytes, weiri_segment_size(capacity));
        cr_assert_geq(weiri_segment_size(capacity), 64 + 32 * (size_t)capacity);
        cr_assert_leq(weiri_segment_size(capacity), 64 + 32 * (size_t)capacity + (capacity == 0 ? 0 : 48));
        cr_assert_eq(segment->capacity, capacity);
        cr_assert_eq(segment->prefix, UINT64_C(5) << 61);
        cr_assert_eq(segment->depth, 3);
        cr_assert_eq(segment->floor, 77);
        cr_assert_null(weiri_forward(segment));
        cr_assert(!weiri_done(segment));
        for (uint32_t i = 0; i < capacity; i++) {
            same_pair(weiri_load_once_128(&segment->cell[i].identity), (weiri_pair){{0, 0}}, "identity");
            cr_assert(weiri_uninit(weiri_load_snapshot_128(&segment->cell[i].state)));
        }
        weiri_segment_free(&bench.memory, segment);
        bench_empty(&bench);
    }
    weiri_segment_free(&bench.memory, NULL);
    bench.counting.fail_at = 1;
    cr_assert_null(weiri_segment_new(&bench.memory, 8, 0, 0, 0));
    bench_empty(&bench);
}

Test(segment, probes_as_far_as_its_size_allows)
{
    cr_assert_eq(weiri_probes(0), 0);
    cr_assert_eq(weiri_probes(2), 2);
    cr_assert_eq(weiri_probes(WEIRI_PROBES / 2), WEIRI_PROBES / 2);
    cr_assert_eq(weiri_probes(WEIRI_PROBES), WEIRI_PROBES);
    cr_assert_eq(weiri_probes(WEIRI_CAPACITY_MAX), WEIRI_PROBES);
    for (uint32_t capacity = 2 * WEIRI_CAPACITY_MAX; capacity <= UINT32_C(1) << 20; capacity *= 2)
        cr_assert_eq(weiri_probes(capacity), capacity / 4 > WEIRI_PROBES ? capacity / 4 : WEIRI_PROBES);
}

Test(segment, finds_the_cell_a_key_would_claim_and_then_the_key)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);

    for (uint32_t i = 0; i < 8; i++) {
        weir_identity key = key_at(UINT64_C(1) << 63, i, 1);
        cr_assert_eq(weiri_first_cell(segment, key.hash | 0xff), i); /* the lowest bits are no hash */
        weiri_finding finding = find(segment, &key);
        cr_assert_eq(finding.found, WEIRI_FREE);
        cr_assert_eq(finding.cell, &segment->cell[i]);
        claim(segment, i, &key);
        finding = find(segment, &key);
        cr_assert_eq(finding.found, WEIRI_HELD);
        cr_assert_eq(finding.cell, &segment->cell[i]);
    }
    bench_close(&bench);
}

Test(segment, goes_on_behind_other_keys_and_round_the_end)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);
    weir_identity key[3];

    for (uint64_t i = 0; i < 3; i++) {
        key[i] = key_at(0, 6, i);
        cr_assert_eq(find(segment, &key[i]).cell, &segment->cell[(6 + i) % 8]);
        claim(segment, (uint32_t)(6 + i) % 8, &key[i]);
    }
    for (uint64_t i = 0; i < 3; i++) /* equal first words, told apart by the second */
        cr_assert_eq(find(segment, &key[i]).cell, &segment->cell[(6 + i) % 8]);
    bench_close(&bench);
}

Test(segment, a_claim_takes_an_empty_cell_only)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);
    weir_identity one = key_at(0, 1, 1), other = key_at(0, 1, 2);

    claim(segment, 1, &one);
    cr_assert(!weiri_claim(&segment->cell[1], weiri_identity_pair(&other)));
    same_pair(weiri_load_once_128(&segment->cell[1].identity), weiri_identity_pair(&one), "the winner");
    freeze_cell(&segment->cell[2]);
    cr_assert(!weiri_claim(&segment->cell[2], weiri_identity_pair(&other)));
    same_pair(weiri_load_once_128(&segment->cell[2].identity), (weiri_pair){{0xff, 0}}, "SEALED");
    bench_close(&bench);
}

Test(segment, a_sealed_cell_ends_the_look_but_hides_no_key_before_it)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);
    weir_identity before = key_at(0, 3, 1), missing = key_at(0, 3, 2);

    claim(segment, 3, &before);
    freeze_cell(&segment->cell[2]); /* the next one in its order */
    cr_assert_eq(find(segment, &before).found, WEIRI_HELD);
    cr_assert_eq(find(segment, &missing).found, WEIRI_SEALED);
    cr_assert_null(find(segment, &missing).cell);
    bench_close(&bench);
}

Test(segment, looks_line_by_line)
{
    static const uint32_t order[2][8] = {{6, 7, 0, 1, 2, 3, 4, 5}, {3, 2, 5, 4, 7, 6, 1, 0}};

    for (unsigned odd = 0; odd < 2; odd++) {
        struct bench bench;
        weiri_segment *segment = bench_open(&bench, 8, 0);
        for (uint32_t i = 0; i < 8; i++) {
            weir_identity key = key_at(0, order[odd][0], i);
            cr_assert_eq(weiri_probed_cell(segment, order[odd][0], i), &segment->cell[order[odd][i]]);
            cr_assert_eq(find(segment, &key).cell, i < weiri_probes(8) ? &segment->cell[order[odd][i]] : NULL);
            claim(segment, order[odd][i], &key);
            cr_assert_eq(find(segment, &key).found, WEIRI_HELD);
            cr_assert_eq(find(segment, &key).cell, &segment->cell[order[odd][i]]);
        }
        bench_close(&bench);
    }
}

Test(segment, is_full_beyond_the_probes_though_looks_go_on)
{
    struct bench bench;
    const uint32_t capacity = 2 * WEIRI_PROBES; /* at most WEIRI_CAPACITY_MAX */
    weiri_segment *segment = bench_open(&bench, capacity, 0);

    for (uint32_t i = 0; i < WEIRI_PROBES; i++) {
        weir_identity key = key_at(0, 5, i), next = key_at(0, 5, i + 1);
        claim(segment, (4 + (i ^ 1)) % capacity, &key); /* 5 4 7 6 ... */
        cr_assert_eq(find(segment, &next).found, i + 1 < WEIRI_PROBES ? WEIRI_FREE : WEIRI_FULL);
    }
    /* A copy may have gone further. */
    weir_identity copied = key_at(0, 5, 100), missing = key_at(0, 5, 101);
    claim(segment, (5 + WEIRI_PROBES) % capacity, &copied);
    cr_assert_eq(find(segment, &copied).found, WEIRI_HELD);
    cr_assert_eq(find(segment, &missing).found, WEIRI_FULL);
    bench_close(&bench);
}

Test(segment, without_an_empty_cell_or_any_is_full)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 0, 0);
    weir_identity missing = key_at(0, 0, 100);

    cr_assert_eq(find(segment, &missing).found, WEIRI_FULL);
    bench_close(&bench);
    segment = bench_open(&bench, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        weir_identity key = key_at(0, i, i);
        claim(segment, i, &key);
    }
    cr_assert_eq(find(segment, &missing).found, WEIRI_FULL);
    bench_close(&bench);
}

Test(segment, a_frozen_state_takes_no_charge)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);
    weir_identity key = key_at(0, 2, 1);
    weiri_cell *cell = put_in(&bench, segment, &key, state_of(7, 10));

    freeze_cell(cell);
    cr_assert(!weiri_cas_128(&cell->state, state_of(7, 10), state_of(8, 10)));
    same_pair(weiri_load_snapshot_128(&cell->state), (weiri_pair){{15, 10}}, "FROZEN");
    same_pair(weiri_thawed(weiri_load_snapshot_128(&cell->state)), state_of(7, 10), "thawed");
    cr_assert(weiri_uninit(weiri_thawed((weiri_pair){{WEIRI_FROZEN, 0}})));
    cr_assert(!weiri_uninit((weiri_pair){{0, 1}}));
    cr_assert(!weiri_uninit((weiri_pair){{2, 0}}));
    bench_close(&bench);
}
