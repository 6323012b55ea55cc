/*
 * rules: what a key has used up under one to eight rules, for a caller who holds a lock around it. Counter and buckets
 * are weir's own pure functions, so that like is compared with like; the log is a ring (ring.h), not weir's chunks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_RULES_H
#define WEIR_BENCH_RULES_H

#include "ring.h"
#include "window/buckets.h"
#include "window/counter.h"

typedef struct rules {
    unsigned count;
    size_t state_size; /* bytes of a key's state */
    weiri_rule rule[WEIR_RULES_MAX];
    uint64_t limit[WEIR_RULES_MAX];
} rules;

/* The rules must be ones that weir_open takes. */
void rules_compile(rules *set, const weir_rule *given, unsigned count);

/* Makes "nothing charged", and frees what a state owns. */
void rules_begin(const rules *set, void *state);
void rules_end(const rules *set, void *state);

/* 1 accepted and recorded, 0 refused, -ENOMEM. `decision` may be NULL. */
int rules_take(const rules *set, void *state, uint64_t cost, uint64_t now, weir_decision *decision);

/* The first time at which nothing of it counts any more; 0: nothing was ever charged. */
uint64_t rules_expire(const rules *set, const void *state);

#endif
