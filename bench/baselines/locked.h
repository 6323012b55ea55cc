/*
 * locked: a limiter as one would write it from the ordinary toolbox: shards, each a mutex and a hash table (uthash) of
 * entries allocated one by one. With one shard it is the plain "mutex and hash table", with 64 the usual remedy.
 *
 * To compare like with like it identifies and hashes a key exactly as weir does (SipHash-1-3 under a key, 16 bytes that
 * stand for the key), and decides by the same formulas (rules.h).
 *
 * Expired entries go: each shard's entries stand in a queue by the time at which they could first have expired, and
 * each insertion looks at the two at its head. One that has been used since goes back to the tail. So a flood of new
 * keys is forgotten at twice the rate at which it comes, for the price of one look where nothing has expired.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_LOCKED_H
#define WEIR_BENCH_LOCKED_H

#include <weir/types.h>

typedef struct locked locked;

/*
 * 2^shard_bits shards, at most 64. Rules are 1 to 8, as weir_open takes them. What expired `lateness` ns ago may go
 * (weir: options.max_lateness_ns). NULL: no memory.
 */
locked *locked_open(unsigned shard_bits, const weir_rule *rules, unsigned rule_count, uint64_t lateness);

/* No call may run or follow. */
void locked_close(locked *limiter);

/* 1 accepted, 0 refused, -ENOMEM. `decision` may be NULL. Any thread. */
int locked_take(locked *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                weir_decision *decision);

/* Drops all that has expired, a few dozen entries in one hold of a shard's mutex. Any thread. */
void locked_sweep(locked *limiter, uint64_t now);

/* Keys held. Any thread. */
uint64_t locked_keys(locked *limiter);

#endif
