/*
 * One limiter under attack: opened, charged with anchors, asked by threads that die and are replaced, judged.
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

const char *torture_describe(const torture_round *round)
{
    static const char *const times[] = {"frozen", "given", "custom", "real"};
    static char text[512];
    snprintf(text, sizeof(text),
             "round %u of WEIR_SEED=%" PRIu64 ": %s, %s time, lateness %" PRId64 " of %" PRIu64
             ", plans %u, max_keys %" PRIu64 ", 1 in %" PRIu64 " allocations fails%s%s%s%s%s%s%s",
             round->number, round->seed, round->shape.name, times[round->time], (int64_t)round->lateness, round->unit,
             round->shape.plans, round->max_keys, round->fail_one_in, round->exact ? ", exact" : "",
             round->resets ? ", resets" : "", round->changes ? ", limits change" : "",
             round->forced ? ", forced migrations" : "", round->admits ? ", admits when full" : "",
             round->swift ? ", swift" : "", round->janitor ? ", janitor" : "");
    return text;
}

static unsigned thread_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 2 ? 8 : cores > THREADS_MAX / 4 ? THREADS_MAX : 4 * (unsigned)cores;
}

enum { NOT_ASKERS = 4 }; /* two tenders, watcher, opener */

/* Every shape meets every kind of time in TORTURE_SHAPES * TORTURE_TIMES rounds; the rest is chance. */
static void plan(torture_round *round, uint64_t calls, uint64_t *random)
{
    unsigned shape = round->number % TORTURE_SHAPES;
    round->time = (enum torture_time)((round->number + round->number / TORTURE_SHAPES) % TORTURE_TIMES);
    round->unit = round->time == TIME_REAL ? 4 * WEIR_MILLISECOND : WEIR_SECOND;
    const uint64_t latenesses[] = {0, round->unit / 4, 2 * round->unit, UINT64_MAX};
    const uint64_t failures[] = {0, 0, 50, 7};
    bool frozen = round->time == TIME_FROZEN;
    round->lateness = latenesses[random_below(random, frozen || round->time == TIME_REAL ? 3 : 4)];
    round->fail_one_in = failures[random_below(random, 4)];
    round->exact = frozen && random_below(random, 2);
    round->resets = !round->exact && random_below(random, 2);
    round->changes = !round->exact && random_below(random, 3) == 0;
    round->forced = random_below(random, 2);
    round->swift = !frozen && random_below(random, 2);
    round->max_keys = random_below(random, 4) ? 0 : 300;
    round->admits = random_below(random, 3) == 0;
    round->janitor = round->time == TIME_REAL && random_below(random, 4);
    round->shape = torture_shape_of(shape, round->unit, round->exact || random_below(random, 3) == 0);
    round->threads = thread_count();
    round->calls = 1 + calls / (round->threads - NOT_ASKERS);
    round->asking = round->threads - NOT_ASKERS;
    round->clock = 100000 * WEIR_SECOND + random_below(random, WEIR_SECOND);
}

static void open_limiter(torture_round *round)
{
    char error[256] = "";
    weir_options options;
    moment_options(round, &options);
    options.plans = round->shape.plans;
    options.plan_limits = round->shape.plan_limits;
    options.max_limit = round->shape.max_limit;
    options.max_keys = round->max_keys;
    options.when_full = round->admits ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE;
    options.error = error;
    options.error_size = sizeof(error);
    quarantine_use(&round->account, &options);
    int result = weir_open(&round->limiter, round->shape.rules, round->shape.count, &options);
    if (result != 0)
        fault("weir_open: %d: %s", result, error);
}

/* --- threads --- */

static void *live(void *argument)
{
    static void (*const lives[])(life * self) = {tender_live, tender_live, watcher_live, opener_live};
    life *self = argument;
    shake_me();
    if (self->index == NOT_ASKERS - 1 && self->round->number % 2)
        watcher_live(self); /* a second one instead of the opener */
    else if (self->index < NOT_ASKERS)
        lives[self->index](self);
    else
        asker_live(self);
    return NULL;
}

/* One thread after the other, until the asker's calls are used up, or for the others until there is no asker. */
static void keep_alive(void *shared, unsigned index)
{
    torture_round *round = shared;
    bool asks = index >= NOT_ASKERS;
    life self = {.round = round, .index = index, .calls = asks ? round->calls : 0};
    self.random = mix(round->seed + round->number * 1009 + index);
    while (asks ? self.calls > 0 : atomic_load(&round->asking) > 0) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, live, &self);
        if (error)
            fault("pthread_create: %s", strerror(error));
        pthread_join(thread, NULL);
        tell(&torture_told.died, 1);
    }
    if (asks)
        atomic_fetch_sub(&round->asking, 1);
    tell(&torture_told.calls, self.asked);
    tell(&torture_told.accepted, self.accepted);
    tell(&torture_told.refused, self.refused);
    tell(&torture_told.unrecorded, self.unrecorded);
    tell(&torture_told.looks, self.looks);
}

/* Keys that are there before the threads start. An asker may pick a cost of 0, or of too much: so again and again. */
static void charge_anchors(torture_round *round)
{
    life self = {.round = round, .random = round->seed};
    const ledger *own = &round->ledgers[self.index];
    for (uint64_t number = FIRST_ANCHOR; number < FIRST_MANY; number++)
        for (uint64_t tries = 0, had = own->count;; tries++) {
            asker_take(&self, number);
            if (own->count > had && torture_records(&round->shape, own->entries[own->count - 1].cost))
                break;
            if (tries == 1000)
                fault("a new key is refused for ever");
        }
}

void torture_run(uint64_t seed, unsigned number, uint64_t calls)
{
    static torture_round round;
    round = (torture_round){.seed = seed, .number = number};
    uint64_t random = mix(seed) + number;
    plan(&round, calls, &random);
    fault_in(&round);
    open_limiter(&round);
    charge_anchors(&round);
    quarantine_fail_one_in(round.fail_one_in);
    run_threads(round.threads, keep_alive, &round);
    quarantine_fail_one_in(0);
    ending_check(&round);
    fault_unless("weir_close", 0, (uint64_t)weir_close(round.limiter));
    if (round.account.bytes != 0 || round.account.blocks != 0)
        fault("G: %" PRIu64 " bytes in %" PRIu64 " blocks after weir_close", (uint64_t)round.account.bytes,
              (uint64_t)round.account.blocks);
    quarantine_empty();
    if (poison_total() != 0)
        fault("G: freed memory was read");
    tell(&torture_told.rounds, 1);
    fault_in(NULL);
}
