/*
 * match: sides measured in turn, each with so many threads, as rows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_REDIS_MATCH_H
#define WEIR_BENCH_REDIS_MATCH_H

#include "../row.h"
#include "side.h"

enum { BENCH_SIDES_MAX = 16 };

typedef struct bench_match {
    const char *scenario;
    const struct redis_server *server;
    const bench_side *sides; /* the first is what the others are measured against */
    unsigned count;
    unsigned threads;
    double seconds; /* for each side */
} bench_match;

/* Ends the program where nothing can be measured. */
void bench_match_run(const bench_match *match, const bench_sink *sink);

#endif
