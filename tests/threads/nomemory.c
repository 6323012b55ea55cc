/*
 * Guarantees E, F and H when memory runs short: an allocator that fails at random, under several threads. Never more
 * than L are accepted on a key; what is refused for lack of memory says so; nothing crashes; with memory back every key
 * takes exactly what is left of its limit, so that no charge was lost or made up; and nothing leaks at close.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap.h"

enum { ASKERS = 4, KEYS = 600, LIMIT = 6 };

#define WINDOW WEIR_SECOND

typedef struct run {
    rule_set set;
    weir *limiter;
    uint64_t now, calls, seed;
    bool admit;
    _Atomic uint64_t recorded[KEYS];
    _Atomic bool full[KEYS]; /* an unflagged refusal: the key was full */
    _Atomic unsigned asking;
} run;

static _Atomic uint64_t calls_made, unrecorded_made;
static uint64_t failures_made;

static void ask(run *self, uint64_t number)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    weir_decision decision;
    int verdict = weir_take(self->limiter, &request, self->now, &decision);
    if (verdict != decision.verdict || (verdict != 0 && verdict != 1))
        failed("%s: got %d, in the decision %d", self->set.name, verdict, decision.verdict);
    if (decision.flags & ~(unsigned)(WEIR_NO_MEMORY | WEIR_LATE))
        failed("%s: flags %u", self->set.name, decision.flags);
    atomic_fetch_add(&calls_made, 1);
    if (decision.flags & WEIR_NO_MEMORY) {
        atomic_fetch_add(&unrecorded_made, 1);
        want_equal("verdict without memory", self->admit, (uint64_t)verdict);
        want_equal("retry without memory", 0, decision.retry_after_ns);
    } else if (verdict == 1) {
        atomic_fetch_add(&self->recorded[number], 1);
    } else {
        atomic_store(&self->full[number], true);
    }
}

static void work(void *shared, unsigned index)
{
    run *self = shared;
    uint64_t random = self->seed + index;
    if (index == ASKERS) {
        while (atomic_load(&self->asking) > 0) {
            uint64_t limits[] = {LIMIT, LIMIT};
            int set = weir_set_limits(self->limiter, 0, limits, self->set.count);
            int swept = weir_sweep(self->limiter, self->now, 0);
            int freed = random_below(&random, 16) ? 0 : weir_reclaim(self->limiter);
            if ((set != 0 && set != -ENOMEM) || swept < 0 || freed != 0)
                failed("%s: set_limits %d, sweep %d, reclaim %d", self->set.name, set, swept, freed);
            sched_yield();
        }
        return;
    }
    for (uint64_t call = 0; call < self->calls; call++)
        ask(self, random_below(&random, KEYS));
    atomic_fetch_sub(&self->asking, 1);
}

static int count_key(void *argument, const weir_key *key)
{
    (void)key;
    ++*(uint64_t *)argument;
    return 0;
}

/* With memory back: what is held is what was recorded, and the rest of every limit can be had. */
static void check_and_fill(run *self)
{
    uint64_t seen = 0;
    for (uint64_t number = 0; number < KEYS; number++) {
        char what[96];
        snprintf(what, sizeof(what), "%s: recorded on key %" PRIu64, self->set.name, number);
        want_at_most(what, LIMIT, self->recorded[number]);
        if (self->full[number])
            want_equal(what, LIMIT, self->recorded[number]);
        for (unsigned call = 0; call <= LIMIT; call++)
            ask(self, number);
        want_equal(what, LIMIT, self->recorded[number]);
    }
    want_done("weir_each", weir_each(self->limiter, self->now, count_key, &seen));
    want_equal("keys seen by weir_each", KEYS, seen);
}

static void run_kind(enum kind kind, unsigned fail_one_in, bool admit, uint64_t rounds, uint64_t seed)
{
    static run self;
    test_heap heap = {.seed = seed};
    memset(&self, 0, sizeof(self));
    self.set = rule_set_of(kind, LIMIT, WINDOW);
    self.seed = seed;
    self.admit = admit;
    self.calls = scaled(4000, 1000);
    weir_options options = weir_options_manual();
    options.when_full = admit ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE;
    options.max_lateness_ns = WEIR_MILLISECOND;
    heap_use(&heap, &options);
    self.limiter = opened(&self.set, &options);
    for (uint64_t round = 0; round < rounds; round++) {
        self.now += 10 * WINDOW;
        memset(self.recorded, 0, sizeof(self.recorded));
        memset(self.full, 0, sizeof(self.full));
        self.asking = ASKERS;
        self.seed++;
        heap.fail_one_in = fail_one_in;
        run_threads(ASKERS + 1, work, &self);
        heap.fail_one_in = 0;
        uint64_t before = unrecorded_made;
        check_and_fill(&self);
        want_equal("calls without memory, with memory back", before, unrecorded_made);
    }
    failures_made += heap.failures;
    closed_clean(self.limiter, &heap, self.set.name);
}

/* weir_open, with every call of the allocator from the n-th on failing: -ENOMEM, and nothing left behind. */
static uint64_t open_without(enum kind kind)
{
    rule_set set = rule_set_of(kind, LIMIT, WINDOW);
    for (uint64_t from = 1;; from++) {
        test_heap heap = {.fail_from = from};
        weir *limiter = (weir *)&heap;
        weir_options options = weir_options_manual();
        options.max_limit = set.max_limit;
        heap_use(&heap, &options);
        int error = weir_open(&limiter, set.rules, set.count, &options);
        if (error == 0) {
            closed_clean(limiter, &heap, set.name);
            return from - 1;
        }
        if (error != -ENOMEM || limiter)
            failed("%s: weir_open without memory: wanted -ENOMEM and NULL, got %d", set.name, error);
        want_equal("bytes after a failed weir_open", 0, heap.bytes);
    }
}

int main(void)
{
    uint64_t seed = seed_of_run(), rounds = scaled(10, 2), opens = 0;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        opens += open_without((enum kind)kind);
        run_kind((enum kind)kind, 2, false, rounds, seed + 10 * kind);
        run_kind((enum kind)kind, 7, true, rounds, seed + 10 * kind + 1);
        run_kind((enum kind)kind, 1, false, 2, seed + 10 * kind + 2);
    }
    if (failures_made == 0 || unrecorded_made == 0 || opens == 0)
        failed("wanted failures: %" PRIu64 ", unrecorded calls: %" PRIu64 ", failed opens: %" PRIu64, failures_made,
               unrecorded_made, opens);
    printf("nomemory: %" PRIu64 " calls, %" PRIu64 " failed allocations, %" PRIu64 " calls unrecorded, %" PRIu64
           " failed opens\n",
           calls_made, failures_made, unrecorded_made, opens);
    return 0;
}
