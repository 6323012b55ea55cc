/*
 * What the tests of sweeping share: a rule of each kind, and one key with a node.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SWEEP_BENCH_H
#define WEIR_TESTS_SWEEP_BENCH_H

#include "limiter_bench.h"

enum { WINDOW = 10 };

static const weir_rule rules[] = {
    {.limit = 5, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    {.limit = 5, .window_ns = WINDOW, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 5},
    {.limit = 5, .window_ns = WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
};

/* A charge at an even time counts for so long: the trailing bucket, two wide, counts while any part of it is inside. */
static const uint64_t counts_for[] = {WINDOW, WINDOW + 1};

enum { RULES = sizeof rules / sizeof *rules, NODES = 2 };

/* One key with a node, charged in full at 0. */
static inline weir *open_one(struct bench *bench, size_t which, weir_identity *key, uint64_t max_lateness)
{
    weir *limiter = bench_open(bench, &rules[which], 1, max_lateness);
    *key = key_at(limiter, 0, 1, 1);
    cr_assert_eq(take(limiter, key, 5, 0), 1);
    return limiter;
}

#endif
