/* Time that jumps, and callers that are late. SPDX-License-Identifier: MIT */
#include "torture.h"

/* The tickets of judge.c order the calls. With ThreadSanitizer they must not hide a race; x86-64 orders them anyway. */
#if TEST_TSAN
#define TICKET_ORDER memory_order_relaxed
#else
#define TICKET_ORDER memory_order_acq_rel
#endif

/* What the custom clock first said to this thread since the call began: that is what WEIR_NOW meant. */
static _Thread_local uint64_t first_read;
static _Thread_local bool has_read;

uint64_t moment_ticket(torture_round *round)
{
    return atomic_fetch_add_explicit(&round->ticket, 1, TICKET_ORDER);
}

/* Before a call that may drop what had expired at now - lateness. */
static void raise_floor(torture_round *round, uint64_t now)
{
    uint64_t drop = round->lateness == UINT64_MAX || now < round->lateness ? 0 : now - round->lateness;
    uint64_t floor = atomic_load_explicit(&round->floor, memory_order_relaxed);
    while (drop > floor && !atomic_compare_exchange_weak_explicit(&round->floor, &floor, drop, memory_order_relaxed,
                                                                  memory_order_relaxed))
        continue; /* relaxed: whoever meets this floor in weir comes after this in the order that weir makes */
}

static uint64_t real_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
}

uint64_t moment_clock(torture_round *round)
{
    return round->time == TIME_REAL ? real_clock() : atomic_load_explicit(&round->clock, memory_order_relaxed);
}

uint64_t moment_floor(torture_round *round)
{
    if (round->time == TIME_REAL) /* the janitor sweeps by the clock */
        raise_floor(round, real_clock());
    return atomic_load_explicit(&round->floor, memory_order_relaxed);
}

static uint64_t custom_clock(void *argument)
{
    torture_round *round = argument;
    uint64_t now = moment_clock(round);
    raise_floor(round, now);
    first_read = has_read ? first_read : now;
    has_read = true;
    return now;
}

void moment_options(torture_round *round, weir_options *options)
{
    *options = round->time == TIME_REAL ? weir_options_default() : weir_options_manual();
    options->max_lateness_ns = round->lateness;
    options->sweep_interval_ns = WEIR_MILLISECOND;
    options->janitor = round->janitor;
    if (round->time == TIME_CUSTOM) {
        options->clock = WEIR_CLOCK_CUSTOM;
        options->clock_read = custom_clock;
        options->clock_argument = round;
    }
}

/* On by a little, so that a round sees some thirty windows, or three hundred; now and then it jumps by up to three. */
static uint64_t move_clock(torture_round *round, uint64_t *random)
{
    uint64_t windows = round->swift ? 300 : 30, pick = random_next(random);
    uint64_t step = pick % (2 * windows * round->unit / (round->calls * round->threads));
    if (pick >> 32 & 0x1ff) {
        return atomic_fetch_add_explicit(&round->clock, step, memory_order_relaxed);
    }
    tell(&torture_told.jumps, 1);
    step = random_below(random, 3 * round->unit);
    step = pick >> 41 & 1 ? step : 0 - step;
    return atomic_fetch_add_explicit(&round->clock, step, memory_order_relaxed) + step;
}

moment moment_pick(torture_round *round, uint64_t *random)
{
    bool moves = round->time == TIME_GIVEN || round->time == TIME_CUSTOM;
    uint64_t now = moves ? move_clock(round, random) : moment_clock(round), pick = random_next(random);
    has_read = false;
    if (round->time >= TIME_CUSTOM && pick & 1)
        return (moment){WEIR_NOW, now, now};
    pick >>= 1;
    if (round->time != TIME_FROZEN && pick % 4 == 0) {
        tell(&torture_told.late, 1);
        now -= random_below(random, 4 * round->unit);
    } else if (moves && pick % 64 == 1) {
        now += random_below(random, round->unit);
    }
    raise_floor(round, now);
    return (moment){now, now, now};
}

void moment_called(torture_round *round, moment *at)
{
    if (at->now != WEIR_NOW)
        return;
    if (round->time == TIME_REAL)
        at->high = real_clock();
    else if (has_read)
        at->low = at->high = first_read;
}
