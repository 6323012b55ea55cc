/*
 * The published traces against a real server, every field of every step: one unit of a trace is one microsecond. Each
 * step is asked twice as a peek, which must foretell the take and change nothing, then as a take. Traces beyond what
 * weir/redis.h says it can count must be refused: at open where it is a limit or a window, else at the step whose time
 * it is. Exits with 77 where there is no server or no trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/decision.h"
#include "support/oracle.h"
#include "support/traces.h"

#define US WEIR_MICROSECOND

static uint64_t traces_asked;
static uint64_t traces_refused; /* at open */
static uint64_t traces_cut;     /* at a step */
static uint64_t steps_asked;
static uint64_t differences;

static void compare(const struct trace *trace, size_t step, const char *call, const weir_decision *wanted,
                    const weir_decision *got)
{
    uint64_t wanted_value;
    uint64_t got_value;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);

    if (field != NULL && differences++ < 10)
        printf("%s step %zu, %s: %s wanted %" PRIu64 ", got %" PRIu64 "\n", trace->name, step, call, field,
               wanted_value, got_value);
}

/* Waits of an answer in units of the trace, as ns. */
static uint64_t scaled(uint64_t units)
{
    return units == WEIR_NEVER ? WEIR_NEVER : units * US;
}

static weir_decision in_us(weir_decision decision)
{
    decision.retry_after_ns = scaled(decision.retry_after_ns);
    decision.release_after_ns = scaled(decision.release_after_ns);
    return decision;
}

static void run_step(const struct trace *trace, size_t index, struct asker *asker, struct oracle *oracle)
{
    const struct trace_step *step = &trace->steps[index];
    weir_request request = weir_request_for(trace->name, strlen(trace->name));
    weir_decision wanted = traces_wanted(trace, step);
    weir_decision peeked = wanted;
    weir_decision standing;
    weir_decision got;

    request.cost = step->cost;
    oracle_peek(oracle, &request, step->now, &standing);
    oracle_take(oracle, &request, step->now, NULL);
    peeked.remaining = standing.remaining;
    peeked.release_after_ns = standing.release_after_ns;
    peeked = in_us(peeked);
    wanted = in_us(wanted);
    for (int twice = 0; twice < 2; twice++) {
        asker_peek(asker, &request, step->now * US, &got);
        compare(trace, index, "peek", &peeked, &got);
    }
    asker_take(asker, &request, step->now * US, &got);
    compare(trace, index, "take", &wanted, &got);
    steps_asked++;
}

/* The trace's rules with windows in us; what no window can be is one us too long for Redis. */
static bool scale_rules(const struct trace *trace, weir_rule *rules)
{
    bool in_range = true;

    for (size_t i = 0; i < trace->rule_count; i++) {
        const weir_rule *rule = &trace->rules[i];
        bool short_enough = rule->window_ns <= WEIRI_REDIS_WINDOW_MAX_US;

        in_range = in_range && short_enough && rule->limit <= WEIRI_REDIS_LIMIT_MAX;
        rules[i] = *rule;
        rules[i].window_ns = (short_enough ? rule->window_ns : WEIRI_REDIS_WINDOW_MAX_US + 1) * US;
    }
    return in_range;
}

static void run_steps(const struct trace *trace, struct asker *asker)
{
    struct oracle *oracle = oracle_open(trace->rules, trace->rule_count, 0, NULL);
    size_t i = 0;

    for (; i < trace->step_count && trace->steps[i].now <= WEIRI_REDIS_TIME_MAX_US; i++)
        run_step(trace, i, asker, oracle);
    oracle_close(oracle);
    if (i == trace->step_count)
        return;
    weir_request request = weir_request_for(trace->name, strlen(trace->name));

    traces_cut++;
    CHECK_EQUAL(-EINVAL, weiri_redis_question_check(&asker->rules, &request, (WEIRI_REDIS_TIME_MAX_US + 1) * US));
}

static void run_trace(const struct trace *trace, redisContext *link)
{
    weir_rule rules[WEIR_RULES_MAX];
    bool in_range = scale_rules(trace, rules);
    struct asker asker;
    int opened = asker_open(&asker, link, rules, trace->rule_count);

    CHECK_EQUAL(in_range ? 0 : -EINVAL, opened);
    traces_asked++;
    if (opened != 0) {
        traces_refused++;
        return;
    }
    run_steps(trace, &asker);
    asker_close(&asker);
}

int main(void)
{
    char room[4096];
    trace_reader reader;
    struct redis_server server;
    const char *path = traces_path(room, sizeof room);
    int found;

    NEEDS_REDIS();
    if (traces_open(&reader, path) != 0) {
        printf("skipped: %s is not there\n", path);
        return 77;
    }
    redis_server_start(&server, NULL);
    redisContext *link = redis_server_connect(&server);
    while ((found = traces_next(&reader)) > 0)
        run_trace(&reader.current, link);
    CHECK_EQUAL(0, found);
    traces_close(&reader);
    redisFree(link);
    redis_server_stop(&server);
    printf("%" PRIu64 " traces, %" PRIu64 " beyond the range at open, %" PRIu64 " from some step on; %" PRIu64
           " steps asked, %" PRIu64 " differ\n",
           traces_asked, traces_refused, traces_cut, steps_asked, differences);
    CHECK_EQUAL(0, differences);
    CHECK(steps_asked > 0);
    return checks_end();
}
