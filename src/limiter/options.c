/* Options: the two constructors, and what weir_open checks, in words. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

weir_options weir_options_manual(void)
{
    return (weir_options){.struct_size = sizeof(weir_options), .max_lateness_ns = WEIR_SECOND};
}

weir_options weir_options_default(void)
{
    weir_options options = weir_options_manual();
    options.clock = WEIR_CLOCK_MONOTONIC;
    options.janitor = 1;
    return options;
}

/* Writes what is wrong, where the caller wants to know; returns -EINVAL. */
static __attribute__((format(printf, 2, 3))) int wrong(const weir_options *options, const char *format, ...)
{
    if (options->error && options->error_size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(options->error, options->error_size, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
}

int weiri_options_busy(const weir_options *options)
{
    wrong(options, "another release of weir is in use in this process, and the two cannot fork together");
    return -EBUSY;
}

static uint64_t algorithm_max(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? UINT32_MAX : (uint64_t)INT64_MAX;
}

static int check_rule(const weir_options *options, const weir_rule *rule, size_t number)
{
    char who[96];
    if (rule->name)
        snprintf(who, sizeof who, "rule %zu (%.60s)", number, rule->name);
    else
        snprintf(who, sizeof who, "rule %zu", number);
    if (rule->algorithm < WEIR_LOG || rule->algorithm > WEIR_BUCKETS)
        return wrong(options, "%s: algorithm: %u is none of WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS", who,
                     (unsigned)rule->algorithm);
    if (rule->meter < WEIR_PER_REQUEST || rule->meter > WEIR_PER_COST)
        return wrong(options, "%s: meter: %u is neither WEIR_PER_REQUEST nor WEIR_PER_COST", who,
                     (unsigned)rule->meter);
    if (rule->limit < 1 || rule->limit > algorithm_max(rule->algorithm))
        return wrong(options, "%s: limit: %llu is outside 1 ... %s", who, (unsigned long long)rule->limit,
                     rule->algorithm == WEIR_LOG ? "2^32-1" : "2^63-1");
    if (rule->window_ns < 1 || rule->window_ns > WEIR_WINDOW_MAX)
        return wrong(options, "%s: window_ns: %llu is outside 1 ... 2^62", who, (unsigned long long)rule->window_ns);
    if (rule->algorithm == WEIR_BUCKETS && (rule->buckets < 1 || rule->buckets > rule->window_ns))
        return wrong(options, "%s: buckets: %llu is outside 1 ... window_ns", who, (unsigned long long)rule->buckets);
    if (rule->algorithm != WEIR_BUCKETS && rule->buckets != 0)
        return wrong(options, "%s: buckets: must be 0, the algorithm has none", who);
    if (rule->flags | rule->reserved0 | rule->reserved[0] | rule->reserved[1])
        return wrong(options, "%s: flags and reserved: must be 0", who);
    return 0;
}

/* What a newer caller's options have beyond ours must be zero: what it asks for is not known here. */
static bool all_known(const weir_options *given)
{
    const unsigned char *bytes = (const unsigned char *)given;
    for (size_t i = sizeof *given; i < given->struct_size; i++)
        if (bytes[i])
            return false;
    return true;
}

static int check_options(const weir_options *options)
{
    if (options->clock > WEIR_CLOCK_CUSTOM)
        return wrong(options, "options: clock: %u is no enum weir_clock", (unsigned)options->clock);
    if ((options->clock == WEIR_CLOCK_CUSTOM) != (options->clock_read != NULL))
        return wrong(options, "options: clock_read: goes with WEIR_CLOCK_CUSTOM, and only with it");
    if (options->when_full > WEIR_FULL_ADMIT)
        return wrong(options, "options: when_full: %u is no enum weir_when_full", (unsigned)options->when_full);
    if (options->janitor > 1)
        return wrong(options, "options: janitor: %u is neither 0 nor 1", (unsigned)options->janitor);
    if (options->max_lateness_ns > WEIR_TIME_MAX && options->max_lateness_ns != UINT64_MAX)
        return wrong(options, "options: max_lateness_ns: %llu is neither 0 ... 2^63-1 nor UINT64_MAX",
                     (unsigned long long)options->max_lateness_ns);
    if (options->sweep_interval_ns > WEIR_TIME_MAX)
        return wrong(options, "options: sweep_interval_ns: %llu is outside 0 ... 2^63-1",
                     (unsigned long long)options->sweep_interval_ns);
    if (options->plans > 0 && !options->plan_limits)
        return wrong(options, "options: plan_limits: NULL, but there are %u plans", (unsigned)options->plans);
    if (options->max_limit > (uint64_t)INT64_MAX)
        return wrong(options, "options: max_limit: %llu is outside 0 ... 2^63-1",
                     (unsigned long long)options->max_limit);
    if (!options->allocator.allocate != !options->allocator.release)
        return wrong(options, "options: allocator: allocate and release go together");
    for (unsigned i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
        if (options->reserved[i])
            return wrong(options, "options: reserved: must be 0");
    return 0;
}

uint64_t weiri_plan_limit(const weir_rule *rules, size_t count, const weir_options *options, size_t plan, size_t rule)
{
    return options->plans == 0 ? rules[rule].limit : options->plan_limits[plan * count + rule];
}

size_t weiri_plan_count(const weir_options *options)
{
    return options->plans == 0 ? 1 : options->plans;
}

uint64_t weiri_rule_max(const weir_rule *rules, size_t count, const weir_options *options, size_t rule)
{
    uint64_t algorithm = algorithm_max(rules[rule].algorithm);
    if (options->max_limit)
        return options->max_limit < algorithm ? options->max_limit : algorithm;
    if (rules[rule].algorithm == WEIR_COUNTER) {
        for (size_t plan = 0; plan < weiri_plan_count(options); plan++)
            if (weiri_plan_limit(rules, count, options, plan, rule) > UINT32_MAX)
                return algorithm;
        return UINT32_MAX;
    }
    return algorithm;
}

static int check_limits(const weir_rule *rules, size_t count, const weir_options *options)
{
    for (size_t rule = 0; rule < count; rule++) {
        uint64_t max = weiri_rule_max(rules, count, options, rule);
        for (size_t plan = 0; plan < weiri_plan_count(options); plan++) {
            uint64_t limit = weiri_plan_limit(rules, count, options, plan, rule);
            if (limit < 1 || limit > max)
                return wrong(options, "plan %zu: rule %zu: limit: %llu is outside 1 ... %llu", plan, rule,
                             (unsigned long long)limit, (unsigned long long)max);
        }
    }
    return 0;
}

static int check_all(const weir_rule *rules, size_t count, const weir_options *options)
{
    if (count < 1 || count > WEIR_RULES_MAX || !rules)
        return wrong(options, "rules: %zu of them, where 1 ... 8 must be given", rules ? count : 0);
    int error = check_options(options);
    for (size_t i = 0; i < count && !error; i++)
        error = check_rule(options, &rules[i], i);
    return error ? error : check_limits(rules, count, options);
}

static int copy_options(weir_options *copy, const weir_options *given)
{
    *copy = weir_options_default();
    if (!given)
        return 0;
    if (given->struct_size < offsetof(weir_options, reserved))
        return -EINVAL; /* made by neither constructor: nothing in it can be trusted, `error` neither */
    *copy = (weir_options){0};
    memcpy(copy, given, given->struct_size < sizeof *copy ? given->struct_size : sizeof *copy);
    copy->struct_size = given->struct_size;
    if (copy->error && copy->error_size > 0)
        copy->error[0] = '\0';
    return 0;
}

int weiri_options_check(const weir_rule *rules, size_t count, const weir_options *given, weir_options *options)
{
    int error = copy_options(options, given);
    if (!error && given && !all_known(given))
        error = wrong(options, "options: struct_size: fields beyond this library's %zu bytes are set", sizeof *options);
    return error ? error : check_all(rules, count, options);
}
