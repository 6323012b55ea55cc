/*
 * crew: threads that do the same thing together. Thread i is put on the i-th processor that this process may use, round
 * robin, since threads that just woke would share one for a while.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_CREW_H
#define WEIR_BENCH_CREW_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_THREADS_MAX = 256 };

typedef struct bench_crew bench_crew;

/*
 * What each thread runs. `before` comes before all of them start (what a thread pays once, it pays there; may be NULL);
 * `work` returns how much it has done. Work that has no end of its own goes on while bench_crew_goes_on() says so.
 */
typedef struct bench_crew_job {
    void (*before)(void *argument, unsigned thread);
    uint64_t (*work)(void *argument, unsigned thread, const bench_crew *crew);
    void *argument;
    unsigned threads; /* 1 ... BENCH_THREADS_MAX */
    double seconds;   /* from the start of the first thread, for bench_crew_goes_on */
} bench_crew_job;

typedef struct bench_crew_result {
    double wall_ns;                    /* from the first thread's start to the last one's end */
    double cpu_ns;                     /* processor time of all threads together, in `work` */
    uint64_t done;                     /* by all */
    uint64_t done_by[BENCH_THREADS_MAX];
} bench_crew_result;

/* Runs it; 0, or -1 where a thread cannot be had. One thread: the calling one, neither moved nor started. */
int bench_crew_run(const bench_crew_job *job, bench_crew_result *result);

/* For work: is there time left? A reading of the clock. */
bool bench_crew_goes_on(const bench_crew *crew);

/* The smallest and the largest thread's part of all that was done, times the number of threads: 1 is fair. */
double bench_crew_least(const bench_crew_result *result, unsigned threads);
double bench_crew_most(const bench_crew_result *result, unsigned threads);

#endif
