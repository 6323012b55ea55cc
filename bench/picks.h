/*
 * picks: which keys calls are about, drawn before a round and outside its time, so that picking costs the same whatever
 * the distribution: reading an array from end to end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_PICKS_H
#define WEIR_BENCH_PICKS_H

#include <stddef.h>
#include <stdint.h>

enum bench_picking { BENCH_UNIFORM, BENCH_ZIPF };

/*
 * Zipf's law: number k (0 ... count-1) with a chance proportional to 1 / (k+1)^exponent, in constant time and memory.
 * Source: Hörmann and Derflinger, Rejection-inversion to generate variates from monotone discrete distributions
 * (1996).
 */
typedef struct bench_zipf {
    double exponent;
    uint64_t count;
    double at_first, at_last, always; /* the integral of the hat at its two ends; what needs no second look */
} bench_zipf;

bench_zipf bench_zipf_for(uint64_t count, double exponent); /* exponent > 0, not 1 */
uint64_t bench_zipf_draw(const bench_zipf *zipf, uint64_t *random);

/* Fills `picks` with `count` key numbers below `keys` (1 ... 2^32); zipf: exponent 0.99, frequent keys anywhere. */
void bench_pick(enum bench_picking picking, uint64_t keys, uint64_t seed, uint32_t *picks, size_t count);

#endif
