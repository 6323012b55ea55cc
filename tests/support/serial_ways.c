/* SPDX-License-Identifier: MIT */
#include "serial_search.h"

#include "decision.h"
#include "serial_text.h"

/* ---- What a call is ---- */

bool serial_is_take(const struct serial_call *call)
{
    return call->verb == SERIAL_TAKE || call->verb == SERIAL_TAKE_VERDICT;
}

bool serial_is_asking(const struct serial_call *call)
{
    return serial_is_take(call) || call->verb == SERIAL_PEEK || call->verb == SERIAL_PEEK_VERDICT;
}

bool serial_has_decision(const struct serial_call *call)
{
    return call->verb == SERIAL_TAKE || call->verb == SERIAL_PEEK;
}

bool serial_would_record(const struct serial_history *history, const struct serial_call *call)
{
    for (size_t i = 0; i < history->rule_count; i++)
        if (history->rules[i].meter == WEIR_PER_REQUEST || call->cost > 0)
            return true;
    return false;
}

bool serial_is_unrecorded(const struct serial_call *call)
{
    return serial_has_decision(call) && (call->answer.flags & (WEIR_TABLE_FULL | WEIR_NO_MEMORY)) != 0;
}

bool serial_may_be_unrecorded(const struct serial_history *history, const struct serial_call *call)
{
    return history->may_fail && serial_is_take(call) && serial_would_record(history, call) &&
           call->verdict == history->admits &&
           (!serial_is_unrecorded(call) || (call->answer.verdict == call->verdict && call->answer.retry_after_ns == 0));
}

/* ---- Ways to be answered ---- */

static const uint64_t *limits_of(const struct serial_asking *asking, struct serial_way way)
{
    const struct serial_plan *plan = &asking->search->plans[asking->entry->call->plan];

    return way.limits == 0 ? plan->now : plan->was[plan->changes - way.limits];
}

static size_t limits_ways(const struct serial_asking *asking)
{
    const struct serial_plan *plan = &asking->search->plans[asking->entry->call->plan];

    return asking->entry->since == NOT_SO_FAR ? 1 : 1 + plan->changes - asking->entry->since;
}

/* Does a floor at this time move the call to it, in some rule? */
static bool moves(const struct serial_asking *asking, uint64_t floor)
{
    for (size_t i = 0; i < asking->search->history->rule_count; i++)
        if (oracle_effective_time(asking->before, "k", 1, i, asking->entry->call->now) < floor)
            return true;
    return false;
}

/* Can the call be decided at this floor, or at its own time? */
static bool may_run_at(const struct serial_asking *asking, size_t number)
{
    const struct serial_call *call = asking->entry->call;
    const struct serial_floor *floor;

    if (number == 0)
        return !serial_has_decision(call) || (call->answer.flags & WEIR_LATE) == 0;
    floor = &asking->search->history->floors[number - 1];
    return (!serial_has_decision(call) || (call->answer.flags & WEIR_LATE) != 0) && floor->time > call->now &&
           floor->called < call->returned && moves(asking, floor->time);
}

/* The oracle's answer, asked in this way; asking->after becomes the state behind it. */
static weir_decision ask(const struct serial_asking *asking, struct serial_way way)
{
    const struct serial_call *call = asking->entry->call;
    weir_request request = serial_request(call);
    uint64_t time = way.floor == 0 ? call->now : asking->search->history->floors[way.floor - 1].time;
    uint64_t ahead = time - call->now;
    weir_decision due = {0};

    oracle_assign(asking->after, asking->before);
    oracle_set_limits(asking->after, call->plan, limits_of(asking, way));
    if (serial_is_take(call))
        oracle_take(asking->after, &request, time, &due);
    else
        oracle_peek(asking->after, &request, time, &due);
    oracle_set_limits(asking->after, call->plan, asking->search->plans[call->plan].now);
    if (way.floor != 0)
        due.flags |= WEIR_LATE;
    if (due.verdict == 0 && due.retry_after_ns != WEIR_NEVER)
        due.retry_after_ns += ahead;
    if (due.release_after_ns != 0)
        due.release_after_ns += ahead;
    return due;
}

static bool fits(const struct serial_asking *asking, struct serial_way way)
{
    const struct serial_call *call = asking->entry->call;
    weir_decision due;
    uint64_t wanted;
    uint64_t got;

    if (!may_run_at(asking, way.floor))
        return false;
    if (serial_has_decision(call) && call->verdict != call->answer.verdict)
        return false;
    due = ask(asking, way);
    return due.verdict == call->verdict &&
           (!serial_has_decision(call) || decision_difference(&due, &call->answer, &wanted, &got) == NULL);
}

bool serial_next_way(const struct serial_asking *asking, struct serial_way *way)
{
    for (; way->limits < limits_ways(asking); way->limits++, way->floor = 0)
        for (; way->floor <= asking->search->history->floor_count; way->floor++)
            if (fits(asking, *way))
                return true;
    return false;
}
