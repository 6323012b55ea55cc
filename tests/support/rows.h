/*
 * Scenarios as rows of data: each row is one call on one key and the whole answer that belongs to it. Manual time, so
 * nothing depends on the machine.
 *
 *     static const struct row rows[] = {TAKES(0, 1, 2), REFUSES(9, 1, 0, 1), SWEEPS(10), TAKES(10, 1, 0)};
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ROWS_H
#define WEIR_TESTS_ROWS_H

#include <weir/weir.h>

enum row_kind { ROW_TAKE, ROW_PEEK, ROW_LIMIT, ROW_SWEEP, ROW_RESET };

struct row {
    enum row_kind kind;
    uint64_t now;
    uint64_t cost; /* ROW_LIMIT: the new limit of the only rule, plan 0 */
    int verdict;
    uint64_t remaining;
    uint64_t retry_after_ns;
    const char *key; /* NULL: "key" */
};

#define TAKES(now, cost, remaining)              {ROW_TAKE, now, cost, 1, remaining, 0, NULL}
#define REFUSES(now, cost, remaining, wait)      {ROW_TAKE, now, cost, 0, remaining, wait, NULL}
#define WOULD_TAKE(now, cost, remaining)         {ROW_PEEK, now, cost, 1, remaining, 0, NULL}
#define WOULD_REFUSE(now, cost, remaining, wait) {ROW_PEEK, now, cost, 0, remaining, wait, NULL}
#define TAKES_FOR(key, now, cost, remaining)         {ROW_TAKE, now, cost, 1, remaining, 0, key}
#define REFUSES_FOR(key, now, cost, remaining, wait) {ROW_TAKE, now, cost, 0, remaining, wait, key}
#define LIMIT(limit) {ROW_LIMIT, 0, limit, 0, 0, 0, NULL}
#define SWEEPS(now)  {ROW_SWEEP, now, 0, 1, 0, 0, NULL}
#define RESETS       {ROW_RESET, 0, 0, 0, 0, 0, NULL}

#define ROWS(rows) (rows), sizeof(rows) / sizeof *(rows)

/* NULL: every row was answered as it says; else what was wrong, in a buffer of the calling thread. */
const char *rows_wrong(weir *limiter, const struct row *rows, size_t count);

/* The same on a limiter of its own with one rule and manual time; nothing is dropped before `max_lateness_ns`. */
const char *rows_wrong_for(weir_rule rule, uint64_t max_lateness_ns, const struct row *rows, size_t count);

/* Rules as the tests write them: everything per cost. */
static inline weir_rule log_rule(uint64_t limit, uint64_t window_ns)
{
    weir_rule rule = {.limit = limit, .window_ns = window_ns, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST};
    return rule;
}

static inline weir_rule counter_rule(uint64_t limit, uint64_t window_ns)
{
    weir_rule rule = {.limit = limit, .window_ns = window_ns, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST};
    return rule;
}

static inline weir_rule buckets_rule(uint64_t limit, uint64_t window_ns, uint64_t buckets)
{
    weir_rule rule = {.limit = limit,
                      .window_ns = window_ns,
                      .algorithm = WEIR_BUCKETS,
                      .meter = WEIR_PER_COST,
                      .buckets = buckets};
    return rule;
}

/* A limiter with manual time, or NULL. The allocator may be NULL. */
weir *manual_limiter(const weir_rule *rules, size_t rule_count, uint64_t max_lateness_ns,
                     const weir_allocator *allocator);

#endif
