/*
 * The oracle itself against the published traces: every field of every step. Needs no limiter. What this proves is that
 * the other property tests compare with the right answers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>

#include "../support/decision.h"
#include "../support/oracle.h"
#include "../support/traces.h"

static uint64_t differences;

static void compare(const struct trace *trace, size_t index, const weir_decision *wanted, const weir_decision *got)
{
    uint64_t wanted_value;
    uint64_t got_value;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);

    if (field == NULL)
        return;
    if (differences++ < 10)
        printf("%s step %zu: %s wanted %" PRIu64 ", got %" PRIu64 "\n", trace->name, index, field, wanted_value,
               got_value);
}

static void run(const struct trace *trace)
{
    struct oracle *oracle = oracle_open(trace->rules, trace->rule_count, 0, NULL);

    for (size_t i = 0; i < trace->step_count; i++) {
        const struct trace_step *step = &trace->steps[i];
        weir_request request = {.key = "key", .key_len = 3, .cost = step->cost};
        weir_decision wanted = {.verdict = step->accepted,
                                .rule = step->rule,
                                .remaining = step->remaining,
                                .retry_after_ns = step->retry_after_ns,
                                .release_after_ns = step->release_after_ns};
        weir_decision peeked;
        weir_decision taken;

        oracle_peek(oracle, &request, step->now, &peeked);
        oracle_take(oracle, &request, step->now, &taken);
        wanted.limit = trace->rules[step->rule].limit;
        compare(trace, i, &wanted, &taken);
        /* A peek differs only in what the charge takes from the rule it names. */
        wanted.remaining = peeked.remaining;
        wanted.release_after_ns = peeked.release_after_ns;
        compare(trace, i, &wanted, &peeked);
        if (!step->accepted && (peeked.remaining != taken.remaining || peeked.retry_after_ns == 0))
            differences++;
    }
    oracle_close(oracle);
}

int main(int argc, char **argv)
{
    char room[4096];
    const char *path = argc > 1 ? argv[1] : traces_path(room, sizeof room);
    trace_reader reader;
    uint64_t traces = 0;
    uint64_t steps = 0;
    int found;

    if (traces_open(&reader, path) != 0) {
        printf("skipped: %s is not there\n", path);
        return 77;
    }
    while ((found = traces_next(&reader)) > 0) {
        run(&reader.current);
        traces++;
        steps += reader.current.step_count;
    }
    if (found < 0)
        printf("%s: %s\n", path, reader.error);
    traces_close(&reader);
    printf("%" PRIu64 " traces, %" PRIu64 " steps, %" PRIu64 " differ\n", traces, steps, differences);
    return found < 0 || differences != 0 || traces == 0;
}
