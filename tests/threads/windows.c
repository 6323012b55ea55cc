/*
 * Guarantee B in real time: no window of any key holds more than L, while the janitor sweeps every millisecond, keys
 * come and go, stamps are late, and (in some runs) limits change and keys are reset.
 *
 * What can be known from outside. The effective stamp of an accepted call is max(now, newest stamp recorded, floor):
 * it is not told, and cannot be worked out as a running maximum, since the order in which threads were accepted is not
 * known. But it lies in [low, high]: low = the now that was passed; high = the clock read after the call, since every
 * stamp recorded before, and every floor, came from a clock read earlier still. For a set S of accepted calls with
 * high <= x and low > x-W, all effective stamps lie in (x-W, x]. The last of S, in the order of acceptance, has the
 * newest effective stamp t <= x (stamps of a key never fall), so that all of S lies in its window (t-W, t], and B says
 * that they add up to at most L. So a sum above L is a fault, whatever the interleaving; and x = each `high` is enough.
 *
 *   resets   each one that may lie within (x-W, x] starts the sum anew at most once: bound L * (1 + resets)
 *   limits   the bound is the largest limit ever set
 *   counter  not in B; but certainly accepted in aligned window i: S(i) <= L, and with e the largest offset of S(i):
 *            S(i-1) * (W-e) + S(i) * W <= L * W, since the counts only grow and e only helps
 *   exact    a log of limit 1 tells its stamp: an accepted call's release_after_ns is t + W - now. So every effective
 *            stamp is known, however late the call was: stamps of one key must lie at least W apart
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

enum { ASKERS = 4, HOT = 4, GENERATION_KEYS = 400 };

#define WINDOW     (4 * WEIR_MILLISECOND)
#define GENERATION (2 * WEIR_MILLISECOND)

typedef struct record {
    uint64_t key, low, high, charge; /* charge 0: a reset */
} record;

typedef struct run {
    const char *name;
    rule_set set;
    uint64_t limit, max_limit;
    uint64_t late;  /* up to how many ns late, 0: on time */
    bool disturbed; /* limits change, keys are reset */
    bool exact;     /* limit 1: [low, high] is the stamp itself */
    uint64_t calls, seed;
    weir *limiter;
    record *records[ASKERS];
    size_t count[ASKERS];
    _Atomic unsigned asking;
} run;

static uint64_t calls_made, accepted_sum, splits_sum, compactions_sum;

/* Half of the calls go to a few hot keys, the others to keys that live for some milliseconds. */
static uint64_t pick_key(uint64_t *random, uint64_t clock)
{
    uint64_t pick = random_next(random);
    if (pick % 4 == 0)
        return pick / 4 % HOT;
    uint64_t generation = clock / GENERATION - pick / 4 % 3;
    return HOT + generation * GENERATION_KEYS + pick / 16 % GENERATION_KEYS;
}

static void ask(run *self, uint64_t *random, record *into)
{
    uint64_t before = weir_now(self->limiter);
    weir_decision decision;
    into->key = pick_key(random, before);
    into->charge = 1 + random_below(random, self->limit > 1 ? 3 : 1);
    into->low = before - (self->late ? random_below(random, self->late) : 0);
    if (self->set.rules[0].meter == WEIR_PER_REQUEST)
        into->charge = 1;
    test_key key = key_number(into->key);
    weir_request request = request_for(&key, into->charge);
    int verdict = weir_take(self->limiter, &request, into->low, &decision);
    into->high = weir_now(self->limiter);
    if (verdict != 0 && verdict != 1)
        failed("%s: wanted 0 or 1, got %d", self->name, verdict);
    if (decision.limit < self->limit || decision.limit > self->max_limit)
        failed("%s: limit %" PRIu64 " was never set", self->name, decision.limit);
    if (verdict == 0)
        into->charge = 0;
    if (verdict == 1 && self->exact) {
        uint64_t stamp = into->low + decision.release_after_ns - WINDOW;
        if (stamp < into->low || stamp > into->high)
            failed("%s: effective stamp %" PRIu64 " outside [%" PRIu64 ", %" PRIu64 "]", self->name, stamp, into->low,
                   into->high);
        into->low = into->high = stamp;
    }
}

static void work(void *shared, unsigned index)
{
    run *self = shared;
    uint64_t random = self->seed + index * 1000003;
    if (index == ASKERS) {
        while (atomic_load(&self->asking) > 0) {
            uint64_t limit = self->limit + random_below(&random, self->max_limit - self->limit + 1);
            want_done("weir_set_limits", weir_set_limits(self->limiter, 0, &limit, 1));
            sched_yield();
        }
        return;
    }
    record *next = self->records[index];
    for (uint64_t call = 0; call < self->calls; call++) {
        if (self->disturbed && call % 256 == 255) {
            *next = (record){.low = weir_now(self->limiter)};
            next->key = pick_key(&random, next->low);
            test_key key = key_number(next->key);
            weir_request request = request_for(&key, 1);
            want_done("weir_reset", weir_reset(self->limiter, &request));
            next->high = weir_now(self->limiter);
            next++;
        } else {
            ask(self, &random, next);
            next += next->charge > 0;
        }
    }
    self->count[index] = (size_t)(next - self->records[index]);
    atomic_fetch_sub(&self->asking, 1);
}

static int by_high(const void *a, const void *b)
{
    const record *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->high < y->high ? -1 : x->high > y->high;
}

static int by_low(const void *a, const void *b)
{
    const record *const *x = a, *const *y = b;
    if ((*x)->key != (*y)->key)
        return (*x)->key < (*y)->key ? -1 : 1;
    return (*x)->low < (*y)->low ? -1 : (*x)->low > (*y)->low;
}

/*
 * One key's records, by high, and pointers to the same by low. Moves x over every high; `sum` holds the charges with
 * high <= x and low > x-W, `resets` the resets with low <= x and high > x-W.
 */
static void check_windows(const run *self, const record *all, const record **lows, size_t count)
{
    uint64_t sum = 0;
    size_t oldest = 0, started = 0, ended = 0, resets = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = all[i].high, start = x - WINDOW;
        if (all[i].low > start)
            sum += all[i].charge;
        for (; oldest < count && lows[oldest]->low <= start; oldest++)
            /* One whose high is x or more was not added: `sum` took it in only at its own x, if it was young then. */
            if (lows[oldest] < &all[i])
                sum -= lows[oldest]->low > lows[oldest]->high - WINDOW ? lows[oldest]->charge : 0;
        for (; started < count && lows[started]->low <= x; started++)
            resets += lows[started]->charge == 0;
        for (; all[ended].high <= start; ended++)
            resets -= all[ended].charge == 0;
        if (sum > self->max_limit * (1 + resets))
            failed("%s: key %" PRIu64 ": %" PRIu64 " accepted within (%" PRIu64 ", %" PRIu64 "], limit %" PRIu64
                   ", resets %zu",
                   self->name, all[i].key, sum, start, x, self->max_limit, resets);
    }
}

/* The counter's own rule, over the records that lie in one aligned window beyond doubt. */
static void check_counter(const run *self, const record *all, size_t count)
{
    uint64_t window = 0, before = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = all[i].high / WINDOW;
        if (all[i].low / WINDOW != at)
            continue;
        if (at != window) {
            before = at == window + 1 ? sum : 0;
            sum = 0;
            window = at;
        }
        sum += all[i].charge;
        /* by high: this one's offset is the largest so far */
        if (before * (WINDOW - all[i].high % WINDOW) + sum * WINDOW > self->max_limit * WINDOW)
            failed("%s: key %" PRIu64 ": %" PRIu64 " accepted in window %" PRIu64 " after %" PRIu64
                   " in the one before, limit %" PRIu64,
                   self->name, all[i].key, sum, window, before, self->max_limit);
    }
}

static void check_all(run *self)
{
    size_t total = 0;
    for (unsigned i = 0; i < ASKERS; i++)
        total += self->count[i];
    record *all = calloc(total + 1, sizeof(*all));
    const record **lows = calloc(total + 1, sizeof(*lows));
    for (size_t i = 0, at = 0; i < ASKERS; at += self->count[i++])
        memcpy(all + at, self->records[i], self->count[i] * sizeof(*all));
    qsort(all, total, sizeof(*all), by_high);
    for (size_t i = 0; i < total; i++)
        lows[i] = &all[i];
    qsort(lows, total, sizeof(*lows), by_low);
    for (size_t first = 0, end; first < total; first = end) {
        for (end = first; end < total && all[end].key == all[first].key; end++)
            continue;
        if (self->set.rules[0].algorithm == WEIR_COUNTER)
            check_counter(self, all + first, end - first);
        else
            check_windows(self, all + first, lows + first, end - first);
    }
    accepted_sum += total;
    free(lows);
    free(all);
}

/* Goes on sweeping until the last key has left, which takes a window and the lateness after the last call. */
static void drain(run *self)
{
    weir_statistics stats;
    do {
        weir_sweep(self->limiter, WEIR_NOW, 0);
        sched_yield();
        stats = stats_of(self->limiter);
    } while (stats.keys > 0);
    if (stats.splits == 0 || stats.compactions == 0 || stats.swept == 0)
        failed("%s: wanted splits, compactions and swept keys, got %" PRIu64 ", %" PRIu64 ", %" PRIu64, self->name,
               stats.splits, stats.compactions, stats.swept);
    splits_sum += stats.splits;
    compactions_sum += stats.compactions;
}

static void run_one(const char *name, enum kind kind, uint64_t limit, uint64_t late, bool disturbed, uint64_t seed)
{
    run self = {.name = name, .limit = limit, .late = late, .disturbed = disturbed, .seed = seed, .asking = ASKERS};
    self.set = rule_set_of(kind, limit, WINDOW);
    self.max_limit = disturbed ? 2 * limit : limit;
    self.exact = limit == 1;
    self.calls = scaled(100000, 5000);
    weir_options options = weir_options_default();
    options.max_lateness_ns = WEIR_MILLISECOND;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    self.limiter = opened(&self.set, &options);
    for (unsigned i = 0; i < ASKERS; i++)
        self.records[i] = calloc(self.calls, sizeof(record));
    run_threads(ASKERS + disturbed, work, &self);
    check_all(&self);
    drain(&self);
    want_done("weir_close", weir_close(self.limiter));
    for (unsigned i = 0; i < ASKERS; i++)
        free(self.records[i]);
    calls_made += self.calls * ASKERS;
}

int main(void)
{
    uint64_t seed = seed_of_run();
    run_one("log", KIND_LOG, 12, 0, false, seed);
    run_one("log of costs", KIND_LOG_COST, 20, 0, false, seed + 1);
    run_one("buckets", KIND_BUCKETS, 20, 0, false, seed + 2);
    run_one("counter", KIND_COUNTER, 20, 0, false, seed + 3);
    run_one("wide counter", KIND_COUNTER_NODE, 20, 0, false, seed + 4);
    run_one("log, two rules", KIND_TWO, 12, 0, false, seed + 5);
    run_one("log, late stamps", KIND_LOG, 12, 2 * WEIR_MILLISECOND, false, seed + 6);
    run_one("log of limit 1, very late stamps", KIND_LOG, 1, 20 * WEIR_MILLISECOND, false, seed + 7);
    run_one("log of limit 1 with costs, very late stamps", KIND_LOG_COST, 1, 20 * WEIR_MILLISECOND, false, seed + 8);
    run_one("log, limits and resets", KIND_LOG, 8, 0, true, seed + 9);
    run_one("buckets, limits and resets", KIND_BUCKETS, 12, 0, true, seed + 10);
    printf("windows: %" PRIu64 " calls, %" PRIu64 " accepted or reset, %" PRIu64 " splits, %" PRIu64 " compactions\n",
           calls_made, accepted_sum, splits_sum, compactions_sum);
    return 0;
}
