/*
 * memory: what keys and records cost, as the system sees it (resident pages, the allocator's part and the harness's few
 * included) and as a subject counts for itself. Each figure in a process of its own. What is retired is freed before it
 * is read, as a janitor would do.
 */
#include <math.h>
#include <stdlib.h>

#include "../baselines/baselines.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
static const bench_list own_octave = {1, {700000}}, own_key_lens = {3, {8, 16, 64}};

enum {
    SIZES = 10,         /* in an octave */
    RING_KEYS = 2000,
    RING_LIMIT = 1000,
    RING_WINDOWS = 3,   /* of steady traffic after the first fill */
    NODE_BYTES = 192,   /* what a key of a log may cost beside its records: guarantee F */
    FULL_KEYS = 20000,
    FULL_LIMIT = 1000,
    GROUP = 1000        /* keys that take turns, so that the allocator meets them mixed; few, so that it is soon done */
};

/* One figure. */
typedef struct order {
    const bench_subject *subject;
    weir_rule rule;
    uint64_t keys;
    size_t key_len;
} order;

/* A limiter, and what was resident before it was opened. */
typedef struct trial {
    const order *of;
    void *state;
    double before;
    uint64_t wrong;
} trial;

typedef struct bytes {
    double resident;
    double counted; /* NAN: the subject does not count */
} bytes;

static trial open_trial(const order *of)
{
    const bench_setup setup = {&of->rule, 1, of->keys, of->key_len};
    trial made = {.of = of, .before = (double)bench_resident()};
    made.state = of->subject->open(&setup);
    if (!made.state)
        bench_fail("a subject cannot be opened");
    return made;
}

static void charge(trial *at, uint64_t number, uint64_t now, int verdict)
{
    bench_key key = {{0}};
    bench_key_write(&key, at->of->key_len, number);
    const bench_call call = {key.byte, at->of->key_len, (uint32_t)number, 1, now};
    at->wrong += at->of->subject->take(at->state, &call, NULL) != verdict;
}

static bytes in_use(const trial *at)
{
    const bench_subject *subject = at->of->subject;
    if (subject == &bench_weir && weir_reclaim(bench_weir_of(at->state)) != 0)
        bench_fail("retired memory cannot be freed");
    return (bytes){.resident = (double)bench_resident() - at->before,
                   .counted = subject->bytes ? (double)subject->bytes(at->state) : NAN};
}

static bench_row row_of(const trial *at, const char *what)
{
    bench_row row = bench_row_for("memory", at->of->subject->name, bench_algorithm_name(at->of->rule.algorithm));
    bench_row_word(&row, "of", what);
    bench_row_number(&row, "keys", (double)at->of->keys);
    bench_row_number(&row, "key bytes", (double)at->of->key_len);
    return row;
}

/* Both ways of counting, each less what is taken off, for each of `number`. */
static void tell(bench_row *row, const char *resident, const char *counted, bytes all, double taken_off, double number)
{
    bench_row_measure(row, resident, "bytes", bench_once((all.resident - taken_off) / number));
    if (!isnan(all.counted))
        bench_row_measure(row, counted, "bytes", bench_once((all.counted - taken_off) / number));
}

/* --- keys of a counter, over an octave: a table that doubles is nearly empty at times, and nearly full --- */

static bench_summary range(const double *sizes)
{
    bench_summary summary = {0, sizes[0], sizes[0], SIZES};
    for (unsigned i = 0; i < SIZES; i++) {
        summary.median += sizes[i] / SIZES;
        summary.low = fmin(summary.low, sizes[i]);
        summary.high = fmax(summary.high, sizes[i]);
    }
    return summary;
}

/* `keys` is where the octave begins. The mean over it, and its least and most in the place of quartiles. */
static void octave(const void *given, const bench_sink *sink)
{
    trial at = open_trial(given);
    double resident[SIZES], counted[SIZES];
    uint64_t keys = 0;
    for (unsigned i = 0; i < SIZES; i++) {
        const uint64_t next = (uint64_t)((double)at.of->keys * pow(2, (double)i / SIZES));
        for (; keys < next; keys++)
            charge(&at, keys, WEIR_HOUR, 1);
        const bytes all = in_use(&at);
        resident[i] = all.resident / (double)keys;
        counted[i] = all.counted / (double)keys;
    }
    bench_row row = row_of(&at, "keys, mean of an octave");
    row.note = "in brackets the least and the most in the octave of keys from there on";
    bench_row_measure(&row, "bytes a key", "bytes", range(resident));
    if (!isnan(counted[0]))
        bench_row_measure(&row, "by its count", "bytes", range(counted));
    row.wrong = at.wrong;
    bench_put(sink, &row);
}

/* --- records of logs in steady traffic, at their limit --- */

/* A key calls once in a `limit`th of the window, each at a phase of its own, one after the other. */
static void rings(const void *given, const bench_sink *sink)
{
    trial at = open_trial(given);
    const uint64_t keys = at.of->keys, limit = at.of->rule.limit, spacing = at.of->rule.window_ns / limit;
    const double records = (double)(keys * limit);
    uint64_t random = 1, *phase = bench_must(calloc(2 * keys, sizeof *phase)), *calls = phase + keys;
    for (uint64_t i = 0; i < keys; i++) {
        phase[i] = WEIR_HOUR + bench_below(&random, spacing);
        calls[i] = limit * RING_WINDOWS + bench_below(&random, limit);
    }
    for (uint64_t tick = 0; tick < limit * (RING_WINDOWS + 1); tick++)
        for (uint64_t i = 0; i < keys; i++)
            if (tick < calls[i])
                charge(&at, i, phase[i] + tick * spacing, 1);
    const bytes all = in_use(&at);
    for (uint64_t i = 0; i < keys; i++) /* full indeed */
        charge(&at, i, phase[i] + (calls[i] - 1) * spacing, 0);
    bench_row row = row_of(&at, "records, full rings after steady traffic");
    bench_row_number(&row, "records a key", (double)limit);
    tell(&row, "bytes a record", "by its count", all, 0, records);
    tell(&row, "less 192 a key", "counted less 192", all, (double)(keys * NODE_BYTES), records);
    row.wrong = at.wrong;
    bench_put(sink, &row);
}

/* --- keys that have used up their whole limit, call by call --- */

/* Call `number` of a key: all of them within half a window, and for the counter within one of its own. */
static uint64_t time_of(const weir_rule *rule, uint64_t number)
{
    return 60 * rule->window_ns + number * (rule->window_ns / rule->limit / 2);
}

static void full(const void *given, const bench_sink *sink)
{
    trial at = open_trial(given);
    const order *of = at.of;
    for (uint64_t group = 0; group < of->keys; group += GROUP)
        for (uint64_t number = 0; number < of->rule.limit; number++)
            for (uint64_t key = group; key < group + GROUP && key < of->keys; key++)
                charge(&at, key, time_of(&of->rule, number), 1);
    const bytes all = in_use(&at);
    for (uint64_t key = 0; key < of->keys; key++)
        charge(&at, key, time_of(&of->rule, of->rule.limit), 0);
    bench_row row = row_of(&at, "keys that have used up their limit");
    bench_row_number(&row, "limit", (double)of->rule.limit);
    tell(&row, "bytes a key", "by its count", all, 0, (double)of->keys);
    row.wrong = at.wrong;
    bench_put(sink, &row);
}

/* --- all of them --- */

static int each_subject(const bench_options *options, order asked, void (*work)(const void *, const bench_sink *),
                        const bench_sink *sink)
{
    const bench_needs needs = {.algorithm = asked.rule.algorithm, .keys = asked.keys};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    const unsigned count = bench_choose(options, own, &needs, chosen);
    int failed = 0;
    for (unsigned i = 0; i < count; i++) {
        asked.subject = chosen[i];
        failed += bench_apart(work, &asked, sink) != 0;
    }
    return failed;
}

static weir_rule rule_of(uint32_t algorithm, uint64_t limit)
{
    return (weir_rule){.algorithm = algorithm,
                       .limit = limit,
                       .window_ns = limit * (WEIR_MINUTE / limit), /* so that a window is `limit` spacings exactly */
                       .meter = WEIR_PER_REQUEST,
                       .buckets = algorithm == WEIR_BUCKETS ? 60 : 0};
}

/* At most as many keys as are asked for. */
static uint64_t at_most(const bench_options *options, uint64_t keys)
{
    return options->keys.count > 0 && options->keys.value[0] < keys ? options->keys.value[0] : keys;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    static const uint32_t algorithms[] = {WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS};
    const bench_list *keys = bench_list_or(&options->keys, &own_octave);
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (unsigned i = 0; i < keys->count; i++)
        for (unsigned k = 0; k < key_lens->count && bench_options_want(options, WEIR_COUNTER); k++)
            failed += each_subject(options, (order){NULL, rule_of(WEIR_COUNTER, 1000), keys->value[i],
                                                    key_lens->value[k]}, octave, sink);
    if (bench_options_want(options, WEIR_LOG))
        failed += each_subject(options, (order){NULL, rule_of(WEIR_LOG, RING_LIMIT), at_most(options, RING_KEYS), 16},
                               rings, sink);
    for (unsigned a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        if (bench_options_want(options, algorithms[a]))
            failed += each_subject(options, (order){NULL, rule_of(algorithms[a], FULL_LIMIT),
                                                    at_most(options, FULL_KEYS), 16}, full, sink);
    return failed;
}

const bench_scenario bench_memory = {
    "memory", "bytes a key and a record, resident and as a subject counts for itself, by algorithm", run};
