/*
 * The ledger of a world: all accepted charges, with what is known of their effective times. See ledger.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct interval {
    uint64_t low;
    uint64_t high;
};

struct charged {
    size_t key;
    size_t rule;
    struct interval time;
    uint64_t amount;
};

static struct world *world;
static struct charged ledger[LEDGER_STEPS * 3];
static size_t ledger_count;
static struct interval newest[WORLD_KEYS][3];
static bool doubtful[WORLD_KEYS][3]; /* the oracle does not know the newest stamp */

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_counter(size_t rule)
{
    return world->rules[rule].algorithm == WEIR_COUNTER;
}

/* The highest floor there can be. */
static uint64_t highest_floor(void)
{
    return world->now > world->max_lateness_ns ? world->now - world->max_lateness_ns : 0;
}

static void check_window(size_t key, size_t rule, struct interval time)
{
    unsigned __int128 sum = 0;

    for (size_t j = 0; j < ledger_count; j++) {
        const struct charged *charged = &ledger[j];

        if (charged->key != key || charged->rule != rule)
            continue;
        if (is_counter(rule) ? charged->time.low >= time.high
                             : time.high - charged->time.low < world->rules[rule].window_ns ||
                                   charged->time.low > time.high)
            sum += charged->amount;
    }
    if (sum > world->rules[rule].limit)
        world_wrong(world, "rule %zu admitted more than its limit of %" PRIu64, rule, world->rules[rule].limit);
}

static void account(const weir_request *request, size_t key, uint64_t now, bool late, bool mirrored)
{
    for (size_t rule = 0; rule < world->rule_count; rule++) {
        uint64_t amount = world->rules[rule].meter == WEIR_PER_REQUEST ? 1 : request->cost;
        uint64_t unit = is_counter(rule) ? world->rules[rule].window_ns : 1;
        struct interval *time = &newest[key][rule];

        if (amount == 0)
            continue;
        time->low = later_of(time->low, now / unit);
        time->high = later_of(time->high, now / unit);
        if (late)
            time->high = later_of(time->high, highest_floor() / unit);
        ledger[ledger_count++] = (struct charged){key, rule, *time, amount};
        check_window(key, rule, *time);
        doubtful[key][rule] = !mirrored;
    }
}

/* Two windows past the newest stamp there can be, the oracle is right without knowing it. */
static bool in_doubt(size_t key, uint64_t now)
{
    for (size_t rule = 0; rule < world->rule_count; rule++) {
        unsigned __int128 window = world->rules[rule].window_ns;
        unsigned __int128 unit = is_counter(rule) ? window : 1;

        if (doubtful[key][rule] && now < newest[key][rule].high * unit + 2 * window)
            return true;
    }
    return false;
}

static void check_flags(const weir_decision *got, uint64_t now)
{
    if ((got->flags & ~(uint32_t)WEIR_LATE) != 0)
        world_wrong(world, "flags %" PRIu32, got->flags);
    if ((got->flags & WEIR_LATE) != 0 && now >= highest_floor())
        world_wrong(world, "flagged as late, but within max_lateness");
    if (got->verdict == 0 && got->retry_after_ns == 0)
        world_wrong(world, "refused with a wait of 0");
}

static void call(bool records)
{
    size_t key;
    weir_request request = world_request(world, &key);
    uint64_t now = world_time(world);
    weir_decision wanted = {0};
    weir_decision got = {0};
    int verdict = records ? weir_take(world->limiter, &request, now, &got)
                          : weir_peek(world->limiter, &request, now, &got);
    bool late = (got.flags & WEIR_LATE) != 0;
    bool mirrored = !late && !in_doubt(key, now);

    if (verdict != got.verdict)
        world_wrong(world, "result %d, verdict %d", verdict, got.verdict);
    check_flags(&got, now);
    if (mirrored) {
        if (records)
            oracle_take(world->oracle, &request, now, &wanted);
        else
            oracle_peek(world->oracle, &request, now, &wanted);
        world_compare(world, records ? "take" : "peek", &wanted, &got);
    }
    if (records && verdict == 1)
        account(&request, key, now, late, mirrored);
}

static void reset(void)
{
    size_t key;
    weir_request request = world_request(world, &key);
    size_t kept = 0;

    if (weir_reset(world->limiter, &request) != 0)
        world_wrong(world, "reset failed");
    oracle_reset(world->oracle, &request);
    for (size_t j = 0; j < ledger_count; j++)
        if (ledger[j].key != key)
            ledger[kept++] = ledger[j];
    ledger_count = kept;
}

void ledger_step(struct world *of)
{
    world = of;
    uint64_t roll = random_below(&world->random, 100);

    world->step++;
    if (roll < 75)
        call(true);
    else if (roll < 85)
        call(false);
    else if (roll < 88)
        reset();
    else if (weir_sweep(world->limiter, random_one_in(&world->random, 2) ? world->now : world_time(world), 0) != 1)
        world_wrong(world, "sweep failed");
}

void ledger_begin(void)
{
    ledger_count = 0;
    memset(newest, 0, sizeof newest);
    memset(doubtful, 0, sizeof doubtful);
}
