/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[256];

static const char *wrong(size_t row, const char *what, uint64_t wanted, uint64_t got)
{
    snprintf(text, sizeof text, "row %zu: %s wanted %" PRIu64 ", got %" PRIu64, row, what, wanted, got);
    return text;
}

static const char *call(weir *limiter, const struct row *row, size_t index)
{
    const char *key = row->key != NULL ? row->key : "key";
    weir_request request = weir_request_for(key, strlen(key));
    weir_decision got = {0};
    int verdict;

    request.cost = row->cost;
    if (row->kind == ROW_PEEK)
        verdict = weir_peek(limiter, &request, row->now, &got);
    else
        verdict = weir_take(limiter, &request, row->now, &got);
    if (verdict != row->verdict)
        return wrong(index, "verdict", (uint64_t)row->verdict, (uint64_t)verdict);
    if (got.verdict != verdict)
        return wrong(index, "decision.verdict", (uint64_t)row->verdict, (uint64_t)got.verdict);
    if (got.flags != 0)
        return wrong(index, "flags", 0, got.flags);
    if (got.remaining != row->remaining)
        return wrong(index, "remaining", row->remaining, got.remaining);
    if (got.retry_after_ns != row->retry_after_ns)
        return wrong(index, "retry_after_ns", row->retry_after_ns, got.retry_after_ns);
    return NULL;
}

static const char *run_row(weir *limiter, const struct row *row, size_t index)
{
    weir_request request = weir_request_for("key", 3);
    int result;

    switch (row->kind) {
    case ROW_LIMIT:
        result = weir_set_limits(limiter, 0, &row->cost, 1);
        return result == 0 ? NULL : wrong(index, "weir_set_limits", 0, (uint64_t)result);
    case ROW_SWEEP:
        result = weir_sweep(limiter, row->now, 0);
        return result == 1 ? NULL : wrong(index, "weir_sweep", 1, (uint64_t)result);
    case ROW_RESET:
        result = weir_reset(limiter, &request);
        return result == 0 ? NULL : wrong(index, "weir_reset", 0, (uint64_t)result);
    case ROW_TAKE:
    case ROW_PEEK:
        break;
    }
    return call(limiter, row, index);
}

const char *rows_wrong(weir *limiter, const struct row *rows, size_t count)
{
    const char *found = NULL;

    for (size_t i = 0; i < count && found == NULL; i++)
        found = run_row(limiter, &rows[i], i);
    return found;
}

weir *manual_limiter(const weir_rule *rules, size_t rule_count, uint64_t max_lateness_ns,
                     const weir_allocator *allocator)
{
    weir_options options = weir_options_manual();
    weir *limiter;

    options.max_lateness_ns = max_lateness_ns;
    if (allocator != NULL)
        options.allocator = *allocator;
    return weir_open(&limiter, rules, rule_count, &options) == 0 ? limiter : NULL;
}

const char *rows_wrong_for(weir_rule rule, uint64_t max_lateness_ns, const struct row *rows, size_t count)
{
    weir *limiter = manual_limiter(&rule, 1, max_lateness_ns, NULL);
    const char *found;

    if (limiter == NULL)
        return "the limiter did not open";
    found = rows_wrong(limiter, rows, count);
    weir_close(limiter);
    return found;
}
