/*
 * options: the command line of weir-bench.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_OPTIONS_H
#define WEIR_BENCH_OPTIONS_H

#include "scenario.h"

typedef struct bench_command {
    bench_options options;
    const bench_scenario *scenarios[BENCH_LIST_MAX];
    unsigned scenario_count;
    bool list;
    const char *json; /* a file, "-" for standard output; NULL: none */
    const char *plot; /* a directory; NULL: none */
} bench_command;

/* Ends the program with status 2, having said what is wrong, where the command line is not understood. */
void bench_options_parse(bench_command *command, int argc, char **argv);

/* "1e3,1000,64": whole numbers from `least` to `most`. NULL, or what is wrong with it. */
const char *bench_list_parse(const char *text, uint64_t least, uint64_t most, bench_list *list);

#endif
