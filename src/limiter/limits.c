/* The limits of a plan: immutable, exchanged whole. */
#include <errno.h>
#include <string.h>

#include "limiter.h"

static void destroy_limits(weiri_memory *memory, weiri_retired *retired)
{
    weiri_release(memory, retired, sizeof(weiri_limits));
}

weiri_limits *weiri_limits_new(weir *limiter, const uint64_t *values)
{
    weiri_limits *limits = weiri_allocate(&limiter->memory, 16, sizeof *limits);
    if (!limits)
        return NULL;
    *limits = (weiri_limits){.retired.destroy = destroy_limits, .version = ++limiter->last_version};
    memcpy(limits->limit, values, limiter->rules.count * sizeof *values);
    return limits;
}

int weir_set_limits(weir *limiter, uint32_t plan, const uint64_t *limits, size_t count)
{
    if (plan >= limiter->plans || count != limiter->rules.count || !limits)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (limits[i] < 1 || limits[i] > limiter->rules.rule[i].max_limit)
            return -EINVAL;
    bool inside = weiri_gate_hold(); /* no fork finds the lock held */
    pthread_mutex_lock(&limiter->limits_lock);
    weiri_limits *new = weiri_limits_new(limiter, limits);
    if (new) { /* exchange: release, so that the limits are complete before they are found */
        weiri_limits *old = weiri_exchange_pointer(&limiter->plan[plan], new);
        weiri_retire(&limiter->memory, &old->retired, sizeof *old);
    }
    pthread_mutex_unlock(&limiter->limits_lock);
    weiri_gate_release(inside);
    weiri_relieve(limiter);
    return new ? 0 : -ENOMEM;
}
