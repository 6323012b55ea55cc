/*
 * Random refusals of one key, a few of them again and again in any order: other costs, plans and times, whole decisions
 * and verdicts. What is told from a refusal that stands is what the oracle says, in every field. Guarantee A, and
 * section 4 of the contract.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "world.h"

enum { ASKED = 5, CALLS = 60 };

struct asked {
    weir_request request;
    uint64_t now;
    bool whole, peek;
};

static struct world world;

/* Around the charges: before them, and until they have left. */
static uint64_t time_near(uint64_t begin)
{
    uint64_t spread = world.scale / 4 + 2, now = begin + random_below(&world.random, spread);
    if (random_one_in(&world.random, 3))
        now = begin + random_below(&world.random, world.scale * 2);
    if (random_one_in(&world.random, 6))
        now = begin - random_below(&world.random, spread < begin ? spread : begin + 1);
    return now < WEIR_TIME_MAX ? now : WEIR_TIME_MAX;
}

static struct asked any_call(size_t key, uint64_t begin)
{
    struct asked asked = {.now = time_near(begin), .whole = !random_one_in(&world.random, 4),
                          .peek = random_one_in(&world.random, 3)};
    do
        asked.request = world_request(&world, NULL);
    while (asked.request.cost == 0 && !random_one_in(&world.random, 8));
    asked.request.key = world.keys[key].bytes;
    asked.request.key_len = world.keys[key].length;
    return asked;
}

static void call(const struct asked *asked)
{
    weir_decision wanted, got;
    memset(&got, 0xee, sizeof got);
    int verdict = (asked->peek ? weir_peek : weir_take)(world.limiter, &asked->request, asked->now,
                                                        asked->whole ? &got : NULL);
    int right = (asked->peek ? oracle_peek : oracle_take)(world.oracle, &asked->request, asked->now, &wanted);
    if (verdict != right)
        world_wrong(&world, "cost %" PRIu64 " at %" PRIu64 ": wanted %d, got %d", asked->request.cost, asked->now,
                    right, verdict);
    if (asked->whole)
        world_compare(&world, "in turn", &wanted, &got);
}

/* Charges one key until it refuses, then asks. */
static void hammer(void)
{
    size_t key = (size_t)random_below(&world.random, world.key_count);
    uint64_t begin = world.now;
    struct asked asked[ASKED];

    for (unsigned i = 0; i < 20 && world.wrong[0] == '\0'; i++) {
        struct asked charge = any_call(key, begin);
        charge.peek = false;
        call(&charge);
    }
    for (unsigned i = 0; i < ASKED; i++)
        asked[i] = any_call(key, begin);
    for (unsigned i = 0; i < CALLS && world.wrong[0] == '\0'; i++, world.step++) {
        unsigned chosen = (unsigned)random_below(&world.random, i < CALLS / 2 ? 2 : ASKED);
        if (random_one_in(&world.random, 3))
            asked[chosen].now += asked[chosen].now < WEIR_TIME_MAX;
        if (random_one_in(&world.random, 10))
            asked[chosen] = any_call(key, begin);
        call(&asked[chosen]);
    }
    if (random_one_in(&world.random, 3))
        world_reset(&world);
    if (random_one_in(&world.random, 3))
        world_set_limits(&world);
    if (random_one_in(&world.random, 2))
        world.now = time_near(begin);
}

static void run(random_source random, char wrong[200])
{
    const struct world_shape shape = {.endless = true};

    world_open(&world, &shape, random);
    for (unsigned i = 0; i < 4 && world.wrong[0] == '\0'; i++)
        hammer();
    world_close(&world);
    memcpy(wrong, world.wrong, sizeof world.wrong);
}

int main(void)
{
    return world_main("hammered", 3000, run);
}
