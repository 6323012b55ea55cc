/*
 * round: the loop around a subject's calls. Each subject has one of its own, with its take inlined, so that none pays
 * for being one of several:
 *
 *     static inline int take(void *state, const bench_call *call, weir_decision *decision) { ... }
 *     BENCH_ROUND(round_of_mine, take)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_ROUND_H
#define WEIR_BENCH_ROUND_H

#include "measure.h"
#include "subject.h"

typedef int (*bench_take)(void *state, const bench_call *call, weir_decision *decision);

#define BENCH_INLINED inline __attribute__((always_inline))

static inline void bench_walk_through(const bench_walk *walk)
{
    unsigned char sum = 0;
    for (size_t i = 0; i < walk->size; i += 64)
        sum = (unsigned char)(sum + walk->memory[i]);
    __asm__ volatile("" ::"r"(sum)); /* or the compiler leaves all of it out */
}

/* What comes between two calls. */
static BENCH_INLINED void bench_between(const bench_work *work)
{
    if (work->walk)
        bench_walk_through(work->walk);
    if (work->clock) {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
    }
}

static BENCH_INLINED void bench_count(bench_tally *tally, int verdict, const weir_decision *decision)
{
    if (decision)
        tally->answers += decision->remaining + decision->retry_after_ns + decision->release_after_ns;
    tally->accepted += verdict == 1;
    tally->errors += verdict < 0;
}

/* `whole` and `plain` are constants: plain means that nothing comes between calls and none is timed. */
static BENCH_INLINED void bench_run(void *state, const bench_work *work, bench_tally *tally, bench_take take,
                                    bool whole, bool plain)
{
    bench_key key = {{0}};
    bench_tally sum = *tally;
    weir_decision decision, *asked = whole ? &decision : NULL;
    bench_call call = {.key = key.byte, .key_len = work->key_len, .now = work->now};
    unsigned in_batch = 0;
    for (uint64_t i = 0; i < work->calls; i++) {
        uint64_t begin = 0;
        call.number = work->picks[(work->first + i) & work->mask];
        call.cost = 1 + (i & work->cost_mask);
        if (!plain)
            bench_between(work);
        bench_key_write(&key, work->key_len, call.number);
        if (!plain && work->latency)
            begin = bench_ticks();
        int verdict = take(state, &call, asked);
        if (!plain && work->latency)
            bench_histogram_add(work->latency, bench_ticks() - begin);
        bench_count(&sum, verdict, asked);
        if (++in_batch == work->batch) {
            call.now += work->step * work->batch;
            in_batch = 0;
        }
    }
    *tally = sum;
}

static BENCH_INLINED void bench_run_any(void *state, const bench_work *work, bench_tally *tally, bench_take take)
{
    const bool plain = !work->walk && !work->clock && !work->latency;
    if (plain && !work->whole)
        bench_run(state, work, tally, take, false, true);
    else if (plain)
        bench_run(state, work, tally, take, true, true);
    else if (work->whole)
        bench_run(state, work, tally, take, true, false);
    else
        bench_run(state, work, tally, take, false, false);
}

#define BENCH_ROUND(name, take)                                                     \
    static void name(void *subject_state, const bench_work *work, bench_tally *tally)      \
    {                                                                              \
        bench_run_any(subject_state, work, tally, take);                                   \
    }

#endif
