/*
 * The published traces through the pure functions: every field of every answer, asked as a peek and then as a take.
 * Exits with 77 where there are no traces.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/traces.h"
#include "window_states.h"

static void run(const struct trace *trace)
{
    key_states key;
    key_open(&key, trace->rules, trace->rule_count);
    for (size_t i = 0; i < trace->step_count; i++) {
        const struct trace_step *step = &trace->steps[i];
        weir_decision peek = key_peek(&key, step->now, step->cost);
        weir_decision take = key_take(&key, step->now, step->cost);
        EQUALS(take.verdict, step->accepted, "%s step %zu", trace->name, i);
        EQUALS(take.rule, step->rule, "%s step %zu", trace->name, i);
        EQUALS(take.limit, trace->rules[step->rule].limit, "%s step %zu", trace->name, i);
        EQUALS(take.remaining, step->remaining, "%s step %zu", trace->name, i);
        EQUALS(take.retry_after_ns, step->retry_after_ns, "%s step %zu", trace->name, i);
        EQUALS(take.release_after_ns, step->release_after_ns, "%s step %zu", trace->name, i);
        EQUALS(take.flags, 0, "%s step %zu", trace->name, i);
        if (step->accepted) {
            uint64_t charge = weiri_rule_charge(&key.rules.rule[step->rule], step->cost);
            EQUALS(peek.remaining, step->remaining + charge, "%s step %zu", trace->name, i);
            take.remaining = peek.remaining;
            take.release_after_ns = peek.release_after_ns; /* as it stood: the traces do not tell */
        }
        cr_assert(memcmp(&peek, &take, sizeof peek) == 0, "%s step %zu: the peek differs", trace->name, i);
    }
    key_close(&key);
}

Test(window_vectors, every_published_trace_is_answered_to_the_last_digit)
{
    char path[4096];
    trace_reader reader;
    traces_path(path, sizeof path);
    cr_assert(traces_open(&reader, path) == 0, "%s cannot be opened", path);
    uint64_t traces = 0;
    uint64_t steps = 0;
    int more;
    while ((more = traces_next(&reader)) > 0) {
        run(&reader.current);
        traces++;
        steps += reader.current.step_count;
    }
    cr_assert(more == 0, "%s", reader.error);
    cr_assert(traces > 0);
    traces_close(&reader);
    fprintf(stderr, "window_vectors: %" PRIu64 " traces, %" PRIu64 " steps\n", traces, steps);
}

/* In the place of Criterion's, for which a test that is skipped is a test that passed. */
int main(int argc, char **argv)
{
    char path[4096];
    trace_reader reader;
    if (traces_open(&reader, traces_path(path, sizeof path)) != 0) {
        printf("window_vectors: skipped: %s is not there\n", path);
        return 77;
    }
    traces_close(&reader);
    struct criterion_test_set *tests = criterion_initialize();
    int result = criterion_handle_args(argc, argv, true) ? !criterion_run_all_tests(tests) : 0;
    criterion_finalize(tests);
    return result;
}
