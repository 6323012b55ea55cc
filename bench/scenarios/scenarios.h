/*
 * What the files of this folder define; bench/scenarios.c puts them into a table.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SCENARIOS_H
#define WEIR_BENCH_SCENARIOS_H

#include "../scenario.h"

extern const bench_scenario bench_hot_key, bench_many_keys, bench_batch, bench_oversubscribed;
extern const bench_scenario bench_churn, bench_growth, bench_janitor, bench_memory, bench_rules, bench_targets;

#endif
