#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

double bench_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double bench_wall_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
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

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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

unsigned bench_interleave(bench_round round, void *argument, unsigned contenders, double seconds,
                          bench_summary *summaries)
{
    static double samples[BENCH_CONTENDERS][BENCH_ROUNDS_MAX];
    const double end = bench_wall_ns() + seconds * 1e9;
    unsigned kept = 0;
    for (unsigned i = 0; i < contenders; i++)
        round(argument, i, 0);
    while (kept < BENCH_ROUNDS_MAX && (kept < BENCH_ROUNDS_MIN || bench_wall_ns() < end)) {
        for (unsigned i = 0; i < contenders; i++)
            samples[i][kept] = round(argument, i, kept + 1);
        kept++;
    }
    for (unsigned i = 0; i < contenders; i++)
        summaries[i] = bench_summarize(samples[i], kept);
    return kept + 1;
}

/* All of a pipe's bytes, in as many pieces as they come. */
static int receive(int from, char *at, size_t size)
{
    while (size > 0) {
        ssize_t got = read(from, at, size);
        if (got <= 0)
            return -1;
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

static void child(void (*work)(const void *parameters, void *result), const void *parameters, size_t size, int to)
{
    char *result = calloc(1, size);
    if (!result)
        _exit(1);
    work(parameters, result);
    _exit(write(to, result, size) == (ssize_t)size ? 0 : 1);
}

int bench_apart(void (*work)(const void *parameters, void *result), const void *parameters, void *result, size_t size)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0) {
        perror("pipe");
        return -1;
    }
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        child(work, parameters, size, ends[1]);
    }
    close(ends[1]);
    int failed = process < 0 || receive(ends[0], result, size) != 0;
    close(ends[0]);
    if (process > 0 && (waitpid(process, &status, 0) < 0 || status != 0))
        failed = 1;
    if (failed)
        fprintf(stderr, "a measurement in a process of its own failed (status %d)\n", status);
    return failed ? -1 : 0;
}
