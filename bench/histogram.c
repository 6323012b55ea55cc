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

/* The smallest value of a bucket. */
static uint64_t bottom(unsigned index)
{
    return index == 0 ? 0 : bench_histogram_top(index - 1) + 1;
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

double bench_histogram_mean(const bench_histogram *histogram, double share)
{
    const unsigned last = bench_histogram_index(bench_histogram_quantile(histogram, share));
    double sum = 0, count = 0;
    for (unsigned i = 0; i <= last; i++) {
        const double middle = ((double)bottom(i) + (double)bench_histogram_top(i)) / 2;
        sum += middle * (double)histogram->bucket[i];
        count += (double)histogram->bucket[i];
    }
    return count > 0 ? sum / count : 0;
}
