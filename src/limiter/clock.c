/* The limiter's clock, and what may be dropped by it. */
#include <time.h>

#include "limiter.h"

bool weiri_read_clock(const weir *limiter, uint64_t *now)
{
    static const clockid_t ids[] = {[WEIR_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
                                    [WEIR_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
                                    [WEIR_CLOCK_REALTIME] = CLOCK_REALTIME};
    if (limiter->clock == WEIR_CLOCK_MANUAL)
        return false;
    if (limiter->clock == WEIR_CLOCK_CUSTOM) {
        *now = limiter->clock_read(limiter->clock_argument);
        return *now <= WEIR_TIME_MAX;
    }
    struct timespec time;
    if (clock_gettime(ids[limiter->clock], &time) != 0 || time.tv_sec < 0)
        return false;
    *now = (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
    return *now <= WEIR_TIME_MAX;
}

uint64_t weir_now(const weir *limiter)
{
    uint64_t now;
    return weiri_read_clock(limiter, &now) ? now : WEIR_NOW;
}

uint64_t weiri_drop_time(const weir *limiter, uint64_t now)
{
    uint64_t clock;
    if (limiter->max_lateness == UINT64_MAX)
        return 0;
    if (limiter->clock != WEIR_CLOCK_MANUAL) { /* never of a caller's future */
        if (!weiri_read_clock(limiter, &clock))
            clock = 0;
        now = clock < now ? clock : now;
    }
    return now > limiter->max_lateness ? now - limiter->max_lateness : 0;
}
