/*
 * Guarantees B, A and F, in discrete steps: a custom clock moves only while all threads stand at a barrier, so every
 * call of a step has the same effective stamp, and how many calls on a key must be accepted in a step follows from a
 * plain history by section 3, to the unit, for every algorithm. Meanwhile one thread sweeps and reclaims, and keys come
 * and go, so that segments split, grow and are rebuilt underneath; with no lateness allowed, keys are dropped as soon
 * as may be.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

enum { ASKERS = 3, IN_STEP = 200, SPAN = 600, SHIFT = 50, HISTORY = 64, LIMIT = 9 };

#define WINDOW (40 * WEIR_MILLISECOND)

/* What a key was charged: (stamp, number), newest at length-1 modulo HISTORY. Two windows span at most 40 steps. */
typedef struct history {
    uint64_t owner;
    unsigned length;
    uint64_t stamp[HISTORY];
    uint64_t charged[HISTORY];
} history;

typedef struct run {
    rule_set set;
    weir *limiter;
    uint64_t steps, random;
    _Atomic uint64_t now;
    _Atomic unsigned asking;
    uint64_t base;            /* keys base ... base+SPAN-1 are in use */
    uint64_t key[IN_STEP];
    unsigned tries[IN_STEP];  /* of each asker on this key in this step */
    _Atomic uint64_t accepted[IN_STEP];
    history histories[SPAN];
    pthread_barrier_t barrier;
} run;

static _Atomic uint64_t calls_made;

static uint64_t read_clock(void *argument)
{
    return atomic_load(&((run *)argument)->now);
}

static uint64_t width_of(const weir_rule *rule)
{
    return rule->buckets ? (rule->window_ns + rule->buckets - 1) / rule->buckets : rule->window_ns;
}

/* Units that `rule` would still accept at t, by section 3. */
static uint64_t room(const weir_rule *rule, const history *of, uint64_t t)
{
    uint64_t used = 0, before = 0, width = width_of(rule);
    for (unsigned i = of->length > HISTORY ? of->length - HISTORY : 0; i < of->length; i++) {
        uint64_t stamp = of->stamp[i % HISTORY], charged = of->charged[i % HISTORY];
        switch (rule->algorithm) {
        case WEIR_LOG:
            used += stamp > t - rule->window_ns ? charged : 0;
            break;
        case WEIR_BUCKETS:
            used += stamp / width >= (t - rule->window_ns + 1) / width ? charged : 0;
            break;
        default:
            used += stamp / rule->window_ns == t / rule->window_ns ? charged : 0;
            before += stamp / rule->window_ns + 1 == t / rule->window_ns ? charged : 0;
        }
    }
    /* counter: before * (W-e) + (used + n) * W <= L * W */
    used += (before * (rule->window_ns - t % rule->window_ns) + rule->window_ns - 1) / rule->window_ns;
    return used < rule->limit ? rule->limit - used : 0;
}

/* Between two steps, while nobody asks: what the last step accepted is held against the histories. */
static void check_step(run *self)
{
    uint64_t now = atomic_load(&self->now);
    for (unsigned i = 0; i < IN_STEP; i++) {
        history *of = &self->histories[self->key[i] % SPAN];
        if (of->owner != self->key[i])
            *of = (history){.owner = self->key[i]};
        uint64_t wanted = (uint64_t)self->tries[i] * ASKERS;
        for (size_t rule = 0; rule < self->set.count; rule++) {
            uint64_t fits = room(&self->set.rules[rule], of, now);
            wanted = fits < wanted ? fits : wanted;
        }
        uint64_t got = atomic_load(&self->accepted[i]);
        if (got != wanted)
            failed("%s: key %" PRIu64 " at %" PRIu64 ": wanted %" PRIu64 " accepted in this step, got %" PRIu64,
                   self->set.name, self->key[i], now, wanted, got);
        if (got) {
            of->stamp[of->length % HISTORY] = now;
            of->charged[of->length++ % HISTORY] = got;
        }
    }
}

static void next_step(run *self)
{
    uint64_t step = WINDOW / 20 + random_below(&self->random, WINDOW / 5);
    atomic_store(&self->now, atomic_load(&self->now) + step);
    self->base += random_below(&self->random, SHIFT);
    uint64_t first = random_below(&self->random, SPAN);
    for (unsigned i = 0; i < IN_STEP; i++) {
        /* distinct keys of the span, every third one or so */
        self->key[i] = self->base + (first + 3 * i) % SPAN;
        self->tries[i] = (unsigned)random_below(&self->random, 5);
        atomic_store(&self->accepted[i], 0);
    }
    atomic_store(&self->asking, ASKERS);
}

/* All calls of one thread in one step, from a place of its own on. */
static void ask_all(run *self, unsigned index, uint64_t now)
{
    uint64_t calls = 0;
    for (unsigned n = 0; n < IN_STEP; n++) {
        unsigned i = (n + index * IN_STEP / ASKERS) % IN_STEP;
        test_key key = key_number(self->key[i]);
        weir_request request = request_for(&key, 1);
        for (unsigned t = 0; t < self->tries[i]; t++) {
            int verdict = index == 0   ? weir_allow(self->limiter, key.bytes, key.size)
                          : index == 1 ? weir_take(self->limiter, &request, WEIR_NOW, NULL)
                                       : weir_take(self->limiter, &request, now, NULL);
            if (verdict != 0 && verdict != 1)
                failed("%s: wanted 0 or 1, got %d", self->set.name, verdict);
            atomic_fetch_add(&self->accepted[i], (uint64_t)verdict);
            calls++;
        }
    }
    atomic_fetch_add(&calls_made, calls);
    atomic_fetch_sub(&self->asking, 1);
}

static void sweep_meanwhile(run *self, uint64_t step, uint64_t now)
{
    do {
        int swept = weir_sweep(self->limiter, now, step % 3 ? 100 : 0);
        if (swept != 0 && swept != 1)
            failed("weir_sweep: wanted 0 or 1, got %d", swept);
        sched_yield();
    } while (atomic_load(&self->asking) > 0);
    if (step % 16 == 0)
        want_done("weir_reclaim", weir_reclaim(self->limiter));
}

static void work(void *shared, unsigned index)
{
    run *self = shared;
    for (uint64_t step = 0; step < self->steps; step++) {
        if (index == 0)
            next_step(self);
        pthread_barrier_wait(&self->barrier);
        uint64_t now = atomic_load(&self->now);
        if (index < ASKERS)
            ask_all(self, index, now);
        else
            sweep_meanwhile(self, step, now);
        pthread_barrier_wait(&self->barrier);
        if (index == 0)
            check_step(self);
    }
}

static void run_kind(enum kind kind, uint64_t steps, uint64_t seed)
{
    static run self;
    memset(&self, 0, sizeof(self));
    self.set = rule_set_of(kind, LIMIT, WINDOW);
    self.steps = steps;
    self.random = seed + kind;
    self.now = 1000 * WEIR_SECOND + random_below(&self.random, WEIR_SECOND);
    self.base = 1; /* 0 owns no history */
    weir_options options = weir_options_manual();
    options.clock = WEIR_CLOCK_CUSTOM;
    options.clock_read = read_clock;
    options.clock_argument = &self;
    options.max_lateness_ns = 0;
    self.limiter = opened(&self.set, &options);
    pthread_barrier_init(&self.barrier, NULL, ASKERS + 1);
    run_threads(ASKERS + 1, work, &self);
    pthread_barrier_destroy(&self.barrier);

    atomic_fetch_add(&self.now, 3 * WINDOW);
    want_equal("weir_sweep of everything", 1, (uint64_t)weir_sweep(self.limiter, self.now, 0));
    weir_statistics stats = stats_of(self.limiter);
    want_equal("keys after everything expired", 0, stats.keys);
    if (stats.splits == 0 || stats.compactions == 0 || stats.swept == 0)
        failed("%s: wanted splits, compactions and swept keys, got %" PRIu64 ", %" PRIu64 ", %" PRIu64, self.set.name,
               stats.splits, stats.compactions, stats.swept);
    want_done("weir_close", weir_close(self.limiter));
}

int main(void)
{
    uint64_t seed = seed_of_run(), steps = scaled(400, 40);
    for (unsigned kind = 0; kind < KINDS; kind++)
        run_kind((enum kind)kind, steps, seed);
    printf("steps: %" PRIu64 " steps of %d kinds, %" PRIu64 " calls\n", steps, KINDS, calls_made);
    return 0;
}
