#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For qsort. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- clocks --- */

double bench_tick_ns(void)
{
    static double known; /* asked first by the main thread, before it starts others */
    if (known == 0) {
        const double start = bench_wall_ns();
        const uint64_t first = bench_ticks();
        double now = start;
        while (now - start < 10e6)
            now = bench_wall_ns();
        known = (now - start) / (double)(bench_ticks() - first);
    }
    return known;
}

double bench_timer_ns(void)
{
    enum { READINGS = 10000, KEPT = READINGS / 100 * 99 };
    double samples[READINGS], sum = 0;
    for (unsigned i = 0; i < READINGS; i++) {
        const uint64_t first = bench_ticks();
        samples[i] = (double)(bench_ticks() - first);
    }
    qsort(samples, READINGS, sizeof *samples, compare);
    for (unsigned i = 0; i < KEPT; i++)
        sum += samples[i];
    return sum / KEPT * bench_tick_ns();
}

uint64_t bench_resident(void)
{
    unsigned long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- samples --- */

/* Between the two samples next to the place where it would stand. */
static double quantile(const double *sorted, unsigned count, double share)
{
    double place = share * (count - 1);
    unsigned below = (unsigned)place;
    unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

bench_summary bench_summarize(double *samples, unsigned count)
{
    if (count == 0)
        return (bench_summary){0, 0, 0, 0};
    qsort(samples, count, sizeof *samples, compare);
    return (bench_summary){quantile(samples, count, 0.5), quantile(samples, count, 0.25),
                           quantile(samples, count, 0.75), count};
}

static double *row_of(const bench_samples *samples, unsigned contender, unsigned value)
{
    return samples->at + ((size_t)contender * samples->values + value) * BENCH_ROUNDS_MAX;
}

int bench_interleave(bench_round round, void *argument, double seconds, bench_samples *samples)
{
    const unsigned contenders = samples->contenders, values = samples->values;
    double *found = calloc(values, sizeof *found);
    samples->rounds = 0;
    samples->at = calloc((size_t)contenders * values * BENCH_ROUNDS_MAX, sizeof *samples->at);
    if (!samples->at || !found) {
        free(found);
        bench_samples_free(samples);
        return -1;
    }
    const double end = bench_wall_ns() + seconds * 1e9;
    for (unsigned number = 0;; number++) {
        for (unsigned i = 0; i < contenders; i++) {
            round(argument, i, number, found);
            for (unsigned k = 0; k < values && number > 0; k++)
                row_of(samples, i, k)[number - 1] = found[k];
        }
        samples->rounds = number;
        if (number == BENCH_ROUNDS_MAX || (number >= BENCH_ROUNDS_MIN && bench_wall_ns() >= end))
            break;
    }
    free(found);
    return 0;
}

bench_summary bench_samples_summary(const bench_samples *samples, unsigned contender, unsigned value)
{
    double sorted[BENCH_ROUNDS_MAX];
    const double *row = row_of(samples, contender, value);
    for (unsigned i = 0; i < samples->rounds; i++)
        sorted[i] = row[i];
    return bench_summarize(sorted, samples->rounds);
}

bench_summary bench_samples_ratio(const bench_samples *samples, unsigned contender, unsigned against, unsigned value)
{
    double sorted[BENCH_ROUNDS_MAX];
    const double *row = row_of(samples, contender, value), *other = row_of(samples, against, value);
    for (unsigned i = 0; i < samples->rounds; i++)
        sorted[i] = row[i] / other[i];
    bench_summary ratio = bench_summarize(sorted, samples->rounds);
    ratio.median = bench_samples_summary(samples, contender, value).median /
                   bench_samples_summary(samples, against, value).median;
    ratio.low = fmin(ratio.low, ratio.median);
    ratio.high = fmax(ratio.high, ratio.median);
    return ratio;
}

void bench_samples_free(bench_samples *samples)
{
    free(samples->at);
    samples->at = NULL;
}
