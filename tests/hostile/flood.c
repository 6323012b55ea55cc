/*
 * Guarantees F and B under a flood: spoofed keys, each new, from several threads, while a thousand honest keys go on
 * with what they do. Time stands still within a round and moves on between rounds, so that everything is exact:
 *
 *   - every decision on an honest key is the oracle's, field by field;
 *   - three quarters of the run nobody sweeps: full segments drop by themselves what has expired, and memory is within
 *     twice guarantee F for the keys that are live (nodes: three times), and what waits to be freed;
 *   - after a sweep, the keys held are those whose charges can still count, to the one, and memory is within F;
 *   - with max_keys the flood is told that the table is full, never more keys are held, and memory stays within F for
 *     max_keys.
 *
 *     flood [NUMBER of spoofed keys (default: a million, scaled by WEIR_TEST_SCALE) [KIND: counter or log]]
 *
 * Prints memory and ns of processor time a decision; asserts no time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../support/decision.h"
#include "../support/oracle.h"
#include "../threads/common.h"

#define START    (1000 * WEIR_SECOND)
#define WINDOW   WEIR_SECOND
#define LATENESS (WINDOW / 4)
#define PAUSE    (WINDOW / ROUNDS_A_WINDOW)

enum {
    HONEST = 1000,
    LIMIT = 5,
    FLOODERS = 2,
    ROUNDS_A_WINDOW = 64,
    SPOOFED_A_ROUND = 500, /* 32,000 a window */
    MAX_KEYS = 20000,
    HISTORY = 4 * ROUNDS_A_WINDOW,
    SWEPT_EVERY = 3 * ROUNDS_A_WINDOW /* rounds, in the last quarter */
};

typedef struct flood {
    rule_set set;
    uint64_t max_keys, rounds, round;
    weir *limiter;
    pthread_barrier_t barrier;
    bool over;
    _Atomic uint64_t spoofed_accepted, spoofed_full, spoofed_ns;
    uint64_t let_in[HISTORY]; /* spoofed keys charged in each of the last rounds */
    struct oracle *oracle[HONEST];
    uint64_t last[HONEST]; /* when an honest key was last charged */
    uint64_t honest_calls, honest_accepted, honest_ns;
    uint64_t most_bytes, most_keys, most_live;
    uint64_t random;
} flood;

/* Of this thread alone: what others do on the machine does not count. */
static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * WEIR_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t now_of(const flood *self)
{
    return START + self->round * PAUSE;
}

/* The first time at which a charge made at t counts no more. */
static uint64_t counts_until(const flood *self, uint64_t t)
{
    return self->set.inline_state ? (t / WINDOW + 2) * WINDOW : t + WINDOW;
}

/* --- the spoofed keys --- */

static void spoof(flood *self, unsigned index, uint64_t calls)
{
    uint64_t now = now_of(self), accepted = 0, full = 0, from = clock_ns();
    for (uint64_t call = 0; call < calls; call++) {
        test_key key = key_number((self->round * SPOOFED_A_ROUND + call) * FLOODERS + index);
        weir_request request = request_for(&key, 1);
        weir_decision decision;
        int verdict = weir_take(self->limiter, &request, now, &decision);
        bool refused = self->max_keys && verdict == 0 && decision.flags == WEIR_TABLE_FULL;
        if (!refused && (verdict != 1 || (decision.flags & ~(unsigned)WEIR_LATE) || decision.remaining != LIMIT - 1))
            failed("%s: a spoofed key: got %d, flags %u, remaining %" PRIu64, self->set.name, verdict, decision.flags,
                   decision.remaining);
        accepted += (uint64_t)verdict;
        full += refused;
    }
    atomic_fetch_add(&self->spoofed_ns, clock_ns() - from);
    atomic_fetch_add(&self->spoofed_accepted, accepted);
    atomic_fetch_add(&self->spoofed_full, full);
}

/* --- the honest keys --- */

static test_key honest_key(uint64_t number)
{
    return key_number((UINT64_C(1) << 60) + number);
}

typedef struct answered {
    uint64_t number;
    int verdict;
    weir_decision decision;
} answered;

static void ask_honest(const flood *self, answered *asked)
{
    test_key key = honest_key(asked->number);
    weir_request request = request_for(&key, 1);
    memset(&asked->decision, 0, sizeof asked->decision);
    asked->verdict = weir_take(self->limiter, &request, now_of(self), &asked->decision);
}

static void compare_honest(flood *self, const answered *asked)
{
    test_key key = honest_key(asked->number);
    weir_request request = request_for(&key, 1);
    weir_decision wanted;
    uint64_t now = now_of(self), wanted_value, got_value;
    if (oracle_take(self->oracle[asked->number], &request, now, &wanted) == 1) {
        self->last[asked->number] = now;
        self->honest_accepted++;
    }
    const char *field = decision_difference(&wanted, &asked->decision, &wanted_value, &got_value);
    if (asked->verdict != wanted.verdict || field)
        failed("%s, round %" PRIu64 ", honest key %" PRIu64 ": %s: wanted %" PRIu64 ", got %" PRIu64, self->set.name,
               self->round, asked->number, field ? field : "verdict", wanted_value, got_value);
}

/* Each key is asked every eighth of a window, so that it is never forgotten; and some at random. */
static void ask_all_honest(flood *self)
{
    enum { OFTEN = 8, MORE = 16, ALL = HONEST / OFTEN + 1 + MORE };
    answered asked[ALL];
    unsigned count = 0;
    for (uint64_t number = self->round % OFTEN; number < HONEST; number += OFTEN)
        asked[count++].number = number;
    for (unsigned more = 0; more < MORE; more++)
        asked[count++].number = random_below(&self->random, HONEST);
    uint64_t from = clock_ns();
    for (unsigned i = 0; i < count; i++)
        ask_honest(self, &asked[i]);
    self->honest_ns += clock_ns() - from;
    self->honest_calls += count;
    for (unsigned i = 0; i < count; i++)
        compare_honest(self, &asked[i]);
}

/* --- memory --- */

/* Guarantee F for so many live keys, each of an honest one with LIMIT records. */
static uint64_t bound(const flood *self, uint64_t live, uint64_t most)
{
    uint64_t key = 160 + (self->set.inline_state ? 0 : 192 + 8);
    return 65536 + live * key + HONEST * LIMIT * 8 + 6 * most;
}

/* Keys with a charge that can count for a call max_lateness old. */
static uint64_t live_keys(const flood *self)
{
    uint64_t drop = now_of(self) - LATENESS, live = 0;
    for (uint64_t back = 0; back < HISTORY && back <= self->round; back++)
        if (counts_until(self, now_of(self) - back * PAUSE) > drop)
            live += self->let_in[(self->round - back) % HISTORY];
    for (uint64_t number = 0; number < HONEST; number++)
        live += self->last[number] && counts_until(self, self->last[number]) > drop;
    return live;
}

static void check_sweep(const flood *self, uint64_t live)
{
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(self->limiter, now_of(self), 0));
    want_done("weir_reclaim", weir_reclaim(self->limiter));
    weir_statistics stats = stats_of(self->limiter);
    want_equal("keys after a sweep", live, stats.keys);
    want_at_most("bytes after a sweep", bound(self, live, self->most_keys), stats.bytes);
}

static void check_memory(flood *self)
{
    weir_statistics stats = stats_of(self->limiter);
    uint64_t live = live_keys(self);
    self->most_live = live > self->most_live ? live : self->most_live;
    self->most_bytes = stats.bytes > self->most_bytes ? stats.bytes : self->most_bytes;
    self->most_keys = stats.keys > self->most_keys ? stats.keys : self->most_keys;
    if (self->max_keys)
        want_at_most("keys held", self->max_keys, stats.keys);
    uint64_t most = self->max_keys ? self->max_keys : self->most_live;
    uint64_t times = self->set.inline_state ? 2 : 3; /* what has expired stays until its segment is full, nodes too */
    want_at_most("bytes without a sweep, but for what waits to be freed", times * bound(self, most, self->most_keys),
                 stats.bytes - stats.retired_bytes);
    if (self->round > self->rounds / 4 * 3 && self->round % SWEPT_EVERY == 0)
        check_sweep(self, live);
}

/* --- the rounds --- */

static void *flooder(void *argument)
{
    const worker *me = argument;
    flood *self = me->shared;
    for (;;) {
        pthread_barrier_wait(&self->barrier); /* the round begins */
        if (self->over)
            return NULL;
        spoof(self, me->index, SPOOFED_A_ROUND / FLOODERS);
        pthread_barrier_wait(&self->barrier); /* and is over */
    }
}

static void run_rounds(flood *self)
{
    worker workers[FLOODERS];
    pthread_barrier_init(&self->barrier, NULL, FLOODERS + 1);
    for (unsigned i = 0; i < FLOODERS; i++) {
        workers[i] = (worker){.shared = self, .index = i};
        if (pthread_create(&workers[i].thread, NULL, flooder, &workers[i]))
            failed("no thread");
    }
    for (uint64_t end = self->round + self->rounds; self->round < end; self->round++) {
        uint64_t before = self->spoofed_accepted;
        pthread_barrier_wait(&self->barrier);
        ask_all_honest(self);
        pthread_barrier_wait(&self->barrier);
        self->let_in[self->round % HISTORY] = self->spoofed_accepted - before;
        check_memory(self);
    }
    self->round--; /* the last one */
    check_sweep(self, live_keys(self));
    self->over = true;
    pthread_barrier_wait(&self->barrier);
    for (unsigned i = 0; i < FLOODERS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&self->barrier);
}

static void open_flood(flood *self, enum kind kind, uint64_t max_keys, uint64_t spoofed)
{
    weir_options options = weir_options_manual();
    memset(self, 0, sizeof *self);
    self->set = rule_set_of(kind, LIMIT, WINDOW);
    self->max_keys = options.max_keys = max_keys;
    options.max_lateness_ns = LATENESS;
    self->limiter = opened(&self->set, &options);
    self->rounds = (spoofed + SPOOFED_A_ROUND - 1) / SPOOFED_A_ROUND;
    self->random = spoofed;
    for (unsigned i = 0; i < HONEST; i++)
        self->oracle[i] = oracle_open(self->set.rules, self->set.count, 0, NULL);
}

static double per_call(uint64_t ns, uint64_t calls)
{
    return calls ? (double)ns / (double)calls : 0;
}

static void run_one(enum kind kind, uint64_t max_keys, uint64_t spoofed)
{
    static flood self;
    open_flood(&self, kind, max_keys, spoofed);
    for (; self.round < ROUNDS_A_WINDOW; self.round++)
        ask_all_honest(&self);
    double quiet = per_call(self.honest_ns, self.honest_calls);
    self.honest_ns = self.honest_calls = 0;
    run_rounds(&self);

    want_equal("spoofed calls", self.rounds * SPOOFED_A_ROUND, self.spoofed_accepted + self.spoofed_full);
    if (max_keys && self.spoofed_full == 0)
        failed("%s: wanted a full table", self.set.name);
    printf("%-8s max_keys %6" PRIu64 ": %" PRIu64 " spoofed, %" PRIu64 " told full, %.0f ns a call; honest: %" PRIu64
           " calls, %" PRIu64 " accepted, %.0f ns a call (%.0f before); at most %" PRIu64 " live, %" PRIu64
           " held, %.1f MB\n",
           self.set.name, max_keys, self.rounds * SPOOFED_A_ROUND, self.spoofed_full,
           per_call(self.spoofed_ns, self.rounds * SPOOFED_A_ROUND), self.honest_calls, self.honest_accepted,
           per_call(self.honest_ns, self.honest_calls), quiet, self.most_live, self.most_keys,
           (double)self.most_bytes / 1e6);
    fflush(stdout);
    for (unsigned i = 0; i < HONEST; i++)
        oracle_close(self.oracle[i]);
    want_done("weir_close", weir_close(self.limiter));
}

int main(int argc, char **argv)
{
    uint64_t spoofed = argc > 1 ? strtoull(argv[1], NULL, 10) : scaled(1000000, 30000);
    const char *only = argc > 2 ? argv[2] : "";
    for (unsigned bounded = 0; bounded < 2; bounded++) {
        uint64_t max_keys = bounded ? MAX_KEYS : 0;
        if (strcmp(only, "log") != 0)
            run_one(KIND_COUNTER, max_keys, spoofed);
        if (strcmp(only, "counter") != 0)
            run_one(KIND_LOG, max_keys, spoofed);
    }
    return 0;
}
