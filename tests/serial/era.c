/* SPDX-License-Identifier: MIT */
#include "era.h"

/* ---- What the limiter is like ---- */

static bool one_in(struct era *era, uint64_t n)
{
    return random_below(&era->random, n) == 0;
}

static weir_rule make_rule(struct era *era, enum weir_algorithm algorithm)
{
    weir_rule rule = {.algorithm = algorithm, .window_ns = era->window, .meter = WEIR_PER_COST};

    if (era->rule_count > 1)
        rule.window_ns += random_below(&era->random, era->window);
    if (era->unit == 1 && one_in(era, 3))
        rule.meter = WEIR_PER_REQUEST;
    rule.limit = era->unit * (1 + random_below(&era->random, 6));
    if (algorithm == WEIR_BUCKETS)
        rule.buckets = 1 + random_below(&era->random, rule.window_ns < 6 ? rule.window_ns : 6);
    return rule;
}

/* One of each way in which a key's state is kept. */
static void make_rules(struct era *era)
{
    static const enum weir_algorithm sets[][ERA_RULES] = {
        {WEIR_COUNTER}, {WEIR_COUNTER},              {WEIR_LOG},
        {WEIR_BUCKETS}, {WEIR_LOG, WEIR_COUNTER},    {WEIR_COUNTER, WEIR_COUNTER, WEIR_BUCKETS},
        {WEIR_COUNTER}, {WEIR_BUCKETS, WEIR_LOG},    {WEIR_LOG, WEIR_LOG, WEIR_LOG},
    };
    static const uint64_t windows[] = {1, 2, 7, 10, 100, 1000, WEIR_SECOND};
    uint64_t which = random_below(&era->random, sizeof sets / sizeof *sets);
    bool log = false;

    era->window = windows[random_below(&era->random, sizeof windows / sizeof *windows)];
    for (; era->rule_count < ERA_RULES && sets[which][era->rule_count] != 0; era->rule_count++)
        log = log || sets[which][era->rule_count] == WEIR_LOG;
    era->unit = which == 1 || (!log && one_in(era, 3)) ? UINT64_C(1) << 33 : 1;
    for (size_t i = 0; i < era->rule_count; i++)
        era->rules[i] = make_rule(era, sets[which][i]);
    era->plans = one_in(era, 2) ? 0 : (uint32_t)(1 + random_below(&era->random, ERA_PLANS));
    for (size_t i = 0; i < era->plans * era->rule_count; i++)
        era->plan_limits[i] = era->unit * (1 + random_below(&era->random, 6));
}

static void make_time(struct era *era)
{
    uint64_t starts[] = {0, 1, era->window * 1000, WEIR_TIME_MAX / 2};

    era->base = starts[random_below(&era->random, 4)];
    era->lateness = (enum era_lateness)random_below(&era->random, 3);
    era->behind = random_below(&era->random, 2 * era->window + 1);
    switch (era->lateness) {
    case ERA_ENDLESS:
        era->max_lateness = UINT64_MAX;
        break;
    case ERA_PUNCTUAL: /* a burst's times are within [base - behind, base + window] */
        era->max_lateness = era->behind + era->window;
        break;
    case ERA_BEYOND:
        era->max_lateness = one_in(era, 2) ? 0 : random_below(&era->random, era->window + 1);
    }
}

static void make_keys(struct era *era)
{
    uint64_t number = random_next(&era->random);

    era->key_count = 1 + (unsigned)random_below(&era->random, ERA_KEYS);
    for (unsigned i = 0; i < ERA_KEYS + ERA_FILLERS; i++) {
        test_key key = key_number(number + i);
        weir_identity *identity = i < ERA_KEYS ? &era->keys[i] : &era->fillers[i - ERA_KEYS];

        want_done("weir_identify", weir_identify(era->limiter, key.bytes, key.size, identity));
    }
}

void era_open(struct era *era, uint64_t seed)
{
    weir_options options = weir_options_manual();

    memset(era, 0, sizeof *era);
    era->random = seed;
    make_rules(era);
    make_time(era);
    era->threads = 2 + (unsigned)random_below(&era->random, ERA_THREADS - 1);
    era->bursts = 2 + (unsigned)random_below(&era->random, 6);
    era->rarity = UINT64_C(16) << random_below(&era->random, 6);
    era->may_fail = one_in(era, 5);
    era->admits = one_in(era, 2);
    era->reclaims = one_in(era, 4);
    options.max_lateness_ns = era->max_lateness;
    options.plans = era->plans;
    options.plan_limits = era->plans == 0 ? NULL : era->plan_limits;
    options.when_full = era->admits ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE;
    options.max_keys = era->may_fail && one_in(era, 2) ? 1 + random_below(&era->random, 5) : 0;
    options.allocator = test_allocator_for(&era->memory);
    want_done("weir_open", weir_open(&era->limiter, era->rules, era->rule_count, &options));
    make_keys(era);
    if (era->may_fail && options.max_keys == 0) {
        era->memory.random = random_next(&era->random);
        era->memory.fail_percent = 20;
    }
}

void era_close(struct era *era, struct era_sums *sums)
{
    weir_statistics stats = stats_of(era->limiter);

    sums->splits += stats.splits;
    sums->compactions += stats.compactions;
    sums->helped += stats.cells_helped;
    sums->swept += stats.swept;
    want_done("weir_close", weir_close(era->limiter));
    want_equal("blocks of memory after close", 0, era->memory.blocks);
    want_equal("faults of memory", 0, era->memory.faults);
}

/* ---- Histories ---- */

static const struct serial_call *recorded(const struct era *era, unsigned key, size_t *count)
{
    static _Thread_local struct serial_call calls[(ERA_THREADS + 1) * LOG_MAX];

    *count = 0;
    for (unsigned t = 0; t <= ERA_THREADS; t++)
        for (size_t i = 0; i < era->logs[t].count; i++)
            if (era->logs[t].key[i] == key || era->logs[t].key[i] == EVERY_KEY)
                calls[(*count)++] = era->logs[t].calls[i];
    return calls;
}

/* Each time once, with the first stamp from which it may be seen; what is no later than any call moves none. */
static const struct serial_floor *dropped(const struct era *era, uint64_t earliest, size_t *count)
{
    static _Thread_local struct serial_floor floors[(ERA_THREADS + 1) * LOG_MAX];

    *count = 0;
    for (unsigned t = 0; t <= ERA_THREADS; t++)
        for (size_t i = 0; i < era->logs[t].floor_count; i++) {
            const struct serial_floor *floor = &era->logs[t].floors[i];
            size_t at = 0;

            if (floor->time <= earliest)
                continue;
            while (at < *count && floors[at].time != floor->time)
                at++;
            if (at == *count)
                floors[(*count)++] = *floor;
            else if (floor->called < floors[at].called)
                floors[at].called = floor->called;
        }
    return floors;
}

static void count_calls(const struct serial_history *history, struct era_sums *sums)
{
    uint64_t overlap = serial_overlap(history);

    sums->histories++;
    sums->calls += history->count;
    sums->overlap = overlap > sums->overlap ? overlap : sums->overlap;
    for (size_t i = 0; i < history->count; i++) {
        const struct serial_call *call = &history->calls[i];

        if (call->verb == SERIAL_RESET || call->verb == SERIAL_SET_LIMITS)
            continue;
        sums->late += (call->answer.flags & WEIR_LATE) != 0;
        sums->unrecorded += (call->answer.flags & (WEIR_TABLE_FULL | WEIR_NO_MEMORY)) != 0;
        sums->accepted += call->verdict == 1;
        sums->refused += call->verdict == 0;
    }
}

void era_check(const struct era *era, unsigned key, struct era_sums *sums)
{
    static _Thread_local char explanation[1 << 17];
    struct serial_history history = {.rules = era->rules,
                                     .rule_count = era->rule_count,
                                     .plans = era->plans,
                                     .plan_limits = era->plan_limits,
                                     .may_fail = era->may_fail,
                                     .admits = era->admits};
    uint64_t earliest = UINT64_MAX;

    history.calls = recorded(era, key, &history.count);
    for (size_t i = 0; i < history.count; i++)
        if (history.calls[i].verb < SERIAL_RESET && history.calls[i].now < earliest)
            earliest = history.calls[i].now;
    history.floors = dropped(era, earliest, &history.floor_count);
    count_calls(&history, sums);
    if (!serial_check(&history, explanation, sizeof explanation))
        failed("key %u: %s", key, explanation);
}
