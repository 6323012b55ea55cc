/*
 * scenario: parameters in, result rows out. A scenario is a constant, in a file of its own under scenarios/;
 * bench/scenarios.c has the table of all. It knows nothing of the command line or of reports.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SCENARIO_H
#define WEIR_BENCH_SCENARIO_H

#include "row.h"
#include "subject.h"

enum { BENCH_LIST_MAX = 16, BENCH_SUBJECTS_MAX = 16 };

/* Numbers to go through; none: the scenario's own. */
typedef struct bench_list {
    unsigned count;
    uint64_t value[BENCH_LIST_MAX];
} bench_list;

/* What is asked for. All 0 but `seconds`: everything as the scenario has it. */
typedef struct bench_options {
    bench_list threads;
    bench_list keys;
    bench_list key_lens;
    bench_list batches;
    unsigned algorithms;    /* bits 1 << enum weir_algorithm */
    unsigned subject_count;
    const bench_subject *subjects[BENCH_SUBJECTS_MAX];
    double seconds;         /* of measuring, for each row; making the tables comes on top */
    bool clock;             /* see bench_work */
    bool whole;             /* whole decisions, not verdicts alone */
} bench_options;

typedef struct bench_scenario {
    const char *name;
    const char *about; /* in one line */
    /* Puts its rows into the sink; each set of parameters in a process of its own. The number of sets that failed. */
    int (*run)(const bench_options *options, const bench_sink *sink);
} bench_scenario;

/* All scenarios, NULL behind the last. */
extern const bench_scenario *const bench_scenarios[];

/* NULL: there is none. */
const bench_scenario *bench_scenario_named(const char *name);

/* The list that was given, or the scenario's own. */
static inline const bench_list *bench_list_or(const bench_list *given, const bench_list *own)
{
    return given->count > 0 ? given : own;
}

/* Is the algorithm asked for? */
static inline bool bench_options_want(const bench_options *options, uint32_t algorithm)
{
    return options->algorithms == 0 || (options->algorithms >> algorithm & 1) != 0;
}

/* What a set of parameters needs of its subjects. */
typedef struct bench_needs {
    uint32_t algorithm;
    unsigned rules;    /* 0: 1 */
    unsigned can;      /* enum bench_ability, all of them */
    uint64_t keys;
    bool sweep;
} bench_needs;

/*
 * Of the subjects that were asked for (or else of `own`, NULL behind the last), those that can do it, in their order;
 * returns how many.
 */
unsigned bench_choose(const bench_options *options, const bench_subject *const *own, const bench_needs *needs,
                      const bench_subject *chosen[BENCH_SUBJECTS_MAX]);

#endif
