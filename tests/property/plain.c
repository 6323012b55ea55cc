/*
 * Random traces with max_lateness endless: the limiter answers as the oracle does, in every field of every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "world.h"

static struct world world;

static void run(random_source random, char wrong[200])
{
    const struct world_shape shape = {
        .endless = true, .many_keys = random_one_in(&random, 6), .deep = random_one_in(&random, 100)};
    uint64_t steps = random_between(&random, 20, shape.deep ? 2500 : shape.many_keys ? 400 : 160);

    world_open(&world, &shape, random);
    while (world.step < steps && world.wrong[0] == '\0')
        world_any_call(&world);
    world_close(&world);
    memcpy(wrong, world.wrong, sizeof world.wrong);
}

int main(void)
{
    return world_main("plain", 3000, run);
}
