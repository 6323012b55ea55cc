/*
 * traffic: the rules and times under which a contest's calls are allowed, refused or mixed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_TRAFFIC_H
#define WEIR_BENCH_TRAFFIC_H

#include "contest.h"

typedef struct bench_plan {
    weir_rule rule[WEIR_RULES_MAX];
    uint64_t step;      /* from call to call, ns */
    uint64_t cost_mask; /* see bench_work */
    uint64_t begin;     /* when keys begin to be charged: each once, `passes` times, `pass_step` apart */
    unsigned passes;
    uint64_t pass_step;
} bench_plan;

/* `threads`: at most so many ask at once. */
bench_plan bench_plan_for(const bench_contest *contest, unsigned threads);

#endif
