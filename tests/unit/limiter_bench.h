/*
 * A limiter with manual time and a counting allocator, looked into: the cells, nodes and segments behind its keys.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_LIMITER_BENCH_H
#define WEIR_TESTS_LIMITER_BENCH_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/decision.h"
#include "../support/random.h"
#include "../support/rows.h"
#include "limiter/node.h"

struct bench {
    test_allocator counting;
    weir *limiter;
};

static inline weir *bench_open(struct bench *bench, const weir_rule *rules, size_t count, uint64_t max_lateness)
{
    memset(bench, 0, sizeof *bench);
    weir_allocator callbacks = test_allocator_for(&bench->counting);
    bench->limiter = manual_limiter(rules, count, max_lateness, &callbacks);
    cr_assert_not_null(bench->limiter);
    return bench->limiter;
}

static inline void bench_close(struct bench *bench)
{
    cr_assert_eq(weir_close(bench->limiter), 0);
    cr_assert_eq(bench->counting.blocks, 0);
    cr_assert_eq(bench->counting.bytes, 0);
    cr_assert_eq(bench->counting.faults, 0);
}

/* A key that an attacker could not make: its hash is told, see table/identity.h. */
static inline weir_identity key_at(const weir *limiter, uint64_t top, uint32_t cell, uint64_t number)
{
    uint64_t hash = top | (uint64_t)cell << 8;
    return (weir_identity){{hash | WEIRI_MARK_HASHED, number}, hash, limiter->owner};
}

static inline weir_request request_for(const weir_identity *key, uint64_t cost)
{
    return (weir_request){.identity = key, .cost = cost};
}

static inline int take(weir *limiter, const weir_identity *key, uint64_t cost, uint64_t now)
{
    weir_request request = request_for(key, cost);
    return weir_take(limiter, &request, now, NULL);
}

static inline weiri_segment *segment_of(weir *limiter, const weir_identity *key)
{
    return weiri_directory_find(&limiter->table.directory, key->hash);
}

static inline weiri_spot spot_of(weir *limiter, const weir_identity *key)
{
    return weiri_table_look(&limiter->table, segment_of(limiter, key), key);
}

static inline weiri_node *node_of(weir *limiter, const weir_identity *key)
{
    weiri_spot spot = spot_of(limiter, key);
    cr_assert(weiri_is_node(spot.state));
    return weiri_node_of(spot.state);
}

static inline void state_is(weir *limiter, const weir_identity *key, uint64_t word0, uint64_t word1)
{
    weiri_pair state = spot_of(limiter, key).state;
    cr_assert(state.word[0] == word0 && state.word[1] == word1,
              "wanted %" PRIx64 " %" PRIx64 ", got %" PRIx64 " %" PRIx64, word0, word1, state.word[0], state.word[1]);
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

static inline void freeze_all_of(weiri_segment *segment)
{
    for (uint32_t i = 0; i < segment->capacity; i++)
        freeze_cell(&segment->cell[i]);
}

static inline weir_statistics stats_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    return statistics;
}

#endif
