/*
 * Guarantee F with max_keys: however many threads insert, never more keys are held than that; a full table refuses or
 * admits new keys as chosen, flagged, and goes on counting the keys it holds; keys that expire make room again without
 * any call of weir_sweep.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

enum { ASKERS = 4, LIMIT = 3 };

#define WINDOW   (10 * WEIR_MILLISECOND)
#define LATENESS WEIR_MILLISECOND

typedef struct run {
    rule_set set;
    weir *limiter;
    bool admit;
    uint64_t max_keys, calls;
    _Atomic uint64_t now, recorded, full;
    _Atomic unsigned asking;
} run;

#define FIRST    (UINT64_C(1) << 44)

static _Atomic uint64_t calls_made, samples_made;

/* Keys that are there before the threads start. */
static uint64_t first_keys(const run *self)
{
    return (self->max_keys + 1) / 2;
}

/* Returns whether the call was recorded; an unflagged refusal is the key's own limit and counts as held. */
static bool ask(run *self, uint64_t number, uint64_t now)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    weir_decision decision;
    int verdict = weir_take(self->limiter, &request, now, &decision);
    atomic_fetch_add(&calls_made, 1);
    if ((verdict != 0 && verdict != 1) || (decision.flags & ~(unsigned)(WEIR_TABLE_FULL | WEIR_LATE)))
        failed("%s: got %d, flags %u", self->set.name, verdict, decision.flags);
    if (!(decision.flags & WEIR_TABLE_FULL)) {
        atomic_fetch_add(&self->recorded, (uint64_t)verdict);
        return true;
    }
    want_equal("verdict of a full table", self->admit, (uint64_t)verdict);
    want_equal("retry of a full table", 0, decision.retry_after_ns);
    atomic_fetch_add(&self->full, 1);
    return false;
}

static void sample(run *self)
{
    uint64_t keys = stats_of(self->limiter).keys;
    if (keys > self->max_keys)
        failed("%s: wanted at most %" PRIu64 " keys, got %" PRIu64, self->set.name, self->max_keys, keys);
    atomic_fetch_add(&samples_made, 1);
}

/* Each thread inserts keys of its own, more than there is room for, and keys that others insert too. */
static void insert_at_one_time(void *shared, unsigned index)
{
    run *self = shared;
    if (index == ASKERS) {
        for (; atomic_load(&self->asking) > 0; sched_yield())
            sample(self);
        return;
    }
    for (uint64_t call = 0; call < self->calls; call++)
        (void)ask(self, call % 2 ? call : (index + 1) * self->calls + call, atomic_load(&self->now));
    atomic_fetch_sub(&self->asking, 1);
}

/* The same while time goes on, so that keys come, expire and give room. */
static void insert_as_time_goes(void *shared, unsigned index)
{
    run *self = shared;
    if (index == ASKERS) {
        for (; atomic_load(&self->asking) > 0; sched_yield())
            sample(self);
        return;
    }
    for (uint64_t call = 0; call < self->calls; call++) {
        uint64_t now = atomic_fetch_add(&self->now, 2 * WINDOW / self->max_keys) + 1;
        (void)ask(self, (UINT64_C(1) << 40) + call * ASKERS + index, now);
    }
    atomic_fetch_sub(&self->asking, 1);
}

/*
 * All keys held have expired: as many new ones find room, with the table's own work alone. A key that is refused made
 * no room where it belongs; others that come do. Returns calls made.
 */
static uint64_t fill_again(run *self, uint64_t first)
{
    uint64_t now = atomic_fetch_add(&self->now, 4 * WINDOW + LATENESS) + 4 * WINDOW + LATENESS;
    uint64_t held = 0, calls = 0, most = 16 * self->max_keys + 1000;
    for (; held < self->max_keys && calls < most; calls++)
        if (ask(self, first + calls, now) && ++held % 64 == 0)
            sample(self);
    if (held != self->max_keys)
        failed("%s: all keys have expired: wanted room for %" PRIu64 " new ones, got %" PRIu64 " in %" PRIu64 " calls",
               self->set.name, self->max_keys, held, calls);
    want_equal("keys held, filled again", self->max_keys, stats_of(self->limiter).keys);
    if (ask(self, first + calls, now))
        failed("%s: a key more than max_keys was recorded", self->set.name);
    return calls;
}

static int count_key(void *argument, const weir_key *key)
{
    (void)key;
    ++*(uint64_t *)argument;
    return 0;
}

static void check_full(run *self)
{
    uint64_t seen = 0, recorded, now = atomic_load(&self->now);
    for (uint64_t number = UINT64_C(1) << 41; ask(self, number, now); number++)
        continue;
    want_equal("keys held by a full table", self->max_keys, stats_of(self->limiter).keys);
    want_done("weir_each", weir_each(self->limiter, now, count_key, &seen));
    want_equal("keys seen in a full table", self->max_keys, seen);
    /* Those that came first have one charge each, and go on to their limit. */
    recorded = atomic_load(&self->recorded);
    for (unsigned call = 0; call < LIMIT + 1; call++)
        for (uint64_t i = 0; i < first_keys(self); i++)
            if (!ask(self, FIRST + i, now))
                failed("%s: key %" PRIu64 " is held, but was answered with a full table", self->set.name, i);
    want_equal("charges on keys held", first_keys(self) * (LIMIT - 1), self->recorded - recorded);
    want_equal("keys held afterwards", self->max_keys, stats_of(self->limiter).keys);
}

static uint64_t run_one(enum kind kind, uint64_t max_keys, bool admit)
{
    run self = {.set = rule_set_of(kind, LIMIT, WINDOW), .admit = admit, .max_keys = max_keys};
    weir_options options = weir_options_manual();
    options.max_keys = max_keys;
    options.when_full = admit ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE;
    options.max_lateness_ns = LATENESS;
    self.now = 1000 * WEIR_SECOND;
    self.calls = 3 * max_keys;
    self.limiter = opened(&self.set, &options);

    for (uint64_t i = 0; i < first_keys(&self); i++)
        (void)ask(&self, FIRST + i, self.now);
    self.asking = ASKERS;
    run_threads(ASKERS + 1, insert_at_one_time, &self);
    want_at_most("recorded calls", max_keys * LIMIT, self.recorded);
    if (self.full == 0)
        failed("%s: wanted calls on a full table", self.set.name);
    check_full(&self);
    uint64_t asked = fill_again(&self, UINT64_C(1) << 42);

    self.asking = ASKERS;
    run_threads(ASKERS + 1, insert_as_time_goes, &self);
    sample(&self);
    asked += fill_again(&self, UINT64_C(1) << 43);
    want_done("weir_close", weir_close(self.limiter));
    return asked;
}

int main(void)
{
    uint64_t asked = 0, wanted = 0, many = scaled(6000, 500);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned admit = 0; admit < 2; admit++) {
            asked += run_one((enum kind)kind, many, admit) + run_one((enum kind)kind, 1, admit) +
                     run_one((enum kind)kind, 100, admit);
            wanted += 2 * (many + 1 + 100);
        }
    printf("maxkeys: %" PRIu64 " calls, %" PRIu64 " samples; %" PRIu64 " calls to find room for %" PRIu64
           " keys again\n",
           calls_made, samples_made, asked, wanted);
    return 0;
}
