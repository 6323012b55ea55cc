/*
 * contest: subjects under the same calls at the same times, round by round in turn. What most scenarios are made of.
 *
 * Time is made, not read: it goes on by the number of calls, not with the clock, so that how many calls pass does not
 * depend on how fast they are answered; threads of one subject share it, a stretch of calls at a time. Subjects that
 * one thread asks must agree on every answer of every round; and all of them, before the first, on whole decisions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_CONTEST_H
#define WEIR_BENCH_CONTEST_H

#include "picks.h"
#include "scenario.h"

/* What the answers are. */
enum bench_traffic {
    BENCH_ALLOWED, /* none is refused (zipf under a log: the most frequent keys are) */
    BENCH_REFUSED, /* every key has used up its limit, and nothing opens again */
    BENCH_MIXED    /* twice as many calls as the limit lets pass */
};

enum { BENCH_CONTENDERS_MAX = 32 };

typedef struct bench_contender {
    const bench_subject *subject;
    unsigned threads;
} bench_contender;

typedef struct bench_contest {
    uint32_t algorithm;
    unsigned rules;             /* 1 ... WEIR_RULES_MAX of that algorithm, windows of different lengths */
    bool costs;                 /* calls cost 1 to 16, and that is what is charged */
    enum bench_traffic traffic;
    enum bench_picking picking;
    uint64_t keys;
    size_t key_len;
    unsigned batch;
    bool whole, clock;
    size_t walk;                /* bytes of other memory gone through before each call; each call is timed then */
    bool timed;                 /* each call is timed */
    double seconds;             /* for each contender */
    unsigned count;
    bench_contender contender[BENCH_CONTENDERS_MAX];
} bench_contest;

/* What a round measures of a contender. The percentiles only where each call is timed; the timer's cost is in them. */
enum bench_value {
    BENCH_NS,    /* a decision: one thread: its processor time; several: wall time, as each of them waits for it; where
                    calls are timed, the mean of all but the slowest hundredth, the timer's cost taken off */
    BENCH_CPU,   /* a decision: processor time, of all threads together */
    BENCH_RATE,  /* decisions a second, all threads together, by wall time */
    BENCH_LEAST, /* the thread that got least, in parts of what is fair */
    BENCH_MOST,
    BENCH_P50,
    BENCH_P99,
    BENCH_P999,
    BENCH_P9999,
    BENCH_MAX,
    BENCH_VALUES
};

typedef struct bench_contest_result {
    bench_samples samples; /* [contender][enum bench_value] */
    double accepted[BENCH_CONTENDERS_MAX]; /* share of the calls */
    uint64_t wrong[BENCH_CONTENDERS_MAX];  /* rounds whose answers were not the first contender's, and errors */
    bench_histogram *latency; /* of each contender, all rounds together; NULL where calls are not timed */
} bench_contest_result;

/* In the calling process, which may end by bench_fail: call it inside bench_apart. */
void bench_contest_run(const bench_contest *contest, bench_contest_result *result);
void bench_contest_free(bench_contest_result *result);

/* One rule, one key of 8 bytes, calls by themselves, allowed; the rest as the options say. No contenders. */
bench_contest bench_contest_for(const bench_options *options, uint32_t algorithm);

/* Adds one contender for each subject. */
void bench_contest_enter(bench_contest *contest, const bench_subject *const *subjects, unsigned count,
                         unsigned threads);

/*
 * Adds, for each number of threads, the subjects that were asked for (or else of `own`, NULL behind the last) that can
 * do what the contest asks: it must be complete but for its contenders.
 */
void bench_contest_enter_able(bench_contest *contest, const bench_options *options, const bench_subject *const *own,
                              const bench_list *threads);

/* How many times as much contender `one` does as `other`, by the processor time that each needs for a call. */
bench_summary bench_contest_gain(const bench_contest *contest, const bench_samples *samples, unsigned one,
                                 unsigned other);

/* A row for each contender, with all parameters and measures that a contest has. */
void bench_contest_put(const char *scenario, const bench_contest *contest, const bench_contest_result *result,
                       const bench_sink *sink);

/* All of it, in a process of its own. 0 or -1. */
int bench_contest_apart(const char *scenario, const bench_contest *contest, const bench_sink *sink);

#endif
