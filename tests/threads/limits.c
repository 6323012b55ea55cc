/*
 * Guarantees A and B under weir_set_limits, with a frozen clock. Contract 4.8:
 *   torn     the limits of one plan change together: a cost that neither of two sets allows is never accepted
 *   raised   every decision that begins after the return uses the new limit, however many threads keep a refusal
 *            published; in the end exactly the last limit is accepted in all
 *   lowered  a key in debt is refused at once
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#define FROZEN (1000 * WEIR_SECOND)

enum { ASKERS = 3 };

typedef struct run {
    weir *limiter;
    test_key key;
    uint64_t rounds;
    uint64_t limit; /* the last one set */
    _Atomic bool done;
    _Atomic uint64_t accepted, refused;
} run;

static _Atomic uint64_t calls_made;

static int ask(run *self, uint64_t cost, weir_decision *decision)
{
    weir_request request = request_for(&self->key, cost);
    int verdict = weir_take(self->limiter, &request, FROZEN, decision);
    if (verdict == 1)
        atomic_fetch_add(&self->accepted, 1);
    else if (verdict == 0)
        atomic_fetch_add(&self->refused, 1);
    else
        failed("weir_take: wanted 0 or 1, got %d", verdict);
    atomic_fetch_add(&calls_made, 1);
    return verdict;
}

static void torn_work(void *shared, unsigned index)
{
    static const uint64_t sets[2][2] = {{1, 100}, {100, 1}};
    run *self = shared;
    weir_decision decision;
    if (index == 0) {
        for (uint64_t round = 0; round < self->rounds; round++)
            want_done("weir_set_limits", weir_set_limits(self->limiter, 0, sets[round % 2], 2));
        atomic_store(&self->done, true);
        return;
    }
    while (!atomic_load(&self->done))
        if (ask(self, 2, &decision) == 1)
            failed("cost 2 was accepted: limits 1, 100 and 100, 1 were mixed");
        else if (decision.limit != 1 || decision.retry_after_ns != WEIR_NEVER)
            failed("cost 2: wanted limit 1 and no retry, got limit %" PRIu64 ", retry %" PRIu64, decision.limit,
                   decision.retry_after_ns);
}

static void raised_work(void *shared, unsigned index)
{
    run *self = shared;
    weir_decision decision;
    if (index > 0) {
        while (!atomic_load(&self->done))
            (void)ask(self, 1, index % 2 ? &decision : NULL);
        return;
    }
    for (uint64_t round = 0; round < self->rounds; round++) {
        self->limit++;
        want_done("weir_set_limits", weir_set_limits(self->limiter, 0, &self->limit, 1));
        int verdict = ask(self, 1, &decision);
        want_equal("limit told after weir_set_limits", self->limit, decision.limit);
        want_equal("remaining, the last one being taken by me or before me", 0, decision.remaining);
        if (verdict == 0 && (decision.retry_after_ns == 0 || decision.retry_after_ns == WEIR_NEVER))
            failed("refused with a retry of %" PRIu64, decision.retry_after_ns);
    }
    atomic_store(&self->done, true);
}

static void torn(uint64_t rounds, enum weir_algorithm first, enum weir_algorithm second)
{
    rule_set set = {.name = "torn", .count = 2};
    weir_options options = weir_options_manual();
    set.rules[0] = rule_of(first, 1, WEIR_SECOND, WEIR_PER_COST);
    set.rules[1] = rule_of(second, 100, WEIR_SECOND, WEIR_PER_COST);
    run self = {.limiter = opened(&set, &options), .key = key_number(1), .rounds = rounds};
    run_threads(1 + ASKERS, torn_work, &self);
    want_done("weir_close", weir_close(self.limiter));
}

static void raised_then_lowered(enum kind kind, uint64_t rounds)
{
    rule_set set = rule_set_of(kind, 5, WEIR_SECOND);
    weir_options options = weir_options_manual();
    weir_decision decision;
    if (set.count != 1)
        return;
    run self = {.limiter = opened(&set, &options), .key = key_number(2), .rounds = rounds, .limit = 5};
    while (ask(&self, 1, NULL) == 1)
        continue;
    want_equal("accepted before", 5, self.accepted);
    run_threads(1 + ASKERS, raised_work, &self);
    while (ask(&self, 1, NULL) == 1)
        continue;
    if (self.accepted != 5 + rounds)
        failed("%s: wanted %" PRIu64 " accepted, got %" PRIu64, set.name, 5 + rounds, self.accepted);

    uint64_t low = 3;
    want_done("weir_set_limits", weir_set_limits(self.limiter, 0, &low, 1));
    want_equal("verdict in debt", 0, (uint64_t)ask(&self, 1, &decision));
    want_equal("limit in debt", 3, decision.limit);
    want_equal("remaining in debt", 0, decision.remaining);
    low = 0;
    if (weir_set_limits(self.limiter, 0, &low, 1) != -EINVAL)
        failed("%s: a limit of 0 was set", set.name);
    want_done("weir_close", weir_close(self.limiter));
}

int main(void)
{
    uint64_t rounds = scaled(20000, 200);
    torn(rounds, WEIR_LOG, WEIR_COUNTER);
    torn(rounds, WEIR_COUNTER, WEIR_BUCKETS);
    torn(rounds, WEIR_COUNTER, WEIR_COUNTER);
    for (unsigned kind = 0; kind < KINDS; kind++)
        raised_then_lowered((enum kind)kind, rounds / 4);
    printf("limits: %" PRIu64 " rounds, %" PRIu64 " calls\n", rounds, calls_made);
    return 0;
}
