/*
 * canvas: pictures drawn by gnuplot, one after the other, as SVG files in a directory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_CANVAS_H
#define WEIR_BENCH_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

#include "measure.h"

enum { CANVAS_LINES = 32 };

typedef struct canvas {
    FILE *gnuplot;
    const char *directory;
    int pictures;
    bool bars;
    unsigned lines, points; /* of this picture */
    const char *label[CANVAS_LINES];
} canvas;

/* 0, or -1 (said on stderr). */
int canvas_open(canvas *on, const char *directory);

/* One picture: what it is called, its kind, its lines with their points or its bars; and done. `log_below`: 2 or 10. */
void canvas_picture(canvas *on, const char *file, const char *title);
void canvas_axes(canvas *on, const char *below, unsigned log_below, const char *left, bool log_left);
void canvas_bars(canvas *on, const char *left);
void canvas_line(canvas *on, const char *label); /* kept until canvas_done */
void canvas_point(canvas *on, double x, bench_summary y);
void canvas_bar(canvas *on, const char *label, bench_summary y);
void canvas_done(canvas *on);

/* The number of pictures, or -1 where gnuplot failed (said on stderr). */
int canvas_close(canvas *on);

#endif
