/* Refusing, admitting, and the local limiter with its share of the limits. */
#include "redis/policy.h"

#include <errno.h>
#include <stdlib.h>

/* permille of it, rounded down, at least 1; without passing 64 bits. */
static uint64_t share(uint64_t limit, uint32_t permille)
{
    uint64_t part = limit / 1000 * permille + limit % 1000 * permille / 1000;
    return part > 0 ? part : 1;
}

static int open_local(weiri_redis_policy *policy, weir_rule *rules, size_t count, const weir_redis_options *options,
                      uint64_t *limits)
{
    weir_options local = options->given_time ? weir_options_manual() : weir_options_default();
    for (size_t i = 0; i < count; i++)
        rules[i].limit = share(rules[i].limit, policy->permille);
    for (size_t i = 0; i < options->plans * count; i++)
        limits[i] = share(options->plan_limits[i], policy->permille);
    local.plans = options->plans;
    local.plan_limits = limits;
    local.max_limit = WEIRI_REDIS_LIMIT_MAX; /* what set_limits may bring, a counter's beyond 2^32 too */
    local.error = options->error;
    local.error_size = options->error_size;
    return weir_open(&policy->local, rules, count, &local);
}

int weiri_redis_policy_open(weiri_redis_policy *policy, const weir_rule *rules, size_t count,
                            const weir_redis_options *options)
{
    weir_rule copy[WEIR_RULES_MAX];
    *policy = (weiri_redis_policy){.when = options->when_unreached, .permille = options->fallback_permille};
    if (policy->when != WEIR_UNREACHED_FALLBACK)
        return 0;
    uint64_t *limits = calloc(options->plans * count + 1, sizeof *limits);
    if (!limits)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        copy[i] = rules[i];
    int error = open_local(policy, copy, count, options, limits);
    free(limits);
    return error;
}

int weiri_redis_policy_close(weiri_redis_policy *policy)
{
    return weir_close(policy->local);
}

static void decide_locally(const weiri_redis_policy *policy, const weiri_redis_question *question,
                           weir_decision *decision)
{
    weir_request request = *question->request;
    request.identity = NULL; /* of another limiter, if of any */
    int verdict = question->verb == WEIRI_REDIS_PEEK
                      ? weir_peek(policy->local, &request, question->now, decision)
                      : weir_take(policy->local, &request, question->now, decision);
    if (verdict < 0)
        *decision = (weir_decision){.verdict = 0, .limit = question->limits.limit[0]};
    decision->flags |= WEIR_REDIS_FALLBACK;
}

void weiri_redis_policy_decide(const weiri_redis_policy *policy, const weiri_redis_question *question, uint64_t wait,
                               bool lost, weir_decision *decision)
{
    *decision = (weir_decision){.limit = question->limits.limit[0]};
    if (policy->when == WEIR_UNREACHED_FALLBACK)
        decide_locally(policy, question, decision);
    else if (policy->when == WEIR_UNREACHED_ADMIT)
        decision->verdict = 1;
    else
        decision->retry_after_ns = wait > 0 ? wait : 1; /* at once; but a refusal's wait is never 0 */
    decision->flags |= WEIR_REDIS_UNREACHED;
    if (lost && question->verb == WEIRI_REDIS_TAKE)
        decision->flags |= WEIR_REDIS_UNKNOWN;
}

void weiri_redis_policy_reset(const weiri_redis_policy *policy, const weir_request *request)
{
    weir_request copy = *request;
    copy.identity = NULL;
    if (policy->local)
        (void)weir_reset(policy->local, &copy);
}

int weiri_redis_policy_set_limits(const weiri_redis_policy *policy, uint32_t plan, const uint64_t *limits,
                                  size_t count)
{
    uint64_t part[WEIR_RULES_MAX];
    if (!policy->local)
        return 0;
    for (size_t i = 0; i < count; i++)
        part[i] = share(limits[i], policy->permille);
    return weir_set_limits(policy->local, plan, part, count);
}
