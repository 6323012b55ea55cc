/*
 * memory: what keys and records cost, as weir counts it (weir_stats) and as the system does (resident pages, allocator
 * included). Retired memory is freed before either is read, as a janitor would do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_MEMORY_H
#define WEIR_BENCH_MEMORY_H

#include <weir/weir.h>

typedef struct bench_memory {
    double bytes;    /* by weir_stats */
    double resident; /* growth of the process */
} bench_memory;

enum { BENCH_SIZES = 10 };

/* A counter that grows over an octave of keys, measured at BENCH_SIZES numbers of keys in equal ratios. */
typedef struct bench_growth_parameters {
    uint64_t keys; /* the smallest number */
    size_t key_len;
} bench_growth_parameters;

/* Bytes a key. */
typedef struct bench_growth {
    bench_memory mean, least, most;
} bench_growth;

/* Logs of one record a call, all at their limit. */
typedef struct bench_rings_parameters {
    uint64_t keys;
    uint64_t limit;
    unsigned windows; /* of steady traffic after the first fill; each key adds up to one more, at random */
    uint64_t seed;
} bench_rings_parameters;

/* Bytes a record, after 192 bytes a key are taken off. */
typedef struct bench_rings {
    bench_memory filled, steady;
    int wrong; /* calls that were not answered as the measurement needs it */
} bench_rings;

/* Keys that have used their whole limit, call by call. */
typedef struct bench_full_parameters {
    weir_rule rule;
    uint64_t keys;
} bench_full_parameters;

/* Bytes in all. */
typedef struct bench_full {
    bench_memory all;
    int wrong;
} bench_full;

/* Each in a process of its own. 0, or -1: failed. */
int bench_measure_growth(const bench_growth_parameters *parameters, bench_growth *result);
int bench_measure_rings(const bench_rings_parameters *parameters, bench_rings *result);
int bench_measure_full(const bench_full_parameters *parameters, bench_full *result);

#endif
