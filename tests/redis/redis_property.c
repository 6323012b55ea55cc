/*
 * Random rules, costs, times, plans, limits and resets: the server answers as the oracle does, in every field.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/decision.h"
#include "support/oracle.h"
#include "support/random.h"

#define US    WEIR_MICROSECOND
#define PLANS 2
#define KEYS  3

struct world {
    random_source random;
    weir_rule rules[WEIR_RULES_MAX]; /* as the oracle has them: a ns of its stands for one us of Redis */
    size_t rule_count;
    uint64_t limits[PLANS * WEIR_RULES_MAX];
    uint64_t scale;
    uint64_t now;
    uint64_t last_remaining;
    struct asker asker;
    struct oracle *oracle;
};

static uint64_t differences;

static uint64_t any_limit(struct world *world, uint32_t algorithm)
{
    uint64_t most = algorithm == WEIR_LOG ? UINT32_MAX : WEIRI_REDIS_LIMIT_MAX;
    static const uint64_t telling[] = {1, 2, 3, 5, 10, 30, 100, 1000};

    if (random_one_in(&world->random, 10))
        return most - random_below(&world->random, 2);
    if (random_one_in(&world->random, 5)) {
        uint64_t limit = random_sized(&world->random, 53);

        return limit < most ? limit : most;
    }
    return telling[random_below(&world->random, sizeof telling / sizeof *telling)];
}

static uint64_t any_window(struct world *world)
{
    switch (random_below(&world->random, 4)) {
    case 0:
        return world->scale;
    case 1:
        return world->scale / 3 + 1;
    default:
        return random_between(&world->random, 1, world->scale);
    }
}

static void make_rule(struct world *world, weir_rule *rule)
{
    *rule = (weir_rule){.algorithm = (uint32_t)random_between(&world->random, WEIR_LOG, WEIR_BUCKETS),
                        .meter = random_one_in(&world->random, 3) ? WEIR_PER_REQUEST : WEIR_PER_COST,
                        .window_ns = any_window(world)};
    rule->limit = any_limit(world, rule->algorithm);
    if (rule->algorithm == WEIR_BUCKETS) {
        uint64_t most = rule->window_ns < 60 ? rule->window_ns : 60;

        rule->buckets = random_between(&world->random, 1, most);
    }
}

static void make_world(struct world *world, redisContext *link, random_source random)
{
    static const uint64_t scales[] = {1,    2,        7,                     10,                       100,
                                      1000, 60000000, UINT64_C(86400000000), WEIRI_REDIS_WINDOW_MAX_US};
    weir_redis_options options = asker_options(true);
    weir_rule rules[WEIR_RULES_MAX];
    uint64_t rule_counts[] = {1, 1, 2, random_between(&random, 3, WEIR_RULES_MAX)};
    char prefix[40];

    *world = (struct world){.random = random};
    snprintf(prefix, sizeof prefix, "{%" PRIu64 "}", random_next(&world->random));
    world->scale = scales[random_below(&world->random, sizeof scales / sizeof *scales)];
    world->now = random_one_in(&world->random, 3) ? 0 : random_sized(&world->random, 51);
    world->rule_count = (size_t)rule_counts[random_below(&world->random, 4)];
    for (size_t i = 0; i < world->rule_count; i++) {
        make_rule(world, &world->rules[i]);
        rules[i] = world->rules[i];
        rules[i].window_ns *= US;
    }
    for (size_t i = 0; i < PLANS * world->rule_count; i++)
        world->limits[i] = random_one_in(&world->random, 2)
                               ? world->rules[i % world->rule_count].limit
                               : any_limit(world, world->rules[i % world->rule_count].algorithm);
    options.prefix = prefix;
    options.plans = PLANS;
    options.plan_limits = world->limits;
    CHECK_EQUAL(0, asker_open_with(&world->asker, link, rules, world->rule_count, &options));
    world->oracle = oracle_open(world->rules, world->rule_count, PLANS, world->limits);
}

static uint64_t any_cost(struct world *world, uint32_t plan)
{
    uint64_t limit = oracle_limit(world->oracle, plan, (size_t)random_below(&world->random, world->rule_count));

    switch (random_below(&world->random, 14)) {
    case 0:
        return 0;
    case 1:
        return limit;
    case 2:
        return limit + 1;
    case 3:
        return world->last_remaining;
    case 4:
        return world->last_remaining + 1;
    case 5:
        return limit / 2;
    case 6:
        return random_one_in(&world->random, 3) ? UINT64_MAX : random_sized(&world->random, 64);
    case 7:
    case 8:
    case 9:
        return random_below(&world->random, limit / 4 + 2);
    default:
        return 1;
    }
}

/* Usually a little later; at times much later, the same, or earlier. */
static uint64_t any_time(struct world *world)
{
    uint64_t step = random_below(&world->random, world->scale / 8 + 2);

    switch (random_below(&world->random, 12)) {
    case 0:
        step = random_below(&world->random, 3 * world->scale);
        break;
    case 1:
        return world->now - random_below(&world->random, world->now < world->scale ? world->now + 1 : world->scale);
    case 2:
    case 3:
        step = 0;
        break;
    default:
        break;
    }
    world->now = step > WEIRI_REDIS_TIME_MAX_US - world->now ? WEIRI_REDIS_TIME_MAX_US : world->now + step;
    return world->now;
}

static uint64_t in_ns(uint64_t units)
{
    return units == WEIR_NEVER ? WEIR_NEVER : units * US;
}

static void compare(struct world *world, const char *call, weir_decision wanted, const weir_decision *got)
{
    uint64_t wanted_value;
    uint64_t got_value;

    world->last_remaining = wanted.remaining;
    wanted.retry_after_ns = in_ns(wanted.retry_after_ns);
    wanted.release_after_ns = in_ns(wanted.release_after_ns);
    const char *field = decision_difference(&wanted, got, &wanted_value, &got_value);
    if (field != NULL && differences++ < 10)
        printf("%s: %s wanted %" PRIu64 ", got %" PRIu64 "\n", call, field, wanted_value, got_value);
}

static void set_limits(struct world *world)
{
    uint32_t plan = (uint32_t)random_below(&world->random, PLANS);
    uint64_t limits[WEIR_RULES_MAX];

    for (size_t i = 0; i < world->rule_count; i++)
        limits[i] = any_limit(world, world->rules[i].algorithm);
    oracle_set_limits(world->oracle, plan, limits);
    CHECK_EQUAL(0, weiri_redis_limits_set(&world->asker.rules, plan, limits, world->rule_count));
}

static void step(struct world *world)
{
    static const char *const names[KEYS] = {"a", "{a}", ""};
    const char *name = names[random_below(&world->random, KEYS)];
    weir_request request = weir_request_for(name, strlen(name));
    uint64_t now = any_time(world);
    weir_decision wanted;
    weir_decision got;

    request.plan = (uint32_t)random_below(&world->random, PLANS);
    request.cost = any_cost(world, request.plan);
    switch (random_below(&world->random, 40)) {
    case 0:
        oracle_reset(world->oracle, &request);
        asker_reset(&world->asker, &request, now * US);
        break;
    case 1:
        set_limits(world);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        oracle_peek(world->oracle, &request, now, &wanted);
        asker_peek(&world->asker, &request, now * US, &got);
        compare(world, "peek", wanted, &got);
        break;
    default:
        oracle_take(world->oracle, &request, now, &wanted);
        asker_take(&world->asker, &request, now * US, &got);
        compare(world, "take", wanted, &got);
        break;
    }
}

int main(void)
{
    uint64_t traces = random_scaled(250);
    uint64_t seed;
    uint64_t steps_made = 0;
    struct redis_server server;

    NEEDS_REDIS();
    seed = random_seed("redis_property");
    redis_server_start(&server, NULL);
    redisContext *link = redis_server_connect(&server);
    for (uint64_t i = 0; i < traces && differences == 0; i++) {
        struct world world;

        make_world(&world, link, random_from(seed, i));
        uint64_t steps = random_between(&world.random, 20, 160);
        for (uint64_t made = 0; made < steps && differences == 0; made++, steps_made++)
            step(&world);
        if (differences != 0)
            printf("trace %" PRIu64 " of seed %" PRIu64 "\n", i, seed);
        oracle_close(world.oracle);
        asker_close(&world.asker);
    }
    redisFree(link);
    redis_server_stop(&server);
    printf("%" PRIu64 " steps\n", steps_made);
    CHECK_EQUAL(0, differences);
    return checks_end();
}
