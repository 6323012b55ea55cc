#include "histogram.h"

#include <math.h>

uint64_t bench_histogram_top(unsigned index)
{
    if (index < 64)
        return index;
    const unsigned shift = (index >> BENCH_HISTOGRAM_BITS) - 1;
    const uint64_t lead = (index & 31u) + 32;
    return (lead << shift) + ((UINT64_C(1) << shift) - 1);
}

void bench_histogram_merge(bench_histogram *histogram, const bench_histogram *other)
{
    for (unsigned i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++)
        histogram->bucket[i] += other->bucket[i];
    histogram->count += other->count;
    if (other->max > histogram->max)
        histogram->max = other->max;
}

uint64_t bench_histogram_quantile(const bench_histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count), seen = 0;
    if (rank == 0)
        rank = 1;
    for (unsigned i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen >= rank) {
            const uint64_t top = bench_histogram_top(i);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return histogram->max;
}
