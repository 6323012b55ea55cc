#include "memory.h"

#include <math.h>
#include <stdlib.h>

#include "measure.h"
#include "subject.h"

/* A limiter and the resident memory before it was opened. */
typedef struct trial {
    bench_subject subject;
    uint64_t before;
    int wrong;
} trial;

static trial open_trial(const weir_rule *rule)
{
    trial made = {.before = bench_resident()};
    made.subject = bench_weir(rule);
    if (!made.subject.state)
        _Exit(1); /* a process of its own: bench_apart tells */
    return made;
}

static bench_memory in_use(const trial *at)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    if (weir_reclaim(at->subject.state) != 0 || weir_stats(at->subject.state, &statistics) != 0)
        _Exit(1);
    return (bench_memory){(double)statistics.bytes, (double)bench_resident() - (double)at->before};
}

static bench_memory each(bench_memory all, double taken_off, double number)
{
    return (bench_memory){(all.bytes - taken_off) / number, (all.resident - taken_off) / number};
}

/* One call that must be accepted, for a key of 16 bytes. */
static void charge(trial *at, uint64_t number, uint64_t now)
{
    bench_key key;
    bench_key_write(&key, 16, number);
    at->wrong += at->subject.take(at->subject.state, key.byte, 16, 1, now, NULL) != 1;
}

/* One call that must be refused. */
static void over_charge(trial *at, uint64_t number, uint64_t now)
{
    bench_key key;
    bench_key_write(&key, 16, number);
    at->wrong += at->subject.take(at->subject.state, key.byte, 16, 1, now, NULL) != 0;
}

/* --- growth --- */

static void add(bench_growth *growth, bench_memory one, unsigned index)
{
    growth->mean.bytes += one.bytes / BENCH_SIZES;
    growth->mean.resident += one.resident / BENCH_SIZES;
    if (index == 0)
        growth->least = growth->most = one;
    growth->least.bytes = fmin(growth->least.bytes, one.bytes);
    growth->least.resident = fmin(growth->least.resident, one.resident);
    growth->most.bytes = fmax(growth->most.bytes, one.bytes);
    growth->most.resident = fmax(growth->most.resident, one.resident);
}

static void grow(const void *given, void *made)
{
    const bench_growth_parameters *parameters = given;
    const weir_rule rule = {
        .algorithm = WEIR_COUNTER, .limit = 1000, .window_ns = WEIR_MINUTE, .meter = WEIR_PER_REQUEST};
    trial at = open_trial(&rule);
    bench_key key;
    uint64_t keys = 0;
    for (unsigned i = 0; i < BENCH_SIZES; i++) {
        uint64_t next = (uint64_t)((double)parameters->keys * pow(2, (double)i / BENCH_SIZES));
        for (; keys < next; keys++) {
            bench_key_write(&key, parameters->key_len, keys);
            if (at.subject.take(at.subject.state, key.byte, parameters->key_len, 1, WEIR_HOUR, NULL) != 1)
                _Exit(1);
        }
        add(made, each(in_use(&at), 0, (double)keys), i);
    }
}

int bench_measure_growth(const bench_growth_parameters *parameters, bench_growth *result)
{
    return bench_apart(grow, parameters, result, sizeof *result);
}

/* --- rings --- */

enum { NODE_BYTES = 192 }; /* what a key of a log may cost beside its records, see guarantee F */

/* Keys call once in a `limit`th of the window, each at a phase of its own, one after the other. */
static void rings(const void *given, void *made)
{
    const bench_rings_parameters *parameters = given;
    bench_rings *result = made;
    const uint64_t keys = parameters->keys, limit = parameters->limit, spacing = WEIR_MINUTE / limit;
    const double records = (double)(keys * limit), heads = (double)(keys * NODE_BYTES);
    const weir_rule rule = {
        .algorithm = WEIR_LOG, .limit = limit, .window_ns = limit * spacing, .meter = WEIR_PER_REQUEST};
    uint64_t random = parameters->seed, *phase = malloc(2 * keys * sizeof *phase), *calls = phase + keys;
    if (!phase)
        _Exit(1);
    for (uint64_t i = 0; i < keys; i++) {
        phase[i] = WEIR_HOUR + bench_below(&random, spacing);
        calls[i] = limit * (parameters->windows + 1) + bench_below(&random, limit);
    }
    trial at = open_trial(&rule);
    for (uint64_t tick = 0; tick < limit * (parameters->windows + 2); tick++) {
        if (tick == limit)
            result->filled = each(in_use(&at), heads, records);
        for (uint64_t i = 0; i < keys; i++)
            if (tick < calls[i])
                charge(&at, i, phase[i] + tick * spacing);
    }
    result->steady = each(in_use(&at), heads, records);
    for (uint64_t i = 0; i < keys; i++) /* full indeed */
        over_charge(&at, i, phase[i] + (calls[i] - 1) * spacing);
    result->wrong = at.wrong;
    free(phase);
}

int bench_measure_rings(const bench_rings_parameters *parameters, bench_rings *result)
{
    return bench_apart(rings, parameters, result, sizeof *result);
}

/* --- everything used up --- */

enum { GROUP = 1000 }; /* keys that take turns, so that the allocator meets them mixed; few, so that it is soon done */

/* Call `number` of a key: all of them within half a window, and for the counter within one of its own. */
static uint64_t time_of(const weir_rule *rule, uint64_t number)
{
    return 60 * rule->window_ns + number * (rule->window_ns / rule->limit / 2);
}

static void fill(const void *given, void *made)
{
    const bench_full_parameters *parameters = given;
    const weir_rule *rule = &parameters->rule;
    bench_full *result = made;
    trial at = open_trial(rule);
    for (uint64_t group = 0; group < parameters->keys; group += GROUP)
        for (uint64_t number = 0; number < rule->limit; number++)
            for (uint64_t key = group; key < group + GROUP && key < parameters->keys; key++)
                charge(&at, key, time_of(rule, number));
    result->all = in_use(&at);
    for (uint64_t key = 0; key < parameters->keys; key++)
        over_charge(&at, key, time_of(rule, rule->limit));
    result->wrong = at.wrong;
}

int bench_measure_full(const bench_full_parameters *parameters, bench_full *result)
{
    return bench_apart(fill, parameters, result, sizeof *result);
}
