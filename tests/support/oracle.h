/*
 * The oracle: sections 2 to 4 of docs/semantics.md as the page has them, and nothing else. It keeps every charge in a list,
 * adds up the list at each question, and finds waits by halving an interval of time instead of formulas. No drops, no
 * floor: these are the answers of a limiter whose max_lateness is endless. Slow on purpose; one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ORACLE_H
#define WEIR_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/types.h>

struct oracle;

/* plan_limits: plans x rule_count limits, plan by plan; plans 0: one, with the rules' own. Never NULL: ends the process
 * without memory. Rules are not checked. */
struct oracle *oracle_open(const weir_rule *rules, size_t rule_count, uint32_t plans, const uint64_t *plan_limits);
void oracle_close(struct oracle *oracle);

/* Answers as weir_take and weir_peek; flags 0. Only key, key_len, cost and plan of the request are looked at. */
int oracle_take(struct oracle *oracle, const weir_request *request, uint64_t now, weir_decision *decision);
int oracle_peek(struct oracle *oracle, const weir_request *request, uint64_t now, weir_decision *decision);

void oracle_reset(struct oracle *oracle, const weir_request *request);
void oracle_set_limits(struct oracle *oracle, uint32_t plan, const uint64_t *limits);

/* The limit of one rule under one plan, now. */
uint64_t oracle_limit(const struct oracle *oracle, uint32_t plan, size_t rule);

/* Has this key ever been charged? */
bool oracle_knows(const struct oracle *oracle, const void *key, size_t key_len);

/* Is anything charged to this key, in any rule, by the time of a call at `now`? */
bool oracle_is_charged(const struct oracle *oracle, const void *key, size_t key_len, uint64_t now);

#endif
