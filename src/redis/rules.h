/*
 * The rules of a limiter over Redis: checked, in microseconds, with the limits of each plan.
 *
 * Written by weiri_redis_rules_open and never again, but for the limits, which a mutex guards: a decision copies those
 * of its plan (at most 8) before it is sent.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_RULES_H
#define WEIRI_REDIS_RULES_H

#include <pthread.h>
#include <weir/redis.h>

#define WEIRI_REDIS_LIMIT_MAX ((UINT64_C(1) << 53) - 1)
#define WEIRI_REDIS_WINDOW_MAX_US (UINT64_C(1) << 50)
#define WEIRI_REDIS_TIME_MAX_US (UINT64_C(1) << 52)

typedef struct weiri_redis_rule {
    uint64_t window_us; /* rounded up */
    uint64_t width_us;  /* buckets: of one bucket, ceil(window_us / buckets), at least 1; others 0 */
    uint32_t algorithm;
    uint32_t meter;
    char suffix[64];    /* ends the name of the rule's key in Redis: tells rule, algorithm, meter and window */
} weiri_redis_rule;

typedef struct weiri_redis_rules {
    weiri_redis_rule rule[WEIR_RULES_MAX];
    uint32_t count;
    uint32_t plans;
    bool given_time;
    char *prefix;          /* percent-encoded */
    uint64_t *limits;      /* plans x count; `lock` guards them and `version` */
    uint64_t version;      /* so many times the limits of some plan were replaced */
    pthread_mutex_t lock;
} weiri_redis_rules;

/* The limits that one decision uses. */
typedef struct weiri_redis_limits {
    uint64_t limit[WEIR_RULES_MAX];
    uint64_t version;
} weiri_redis_limits;

/* Returns 0, -EINVAL (why, in words, goes to `error`, where that is not NULL) or -ENOMEM. */
int weiri_redis_rules_open(weiri_redis_rules *rules, const weir_rule *rule, size_t count,
                           const weir_redis_options *options);
void weiri_redis_rules_close(weiri_redis_rules *rules);

/* `plan` is in range. */
weiri_redis_limits weiri_redis_limits_of(weiri_redis_rules *rules, uint32_t plan);
uint64_t weiri_redis_limits_version(weiri_redis_rules *rules);

/* As weir_redis_set_limits. */
int weiri_redis_limits_set(weiri_redis_rules *rules, uint32_t plan, const uint64_t *limits, size_t count);

#endif
