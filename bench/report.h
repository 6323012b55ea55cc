/*
 * report: rows for people and for machines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_REPORT_H
#define WEIR_BENCH_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "machine.h"
#include "row.h"

typedef struct bench_rows {
    bench_row *row;
    size_t count, room;
} bench_rows;

/* A sink's `put`, with bench_rows as argument: keeps a copy. */
void bench_rows_keep(void *argument, const bench_row *row);
void bench_rows_free(bench_rows *rows);

/* Tables: rows that follow one another and have the same scenario, parameters and measures, one table. */
void bench_report_machine(FILE *to, const bench_machine *machine);
void bench_report_table(FILE *to, const bench_rows *rows);

/* One JSON document. 0, or -1 with errno set. */
int bench_report_json(FILE *to, const bench_machine *machine, const bench_rows *rows);

/* SVG pictures into a directory that is made where it is not there. The number of pictures, or -1 (said on stderr). */
int bench_plot(const char *directory, const bench_rows *rows);

#endif
