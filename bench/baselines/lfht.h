/*
 * lfht: a limiter on liburcu's lock-free hash table (cds_lfht, bp flavour, as weir uses it), presized: one counter, kept
 * in the key's node and charged by a 16-byte compare-and-swap. No lock on the way of a decision.
 *
 * It identifies and hashes a key exactly as weir does, and decides by weir's own formula.
 *
 * Expired nodes go: whoever inserts, once in a while, walks on through the table for about twice as many nodes as were
 * inserted since (the mutex for it is tried, not waited for), marks what has expired as dead by the same swap that a
 * charge makes, takes it out, and hands it to call_rcu.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_LFHT_H
#define WEIR_BENCH_LFHT_H

#include <weir/types.h>

typedef struct lfht lfht;

/* A WEIR_COUNTER with a limit below 2^32. `keys`: how many are expected, for which the table is made and stays. What
 * expired `lateness` ns ago may go. NULL: no memory. Not inside a read section. */
lfht *lfht_open(const weir_rule *rule, uint64_t keys, uint64_t lateness);

/* No call may run or follow. Waits for what call_rcu was given. */
void lfht_close(lfht *limiter);

/* 1 accepted, 0 refused, -ENOMEM. `decision` may be NULL. Any thread; lock-free but for the memory of a new key. */
int lfht_take(lfht *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now, weir_decision *decision);

/* Drops all that has expired. Waits for another's walk. */
void lfht_sweep(lfht *limiter, uint64_t now);

/* Keys held, counted one by one. */
uint64_t lfht_keys(lfht *limiter);

#endif
