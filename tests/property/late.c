/*
 * Calls far later than max_lateness among sweeps: guarantee B, and that lateness is flagged only where it may be. How
 * that can be seen from outside is told in ledger.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ledger.h"

#include <string.h>

static struct world world;

static void run(random_source random, char wrong[200])
{
    const struct world_shape shape = {.beyond = true, .fixed_limits = true, .many_keys = random_one_in(&random, 3)};
    uint64_t steps = random_between(&random, 20, shape.many_keys ? LEDGER_STEPS : 160);

    ledger_begin();
    world_open(&world, &shape, random);
    while (world.step < steps && world.wrong[0] == '\0')
        ledger_step(&world);
    world_close(&world);
    memcpy(wrong, world.wrong, sizeof world.wrong);
}

int main(void)
{
    return world_main("late", 3000, run);
}
