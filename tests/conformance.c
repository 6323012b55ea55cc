/*
 * The limiter against the published traces, every field of every step:
 *
 *     conformance [TRACES.jsonl ...]
 *
 * Each step is asked first as a peek, which must foretell the take and change nothing, then as a take; and on a second
 * limiter as a take of the verdict alone. Without arguments the traces of ../shared are run, where they are.
 * Exits with 1 where an answer differs, 77 where there are no traces.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

#include "support/decision.h"
#include "support/oracle.h"
#include "support/rows.h"
#include "support/traces.h"

static uint64_t trace_count;
static uint64_t step_count;
static uint64_t differences;

static void differ(const struct trace *trace, size_t step, const char *call, const char *field, uint64_t wanted,
                   uint64_t got)
{
    if (differences++ < 10)
        printf("%s step %zu, %s: %s wanted %" PRIu64 ", got %" PRIu64 "\n", trace->name, step, call, field, wanted,
               got);
}

static void compare(const struct trace *trace, size_t step, const char *call, const weir_decision *wanted,
                    const weir_decision *got)
{
    uint64_t wanted_value;
    uint64_t got_value;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);

    if (field != NULL)
        differ(trace, step, call, field, wanted_value, got_value);
}

static void run_step(const struct trace *trace, size_t index, weir *limiter, weir *terse, struct oracle *oracle)
{
    const struct trace_step *step = &trace->steps[index];
    weir_request request = weir_request_for(trace->name, strlen(trace->name));
    weir_decision wanted = traces_wanted(trace, step);
    weir_decision peeked = wanted;
    weir_decision standing;
    weir_decision got;

    request.cost = step->cost;
    /* The traces tell what a peek accepts, and which rule it names; what stands before the charge the oracle knows. */
    oracle_peek(oracle, &request, step->now, &standing);
    oracle_take(oracle, &request, step->now, NULL);
    peeked.remaining = standing.remaining;
    peeked.release_after_ns = standing.release_after_ns;
    for (int twice = 0; twice < 2; twice++) {
        got = (weir_decision){0};
        if (weir_peek(limiter, &request, step->now, &got) != step->accepted)
            differ(trace, index, "peek", "result", step->accepted, (uint64_t)got.verdict);
        compare(trace, index, "peek", &peeked, &got);
    }
    if (weir_peek(terse, &request, step->now, NULL) != step->accepted)
        differ(trace, index, "peek, verdict alone", "result", step->accepted, !step->accepted);
    got = (weir_decision){0};
    if (weir_take(limiter, &request, step->now, &got) != step->accepted)
        differ(trace, index, "take", "result", step->accepted, (uint64_t)got.verdict);
    compare(trace, index, "take", &wanted, &got);
    if (weir_take(terse, &request, step->now, NULL) != step->accepted)
        differ(trace, index, "take, verdict alone", "result", step->accepted, !step->accepted);
}

static void run_trace(const struct trace *trace)
{
    weir *limiter = manual_limiter(trace->rules, trace->rule_count, UINT64_MAX, NULL);
    weir *terse = manual_limiter(trace->rules, trace->rule_count, UINT64_MAX, NULL);
    struct oracle *oracle = oracle_open(trace->rules, trace->rule_count, 0, NULL);

    trace_count++;
    step_count += trace->step_count;
    if (limiter == NULL || terse == NULL)
        differ(trace, 0, "open", "result", 0, 1);
    else
        for (size_t i = 0; i < trace->step_count; i++)
            run_step(trace, i, limiter, terse, oracle);
    oracle_close(oracle);
    weir_close(limiter);
    weir_close(terse);
}

/* 0; 77 where the file cannot be opened; 1 where it cannot be read. */
static int run_file(const char *path)
{
    trace_reader reader;
    int found;

    if (traces_open(&reader, path) != 0)
        return 77;
    while ((found = traces_next(&reader)) > 0)
        run_trace(&reader.current);
    if (found < 0)
        printf("%s: %s\n", path, reader.error);
    traces_close(&reader);
    return found < 0;
}

int main(int argc, char **argv)
{
    char room[4096];
    int failed = 0;

    if (argc == 1) {
        const char *path = traces_path(room, sizeof room);

        failed = run_file(path);
        if (failed == 77) {
            printf("skipped: %s is not there\n", path);
            return 77;
        }
    }
    for (int i = 1; i < argc; i++) {
        int result = run_file(argv[i]);

        if (result == 77)
            printf("%s: cannot be opened\n", argv[i]);
        failed |= result != 0;
    }
    printf("%" PRIu64 " traces, %" PRIu64 " steps, %" PRIu64 " differ\n", trace_count, step_count, differences);
    return failed || differences != 0 || trace_count == 0;
}
