/*
 * lfht: a limiter on liburcu's lock-free hash table (cds_lfht, bp flavour, as weir uses it), presized: one counter,
 * kept in the key's node and charged by a 16-byte compare-and-swap. No lock on the way of a decision.
 *
 * It identifies and hashes a key exactly as weir does, and decides by weir's own formula.
 *
 * Expired nodes go: each new one is put into one of 64 queues (wait-free), and who inserts looks at the two at its
 * head, if nobody else is at that (the queue's mutex is tried, not waited for). What has expired is marked dead by the
 * same swap that a charge makes, taken out of the table, and handed to call_rcu.
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

/* Drops all that has expired. Waits for others that are at it. */
void lfht_sweep(lfht *limiter, uint64_t now);

/* Keys held, counted one by one. */
uint64_t lfht_keys(lfht *limiter);

#endif
