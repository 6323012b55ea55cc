/*
 * subject: what is measured, weir or a baseline, behind one face. A subject is a constant; bench/subjects.c has the
 * table of all. How its round is made: round.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SUBJECT_H
#define WEIR_BENCH_SUBJECT_H

#include <string.h>
#include <weir/weir.h>

#include "histogram.h"

enum { BENCH_BATCH_MAX = 64, BENCH_KEY_MAX = 64 };

/* What a subject is opened for. Time is given with each call. */
typedef struct bench_setup {
    const weir_rule *rules;
    size_t rule_count;
    uint64_t keys;  /* about how many there will be: what wants a size before gets it */
    size_t key_len; /* of all of them */
} bench_setup;

/* One question. */
typedef struct bench_call {
    const void *key;
    size_t key_len;
    uint32_t number; /* of the key: bench_key_write made it of this */
    uint64_t cost;
    uint64_t now;
} bench_call;

/* Other memory, to be gone through line by line before each call, as what else a request does would. */
typedef struct bench_walk {
    const unsigned char *memory;
    size_t size;
} bench_walk;

/* Calls of one round, or of a part of one. */
typedef struct bench_work {
    const uint32_t *picks; /* the keys' numbers, gone through again and again */
    uint32_t mask;         /* how many there are, less 1: a power of two */
    uint32_t first;        /* where to begin; may be beyond the mask */
    size_t key_len;        /* 8, or 16 ... BENCH_KEY_MAX */
    uint64_t calls;
    uint64_t now;          /* of the first call */
    uint64_t step;         /* from each call to the next, ns; but calls of a batch all have the time of its first */
    uint64_t cost_mask;    /* call i costs 1 + (i & cost_mask) */
    unsigned batch;        /* 1 ... BENCH_BATCH_MAX; who takes no batches heeds it for the time alone */
    bool whole;            /* ask for the whole decision, not the verdict alone */
    bool clock;            /* read CLOCK_MONOTONIC before each call, as a server would; `now` stays what it is */
    const bench_walk *walk;     /* NULL: none */
    bench_histogram *latency;   /* NULL, or where the ticks of each call go (of a batch: of all of it) */
} bench_work;

/* What calls came to; rounds add to it. Subjects that are given the same work must agree on it. */
typedef struct bench_tally {
    uint64_t accepted;
    uint64_t answers; /* sum of what whole decisions said */
    uint64_t errors;
} bench_tally;

/* Bits of bench_subject.can. */
enum bench_ability {
    BENCH_CAN_WHOLE = 1,     /* whole decisions */
    BENCH_CAN_COSTS = 2,     /* costs other than 1 with every algorithm that it has */
    BENCH_CAN_BATCH = 4,     /* takes several calls at once: its round heeds `batch` */
    BENCH_CAN_THREADS = 8    /* any number of threads at once */
};

typedef struct bench_subject {
    const char *name;
    const char *about;   /* what it is, in one line */
    unsigned algorithms; /* bits 1 << enum weir_algorithm */
    unsigned rules_max;
    unsigned can;        /* enum bench_ability */
    uint64_t keys_max;   /* 0: any number; beyond it measuring it makes no sense */
    void *(*open)(const bench_setup *setup); /* NULL where that failed */
    void (*close)(void *state);
    int (*take)(void *state, const bench_call *call, weir_decision *decision); /* 1, 0, or -errno; decision or NULL */
    void (*round)(void *state, const bench_work *work, bench_tally *tally);    /* by BENCH_ROUND of round.h */
    /* NULL, or drops keys with nothing charged at `now`, as many as there are, and frees them. */
    void (*sweep)(void *state, uint64_t now);
    uint64_t (*bytes)(void *state); /* NULL, or memory in use by its own count */
} bench_subject;

/* All subjects, NULL behind the last. */
extern const bench_subject *const bench_subjects[];

/* NULL: there is none. */
const bench_subject *bench_subject_named(const char *name);

static inline bool bench_subject_counts_by(const bench_subject *subject, uint32_t algorithm)
{
    return (subject->algorithms >> algorithm & 1) != 0;
}

/* One call for each key number below `keys`; returns how many were accepted. */
uint64_t bench_each_once(const bench_subject *subject, void *state, uint64_t keys, size_t key_len, uint64_t now);

/* Charges every key until it accepts nothing more. */
void bench_use_up(const bench_subject *subject, void *state, uint64_t keys, size_t key_len, uint64_t now);

/* --- keys: made in a small buffer that stays in the first-level cache, as a server's parser would leave them --- */

typedef struct bench_key {
    _Alignas(64) unsigned char byte[BENCH_KEY_MAX];
} bench_key;

/* What is beyond 16 bytes stays as it is: 0 at the beginning. */
static inline void bench_key_write(bench_key *key, size_t key_len, uint64_t number)
{
    memcpy(key->byte, &number, 8);
    if (key_len >= 16) {
        number *= UINT64_C(0x9e3779b97f4a7c15);
        memcpy(key->byte + 8, &number, 8);
    }
}

#endif
