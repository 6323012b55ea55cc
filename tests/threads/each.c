/*
 * weir_each among threads (A): while others insert, let expire and sweep, a key that is there throughout is seen
 * exactly once in every walk, and no key is seen twice. From within the visit every function but weir_close
 * may be called.
 *
 * One thread drives the time: it charges every pinned key anew before it moves on by less than a window, so that the
 * pinned keys never expire. The other keys come, expire, and come again under the same names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

enum { PINNED = 400, PASSING = 20000, WALKERS = 2, INSERTERS = 2, STOP = 7 };

#define WINDOW  (10 * WEIR_MILLISECOND)
#define PASSING_FIRST (UINT64_C(1) << 32)

typedef struct run {
    rule_set set;
    weir *limiter;
    uint64_t walks, seed;
    _Atomic uint64_t now;
    _Atomic unsigned walking;
    weir_identity *names; /* of pinned and passing keys, sorted */
    uint64_t *numbers;    /* in the same order */
} run;

typedef struct walk {
    run *run;
    uint32_t *seen; /* by number: pinned, then passing */
    uint64_t visits, now;
} walk;

static _Atomic uint64_t visits_made, calls_made;

static int by_name(const void *a, const void *b)
{
    const weir_identity *x = a, *y = b;
    if (x->word[0] != y->word[0])
        return x->word[0] < y->word[0] ? -1 : 1;
    return x->word[1] < y->word[1] ? -1 : x->word[1] > y->word[1];
}

static test_key key_of(uint64_t place)
{
    return key_number(place < PINNED ? place : PASSING_FIRST + place - PINNED);
}

/* Where a shown key stands among ours, by its identity. */
static uint64_t place_of(const run *self, const weir_key *key)
{
    size_t low = 0, high = PINNED + PASSING;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = by_name(&self->names[middle], &key->identity);
        if (order == 0)
            return self->numbers[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    failed("%s: a key was shown that was never charged", self->set.name);
}

static int visit(void *argument, const weir_key *shown)
{
    walk *self = argument;
    uint64_t place = place_of(self->run, shown);
    test_key key = key_of(place);
    if (shown->hashed != (key.size > 15) || shown->key_len != (shown->hashed ? 16 : key.size) ||
        (!shown->hashed && memcmp(shown->key, key.bytes, key.size) != 0))
        failed("%s: key %" PRIu64 " was shown with other bytes", self->run->set.name, place);
    if (self->seen[place]++)
        failed("%s: key %" PRIu64 " was seen twice in one walk", self->run->set.name, place);
    self->visits++;
    return 0;
}

/* ---- while all others work ---- */

static void walker(run *self)
{
    walk mine = {.run = self};
    for (uint64_t n = 0; n < self->walks; n++) {
        mine.seen = calloc(PINNED + PASSING, sizeof(*mine.seen));
        mine.now = atomic_load(&self->now);
        want_done("weir_each", weir_each(self->limiter, mine.now, visit, &mine));
        for (uint64_t pinned = 0; pinned < PINNED; pinned++)
            if (mine.seen[pinned] != 1)
                failed("%s: pinned key %" PRIu64 ": wanted to be seen once, got %" PRIu32, self->set.name, pinned,
                       mine.seen[pinned]);
        free(mine.seen);
    }
    atomic_fetch_add(&visits_made, mine.visits);
    atomic_fetch_sub(&self->walking, 1);
}

static void charge(run *self, uint64_t place, uint64_t now)
{
    test_key key = key_of(place);
    weir_request request = request_for(&key, 1);
    int verdict = weir_take(self->limiter, &request, now, NULL);
    if (verdict < 0 || (place < PINNED && verdict != 1))
        failed("%s: weir_take: got %d", self->set.name, verdict);
    atomic_fetch_add(&calls_made, 1);
}

static void driver(run *self)
{
    while (atomic_load(&self->walking) > 0) {
        uint64_t now = atomic_load(&self->now);
        for (uint64_t place = 0; place < PINNED; place++)
            charge(self, place, now);
        atomic_store(&self->now, now + WINDOW / 4);
        if (weir_sweep(self->limiter, now, 0) < 0)
            failed("weir_sweep failed");
        sched_yield();
    }
    want_done("weir_reclaim", weir_reclaim(self->limiter));
}

static void inserter(run *self, unsigned index)
{
    uint64_t random = self->seed + index, first = 0;
    while (atomic_load(&self->walking) > 0) {
        /* A stretch of the names, so that keys of one time leave together. */
        first = (first + 700) % PASSING;
        for (unsigned i = 0; i < 500; i++)
            charge(self, PINNED + (first + random_below(&random, 900)) % PASSING, atomic_load(&self->now));
        if (weir_sweep(self->limiter, atomic_load(&self->now), 200) < 0)
            failed("weir_sweep failed");
    }
}

static void work(void *shared, unsigned index)
{
    run *self = shared;
    if (index == 0)
        driver(self);
    else if (index <= WALKERS)
        walker(self);
    else
        inserter(self, index);
}

/* ---- in quiet ---- */

/* Calls everything that may be called, and keys come and go at every visit. */
static int visit_and_call(void *argument, const weir_key *shown)
{
    walk *self = argument;
    run *of = self->run;
    weir_request request = {.identity = &shown->identity, .cost = 1};
    weir_decision decision;
    uint64_t limits[] = {of->set.rules[0].limit, of->set.rules[1].limit};
    int result = visit(argument, shown);
    if (weir_take(of->limiter, &request, self->now, NULL) != 1 ||
        weir_peek(of->limiter, &request, self->now, &decision) != 1)
        failed("%s: wanted take and peek within a visit accepted", of->set.name);
    if (self->visits % 64 == 0) {
        want_equal("weir_sweep within a visit", 1, (uint64_t)weir_sweep(of->limiter, self->now, 0));
        want_done("weir_reclaim within a visit", weir_reclaim(of->limiter));
        want_done("weir_reset within a visit", weir_reset(of->limiter, &request));
        want_done("weir_set_limits within a visit", weir_set_limits(of->limiter, 0, limits, of->set.count));
        for (uint64_t i = 0; i < 300; i++)
            charge(of, PINNED + (self->visits * 300 + i) % PASSING, self->now);
    }
    return result;
}

static int stop_at_ten(void *argument, const weir_key *shown)
{
    (void)shown;
    return ++*(unsigned *)argument == 10 ? STOP : 0;
}

static void in_quiet(run *self)
{
    uint64_t now = atomic_load(&self->now) + 10 * WINDOW;
    unsigned seen = 0;
    walk mine = {.run = self, .now = now};
    mine.seen = calloc(PINNED + PASSING, sizeof(*mine.seen));
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(self->limiter, now, 0));
    want_done("weir_each", weir_each(self->limiter, now, visit, &mine));
    want_equal("keys seen after all expired", 0, mine.visits);
    for (uint64_t place = 0; place < PINNED; place++)
        charge(self, place, now);
    want_done("weir_each", weir_each(self->limiter, now, visit, &mine));
    want_equal("keys seen", PINNED, mine.visits);
    want_equal("weir_each, stopped", STOP, (uint64_t)weir_each(self->limiter, now, stop_at_ten, &seen));
    want_equal("keys seen until the stop", 10, seen);
    memset(mine.seen, 0, (PINNED + PASSING) * sizeof(*mine.seen));
    want_done("weir_each", weir_each(self->limiter, now, visit_and_call, &mine));
    for (uint64_t pinned = 0; pinned < PINNED; pinned++)
        want_equal("times a pinned key was seen in a walk that calls", 1, mine.seen[pinned]);
    free(mine.seen);
    if (weir_each(self->limiter, WEIR_NOW, visit, &mine) != -EINVAL)
        failed("weir_each took WEIR_NOW without a clock");
}

static void name_all(run *self)
{
    self->names = calloc(PINNED + PASSING, sizeof(*self->names));
    self->numbers = calloc(PINNED + PASSING, sizeof(*self->numbers));
    for (uint64_t place = 0; place < PINNED + PASSING; place++) {
        test_key key = key_of(place);
        want_done("weir_identify", weir_identify(self->limiter, key.bytes, key.size, &self->names[place]));
        self->names[place].owner = place; /* carried along while sorting */
    }
    qsort(self->names, PINNED + PASSING, sizeof(*self->names), by_name);
    for (uint64_t i = 0; i < PINNED + PASSING; i++)
        self->numbers[i] = self->names[i].owner;
}

static void run_kind(enum kind kind, uint64_t walks, uint64_t seed)
{
    run self = {.set = rule_set_of(kind, 1000000, WINDOW), .walks = walks, .seed = seed, .walking = WALKERS};
    weir_options options = weir_options_manual();
    options.max_lateness_ns = WEIR_MILLISECOND;
    self.now = 1000 * WEIR_SECOND;
    self.limiter = opened(&self.set, &options);
    name_all(&self);
    for (uint64_t place = 0; place < PINNED; place++)
        charge(&self, place, self.now);
    run_threads(1 + WALKERS + INSERTERS, work, &self);
    in_quiet(&self);
    want_done("weir_close", weir_close(self.limiter));
    free(self.names);
    free(self.numbers);
}

int main(void)
{
    uint64_t seed = seed_of_run(), walks = scaled(50, 5);
    run_kind(KIND_COUNTER, walks, seed);
    run_kind(KIND_LOG, walks, seed + 1);
    run_kind(KIND_BUCKETS, walks, seed + 2);
    run_kind(KIND_TWO, walks, seed + 3);
    printf("each: %" PRIu64 " walks, %" PRIu64 " visits, %" PRIu64 " calls meanwhile\n", 4 * WALKERS * walks,
           visits_made, calls_made);
    return 0;
}
