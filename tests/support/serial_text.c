/* SPDX-License-Identifier: MIT */
#include "serial_text.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const verbs[] = {
    [SERIAL_TAKE] = "take",         [SERIAL_TAKE_VERDICT] = "take?", [SERIAL_PEEK] = "peek",
    [SERIAL_PEEK_VERDICT] = "peek?", [SERIAL_RESET] = "reset",        [SERIAL_SET_LIMITS] = "limits",
};

weir_request serial_request(const struct serial_call *call)
{
    weir_request request = {.key = "k", .key_len = 1, .cost = call->cost, .plan = call->plan};

    return request;
}

static bool has_decision(const struct serial_call *call)
{
    return call->verb == SERIAL_TAKE || call->verb == SERIAL_PEEK;
}

static void print_wait(FILE *out, uint64_t wait)
{
    if (wait == WEIR_NEVER)
        fprintf(out, " %9s", "never");
    else
        fprintf(out, " %9" PRIu64, wait);
}

static void print_answer(FILE *out, const weir_decision *answer)
{
    fprintf(out, " %4" PRIu32 " %4" PRIu32 " %9" PRIu64 " %9" PRIu64, answer->flags, answer->rule, answer->limit,
            answer->remaining);
    print_wait(out, answer->retry_after_ns);
    print_wait(out, answer->release_after_ns);
}

static void print_call(FILE *out, const struct serial_history *history, size_t number)
{
    const struct serial_call *call = &history->calls[number];

    fprintf(out, "%4zu %3u %9" PRIu64 " %9" PRIu64 "  %-6s", number, call->thread, call->called, call->returned,
            verbs[call->verb]);
    if (call->verb == SERIAL_SET_LIMITS) {
        fprintf(out, " plan %" PRIu32 ":", call->plan);
        for (size_t i = 0; i < history->rule_count; i++)
            fprintf(out, " %" PRIu64, call->limits[i]);
    } else if (call->verb != SERIAL_RESET) {
        fprintf(out, " %4" PRIu32 " %12" PRIu64 " %9" PRIu64 "   %s", call->plan, call->now, call->cost,
                call->verdict ? "yes" : "no ");
        if (has_decision(call))
            print_answer(out, &call->answer);
    }
    fputc('\n', out);
}

static void print_head(FILE *out)
{
    fprintf(out, "%4s %3s %9s %9s  %-6s %4s %12s %9s   %s %4s %4s %9s %9s %9s %9s\n", "call", "thr", "called",
            "returned", "verb", "plan", "now", "cost", "ok ", "flag", "rule", "limit", "remaining", "retry", "release");
}

static void print_rules(FILE *out, const struct serial_history *history)
{
    static const char *const algorithms[] = {
        [WEIR_LOG] = "log", [WEIR_COUNTER] = "counter", [WEIR_BUCKETS] = "buckets"};

    for (size_t i = 0; i < history->rule_count; i++) {
        const weir_rule *rule = &history->rules[i];

        fprintf(out, "rule %zu: %s, window %" PRIu64 ", buckets %" PRIu64 ", per %s, limits", i,
                algorithms[rule->algorithm], rule->window_ns, rule->buckets,
                rule->meter == WEIR_PER_REQUEST ? "request" : "cost");
        for (uint32_t plan = 0; plan < history->plans; plan++)
            fprintf(out, " %" PRIu64, history->plan_limits[plan * history->rule_count + i]);
        if (history->plans == 0)
            fprintf(out, " %" PRIu64, rule->limit);
        fputc('\n', out);
    }
    for (size_t i = 0; i < history->floor_count; i++)
        fprintf(out, "floor %" PRIu64 " from stamp %" PRIu64 "\n", history->floors[i].time, history->floors[i].called);
    if (history->may_fail)
        fprintf(out, "calls may fail, and are then %s\n", history->admits ? "admitted" : "refused");
}

void serial_print(FILE *out, const struct serial_history *history)
{
    size_t *numbers = serial_by_called(history);

    print_rules(out, history);
    print_head(out);
    for (size_t i = 0; i < history->count; i++)
        print_call(out, history, numbers[i]);
    free(numbers);
}

/* What the oracle says to a call that could be next. */
static void print_due(FILE *out, struct oracle *oracle, const struct serial_call *call)
{
    weir_request request = serial_request(call);
    weir_decision due;

    if (call->verb == SERIAL_RESET || call->verb == SERIAL_SET_LIMITS)
        return;
    if (call->verb == SERIAL_TAKE || call->verb == SERIAL_TAKE_VERDICT) {
        struct oracle *copy = oracle_copy(oracle);

        oracle_take(copy, &request, call->now, &due);
        oracle_close(copy);
    } else {
        oracle_peek(oracle, &request, call->now, &due);
    }
    fprintf(out, "%61s   %s", "due:", due.verdict ? "yes" : "no ");
    print_answer(out, &due);
    fputc('\n', out);
}

static void print_failure(FILE *out, const struct serial_history *history, const struct serial_failure *failure)
{
    fprintf(out, "%s. %zu of %zu calls could be put in order:\n", failure->reason, failure->placed, history->count);
    print_head(out);
    for (size_t i = 0; i < failure->placed; i++)
        print_call(out, history, failure->order[i]);
    fprintf(out, "then none of these could follow (due: at its own time, with the limits then in force):\n");
    for (size_t i = 0; i < failure->next_count; i++) {
        print_call(out, history, failure->next[i]);
        print_due(out, failure->oracle, &history->calls[failure->next[i]]);
    }
    fprintf(out, "the history:\n");
    serial_print(out, history);
}

void serial_explain(const struct serial_history *history, const struct serial_failure *failure, char *explanation,
                    size_t size)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = size > 0 ? open_memstream(&text, &length) : NULL;

    if (size == 0)
        return;
    if (out != NULL) {
        print_failure(out, history, failure);
        fclose(out);
    }
    snprintf(explanation, size, "%s", text != NULL ? text : failure->reason);
    free(text);
}
