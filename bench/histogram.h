/*
 * histogram: how often each value came, in buckets that are as wide as their values are large: values below 64 are kept
 * exactly, larger ones to within a thirty-second part.
 *
 *     value   0 ... 63: a bucket each      2^k ... 2^(k+1)-1, k >= 6: 32 buckets of 2^(k-5) values
 *
 * Source: the layout of HdrHistogram (Tene), with 5 bits of precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_HISTOGRAM_H
#define WEIR_BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
    BENCH_HISTOGRAM_BITS = 5,
    BENCH_HISTOGRAM_BUCKETS = (64 - BENCH_HISTOGRAM_BITS + 1) << BENCH_HISTOGRAM_BITS
};

/* All zero: empty. One thread adds to one. */
typedef struct bench_histogram {
    uint64_t count;
    uint64_t max; /* exactly */
    uint64_t bucket[BENCH_HISTOGRAM_BUCKETS];
} bench_histogram;

static inline unsigned bench_histogram_index(uint64_t value)
{
    const unsigned top = 63u - (unsigned)__builtin_clzll(value | 63);
    const unsigned shift = top - BENCH_HISTOGRAM_BITS;
    if (value < 64)
        return (unsigned)value;
    return (shift << BENCH_HISTOGRAM_BITS) + (unsigned)(value >> shift);
}

static inline void bench_histogram_add(bench_histogram *histogram, uint64_t value)
{
    histogram->bucket[bench_histogram_index(value)]++;
    histogram->count++;
    if (value > histogram->max)
        histogram->max = value;
}

/* The largest value of a bucket. */
uint64_t bench_histogram_top(unsigned index);

/* Adds what `other` holds. */
void bench_histogram_merge(bench_histogram *histogram, const bench_histogram *other);

/*
 * A value that so large a share of all (0 ... 1) does not exceed, and hardly a smaller one: the top of the bucket in
 * which that rank lies, at most the largest value. 0 where nothing was added.
 */
uint64_t bench_histogram_quantile(const bench_histogram *histogram, double share);

/*
 * The mean of all values up to that quantile's bucket, each taken as the middle of its bucket: for times that a coarse
 * timer measured, less those of interrupted calls. 0 where nothing was added.
 */
double bench_histogram_mean(const bench_histogram *histogram, double share);

#endif
