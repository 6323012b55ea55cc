/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_32 UINT64_C(0xffffffff)
#define LIMIT_63 ((uint64_t)INT64_MAX)

void world_wrong(struct world *world, const char *format, ...)
{
    va_list arguments;
    int used;

    if (world->wrong[0] != '\0')
        return;
    used = snprintf(world->wrong, sizeof world->wrong, "step %" PRIu64 ": ", world->step);
    va_start(arguments, format);
    vsnprintf(world->wrong + used, sizeof world->wrong - (size_t)used, format, arguments);
    va_end(arguments);
}

/* ---- Rules and limits ---- */

static uint64_t any_limit(struct world *world, uint64_t most)
{
    static const uint64_t telling[] = {1, 2, 3, 5, 10, 100, 1000};
    uint64_t limit;

    if (random_one_in(&world->random, 12))
        return most;
    if (random_one_in(&world->random, 6))
        limit = random_sized(&world->random, 63);
    else
        limit = telling[random_below(&world->random, sizeof telling / sizeof *telling)];
    return limit > most ? most : limit;
}

static uint64_t any_window(struct world *world)
{
    uint64_t scale = world->scale;
    uint64_t window;

    switch (random_below(&world->random, 6)) {
    case 0:
        window = scale;
        break;
    case 1:
        window = random_between(&world->random, 1, scale);
        break;
    case 2:
        window = scale / 3 + 1;
        break;
    case 3:
        window = scale > WEIR_WINDOW_MAX / 5 ? scale : scale * 5;
        break;
    case 4:
        window = random_between(&world->random, scale / 2 + 1, scale);
        break;
    default:
        window = scale - (scale > 1);
        break;
    }
    return window;
}

static uint64_t most_at_open(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? LIMIT_32 : LIMIT_63;
}

static void make_rule(struct world *world, weir_rule *rule)
{
    *rule = (weir_rule){.algorithm = (uint32_t)random_between(&world->random, WEIR_LOG, WEIR_BUCKETS),
                        .meter = random_one_in(&world->random, 3) ? WEIR_PER_REQUEST : WEIR_PER_COST,
                        .window_ns = any_window(world)};
    rule->limit = any_limit(world, most_at_open(rule->algorithm));
    /* Most counters stay below 2^32: alone, they need no node. */
    if (rule->algorithm == WEIR_COUNTER && rule->limit > LIMIT_32 && !random_one_in(&world->random, 4))
        rule->limit = LIMIT_32;
    if (rule->algorithm == WEIR_BUCKETS) {
        uint64_t most = rule->window_ns < 60 ? rule->window_ns : 60;

        rule->buckets = random_one_in(&world->random, 4) ? most : random_between(&world->random, 1, most);
    }
}

/* What weir_set_limits may set this rule to. */
static uint64_t most_later(const struct world *world, size_t rule)
{
    uint64_t most = most_at_open(world->rules[rule].algorithm);
    bool small = true;

    if (world->max_limit != 0)
        return most < world->max_limit ? most : world->max_limit;
    for (uint32_t plan = 0; plan < (world->plans == 0 ? 1 : world->plans); plan++) {
        uint64_t limit = world->plans == 0 ? world->rules[rule].limit : world->limits[plan * world->rule_count + rule];

        small = small && limit <= LIMIT_32;
    }
    return world->rules[rule].algorithm == WEIR_COUNTER && small ? LIMIT_32 : most;
}

static void make_rules(struct world *world, const struct world_shape *shape)
{
    world->rule_count = random_one_in(&world->random, 2) ? 1 : (size_t)random_between(&world->random, 2, 3);
    for (size_t i = 0; i < world->rule_count; i++)
        make_rule(world, &world->rules[i]);
    if (shape->deep) {
        uint64_t window = random_between(&world->random, world->scale / 2, world->scale);

        world->rules[0] = (weir_rule){.algorithm = WEIR_LOG,
                                      .meter = world->rules[0].meter,
                                      .window_ns = window,
                                      .limit = random_between(&world->random, 100, 2000)};
    }
    if (shape->fixed_limits || random_one_in(&world->random, 3))
        return;
    world->plans = (uint32_t)random_between(&world->random, 1, WORLD_PLANS);
    for (size_t i = 0; i < world->plans * world->rule_count; i++) {
        const weir_rule *rule = &world->rules[i % world->rule_count];

        world->limits[i] = random_one_in(&world->random, 2)
                               ? rule->limit
                               : any_limit(world, rule->limit > LIMIT_32 ? LIMIT_63 : LIMIT_32);
    }
    if (random_one_in(&world->random, 4))
        world->max_limit = LIMIT_63;
}

/* ---- Keys ---- */

static void make_keys(struct world *world, const struct world_shape *shape)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 300, 8, 14};
    static const size_t handful[] = {1, 4, 8, 16};

    world->key_count = shape->many_keys ? (size_t)random_between(&world->random, 60, WORLD_KEYS)
                                        : handful[random_below(&world->random, 4)];
    if (shape->deep)
        world->key_count = (size_t)random_between(&world->random, 1, 2);
    for (size_t i = 0; i < world->key_count; i++) {
        struct world_key *key = &world->keys[i];

        key->length = lengths[i % 8];
        if (key->length == 0 && i > 0)
            key->length = 4;
        memset(key->bytes, i % 3 == 0 ? 0 : 'k', sizeof key->bytes);
        /* The number last, so that keys of one length differ at the end alone. */
        if (key->length > 1)
            key->bytes[key->length - 2] = (unsigned char)(i >> 8);
        if (key->length > 0)
            key->bytes[key->length - 1] = (unsigned char)(key->length == 1 ? i / 8 : i);
        if (weir_identify(world->limiter, key->bytes, key->length, &key->identity) != 0)
            world_wrong(world, "weir_identify failed");
    }
}

/* ---- Time ---- */

static void make_time(struct world *world, const struct world_shape *shape)
{
    static const uint64_t scales[] = {1, 2, 7, 10, 100, 1000, 60 * WEIR_SECOND, WEIR_DAY, WEIR_WINDOW_MAX};
    uint64_t lateness[4];

    world->scale = scales[random_below(&world->random, sizeof scales / sizeof *scales)];
    if (shape->deep)
        world->scale = 4000 * random_between(&world->random, 1, 8);
    world->deep = shape->deep;
    world->pause = shape->deep ? world->scale / 1000 : world->scale / 8;
    switch (random_below(&world->random, 4)) {
    case 0:
        world->now = 0;
        break;
    case 1:
        world->now = WEIR_TIME_MAX - random_below(&world->random, world->scale);
        break;
    default:
        world->now = random_sized(&world->random, 60);
        break;
    }
    if (shape->endless) {
        world->max_lateness_ns = UINT64_MAX;
        world->lateness = world->scale * 3;
        return;
    }
    lateness[0] = 0;
    lateness[1] = 1;
    lateness[2] = world->scale / 4;
    lateness[3] = world->scale * 2 > WEIR_TIME_MAX ? WEIR_TIME_MAX : world->scale * 2;
    world->max_lateness_ns = lateness[random_below(&world->random, 4)];
    world->lateness = shape->beyond ? world->scale * 3 : world->max_lateness_ns;
}

uint64_t world_time(struct world *world)
{
    uint64_t now = world->now;
    uint64_t ahead;
    uint64_t way;

    /* Where logs are to fill up, long pauses are seldom. */
    way = random_below(&world->random, 10);
    if (world->deep && !random_one_in(&world->random, 60))
        way = 9;
    switch (way) {
    case 0:
    case 1:
        return now;
    case 2: { /* late */
        uint64_t late = random_below(&world->random, world->lateness);

        late += world->lateness > 0 && random_one_in(&world->random, 2); /* the whole of it, and 0 seldom */
        return late > now ? 0 : now - late;
    }
    case 3:
        ahead = world->scale;
        break;
    case 4: /* to the end of an aligned window */
        ahead = world->rules[0].window_ns - now % world->rules[0].window_ns;
        break;
    case 5:
        ahead = random_below(&world->random, world->scale * 3 + 1);
        break;
    case 6:
        ahead = 1;
        break;
    default:
        ahead = random_below(&world->random, world->pause + 1);
        break;
    }
    world->now = ahead > WEIR_TIME_MAX - now ? WEIR_TIME_MAX : now + ahead;
    return world->now;
}

/* ---- Opening and closing ---- */

static uint64_t read_clock(void *argument)
{
    const struct world *world = argument;

    return world->clock;
}

void world_open(struct world *world, const struct world_shape *shape, random_source random)
{
    weir_options options = weir_options_manual();
    char error[160] = "";
    int result;

    memset(world, 0, sizeof *world);
    world->random = random;
    make_time(world, shape);
    make_rules(world, shape);
    options.max_lateness_ns = world->max_lateness_ns;
    options.plans = world->plans;
    options.plan_limits = world->plans == 0 ? NULL : world->limits;
    options.max_limit = world->max_limit;
    options.max_keys = shape->max_keys;
    options.when_full = shape->when_full;
    if (shape->own_clock) {
        options.clock = WEIR_CLOCK_CUSTOM;
        options.clock_read = read_clock;
        options.clock_argument = world;
    }
    options.allocator = test_allocator_for(&world->memory);
    options.error = error;
    options.error_size = sizeof error;
    result = weir_open(&world->limiter, world->rules, world->rule_count, &options);
    if (result != 0) {
        world_wrong(world, "weir_open: %d, %s", result, error);
        return;
    }
    world->oracle = oracle_open(world->rules, world->rule_count, world->plans, world->limits);
    make_keys(world, shape);
}

void world_close(struct world *world)
{
    if (weir_close(world->limiter) != 0)
        world_wrong(world, "weir_close failed");
    oracle_close(world->oracle);
    if (world->memory.blocks != 0 || world->memory.bytes != 0)
        world_wrong(world, "%" PRIu64 " blocks of memory were not released", world->memory.blocks);
    if (world->memory.faults != 0)
        world_wrong(world, "%" PRIu64 " bad sizes or alignments of memory", world->memory.faults);
}

/* ---- Limits at run time: here, since what may be set depends on how the world was made ---- */

void world_set_limits(struct world *world)
{
    uint32_t plan = world->plans == 0 ? 0 : (uint32_t)random_below(&world->random, world->plans);
    uint64_t failed = world->memory.failed;
    uint64_t limits[3];
    int result;

    for (size_t i = 0; i < world->rule_count; i++) {
        uint64_t old = oracle_limit(world->oracle, plan, i);
        uint64_t most = most_later(world, i);

        limits[i] = any_limit(world, most);
        if (random_one_in(&world->random, 3))
            limits[i] = old > 1 && random_one_in(&world->random, 2) ? old - 1 : old < most ? old + 1 : old;
    }
    result = weir_set_limits(world->limiter, plan, limits, world->rule_count);
    if (result == -ENOMEM && world->memory.failed > failed)
        return;
    if (result != 0)
        world_wrong(world, "weir_set_limits: %d", result);
    oracle_set_limits(world->oracle, plan, limits);
}

/* ---- Running ---- */

int world_main(const char *name, uint64_t standard, void (*run)(random_source random, char wrong[200]))
{
    uint64_t seed = random_seed(name);
    uint64_t traces = random_scaled(standard);
    const char *one = getenv("WEIR_TRACE");
    uint64_t first = one != NULL ? strtoull(one, NULL, 10) : 0;
    uint64_t failures = 0;
    char wrong[200];

    if (one != NULL)
        traces = first + 1;
    for (uint64_t i = first; i < traces && failures < 10; i++) {
        wrong[0] = '\0';
        run(random_from(seed, i), wrong);
        if (wrong[0] != '\0') {
            printf("%s: WEIR_SEED=%" PRIu64 " WEIR_TRACE=%" PRIu64 ": %s\n", name, seed, i, wrong);
            failures++;
        }
    }
    printf("%s: %" PRIu64 " traces, %" PRIu64 " wrong\n", name, traces - first, failures);
    return failures != 0;
}
