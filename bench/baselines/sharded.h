/*
 * sharded: a limiter as one would write it without weir: 64 shards, each a mutex and a hash table (uthash) of entries
 * allocated one by one. It never drops an entry, which spares it work that weir is ready to do.
 *
 * To compare like with like it hashes a key exactly as weir does (SipHash-1-3 under a random key), and its counter is
 * weir's own: the same inlined formula.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SHARDED_H
#define WEIR_BENCH_SHARDED_H

#include <weir/types.h>

typedef struct sharded sharded;

/* One rule: WEIR_COUNTER, or WEIR_LOG per request (a ring of `limit` stamps in each entry). NULL: no memory. */
sharded *sharded_open(const weir_rule *rule);
void sharded_close(sharded *limiter);

/* 1 accepted, 0 refused, -ENOMEM. `decision` may be NULL. */
int sharded_take(sharded *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                 weir_decision *decision);

#endif
