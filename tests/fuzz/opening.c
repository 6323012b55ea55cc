/* SPDX-License-Identifier: MIT */
#include "opening.h"

#include <string.h>

#define FIELDS offsetof(weir_options, reserved)

/* ---- values ---- */

uint64_t any_of(random_source *random, const uint64_t *telling, size_t count)
{
    uint64_t choice = random_below(random, 256);

    if (choice >= 250)
        return random_next(random);
    if (choice >= 200)
        return random_below(random, 256);
    return telling[choice % count];
}

uint64_t any_limit(random_source *random)
{
    return ANY_OF(random, 1, 2, 5, 10, LIMIT_32, LIMIT_32 + 1, LIMIT_63, LIMIT_63 + 1, 0, 3, 7, 100, UINT64_MAX);
}

uint64_t any_time(random_source *random)
{
    return ANY_OF(random, 0, 1, 10, 100, WEIR_SECOND, WEIR_TIME_MAX, WEIR_TIME_MAX - 1, WEIR_TIME_MAX + 1, WEIR_NOW,
                  WEIR_WINDOW_MAX, 2, 11, 50, 99);
}

static void draw_rule(weir_rule *rule, random_source *random)
{
    static const char *const names[] = {NULL, "", "a rule", "%s%n",
                                        "a name of far more than sixty bytes, which is cut in the words about it"};

    *rule = (weir_rule){
        .algorithm = (uint32_t)ANY_OF(random, WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS, WEIR_COUNTER, 0, 4),
        .meter = (uint32_t)ANY_OF(random, WEIR_PER_REQUEST, WEIR_PER_COST, WEIR_PER_COST, WEIR_PER_REQUEST, 0, 3),
        .limit = any_limit(random),
        .window_ns =
            ANY_OF(random, 10, 1, 2, 100, WEIR_SECOND, WEIR_WINDOW_MAX, WEIR_WINDOW_MAX - 1, 3, 0, WEIR_WINDOW_MAX + 1),
        .name = names[random_below(random, 5)],
    };
    if (rule->algorithm == WEIR_BUCKETS)
        rule->buckets = ANY_OF(random, 1, 2, 10, 7, rule->window_ns, rule->window_ns - 1, rule->window_ns + 1, 0);
    switch (random_below(random, 64)) {
    case 1:
        rule->flags = (uint32_t)random_next(random);
        break;
    case 2:
        rule->reserved0 = (uint32_t)random_next(random);
        break;
    case 3:
        rule->reserved[random_below(random, 2)] = random_next(random);
        break;
    case 4:
        rule->buckets = random_next(random);
        break;
    default:
        break;
    }
}

static uint64_t read_clock(void *argument)
{
    const struct opening *opening = argument;

    return opening->clock;
}

/* Small pieces alone: a rule may ask for more buckets than there is memory. */
static void *allocate(void *argument, size_t alignment, size_t size)
{
    test_allocator *memory = argument;

    if (size > 1 << 16) {
        memory->failed++;
        return NULL;
    }
    return test_allocator_for(memory).allocate(memory, alignment, size);
}

static void draw_options(struct opening *opening, random_source *random)
{
    weir_options *options = &opening->given.options;

    memset(&opening->given, 0, sizeof opening->given);
    *options = random_one_in(random, 2) ? weir_options_manual() : weir_options_default();
    options->clock = (uint32_t)ANY_OF(random, WEIR_CLOCK_MANUAL, WEIR_CLOCK_CUSTOM, WEIR_CLOCK_MANUAL,
                                      WEIR_CLOCK_MONOTONIC, WEIR_CLOCK_REALTIME, WEIR_CLOCK_BOOTTIME, 5);
    options->clock_argument = opening;
    bool custom = options->clock == WEIR_CLOCK_CUSTOM;
    options->clock_read = custom != (random_below(random, 16) == 15) ? read_clock : NULL;
    options->when_full = (uint32_t)ANY_OF(random, 0, 1, 0, 1, 2);
    options->max_lateness_ns = ANY_OF(random, UINT64_MAX, 0, WEIR_SECOND, WEIR_TIME_MAX, WEIR_TIME_MAX + 1, 10);
    options->sweep_interval_ns = ANY_OF(random, 0, 1, WEIR_TIME_MAX, WEIR_TIME_MAX + 1);
    options->janitor = (uint32_t)ANY_OF(random, 0, 0, 0, 1, 2);
    options->plans = (uint32_t)ANY_OF(random, 0, 1, 2, 3);
    options->max_limit = ANY_OF(random, 0, 0, 10, LIMIT_32, LIMIT_63, LIMIT_63 + 1);
    options->max_keys = ANY_OF(random, 0, 0, 1, 2, UINT64_MAX);
    options->plan_limits = opening->limits;
    if (options->plans > OPENING_PLANS || random_below(random, 32) == 31) /* no table is that long */
        options->plan_limits = NULL;
    options->allocator = test_allocator_for(&opening->memory);
    options->allocator.allocate = allocate;
    if (random_below(random, 32) == 31)
        options->allocator.release = NULL;
    options->error = random_below(random, 8) == 7 ? NULL : opening->error;
    options->error_size = (size_t)ANY_OF(random, OPENING_ROOM - 1, 0, 1, 2, 100) % OPENING_ROOM;
    if (random_below(random, 32) == 31)
        options->reserved[random_below(random, 8)] = random_next(random);
    options->struct_size =
        (size_t)ANY_OF(random, sizeof *options, sizeof *options, FIELDS, FIELDS - 1, 0, sizeof opening->given);
    if (options->struct_size > sizeof opening->given)
        options->struct_size = sizeof opening->given;
    if (random_below(random, 8) == 7)
        opening->given.bytes[sizeof *options + random_below(random, 64)] = 1;
}

void opening_draw(struct opening *opening, random_source *random)
{
    memset(&opening->memory, 0, sizeof opening->memory);
    opening->rule_count = (size_t)ANY_OF(random, 1, 1, 2, 3, 8, 9, 0) % OPENING_RULES;
    for (size_t i = 0; i < opening->rule_count; i++)
        draw_rule(&opening->rules[i], random);
    for (size_t i = 0; i < OPENING_PLANS * opening->rule_count; i++)
        opening->limits[i] =
            random_one_in(random, 2) ? opening->rules[i % opening->rule_count].limit : any_limit(random);
    draw_options(opening, random);
    opening->clock = any_time(random);
}

/* ---- what types.h says ---- */

static uint64_t algorithm_most(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? LIMIT_32 : LIMIT_63;
}

static bool legal_rule(const weir_rule *rule)
{
    bool ring = rule->algorithm == WEIR_BUCKETS;

    return rule->algorithm >= WEIR_LOG && rule->algorithm <= WEIR_BUCKETS && rule->meter >= WEIR_PER_REQUEST &&
           rule->meter <= WEIR_PER_COST && rule->limit >= 1 && rule->limit <= algorithm_most(rule->algorithm) &&
           rule->window_ns >= 1 && rule->window_ns <= WEIR_WINDOW_MAX &&
           (ring ? rule->buckets >= 1 && rule->buckets <= rule->window_ns : rule->buckets == 0) && rule->flags == 0 &&
           rule->reserved0 == 0 && rule->reserved[0] == 0 && rule->reserved[1] == 0;
}

static bool legal_fields(const struct opening *opening)
{
    const weir_options *options = &opening->given.options;

    /* Reserved fields, and what comes behind the fields that are known. */
    for (size_t i = FIELDS; i < options->struct_size; i++)
        if (opening->given.bytes[i] != 0)
            return false;
    return options->clock <= WEIR_CLOCK_CUSTOM &&
           (options->clock == WEIR_CLOCK_CUSTOM) == (options->clock_read != NULL) && options->when_full <= 1 &&
           options->janitor <= 1 &&
           (options->max_lateness_ns <= WEIR_TIME_MAX || options->max_lateness_ns == UINT64_MAX) &&
           options->sweep_interval_ns <= WEIR_TIME_MAX && (options->plans == 0 || options->plan_limits != NULL) &&
           options->max_limit <= LIMIT_63 && options->allocator.release != NULL;
}

/* The limit of a rule under a plan, as it stands at open. */
static uint64_t first_limit(const struct opening *opening, size_t plan, size_t rule)
{
    return opening->given.options.plans == 0 ? opening->rules[rule].limit
                                             : opening->limits[plan * opening->rule_count + rule];
}

size_t opening_plans(const struct opening *opening)
{
    return opening->given.options.plans == 0 ? 1 : opening->given.options.plans;
}

/* What any limit of this rule may be. */
uint64_t opening_most(const struct opening *opening, size_t rule)
{
    uint64_t most = algorithm_most(opening->rules[rule].algorithm);

    if (opening->given.options.max_limit != 0)
        return most < opening->given.options.max_limit ? most : opening->given.options.max_limit;
    if (opening->rules[rule].algorithm != WEIR_COUNTER)
        return most;
    for (size_t plan = 0; plan < opening_plans(opening); plan++)
        if (first_limit(opening, plan, rule) > LIMIT_32)
            return most;
    return LIMIT_32;
}

bool opening_is_legal(const struct opening *opening)
{
    if (opening->rule_count < 1 || opening->rule_count > WEIR_RULES_MAX ||
        opening->given.options.struct_size < FIELDS || !legal_fields(opening))
        return false;
    for (size_t i = 0; i < opening->rule_count; i++)
        if (!legal_rule(&opening->rules[i]))
            return false;
    for (size_t plan = 0; plan < opening_plans(opening); plan++)
        for (size_t i = 0; i < opening->rule_count; i++)
            if (first_limit(opening, plan, i) < 1 || first_limit(opening, plan, i) > opening_most(opening, i))
                return false;
    return true;
}

bool opening_has_words(const struct opening *opening)
{
    const weir_options *options = &opening->given.options;

    return options->error != NULL && options->struct_size >= FIELDS && options->error_size > 0;
}
