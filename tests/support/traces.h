/*
 * Reads the published traces: one JSON object a line, of one fixed shape (section 4 of the semantics). Numbers are
 * whole and up to 2^64-2, beyond what JSON readers keep exactly, hence a scanner for this shape alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_TRACES_H
#define WEIR_TESTS_TRACES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <weir/types.h>

struct trace_step {
    uint64_t now;
    uint64_t cost;
    bool accepted;
    uint32_t rule;
    uint64_t remaining;
    uint64_t retry_after_ns; /* WEIR_NEVER for -1 */
    uint64_t release_after_ns;
};

struct trace {
    char name[64];
    weir_rule rules[WEIR_RULES_MAX];
    size_t rule_count;
    struct trace_step *steps;
    size_t step_count;
    size_t step_room;
};

typedef struct trace_reader {
    FILE *file;
    char *line;
    size_t line_size;
    uint64_t line_number;
    char error[160]; /* "line N, column M: what was expected" */
    struct trace current;   /* good until the next call */
} trace_reader;

/* 0 or -errno. */
int traces_open(trace_reader *reader, const char *path);

/* 1: `current` holds the next trace; 0: the end; -1: reader->error says where and why. */
int traces_next(trace_reader *reader);

void traces_close(trace_reader *reader);

/* The decision that a step asks for. */
weir_decision traces_wanted(const struct trace *trace, const struct trace_step *step);

/*
 * Where the published traces are: $WEIR_SHARED/vectors/traces.jsonl, or ../shared beside the source root
 * ($MESON_SOURCE_ROOT, or the working directory). Returns `room`, filled.
 */
const char *traces_path(char *room, size_t room_size);

#endif
