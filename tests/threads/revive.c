/*
 * Guarantee C, at its sharpest moment: a key is charged just as it is swept away. One thread moves a manual clock past
 * everything's expiry and at once asks for each key until it is refused, while another sweeps at that same time without
 * a pause. A charge that lands on what the sweep is taking out must not be lost: each time exactly L are accepted on
 * every key, and what remains is told without a gap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

enum { KEYS = 48, LIMIT = 3 };

#define WINDOW WEIR_SECOND

typedef struct run {
    rule_set set;
    weir *limiter;
    uint64_t steps;
    _Atomic uint64_t now;
    _Atomic bool done;
} run;

static uint64_t calls_made, swept_made;

static void ask_until_refused(run *self, uint64_t number, uint64_t now)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    weir_decision decision;
    for (unsigned call = 0; call <= LIMIT; call++) {
        int wanted = call < LIMIT, verdict = weir_take(self->limiter, &request, now, &decision);
        uint64_t remaining = call < LIMIT ? LIMIT - 1 - call : 0;
        if (verdict != wanted || decision.remaining != remaining)
            failed("%s: key %" PRIu64 " at %" PRIu64 ", call %u: wanted %d with %" PRIu64 " remaining, "
                   "got %d with %" PRIu64,
                   self->set.name, number, now, call + 1, wanted, remaining, verdict, decision.remaining);
    }
    calls_made += LIMIT + 1;
}

static void work(void *shared, unsigned index)
{
    run *self = shared;
    if (index == 1) {
        while (!atomic_load(&self->done))
            if (weir_sweep(self->limiter, atomic_load(&self->now), 0) != 1)
                failed("%s: weir_sweep did not reach the end", self->set.name);
        return;
    }
    /* Longer where the sweep has had no processor yet. */
    for (uint64_t step = 0;
         step < self->steps || (step < 200 * self->steps && stats_of(self->limiter).swept == 0); step++) {
        uint64_t now = atomic_load(&self->now) + 3 * WINDOW;
        atomic_store(&self->now, now);
        /* from another key on each time: the sweep meets each of them now and then */
        for (uint64_t i = 0; i < KEYS; i++)
            ask_until_refused(self, (step * 7 + i) % KEYS, now);
    }
    atomic_store(&self->done, true);
}

static void run_kind(enum kind kind, uint64_t steps)
{
    run self = {.set = rule_set_of(kind, LIMIT, WINDOW), .steps = steps};
    weir_options options = weir_options_manual();
    options.max_lateness_ns = 0;
    self.limiter = opened(&self.set, &options);
    run_threads(2, work, &self);
    weir_statistics stats = stats_of(self.limiter);
    if (stats.swept == 0)
        failed("%s: wanted keys swept meanwhile", self.set.name);
    swept_made += stats.swept;
    want_done("weir_close", weir_close(self.limiter));
}

int main(void)
{
    uint64_t steps = scaled(5000, 200);
    for (unsigned kind = 0; kind < KINDS; kind++)
        run_kind((enum kind)kind, steps);
    printf("revive: %" PRIu64 " calls, %" PRIu64 " keys swept meanwhile\n", calls_made, swept_made);
    return 0;
}
