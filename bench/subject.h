/*
 * subject: what is measured, weir or a baseline, behind one face; and rounds of calls on it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SUBJECT_H
#define WEIR_BENCH_SUBJECT_H

#include <string.h>
#include <weir/weir.h>

/* Calls of one round. Keys are numbers below `keys`, picked at random. */
typedef struct bench_work {
    uint64_t seed;  /* not 0 */
    uint64_t keys;  /* 1 ... 2^32-1 */
    size_t key_len; /* 8, or from 16 to BENCH_KEY_MAX */
    uint64_t calls;
    uint64_t now;  /* of the first call */
    uint64_t step; /* from each call to the next, ns */
    bool whole;    /* ask for the whole decision, not the verdict alone */
} bench_work;

/* What a round came to. Subjects that are given the same work must agree on everything but the time. */
typedef struct bench_tally {
    double cpu_ns;
    uint64_t accepted;
    uint64_t answers; /* sum of what whole decisions said */
    uint64_t errors;
} bench_tally;

typedef struct bench_subject {
    const char *name;
    void *state;
    int (*take)(void *state, const void *key, size_t key_len, uint64_t cost, uint64_t now, weir_decision *decision);
    bench_tally (*round)(void *state, const bench_work *work);
    void (*close)(void *state);
} bench_subject;

/* Both with manual time; `state` is NULL where that failed. */
bench_subject bench_weir(const weir_rule *rule);
bench_subject bench_sharded(const weir_rule *rule);

/* --- keys: made in a small buffer that stays in the first-level cache, as a server's parser would leave them --- */

enum { BENCH_KEY_MAX = 64 };

typedef struct bench_key {
    _Alignas(64) unsigned char byte[BENCH_KEY_MAX];
} bench_key;

static inline void bench_key_write(bench_key *key, size_t key_len, uint64_t number)
{
    memcpy(key->byte, &number, 8);
    if (key_len >= 16) {
        number *= UINT64_C(0x9e3779b97f4a7c15);
        memcpy(key->byte + 8, &number, 8);
    }
}

/* One call for each key number below `keys`; returns how many were accepted. */
uint64_t bench_each_once(const bench_subject *subject, uint64_t keys, size_t key_len, uint64_t now);

/* Charges every key until it accepts nothing more. */
void bench_use_up(const bench_subject *subject, uint64_t keys, size_t key_len, uint64_t now);

#endif
