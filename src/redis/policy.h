/*
 * What is answered while Redis cannot be asked: options.when_unreached. Thread-safe; written by open alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_POLICY_H
#define WEIRI_REDIS_POLICY_H

#include "redis/command.h"

typedef struct weiri_redis_policy {
    weir *local; /* NULL, unless WEIR_UNREACHED_FALLBACK */
    uint32_t when;
    uint32_t permille;
} weiri_redis_policy;

/* rules and options are in range. Returns 0, or as weir_open. */
int weiri_redis_policy_open(weiri_redis_policy *policy, const weir_rule *rules, size_t count,
                            const weir_redis_options *options);

/* 0 or -EDEADLK (nothing was closed). */
int weiri_redis_policy_close(weiri_redis_policy *policy);

/* Decides a take or a peek. `wait`: ns until Redis is tried again; `lost`: it was asked, and its answer was lost. */
void weiri_redis_policy_decide(const weiri_redis_policy *policy, const weiri_redis_question *question, uint64_t wait,
                               bool lost, weir_decision *decision);

void weiri_redis_policy_reset(const weiri_redis_policy *policy, const weir_request *request);

/* plan, count and limits are in range. Returns 0 or -ENOMEM. */
int weiri_redis_policy_set_limits(const weiri_redis_policy *policy, uint32_t plan, const uint64_t *limits,
                                  size_t count);

#endif
