/* The states of the circuit breaker. */
#include "redis/breaker.h"

uint64_t weiri_redis_breaker_admit(weiri_redis_breaker *breaker, uint64_t now)
{
    if (!weiri_redis_breaker_is_open(breaker))
        return breaker->state;
    if (breaker->probing || now < breaker->until)
        return 0;
    breaker->probing = true;
    return ++breaker->state;
}

void weiri_redis_breaker_succeeded(weiri_redis_breaker *breaker, uint64_t admitted)
{
    if (!weiri_redis_breaker_holds(breaker, admitted))
        return;
    breaker->failures = 0;
    if (breaker->probing) {
        breaker->probing = false;
        breaker->pause = 0;
        breaker->state++;
    }
}

/* A random time, from a half of the pause to all of it: or processes that lost one server would come back together. */
static void leave_alone(weiri_redis_breaker *breaker, uint64_t now, uint64_t random)
{
    uint64_t end = now + breaker->pause - random % (breaker->pause / 2 + 1);
    breaker->until = end < now ? UINT64_MAX : end;
    breaker->state++;
}

void weiri_redis_breaker_failed(weiri_redis_breaker *breaker, uint64_t admitted, uint64_t now, uint64_t random)
{
    if (!weiri_redis_breaker_holds(breaker, admitted))
        return;
    if (breaker->probing) {
        breaker->probing = false;
        breaker->pause = breaker->pause > breaker->pause_max / 2 ? breaker->pause_max : breaker->pause * 2;
        leave_alone(breaker, now, random);
    } else if (++breaker->failures >= breaker->failures_max) {
        breaker->failures = 0;
        breaker->pause = breaker->pause_min;
        leave_alone(breaker, now, random);
    }
}

void weiri_redis_breaker_abandoned(weiri_redis_breaker *breaker, uint64_t admitted)
{
    if (weiri_redis_breaker_holds(breaker, admitted) && breaker->probing) {
        breaker->probing = false;
        breaker->state++;
    }
}

uint64_t weiri_redis_breaker_wait(const weiri_redis_breaker *breaker, uint64_t now)
{
    if (!weiri_redis_breaker_is_open(breaker))
        return 0;
    return breaker->until > now ? breaker->until - now : breaker->probing;
}
