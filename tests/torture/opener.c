/* Limiters of its own, opened and closed while the others run, under the same janitor. SPDX-License-Identifier: MIT */
#include "torture.h"

static void use(life *self, weir *limiter, const torture_shape *shape, uint64_t now)
{
    uint64_t calls = random_below(&self->random, 3) * random_below(&self->random, 200);
    for (uint64_t call = 0; call < calls; call++) {
        test_key key = key_number(call / 2);
        weir_request request = request_for(&key, 1);
        request.plan = (uint32_t)random_below(&self->random, shape->plans);
        int verdict = weir_take(limiter, &request, now, NULL);
        if (verdict != 0 && verdict != 1)
            fault("weir_take on a small limiter: %d", verdict);
        if (call % 100 == 99 && weir_sweep(limiter, now, 0) != 1)
            fault("weir_sweep on a small limiter");
    }
    if (random_below(&self->random, 4) == 0)
        fault_unless("weir_reclaim", 0, (uint64_t)weir_reclaim(limiter));
}

void opener_live(life *self)
{
    uint64_t most = 1 + random_below(&self->random, 20);
    for (uint64_t i = 0; i < most && atomic_load(&self->round->asking) > 0; i++) {
        quarantine_account account = {0};
        bool real = random_below(&self->random, 2);
        weir_options options = real ? weir_options_default() : weir_options_manual();
        unsigned number = (unsigned)random_below(&self->random, TORTURE_SHAPES);
        torture_shape shape = torture_shape_of(number, WEIR_MILLISECOND, false);
        weir *limiter = (weir *)self;
        options.plans = shape.plans;
        options.plan_limits = shape.plan_limits;
        options.max_limit = shape.max_limit;
        options.max_lateness_ns = 0;
        options.sweep_interval_ns = WEIR_MILLISECOND;
        quarantine_use(&account, &options);
        int error = weir_open(&limiter, shape.rules, shape.count, &options);
        if (error != 0 && (error != -ENOMEM || limiter))
            fault("weir_open: %d", error);
        if (error == 0) {
            use(self, limiter, &shape, real ? WEIR_NOW : 1000 * WEIR_SECOND + i);
            fault_unless("weir_close", 0, (uint64_t)weir_close(limiter));
        }
        if (account.bytes != 0 || account.blocks != 0)
            fault("G: %s: %" PRIu64 " bytes in %" PRIu64 " blocks after weir_close", shape.name,
                  (uint64_t)account.bytes, (uint64_t)account.blocks);
        tell(&torture_told.opened, 1);
    }
}
