/* Rules over Redis: what weir_redis_open checks of them, in words; and the limits of each plan. */
#include "redis/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/key.h"
#include "redis/options.h"

static uint64_t limit_max(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? UINT32_MAX : WEIRI_REDIS_LIMIT_MAX;
}

static const char *limit_max_text(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? "2^32-1" : "2^53-1";
}

static int check_rule(const weir_redis_options *options, const weir_rule *rule, size_t number)
{
    if (rule->algorithm < WEIR_LOG || rule->algorithm > WEIR_BUCKETS)
        return weiri_redis_wrong(options, "rule %zu: algorithm: %u is none of WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS",
                                 number, (unsigned)rule->algorithm);
    if (rule->meter < WEIR_PER_REQUEST || rule->meter > WEIR_PER_COST)
        return weiri_redis_wrong(options, "rule %zu: meter: %u is neither WEIR_PER_REQUEST nor WEIR_PER_COST", number,
                                 (unsigned)rule->meter);
    if (rule->limit < 1 || rule->limit > limit_max(rule->algorithm))
        return weiri_redis_wrong(options, "rule %zu: limit: %" PRIu64 " is outside 1 ... %s", number, rule->limit,
                                 limit_max_text(rule->algorithm));
    if (rule->window_ns < 1 || rule->window_ns > WEIRI_REDIS_WINDOW_MAX_US * WEIR_MICROSECOND)
        return weiri_redis_wrong(options, "rule %zu: window_ns: %" PRIu64 " is outside 1 ... 2^50 us", number,
                                 rule->window_ns);
    if (rule->algorithm == WEIR_BUCKETS && (rule->buckets < 1 || rule->buckets > rule->window_ns))
        return weiri_redis_wrong(options, "rule %zu: buckets: %" PRIu64 " is outside 1 ... window_ns", number,
                                 rule->buckets);
    if (rule->algorithm != WEIR_BUCKETS && rule->buckets != 0)
        return weiri_redis_wrong(options, "rule %zu: buckets: must be 0, the algorithm has none", number);
    if (rule->flags | rule->reserved0 | rule->reserved[0] | rule->reserved[1])
        return weiri_redis_wrong(options, "rule %zu: flags and reserved: must be 0", number);
    return 0;
}

static uint64_t plan_limit(const weir_rule *rule, size_t count, const weir_redis_options *options, size_t plan,
                           size_t number)
{
    return options->plans == 0 ? rule[number].limit : options->plan_limits[plan * count + number];
}

static int check_plans(const weir_redis_options *options, const weir_rule *rule, size_t count)
{
    if (options->plans > 0 && !options->plan_limits)
        return weiri_redis_wrong(options, "options: plan_limits: NULL, but there are %u plans",
                                 (unsigned)options->plans);
    for (size_t plan = 0; plan < options->plans; plan++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t limit = plan_limit(rule, count, options, plan, i);
            if (limit < 1 || limit > limit_max(rule[i].algorithm))
                return weiri_redis_wrong(options, "plan %zu: rule %zu: limit: %" PRIu64 " is outside 1 ... %s", plan, i,
                                         limit, limit_max_text(rule[i].algorithm));
        }
    }
    return 0;
}

static int check_all(const weir_redis_options *options, const weir_rule *rule, size_t count)
{
    if (count < 1 || count > WEIR_RULES_MAX || !rule)
        return weiri_redis_wrong(options, "rules: %zu of them, where 1 ... 8 must be given", rule ? count : 0);
    if (options->given_time > 1)
        return weiri_redis_wrong(options, "options: given_time: %u is neither 0 nor 1", (unsigned)options->given_time);
    if (!options->prefix)
        return weiri_redis_wrong(options, "options: prefix: NULL");
    for (size_t i = 0; i < count; i++) {
        int error = check_rule(options, &rule[i], i);
        if (error)
            return error;
    }
    return check_plans(options, rule, count);
}

/*
 * What tells one rule's key from another's: rules that are not the same never share a key, nor does a limiter of given
 * times share one with the server's time. Limits may change, and are left out.
 */
static void name_rule(weiri_redis_rule *rule, size_t number, bool given_time)
{
    char algorithm = rule->algorithm == WEIR_LOG ? 'l' : rule->algorithm == WEIR_COUNTER ? 'c' : 'b';
    char meter = rule->meter == WEIR_PER_REQUEST ? 'r' : 'c';
    char width[24] = "";
    if (rule->width_us > 0)
        snprintf(width, sizeof width, "/%" PRIu64, rule->width_us);
    snprintf(rule->suffix, sizeof rule->suffix, "%zu%c%c%" PRIu64 "%s%s", number, algorithm, meter, rule->window_us,
             width, given_time ? "g" : "");
}

static weiri_redis_rule make_rule(const weir_rule *given, size_t number, bool given_time)
{
    weiri_redis_rule rule = {
        .window_us = (given->window_ns - 1) / WEIR_MICROSECOND + 1,
        .algorithm = given->algorithm,
        .meter = given->meter,
    };
    if (given->algorithm == WEIR_BUCKETS)
        rule.width_us = (rule.window_us - 1) / given->buckets + 1;
    name_rule(&rule, number, given_time);
    return rule;
}

static char *encode_prefix(const char *prefix)
{
    size_t length = strlen(prefix);
    char *encoded = malloc(3 * length + 1);
    if (encoded)
        *weiri_redis_encode(encoded, prefix, length, false) = '\0';
    return encoded;
}

int weiri_redis_rules_open(weiri_redis_rules *rules, const weir_rule *rule, size_t count,
                           const weir_redis_options *options)
{
    int error = check_all(options, rule, count);
    if (error)
        return error;
    *rules = (weiri_redis_rules){
        .count = (uint32_t)count,
        .plans = options->plans == 0 ? 1 : options->plans,
        .given_time = options->given_time != 0,
    };
    rules->prefix = encode_prefix(options->prefix);
    rules->limits = calloc(rules->plans, count * sizeof *rules->limits);
    if (!rules->prefix || !rules->limits || pthread_mutex_init(&rules->lock, NULL) != 0) {
        free(rules->prefix);
        free(rules->limits);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        rules->rule[i] = make_rule(&rule[i], i, rules->given_time);
    for (size_t plan = 0; plan < rules->plans; plan++)
        for (size_t i = 0; i < count; i++)
            rules->limits[plan * count + i] = plan_limit(rule, count, options, plan, i);
    return 0;
}

void weiri_redis_rules_close(weiri_redis_rules *rules)
{
    pthread_mutex_destroy(&rules->lock);
    free(rules->prefix);
    free(rules->limits);
}

weiri_redis_limits weiri_redis_limits_of(weiri_redis_rules *rules, uint32_t plan)
{
    weiri_redis_limits limits = {0};
    pthread_mutex_lock(&rules->lock);
    memcpy(limits.limit, &rules->limits[(size_t)plan * rules->count], rules->count * sizeof *rules->limits);
    limits.version = rules->version;
    pthread_mutex_unlock(&rules->lock);
    return limits;
}

uint64_t weiri_redis_limits_version(weiri_redis_rules *rules)
{
    pthread_mutex_lock(&rules->lock);
    uint64_t version = rules->version;
    pthread_mutex_unlock(&rules->lock);
    return version;
}

int weiri_redis_limits_set(weiri_redis_rules *rules, uint32_t plan, const uint64_t *limits, size_t count)
{
    if (plan >= rules->plans || count != rules->count || !limits)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (limits[i] < 1 || limits[i] > limit_max(rules->rule[i].algorithm))
            return -EINVAL;
    pthread_mutex_lock(&rules->lock);
    memcpy(&rules->limits[(size_t)plan * count], limits, count * sizeof *limits);
    rules->version++;
    pthread_mutex_unlock(&rules->lock);
    return 0;
}
