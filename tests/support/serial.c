/* SPDX-License-Identifier: MIT */
#include "serial.h"

#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "serial_search.h"
#include "serial_text.h"

#define STATES_MAX ((size_t)4 << 20)

/* ---- The set of placed calls ---- */

static void toggle(struct serial_search *search, size_t number)
{
    search->done.word[0] ^= mix(number + 1);
    search->done.word[1] ^= mix(mix(number + UINT64_C(0x3c6ef372fe94f82b)));
}

static void place(struct serial_search *search, size_t i)
{
    search->entries[i].placed = true;
    search->order[search->placed++] = i;
    toggle(search, i);
    while (search->first < search->count && search->entries[search->first].placed)
        search->first++;
}

/* Takes the last one back. */
static void unplace(struct serial_search *search)
{
    size_t i = search->order[--search->placed];

    search->entries[i].placed = false;
    toggle(search, i);
    if (i < search->first)
        search->first = i;
}

/* The calls that no open call precedes, by `called`; returns how many. */
static size_t open_calls(const struct serial_search *search, size_t *calls)
{
    uint64_t first_return = UINT64_MAX;
    size_t count = 0;

    for (size_t i = search->first; i < search->count && search->entries[i].call->called < first_return; i++) {
        if (search->entries[i].placed)
            continue;
        calls[count++] = i;
        if (search->entries[i].call->returned < first_return)
            first_return = search->entries[i].call->returned;
    }
    return count;
}

/* ---- What was tried ---- */

/* Limits that open calls may have loaded and that were replaced since: part of the state of a search. */
static struct oracle_print print_of(const struct serial_search *search, const struct oracle *state, const size_t *calls,
                                    size_t count)
{
    struct oracle_print print = oracle_print_of(state);

    for (size_t c = 0; c < count; c++) {
        const struct serial_entry *entry = &search->entries[calls[c]];
        const struct serial_plan *plan = &search->plans[entry->call->plan];

        for (size_t k = entry->since; k < plan->changes; k++)
            print.word[0] += mix(mix(entry->number + 1) ^ (uint64_t)(uintptr_t)plan->was[k]);
    }
    print.word[0] += search->done.word[0];
    print.word[1] += search->done.word[1];
    if ((print.word[0] | print.word[1]) == 0) /* marks a free place */
        print.word[0] = 1;
    return print;
}

static struct oracle_print *place_in(struct oracle_print *table, size_t room, struct oracle_print print)
{
    size_t i = (size_t)mix(print.word[0]) & (room - 1);

    while ((table[i].word[0] | table[i].word[1]) != 0 && memcmp(&table[i], &print, sizeof print) != 0)
        i = (i + 1) & (room - 1);
    return &table[i];
}

static void widen(struct serial_search *search)
{
    size_t room = search->seen_room == 0 ? 256 : search->seen_room * 2;
    struct oracle_print *table = must(calloc(room, sizeof *table));

    for (size_t i = 0; i < search->seen_room; i++)
        if ((search->seen[i].word[0] | search->seen[i].word[1]) != 0)
            *place_in(table, room, search->seen[i]) = search->seen[i];
    free(search->seen);
    search->seen = table;
    search->seen_room = room;
}

/* Was this state searched before? It is now. */
static bool seen_before(struct serial_search *search, struct oracle_print print)
{
    struct oracle_print *at;

    if (search->seen_count * 2 >= search->seen_room)
        widen(search);
    at = place_in(search->seen, search->seen_room, print);
    if ((at->word[0] | at->word[1]) != 0)
        return true;
    *at = print;
    search->seen_count++;
    search->gave_up = search->gave_up || search->seen_count > STATES_MAX;
    return false;
}

static void keep_best(struct serial_search *search, const struct oracle *state, const size_t *calls, size_t count)
{
    if (search->placed < search->best || (search->placed == search->best && search->best_state != NULL))
        return;
    search->best = search->placed;
    for (size_t i = 0; i < search->placed; i++)
        search->best_order[i] = search->entries[search->order[i]].number;
    search->best_next_count = count;
    for (size_t i = 0; i < count; i++)
        search->best_next[i] = search->entries[calls[i]].number;
    if (search->best_state == NULL)
        search->best_state = oracle_copy(state);
    oracle_assign(search->best_state, state);
}

/* ---- The search ---- */

static struct oracle *level(struct serial_search *search, size_t depth)
{
    if (search->levels[depth] == NULL)
        search->levels[depth] = oracle_copy(search->levels[0]);
    return search->levels[depth];
}

/*
 * Is this a call that changes nothing, wherever it stands, and is it answered rightly by the present state? A reset of
 * nothing is none: elsewhere in the order it does change something.
 */
static bool reads(const struct serial_asking *asking)
{
    const struct serial_call *call = asking->entry->call;
    const struct serial_history *history = asking->search->history;
    struct serial_way way = {0, 0};

    if (!serial_is_asking(call))
        return false;
    if (serial_is_unrecorded(call))
        return serial_may_be_unrecorded(history, call);
    if (serial_is_take(call) && call->verdict == 1 && serial_would_record(history, call))
        return false;
    if (!serial_has_decision(call) && serial_may_be_unrecorded(history, call))
        return true;
    return serial_next_way(asking, &way);
}

static void place_readers(struct serial_search *search, size_t depth, size_t *calls)
{
    bool placed = true;

    while (placed) {
        size_t count = open_calls(search, calls);

        placed = false;
        for (size_t c = 0; c < count; c++) {
            struct serial_entry *entry = &search->entries[calls[c]];
            struct serial_asking asking = {search, entry, level(search, depth), level(search, depth + 1)};

            if (!reads(&asking))
                continue;
            place(search, calls[c]);
            placed = true;
        }
    }
}

static bool search_from(struct serial_search *search, size_t depth);

static bool go_on(struct serial_search *search, size_t i, size_t depth)
{
    bool found;

    place(search, i);
    found = search_from(search, depth);
    if (!found)
        unplace(search);
    return found;
}

static bool try_asking(struct serial_search *search, size_t i, size_t depth)
{
    struct serial_asking asking = {search, &search->entries[i], level(search, depth), level(search, depth + 1)};
    const struct serial_call *call = asking.entry->call;
    struct serial_way way = {0, 0};

    if (!serial_is_take(call) || call->verdict != 1 || serial_is_unrecorded(call) ||
        !serial_would_record(search->history, call))
        return false; /* a reader that does not fit */
    for (; serial_next_way(&asking, &way); way.floor++)
        if (go_on(search, i, depth + 1))
            return true;
    if (serial_has_decision(call) || !serial_may_be_unrecorded(search->history, call))
        return false;
    return go_on(search, i, depth);
}

static bool try_reset(struct serial_search *search, size_t i, size_t depth)
{
    weir_request request = serial_request(search->entries[i].call);

    oracle_assign(level(search, depth + 1), level(search, depth));
    oracle_reset(level(search, depth + 1), &request);
    return go_on(search, i, depth + 1);
}

/* The open calls may have loaded the limits that are about to be replaced. */
static bool try_limits(struct serial_search *search, size_t i, size_t depth, const size_t *calls, size_t count)
{
    const struct serial_call *call = search->entries[i].call;
    struct serial_plan *plan = &search->plans[call->plan];
    size_t change = plan->changes++;
    bool found;

    plan->was[change] = plan->now;
    plan->now = call->limits;
    for (size_t c = 0; c < count; c++) {
        struct serial_entry *entry = &search->entries[calls[c]];

        if (serial_is_asking(entry->call) && entry->call->plan == call->plan && entry->since == NOT_SO_FAR)
            entry->since = change;
    }
    oracle_assign(level(search, depth + 1), level(search, depth));
    oracle_set_limits(level(search, depth + 1), call->plan, call->limits);
    found = go_on(search, i, depth + 1);
    for (size_t c = 0; c < count && !found; c++)
        if (search->entries[calls[c]].since == change && search->entries[calls[c]].call->plan == call->plan)
            search->entries[calls[c]].since = NOT_SO_FAR;
    plan->now = plan->was[change];
    plan->changes = change;
    return found;
}

static bool try_changing(struct serial_search *search, size_t depth, const size_t *calls, size_t count)
{
    for (size_t c = 0; c < count && !search->gave_up; c++) {
        enum serial_verb verb = search->entries[calls[c]].call->verb;
        bool found = verb == SERIAL_SET_LIMITS ? try_limits(search, calls[c], depth, calls, count)
                     : verb == SERIAL_RESET    ? try_reset(search, calls[c], depth)
                                               : try_asking(search, calls[c], depth);

        if (found)
            return true;
    }
    return false;
}

static bool search_from(struct serial_search *search, size_t depth)
{
    size_t before = search->placed;
    size_t *calls = must(malloc((search->count + 1) * sizeof *calls));
    size_t count;
    bool found;

    place_readers(search, depth, calls);
    count = open_calls(search, calls);
    keep_best(search, level(search, depth), calls, count);
    found = search->placed == search->count;
    if (!found && !seen_before(search, print_of(search, level(search, depth), calls, count)))
        found = try_changing(search, depth, calls, count);
    while (!found && search->placed > before)
        unplace(search);
    free(calls);
    return found;
}

/* ---- Opening and closing ---- */

size_t *serial_by_called(const struct serial_history *history)
{
    size_t *numbers = must(malloc((history->count + 1) * sizeof *numbers));

    for (size_t i = 0; i < history->count; i++) {
        size_t at = i;

        for (; at > 0 && history->calls[numbers[at - 1]].called > history->calls[i].called; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = i;
    }
    return numbers;
}

static void open_plans(struct serial_search *search)
{
    const struct serial_history *history = search->history;
    uint32_t plans = history->plans == 0 ? 1 : history->plans;
    const struct oracle *oracle = search->levels[0];

    search->plans = must(calloc(plans, sizeof *search->plans));
    for (uint32_t plan = 0; plan < plans; plan++) {
        uint64_t *limits = must(malloc(history->rule_count * sizeof *limits));

        for (size_t i = 0; i < history->rule_count; i++)
            limits[i] = oracle_limit(oracle, plan, i);
        search->plans[plan].now = limits;
        search->plans[plan].was = must(malloc((history->count + 1) * sizeof *search->plans[plan].was));
    }
}

static void open_search(struct serial_search *search, const struct serial_history *history)
{
    size_t *numbers = serial_by_called(history);
    size_t room = history->count + 1;

    *search = (struct serial_search){.history = history, .count = history->count};
    search->entries = must(malloc(room * sizeof *search->entries));
    for (size_t i = 0; i < history->count; i++)
        search->entries[i] = (struct serial_entry){&history->calls[numbers[i]], numbers[i], NOT_SO_FAR, false};
    free(numbers);
    search->order = must(malloc(room * sizeof *search->order));
    search->best_order = must(malloc(room * sizeof *search->best_order));
    search->best_next = must(malloc(room * sizeof *search->best_next));
    search->levels = must(calloc(room + 1, sizeof *search->levels));
    search->levels[0] = oracle_open(history->rules, history->rule_count, history->plans, history->plan_limits);
    open_plans(search);
}

static void close_search(struct serial_search *search)
{
    uint32_t plans = search->history->plans == 0 ? 1 : search->history->plans;

    for (uint32_t plan = 0; plan < plans; plan++) {
        free((uint64_t *)(uintptr_t)search->plans[plan].now); /* as it was at first */
        free(search->plans[plan].was);
    }
    free(search->plans);
    for (size_t depth = 0; depth <= search->count + 1; depth++)
        oracle_close(search->levels[depth]);
    oracle_close(search->best_state);
    free(search->levels);
    free(search->entries);
    free(search->order);
    free(search->best_order);
    free(search->best_next);
    free(search->seen);
}

bool serial_check(const struct serial_history *history, char *explanation, size_t size)
{
    struct serial_search search;
    bool found;

    open_search(&search, history);
    found = search_from(&search, 0);
    if (!found && size > 0) {
        struct serial_failure failure = {search.gave_up ? "the search gave up" : "there is no serial order",
                                         search.best_order, search.best, search.best_next, search.best_next_count,
                                         search.best_state};

        serial_explain(history, &failure, explanation, size);
    }
    close_search(&search);
    return found;
}

size_t serial_overlap(const struct serial_history *history)
{
    size_t most = 0;

    for (size_t i = 0; i < history->count; i++) {
        size_t at_once = 0; /* at the moment call i is made */

        for (size_t j = 0; j < history->count; j++)
            at_once += history->calls[j].called <= history->calls[i].called &&
                       history->calls[i].called <= history->calls[j].returned;
        most = at_once > most ? at_once : most;
    }
    return most;
}
