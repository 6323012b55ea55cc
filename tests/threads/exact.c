/*
 * Guarantees B and A: with a frozen clock exactly floor(L/c) calls are accepted, from however many threads, by whatever
 * verb, on one key and on many; and the decisions are those of one serial order: each accepted call of a rule tells a
 * remaining of its own, L-c, L-2c ... each exactly once, and after a refusal the same thread is never accepted again.
 * Also C: a thread that sweeps all the while loses no charge.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#define FROZEN (1000 * WEIR_SECOND + 250 * WEIR_MILLISECOND)
#define WINDOW WEIR_SECOND

enum { KEYS = 1500, BATCH = 96, COUNT_MAX = 4096 };

/* How a thread asks. Allow goes by the clock, which stands still, and always costs 1. */
enum verb { VERB_TAKE, VERB_VERDICT, VERB_IDENTITY, VERB_BATCH, VERB_ALLOW, VERBS };

static const char *const verb_name[VERBS] = {"take", "take without decision", "take by identity", "batch", "allow"};

typedef struct exact_row {
    const char *name;
    weir_rule rules[2];
    size_t count;
    uint64_t cost;
    uint64_t accepted; /* floor(L/c), least of the rules; by hand */
} exact_row;

#define LOG(l, by)    {.limit = (l), .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = (by)}
#define COUNTER(l)    {.limit = (l), .window_ns = WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST}
#define BUCKETS(l, b) \
    {.limit = (l), .window_ns = WINDOW, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = (b)}
#define TWO_TO_33     (UINT64_C(1) << 33)

static const exact_row hot_rows[] = {
    {"log, unit", {LOG(100, WEIR_PER_REQUEST)}, 1, 1, 100},
    {"log, unit, 3000", {LOG(3000, WEIR_PER_REQUEST)}, 1, 1, 3000},
    {"log, cost 7", {LOG(100, WEIR_PER_COST)}, 1, 7, 14},
    {"counter, unit", {COUNTER(1000)}, 1, 1, 1000},
    {"counter, cost 7", {COUNTER(100)}, 1, 7, 14},
    {"counter, 2^32-1 by 2^22+1", {COUNTER(UINT32_MAX)}, 1, (1 << 22) + 1, 1023},
    {"wide counter, 2^33 by 2^24", {COUNTER(TWO_TO_33)}, 1, 1 << 24, 512},
    {"wide counter, 2^33 by 85899346", {COUNTER(TWO_TO_33)}, 1, 85899346, 99},
    {"buckets, unit", {BUCKETS(1000, 7)}, 1, 1, 1000},
    {"buckets, cost 7", {BUCKETS(100, 1)}, 1, 7, 14},
    {"buckets, 2^33 by 2^24+1", {BUCKETS(TWO_TO_33, 10)}, 1, (1 << 24) + 1, 511},
    {"log 100 and counter 186 by 3", {LOG(100, WEIR_PER_REQUEST), COUNTER(186)}, 2, 3, 62},
    {"buckets 900 and log 40 by 9", {BUCKETS(900, 3), LOG(40, WEIR_PER_REQUEST)}, 2, 9, 40},
};

static const exact_row many_rows[] = {
    {"log, unit", {LOG(5, WEIR_PER_REQUEST)}, 1, 1, 5},
    {"log, cost 3", {LOG(11, WEIR_PER_COST)}, 1, 3, 3},
    {"counter, unit", {COUNTER(6)}, 1, 1, 6},
    {"counter, cost 3", {COUNTER(11)}, 1, 3, 3},
    {"wide counter", {COUNTER(TWO_TO_33)}, 1, 2000000000, 4},
    {"buckets, unit", {BUCKETS(6, 4)}, 1, 1, 6},
    {"log and counter", {LOG(5, WEIR_PER_REQUEST), COUNTER(8)}, 2, 2, 4},
};

typedef struct run {
    const exact_row *row;
    enum verb verb;
    uint64_t limit; /* of the first rule; 0: two rules, remaining is not looked at */
    unsigned threads;
    uint64_t keys;
    uint64_t calls; /* of one thread on one key */
    weir *limiter;
    _Atomic uint64_t accepted[KEYS];
    _Atomic uint64_t told[COUNT_MAX]; /* one key: accepted calls that told remaining L - (i+1)c */
    _Atomic unsigned sweepers_left;
} run;

static _Atomic uint64_t calls_made, runs_made;

static uint64_t frozen(void *argument)
{
    (void)argument;
    return FROZEN;
}

/* One answer: counted, and held against the serial order. */
static void answered(run *self, uint64_t key, int verdict, const weir_decision *decision, bool *refused)
{
    if (verdict != 0 && verdict != 1)
        failed("%s, %s: wanted 0 or 1, got %d", self->row->name, verb_name[self->verb], verdict);
    if (verdict == 1 && *refused)
        failed("%s, %s: accepted after a refusal of the same call", self->row->name, verb_name[self->verb]);
    *refused = verdict == 0;
    if (verdict == 1)
        atomic_fetch_add(&self->accepted[key], 1);
    if (!decision)
        return;
    if (decision->verdict != verdict || decision->flags != 0)
        failed("%s: verdict %d but in the decision %d, flags %u", self->row->name, verdict, decision->verdict,
               decision->flags);
    if ((decision->retry_after_ns == 0) != (verdict == 1) || decision->retry_after_ns == WEIR_NEVER)
        failed("%s: verdict %d with a retry of %" PRIu64, self->row->name, verdict, decision->retry_after_ns);
    if (!self->limit)
        return;
    want_equal("limit told", self->limit, decision->limit);
    if (verdict == 0)
        want_equal("remaining at a refusal", self->limit - self->row->accepted * self->row->cost, decision->remaining);
    else if (decision->remaining >= self->limit || (self->limit - decision->remaining) % self->row->cost != 0)
        failed("%s: accepted with remaining %" PRIu64, self->row->name, decision->remaining);
    else if (self->keys == 1)
        atomic_fetch_add(&self->told[(self->limit - decision->remaining) / self->row->cost - 1], 1);
}

static void ask_one(run *self, uint64_t number, bool *refused)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, self->row->cost);
    weir_identity identity;
    weir_decision decision;
    int verdict;
    switch (self->verb) {
    case VERB_VERDICT:
        verdict = weir_take(self->limiter, &request, FROZEN, NULL);
        answered(self, number, verdict, NULL, refused);
        return;
    case VERB_ALLOW:
        answered(self, number, weir_allow(self->limiter, key.bytes, key.size), NULL, refused);
        return;
    case VERB_IDENTITY:
        want_done("weir_identify", weir_identify(self->limiter, key.bytes, key.size, &identity));
        request.identity = &identity;
        request.key = NULL;
        request.key_len = 0;
        break;
    default:
        break;
    }
    verdict = weir_take(self->limiter, &request, self->row->cost == 1 ? WEIR_NOW : FROZEN, &decision);
    answered(self, number, verdict, &decision, refused);
}

/* `count` calls, from the `first` of this thread's sequence on, which visits the keys in an order of its own. */
static void ask_batch(run *self, unsigned index, uint64_t first, size_t count, bool *refused)
{
    static _Thread_local test_key keys[BATCH];
    weir_request requests[BATCH];
    weir_decision decisions[BATCH];
    int verdicts[BATCH];
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_number((first + i + index * self->keys / self->threads) % self->keys);
        requests[i] = request_for(&keys[i], self->row->cost);
    }
    bool decide = first % 2 == 0;
    int64_t accepted = weir_take_batch(self->limiter, requests, count, FROZEN, verdicts, decide ? decisions : NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = (first + i + index * self->keys / self->threads) % self->keys;
        answered(self, number, verdicts[i], decide ? &decisions[i] : NULL, &refused[number]);
        sum += verdicts[i];
    }
    if (accepted != sum)
        failed("weir_take_batch: returned %" PRId64 ", verdicts add up to %" PRId64, accepted, sum);
}

static void asker(run *self, unsigned index)
{
    uint64_t total = self->calls * self->keys;
    bool *refused = calloc(self->keys, sizeof(*refused));
    for (uint64_t call = 0; call < total;) {
        if (self->verb == VERB_BATCH) {
            /* An odd length, so that batches with and without decisions alternate. */
            size_t count = total - call < BATCH - 1 ? (size_t)(total - call) : BATCH - 1;
            ask_batch(self, index, call, count, refused);
            call += count;
        } else {
            uint64_t number = (call + index * self->keys / self->threads) % self->keys;
            ask_one(self, number, &refused[number]);
            call++;
        }
    }
    free(refused);
    atomic_fetch_add(&calls_made, total);
    atomic_fetch_sub(&self->sweepers_left, 1);
}

/* The last thread sweeps as long as others ask: at this time nothing may be dropped. */
static void work(void *shared, unsigned index)
{
    run *self = shared;
    if (index < self->threads) {
        asker(self, index);
        return;
    }
    do {
        int swept = weir_sweep(self->limiter, FROZEN, index % 2 ? 0 : 64);
        if (swept != 0 && swept != 1)
            failed("weir_sweep: wanted 0 or 1, got %d", swept);
        sched_yield();
    } while (atomic_load(&self->sweepers_left) > 0);
}

static void run_row(const exact_row *row, enum verb verb, unsigned threads, uint64_t keys, bool sweep)
{
    static run self;
    memset(&self, 0, sizeof(self));
    self.row = row;
    self.verb = verb;
    self.limit = row->count == 1 ? row->rules[0].limit : 0;
    self.threads = threads;
    self.keys = keys;
    self.calls = row->accepted / threads + 2 + (keys == 1 ? row->accepted : 0);
    self.sweepers_left = threads;
    weir_options options = weir_options_default();
    options.clock = WEIR_CLOCK_CUSTOM;
    options.clock_read = frozen;
    options.max_lateness_ns = 0;
    rule_set set = {.name = row->name, .count = row->count, .rules = {row->rules[0], row->rules[1]}};
    self.limiter = opened(&set, &options);
    run_threads(threads + (sweep ? 1 : 0), work, &self);

    char what[160];
    for (uint64_t key = 0; key < keys; key++) {
        snprintf(what, sizeof(what), "%s, %s, %u threads, key %" PRIu64 " of %" PRIu64 ": calls accepted", row->name,
                 verb_name[verb], threads, key, keys);
        want_equal(what, row->accepted, self.accepted[key]);
    }
    bool all_told = self.limit && keys == 1 && (verb == VERB_TAKE || verb == VERB_IDENTITY);
    for (uint64_t i = 0; all_told && i < row->accepted; i++)
        want_equal("accepted calls that told this remaining", 1, self.told[i]);
    want_equal("keys held", keys, stats_of(self.limiter).keys);
    want_done("weir_close", weir_close(self.limiter));
    atomic_fetch_add(&runs_made, 1);
}

int main(void)
{
    static const unsigned team[] = {2, 4, 16};
    uint64_t keys = scaled(KEYS, 50) > KEYS ? KEYS : scaled(KEYS, 50);
    unsigned turn = 0;
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < sizeof(hot_rows) / sizeof(*hot_rows); i++)
            for (unsigned verb = 0; verb < VERBS; verb++)
                if (verb != VERB_ALLOW || hot_rows[i].cost == 1)
                    run_row(&hot_rows[i], (enum verb)verb, team[t], 1, turn++ % 2);
        for (size_t i = 0; i < sizeof(many_rows) / sizeof(*many_rows); i++)
            for (unsigned verb = 0; verb < VERBS; verb++)
                if (verb != VERB_ALLOW || many_rows[i].cost == 1)
                    run_row(&many_rows[i], (enum verb)verb, team[t], keys, turn++ % 2);
    }
    printf("exact: %" PRIu64 " runs, %" PRIu64 " calls\n", runs_made, calls_made);
    return 0;
}
