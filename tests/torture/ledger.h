/*
 * ledger: what the callers saw of each accepted charge and each reset, written down by the thread that made it, and
 * judged when all are through.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TORTURE_LEDGER_H
#define WEIR_TORTURE_LEDGER_H

#include "../threads/common.h"

typedef struct ledger_entry {
    uint64_t begin, end;    /* tickets taken before and after the call */
    uint64_t now, now_high; /* the time passed lies between: the same, but for the real clock */
    uint64_t floor;         /* no floor that it was decided at was above this */
    uint32_t key, cost;
    uint32_t limit; /* it was decided with, where that was told; else 0 */
    bool reset;
} ledger_entry;

typedef struct ledger {
    ledger_entry *entries;
    size_t count, room;
} ledger;

void ledger_add(ledger *self, const ledger_entry *entry);

/* All entries of `count` ledgers, by key and then by begin; the ledgers are freed. */
ledger ledger_merge(ledger *ledgers, unsigned count);

/* --- judge.c --- */

/* One charge or reset of one rule: between what its effective stamp lies. */
typedef struct bound {
    uint64_t low, high;
    uint64_t begin, end;
    uint64_t now, now_high, floor;
    uint64_t charge; /* 0: a reset */
    uint64_t limit;
    unsigned place;
} bound;

/* The bounds of one rule from one key's entries, by begin; returns how many. `room`: two arrays for count each. */
size_t judge_bounds(const weir_rule *rule, const ledger_entry *entries, size_t count, uint64_t largest, bound *out,
                    bound **room);

/* Has the rule kept what it promises? Faults where it has not. `bounds` is sorted anew. */
void judge_rule(const weir_rule *rule, bound *bounds, size_t count, bound **room);

/* When to look, at no earlier a time than `floor`, and how much must and may then be charged. */
typedef struct judge_used {
    uint64_t when, least, most;
} judge_used;
judge_used judge_settled(const weir_rule *rule, const bound *bounds, size_t count, uint64_t floor);

#endif
