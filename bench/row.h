/*
 * row: one result, as data: what was measured, under which parameters, what came out. Rows hold no pointers that are
 * not constants of the program, so that a process of its own can write them into a pipe.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_ROW_H
#define WEIR_BENCH_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "measure.h"

enum { BENCH_PARAMETERS_MAX = 12, BENCH_MEASURES_MAX = 16, BENCH_CURVE_POINTS = 20 };

/* A number where it is one, else a word. */
typedef struct bench_parameter {
    const char *name;
    const char *word; /* NULL: it is `number` */
    double number;
} bench_parameter;

typedef struct bench_measure {
    const char *name; /* "ns", "p99", "bytes a key", ... */
    const char *unit; /* "ns", "1/s", "bytes", "" for ratios and shares */
    bench_summary value;
} bench_measure;

/* A distribution: so large a share is at most so many ns. */
typedef struct bench_point {
    double share, ns;
} bench_point;

typedef struct bench_row {
    const char *scenario;
    const char *subject;
    const char *algorithm; /* "log", "counter", "buckets"; or of several rules */
    const char *note;      /* NULL, or what a reader of this row must know */
    unsigned parameter_count, measure_count, point_count;
    bench_parameter parameter[BENCH_PARAMETERS_MAX];
    bench_measure measure[BENCH_MEASURES_MAX];
    bench_point point[BENCH_CURVE_POINTS];
    uint64_t wrong; /* answers that were not as they must be: disagreements with the other subjects, errors */
} bench_row;

bench_row bench_row_for(const char *scenario, const char *subject, const char *algorithm);

/* One more parameter or measure; ends the program where the row is full, which is a mistake in a scenario. */
void bench_row_word(bench_row *row, const char *name, const char *word);
void bench_row_number(bench_row *row, const char *name, double number);
void bench_row_measure(bench_row *row, const char *name, const char *unit, bench_summary value);

/* Measures p50 p99 p99.9 p99.99 max of a histogram of ticks, in ns, and its curve. The timer's cost is in them. */
void bench_row_latency(bench_row *row, const bench_histogram *ticks);

/* The curve alone. */
void bench_row_curve(bench_row *row, const bench_histogram *ticks);

/* NULL: it has none of that name. */
const bench_parameter *bench_row_find_parameter(const bench_row *row, const char *name);
const bench_measure *bench_row_find_measure(const bench_row *row, const char *name);

/* "log", "counter", "buckets". */
const char *bench_algorithm_name(uint32_t algorithm);

/* Where rows go. */
typedef struct bench_sink {
    void (*put)(void *argument, const bench_row *row);
    void *argument;
} bench_sink;

static inline void bench_put(const bench_sink *sink, const bench_row *row)
{
    sink->put(sink->argument, row);
}

/*
 * Runs `work` in a process of its own, whose heap holds nothing else, and puts its rows into the sink as they come. 0,
 * or -1 where it failed (said on stderr). `work` may end its process with bench_fail.
 */
int bench_apart(void (*work)(const void *parameters, const bench_sink *sink), const void *parameters,
                const bench_sink *sink);

/* Says what went wrong and ends the process. */
_Noreturn void bench_fail(const char *what);

/* What must not be NULL; else as bench_fail("out of memory"). */
void *bench_must(void *memory);

#endif
