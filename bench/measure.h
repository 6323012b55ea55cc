/*
 * measure: clocks, rounds and medians, memory in use; knows nothing of limiters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_MEASURE_H
#define WEIR_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* --- clocks; ns --- */

static inline double bench_read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The thread's own processor time: what other processes do to this one does not count. */
static inline double bench_cpu_ns(void)
{
    return bench_read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static inline double bench_wall_ns(void)
{
    return bench_read_clock(CLOCK_MONOTONIC);
}

/* The cheapest timer, for the time of one call: nothing before it is still under way, nothing after has begun. */
static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
#else
    return (uint64_t)bench_wall_ns();
#endif
}

/* ns of a tick, measured once a process against the wall clock, which takes some milliseconds. */
double bench_tick_ns(void);

/* What two readings of bench_ticks put into every time that they measure: a mean, ns, interruptions left out. */
double bench_timer_ns(void);

/* Memory of this process that is resident, in bytes; 0 where the system does not tell. */
uint64_t bench_resident(void);

/* --- samples --- */

/* The middle of some samples and their quartiles. */
typedef struct bench_summary {
    double median;
    double low, high;
    unsigned rounds;
} bench_summary;

/* Sorts the samples. */
bench_summary bench_summarize(double *samples, unsigned count);

/* A value that was measured once. */
static inline bench_summary bench_once(double value)
{
    return (bench_summary){value, value, value, 1};
}

enum { BENCH_ROUNDS_MIN = 5, BENCH_ROUNDS_MAX = 2000 };

/* What the rounds measured: `values` numbers of each contender in each round. */
typedef struct bench_samples {
    unsigned contenders, values, rounds;
    double *at; /* [contender][value][BENCH_ROUNDS_MAX] */
} bench_samples;

/* One round of one contender, which fills in what it measured. Rounds are counted from 0. */
typedef void (*bench_round)(void *argument, unsigned contender, unsigned round, double *values);

/*
 * Round by round, one contender after the other (A B C A B C ...), so that what changes on the machine meets all of
 * them; the first round warms up and is thrown away. Ends after `seconds`, but not before BENCH_ROUNDS_MIN were kept.
 * `samples->contenders` and `samples->values` are given; bench_samples_free frees what it makes. 0, or -1: no memory.
 */
int bench_interleave(bench_round round, void *argument, double seconds, bench_samples *samples);

bench_summary bench_samples_summary(const bench_samples *samples, unsigned contender, unsigned value);

/* The ratio of two contenders' medians; its quartiles are those of the rounds' own ratios. */
bench_summary bench_samples_ratio(const bench_samples *samples, unsigned contender, unsigned against, unsigned value);

void bench_samples_free(bench_samples *samples);

/* --- randomness --- */

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

/* 0 ... bound-1, bound <= 2^32. */
static inline uint64_t bench_below(uint64_t *state, uint64_t bound)
{
    return (bench_random(state) >> 32) * bound >> 32;
}

#endif
