/*
 * Random traces with segments split, rebuilt and compacted between calls, whether they need it or not: the answers stay
 * the oracle's. Half the traces drop keys on the way (no call later than max_lateness), half never do.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "limiter/testing.h"
#include "world.h"

static struct world world;

static void run(random_source random, char wrong[200])
{
    const struct world_shape shape = {.endless = random_one_in(&random, 2), .many_keys = random_one_in(&random, 2)};
    uint64_t steps = random_between(&random, 20, shape.many_keys ? 500 : 160);
    uint64_t rarity = random_between(&random, 1, 12);

    world_open(&world, &shape, random);
    while (world.step < steps && world.wrong[0] == '\0') {
        world_any_call(&world);
        if (random_one_in(&world.random, rarity))
            weiri_test_migrate(world.limiter, random_next(&world.random), world.now);
        if (!shape.endless && random_one_in(&world.random, 20) && weir_sweep(world.limiter, world.now, 0) != 1)
            world_wrong(&world, "sweep failed");
    }
    world_close(&world);
    memcpy(wrong, world.wrong, sizeof world.wrong);
}

int main(void)
{
    return world_main("migrations", 2500, run);
}
