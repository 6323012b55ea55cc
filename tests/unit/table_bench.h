/*
 * A table without a limiter, for tests that look into it. A state says itself when it expires: word 1 is the first time
 * at which nobody needs it. Identities bear the mark of a hashed key, so that their hash is word 0 and a test aims them
 * at the cell it wants.
 *
 * One thread, and nothing is freed before bench_reclaim: tests hold pointers across steps without a read section.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_TABLE_BENCH_H
#define WEIR_TESTS_TABLE_BENCH_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/random.h"
#include "table/migrate.h"

struct bench {
    test_allocator counting;
    weiri_memory memory;
    weiri_table table;
    uint64_t visited; /* states that bench_close saw */
};

static inline bool bench_live(const void *context, weiri_pair state, uint64_t time)
{
    (void)context;
    return state.word[1] > time;
}

static inline void bench_without_segment(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    weir_allocator callbacks = test_allocator_for(&bench->counting);
    weiri_memory_init(&bench->memory, &callbacks);
    bench->table.memory = &bench->memory;
    bench->table.hash_key = (weiri_hash_key){{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    bench->table.live = bench_live;
}

/* A table of one segment, which is returned. */
static inline weiri_segment *bench_open(struct bench *bench, uint32_t capacity, uint64_t floor)
{
    bench_without_segment(bench);
    weiri_segment *segment = weiri_segment_new(&bench->memory, capacity, 0, 0, floor);
    cr_assert_not_null(segment);
    cr_assert(weiri_directory_init(&bench->table.directory, &bench->memory, segment));
    return segment;
}

static inline void bench_visit(void *argument, weiri_pair state)
{
    cr_assert(!weiri_uninit(state));
    ++*(uint64_t *)argument;
}

/* Everything must have been given back. */
static inline void bench_empty(const struct bench *bench)
{
    cr_assert_eq(bench->counting.blocks, 0);
    cr_assert_eq(bench->counting.bytes, 0);
    cr_assert_eq(bench->counting.faults, 0);
    cr_assert_eq(weiri_sum_read(&bench->memory.bytes), 0);
    cr_assert_eq(weiri_load_relaxed_64(&bench->memory.retired_bytes), 0);
}

static inline void bench_close(struct bench *bench)
{
    bench->visited = 0;
    weiri_reclaim_now(&bench->memory);
    weiri_table_destroy(&bench->table, bench_visit, &bench->visited);
    weiri_reclaim_now(&bench->memory);
    bench_empty(bench);
}

/* What was retired is freed: nobody reads. */
static inline void bench_reclaim(struct bench *bench)
{
    weiri_reclaim_now(&bench->memory);
    cr_assert_eq(weiri_load_relaxed_64(&bench->memory.retired_bytes), 0);
    cr_assert_eq(weiri_sum_read(&bench->memory.bytes), bench->counting.bytes);
}

/* Key `number`, whose probe order begins at `cell`, and whose hash has these top bits. */
static inline weir_identity key_at(uint64_t top, uint32_t cell, uint64_t number)
{
    uint64_t hash = top | (uint64_t)cell << 8;
    return (weir_identity){{hash | WEIRI_MARK_HASHED, number}, hash, 0};
}

static inline weiri_pair state_of(uint64_t value, uint64_t expires)
{
    return (weiri_pair){{value << 1, expires}};
}

static inline void same_pair(weiri_pair got, weiri_pair wanted, const char *what)
{
    cr_assert(weiri_pair_equal(got, wanted),
              "%s: wanted %" PRIx64 " %" PRIx64 ", got %" PRIx64 " %" PRIx64, what, wanted.word[0], wanted.word[1],
              got.word[0], got.word[1]);
}

/* The cell of a key that stands in this very segment. */
static inline weiri_cell *cell_of(weiri_segment *segment, const weir_identity *key)
{
    weiri_finding finding = weiri_find(segment, weiri_identity_pair(key), key->hash);
    cr_assert_eq(finding.found, WEIRI_HELD);
    return finding.cell;
}

static inline weiri_pair state_in(weiri_segment *segment, const weir_identity *key)
{
    return weiri_load_snapshot_128(&cell_of(segment, key)->state);
}

/* The first charge of a key in this very segment, which has room. */
static inline weiri_cell *put_in(struct bench *bench, weiri_segment *segment, const weir_identity *key,
                                 weiri_pair state)
{
    weiri_finding finding = weiri_find(segment, weiri_identity_pair(key), key->hash);
    cr_assert_eq(finding.found, WEIRI_FREE);
    cr_assert(weiri_table_reserve(&bench->table));
    cr_assert(weiri_claim(finding.cell, weiri_identity_pair(key)));
    cr_assert(weiri_cas_128(&finding.cell->state, (weiri_pair){{0, 0}}, state));
    return finding.cell;
}

/* Fixes one cell by hand, as a helper that is stopped behind it. */
static inline void freeze_cell(weiri_cell *cell)
{
    weiri_pair state = weiri_load_snapshot_128(&cell->state), frozen = {{state.word[0] | WEIRI_FROZEN, state.word[1]}};
    if (weiri_load_once_128(&cell->identity).word[0] == 0)
        cr_assert(weiri_claim(cell, (weiri_pair){{WEIRI_MARK_SEALED, 0}}));
    else
        cr_assert(weiri_cas_128(&cell->state, state, frozen));
}

/* Charges a key as a limiter does: wherever it stands, making room where there is none. False: no memory. */
static inline bool charge(struct bench *bench, const weir_identity *key, weiri_pair state, uint64_t time)
{
    weiri_table *table = &bench->table;
    weiri_segment *segment = weiri_directory_find(&table->directory, key->hash);
    for (;;) {
        weiri_spot spot = weiri_table_look(table, segment, key);
        if (!spot.cell) {
            if (!weiri_forward(segment) && !weiri_make_room(table, segment, time))
                return false;
            segment = weiri_advance(table, segment, key);
            continue;
        }
        if (!spot.held && (!weiri_table_reserve(table) || !weiri_claim(spot.cell, weiri_identity_pair(key))))
            return false;
        return weiri_cas_128(&spot.cell->state, spot.state, state);
    }
}

/* What holds for a key, looked for from the directory on. */
static inline weiri_spot look(struct bench *bench, const weir_identity *key)
{
    return weiri_table_look(&bench->table, weiri_directory_find(&bench->table.directory, key->hash), key);
}

/* A look must say exactly this. `cell` NULL: there is none to write to. */
static inline void looks(struct bench *bench, weiri_segment *from, const weir_identity *key, const weiri_cell *cell,
                         bool held, weiri_pair state, uint64_t floor)
{
    weiri_spot spot = weiri_table_look(&bench->table, from, key);
    cr_assert_eq(spot.cell, cell);
    cr_assert_eq(spot.held, held);
    same_pair(spot.state, state, "what holds");
    cr_assert_eq(spot.floor, floor, "floor: wanted %" PRIu64 ", got %" PRIu64, floor, spot.floor);
}

#endif
