/*
 * A circuit breaker: a server that failed some times in a row is left alone for a while, then asked by one caller, the
 * probe; what becomes of that decides. Pure: time and randomness come in, a lock is the caller's.
 *
 *            `failures` in a row                 the while is over, one caller
 *     CLOSED ───────────────────▶ OPEN ◀─────────────────────────────▶ PROBING
 *        ▲                              the probe failed: twice as long     │
 *        └──────────────────────────── the probe succeeded ─────────────────┘
 *
 * Who is admitted gets the number of the state it was admitted in. What it reports counts in that state alone: so a
 * call that was under way when the breaker opened neither doubles the while nor closes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_BREAKER_H
#define WEIRI_REDIS_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weiri_redis_breaker {
    uint64_t pause_min, pause_max; /* ns */
    uint64_t pause;                /* how long the last while was, before its random part was taken off; 0: closed */
    uint64_t until;                /* when it ends */
    uint64_t state;                /* changes with every change of state */
    uint32_t failures_max;
    uint32_t failures; /* in a row, while closed */
    bool probing;
} weiri_redis_breaker;

static inline weiri_redis_breaker weiri_redis_breaker_of(uint32_t failures, uint64_t pause_min, uint64_t pause_max)
{
    return (weiri_redis_breaker){.failures_max = failures, .pause_min = pause_min, .pause_max = pause_max, .state = 1};
}

/* May the server be asked now? 0: no; else the number to report with. One of the three below must follow. */
uint64_t weiri_redis_breaker_admit(weiri_redis_breaker *breaker, uint64_t now);

/* Is what this number was given for still so? */
static inline bool weiri_redis_breaker_holds(const weiri_redis_breaker *breaker, uint64_t admitted)
{
    return breaker->state == admitted;
}

/* Is it the probe? */
static inline bool weiri_redis_breaker_probes(const weiri_redis_breaker *breaker, uint64_t admitted)
{
    return breaker->probing && breaker->state == admitted;
}

void weiri_redis_breaker_succeeded(weiri_redis_breaker *breaker, uint64_t admitted);

/* `random`: any 64 bits; decides what is taken off the while, at most a half. */
void weiri_redis_breaker_failed(weiri_redis_breaker *breaker, uint64_t admitted, uint64_t now, uint64_t random);

/* The server was not asked after all. */
void weiri_redis_breaker_abandoned(weiri_redis_breaker *breaker, uint64_t admitted);

/* How long the server is left alone from now on; 0: it may be asked. While a probe is out: 1. */
uint64_t weiri_redis_breaker_wait(const weiri_redis_breaker *breaker, uint64_t now);

static inline bool weiri_redis_breaker_is_open(const weiri_redis_breaker *breaker)
{
    return breaker->pause != 0;
}

#endif
