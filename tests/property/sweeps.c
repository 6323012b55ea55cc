/*
 * Random traces with sweeps, bounded and whole, and reclaims at random instants, no call later than max_lateness: the
 * answers are the oracle's, which sweeps nothing. At the end everything expires, and one sweep leaves no key.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "world.h"

static struct world world;

static void sweep(void)
{
    uint64_t most = random_one_in(&world.random, 3) ? random_between(&world.random, 1, 100) : 0;
    uint64_t now = world.now;
    int result;

    /* A late sweep drops less, never more. */
    if (random_one_in(&world.random, 4))
        now = world_time(&world);
    result = weir_sweep(world.limiter, now, most);
    if (result != 1 && !(result == 0 && most != 0))
        world_wrong(&world, "sweep: result %d", result);
}

static void end_empty(void)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    uint64_t longest = 0;

    for (size_t i = 0; i < world.rule_count; i++)
        if (world.rules[i].window_ns > longest)
            longest = world.rules[i].window_ns;
    /* The last charge of a counter counts for two windows, and so does one bucket of two. */
    unsigned __int128 end = (unsigned __int128)world.now + 2 * (unsigned __int128)longest + world.max_lateness_ns;
    if (end > WEIR_TIME_MAX)
        return;
    if (weir_sweep(world.limiter, (uint64_t)end, 0) != 1 || weir_stats(world.limiter, &statistics) != 0)
        world_wrong(&world, "the last sweep failed");
    if (statistics.keys != 0)
        world_wrong(&world, "%" PRIu64 " keys are left after the last sweep", statistics.keys);
}

static void run(random_source random, char wrong[200])
{
    const struct world_shape shape = {.many_keys = random_one_in(&random, 3), .deep = random_one_in(&random, 100)};
    uint64_t steps = random_between(&random, 20, shape.deep ? 2500 : shape.many_keys ? 600 : 160);

    world_open(&world, &shape, random);
    while (world.step < steps && world.wrong[0] == '\0') {
        world_any_call(&world);
        if (random_one_in(&world.random, 8))
            sweep();
        if (random_one_in(&world.random, 800) && weir_reclaim(world.limiter) != 0)
            world_wrong(&world, "reclaim failed");
    }
    if (world.wrong[0] == '\0')
        end_empty();
    world_close(&world);
    memcpy(wrong, world.wrong, sizeof world.wrong);
}

int main(void)
{
    return world_main("sweeps", 2500, run);
}
