/*
 * speed: what one call costs, weir beside the sharded mutex, under the same keys at the same times. The subjects are
 * checked to give the same answers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SPEED_H
#define WEIR_BENCH_SPEED_H

#include <weir/weir.h>

#include "measure.h"

enum bench_side { BENCH_WEIR, BENCH_SHARDED, BENCH_SIDES };

typedef struct bench_speed_parameters {
    uint32_t algorithm; /* WEIR_COUNTER or WEIR_LOG */
    size_t key_len;     /* see subject.h */
    uint64_t keys;
    double seconds; /* for each row */
} bench_speed_parameters;

/* ns a call. */
typedef struct bench_speed_row {
    bool refused; /* else accepted */
    bool whole;   /* whole decisions, else verdicts alone */
    bench_summary side[BENCH_SIDES];
    double share; /* of the calls that were answered so; near 1 */
    int wrong;    /* rounds in which the subjects disagreed */
} bench_speed_row;

enum { BENCH_SPEED_ROWS = 4 };

typedef struct bench_speed {
    bench_speed_row row[BENCH_SPEED_ROWS];
} bench_speed;

typedef struct bench_hot_parameters {
    uint32_t algorithm;
    double seconds; /* for each row */
} bench_hot_parameters;

/* One key, hammered by one thread or two: ns of wall time a call, of all threads together. */
typedef struct bench_hot_row {
    bool refused;
    bench_summary one[BENCH_SIDES], two[BENCH_SIDES];
} bench_hot_row;

enum { BENCH_HOT_ROWS = 2 };

typedef struct bench_hot {
    bench_hot_row row[BENCH_HOT_ROWS];
} bench_hot;

/* Each in a process of its own. 0, or -1: failed. */
int bench_measure_speed(const bench_speed_parameters *parameters, bench_speed *result);
int bench_measure_hot(const bench_hot_parameters *parameters, bench_hot *result);

#endif
