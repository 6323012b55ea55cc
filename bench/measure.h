/*
 * measure: clocks, rounds and medians, memory in use; knows nothing of limiters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_MEASURE_H
#define WEIR_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Times are ns. The thread's own processor time: what other processes do to this one does not count. */
double bench_cpu_ns(void);
double bench_wall_ns(void);

/* Memory of this process that is resident, in bytes; 0 where the system does not tell. */
uint64_t bench_resident(void);

/* The middle of some samples and their quartiles. */
typedef struct bench_summary {
    double median;
    double low, high;
    unsigned rounds;
} bench_summary;

/* Sorts the samples. */
bench_summary bench_summarize(double *samples, unsigned count);

enum { BENCH_CONTENDERS = 4, BENCH_ROUNDS_MIN = 7, BENCH_ROUNDS_MAX = 2000 };

/* One round of one contender: what it measured. Rounds are counted from 0. */
typedef double (*bench_round)(void *argument, unsigned contender, unsigned round);

/*
 * Round by round, one contender after the other (A B A B ...), so that what changes on the machine meets all of them;
 * the first round warms up and is thrown away. Ends after `seconds`, but not before BENCH_ROUNDS_MIN rounds.
 * Returns the number of rounds, the first included.
 */
unsigned bench_interleave(bench_round round, void *argument, unsigned contenders, double seconds,
                          bench_summary *summaries);

/*
 * Runs `work` in a process of its own, whose heap holds nothing else, and brings back its result of `size` bytes. 0, or
 * -1 where that failed (said on stderr).
 */
int bench_apart(void (*work)(const void *parameters, void *result), const void *parameters, void *result, size_t size);

/* xorshift64*: enough to pick keys by. The state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 ... bound-1, bound < 2^32. */
static inline uint64_t bench_below(uint64_t *state, uint64_t bound)
{
    return (bench_random(state) >> 32) * bound >> 32;
}

#endif
