/* Asking: singly, in batches, without an answer in full, by identity; peeks; resets. SPDX-License-Identifier: MIT */
#include "torture.h"

enum { ON_HOT, ON_MANY, ON_CHURN, ON_ALL };
enum { BATCH_MOST = 80 };

static bool one_in(life *self, uint64_t n)
{
    return random_below(&self->random, n) == 0;
}

static uint64_t pick_key(life *self)
{
    torture_round *round = self->round;
    unsigned keys = self->keys == ON_ALL ? (unsigned)random_below(&self->random, ON_ALL) : self->keys;
    if (keys == ON_HOT)
        return one_in(self, 4) ? random_below(&self->random, HOT_KEYS) : 0;
    if (keys == ON_MANY)
        return FIRST_MANY + random_below(&self->random, MANY_KEYS);
    if (one_in(self, 2)) /* one that nobody has seen */
        return FIRST_CHURN + atomic_fetch_add_explicit(&round->newborn, 1, memory_order_relaxed);
    uint64_t born = atomic_load_explicit(&round->newborn, memory_order_relaxed);
    uint64_t back = random_below(&self->random, 200);
    return FIRST_CHURN + (back < born ? born - back : born);
}

uint64_t asker_any_key(life *self)
{
    self->keys = ON_ALL;
    return pick_key(self);
}

/* Mostly 1; nothing; more than any limit. */
static uint64_t pick_cost(life *self)
{
    if (self->round->exact)
        return 1;
    uint64_t pick = random_below(&self->random, 64);
    return pick == 0 ? 0 : pick == 1 ? UINT64_MAX : 1 + pick % 3;
}

static weir_request make_request(life *self, const test_key *key, uint64_t cost, weir_identity *identity)
{
    weir_request request = request_for(key, cost);
    request.plan = (uint32_t)random_below(&self->random, self->round->shape.plans);
    if (one_in(self, 4)) {
        fault_unless("weir_identify", 0,
                     (uint64_t)weir_identify(self->round->limiter, key->bytes, key->size, identity));
        request = (weir_request){.identity = identity, .cost = cost, .plan = request.plan};
    }
    return request;
}

/* --- answers --- */

/* Is it an answer at all? What it says of the charges is judged later. */
static void check_answer(const torture_round *round, const weir_request *request, const weir_decision *decision)
{
    const weir_decision *d = decision;
    const uint32_t lacking = WEIR_TABLE_FULL | WEIR_NO_MEMORY;
    if (d->flags & ~(lacking | (uint32_t)WEIR_LATE) || d->rule >= round->shape.count)
        fault("an answer with flags %u, rule %u", d->flags, d->rule);
    if (d->flags & WEIR_TABLE_FULL && !round->max_keys)
        fault("table full without max_keys");
    uint64_t base = round->shape.plan_limits[request->plan * round->shape.count + d->rule];
    if (d->limit < base || d->limit > (round->changes ? 2 * base : base))
        fault("limit %" PRIu64 " of plan %u, rule %u was never set", d->limit, request->plan, d->rule);
    if (d->remaining > d->limit)
        fault("%" PRIu64 " remain of %" PRIu64, d->remaining, d->limit);
    if (d->flags & lacking) {
        if (d->retry_after_ns != 0 || d->verdict != round->admits)
            fault("unrecorded: verdict %d, retry %" PRIu64, d->verdict, d->retry_after_ns);
    } else if ((d->retry_after_ns == 0) != (d->verdict == 1)) {
        fault("verdict %d with retry %" PRIu64, d->verdict, d->retry_after_ns);
    }
}

/* Counts an answer and writes an accepted charge down. Without `decision` (never where unrecorded calls are admitted)
 * an acceptance was recorded. */
static void note_answer(life *self, uint64_t number, const weir_request *request, int verdict,
                        const weir_decision *decision, ledger_entry entry)
{
    torture_round *round = self->round;
    self->asked++;
    if (verdict < 0 || verdict > 1 || (decision && decision->verdict != verdict))
        fault("verdict %d, in the answer %d", verdict, decision ? decision->verdict : verdict);
    if (decision)
        check_answer(round, request, decision);
    if (decision && decision->flags & (WEIR_TABLE_FULL | WEIR_NO_MEMORY)) {
        self->unrecorded++;
        return;
    }
    self->accepted += verdict == 1;
    self->refused += verdict == 0;
    if (verdict == 0 && decision && number < HOT_KEYS)
        atomic_store_explicit(&round->full[number], true, memory_order_relaxed);
    if (verdict == 0)
        return;
    entry.key = (uint32_t)number;
    entry.cost = (uint32_t)request->cost; /* one of more than any limit is only accepted where no rule looks at it */
    entry.limit = decision && round->shape.count == 1 ? (uint32_t)decision->limit : 0;
    if (decision && !(decision->flags & WEIR_LATE))
        entry.floor = 0; /* no rule was decided at a floor */
    ledger_add(&round->ledgers[self->index], &entry);
}

static ledger_entry entry_ended(torture_round *round, uint64_t begin, moment *at)
{
    moment_called(round, at);
    ledger_entry entry = {.begin = begin, .end = moment_ticket(round), .now = at->low, .now_high = at->high};
    entry.floor = moment_floor(round);
    return entry;
}

/* --- calls --- */

void asker_take(life *self, uint64_t number)
{
    torture_round *round = self->round;
    weir_identity identity;
    weir_decision decision;
    test_key key = key_number(number);
    weir_request request = make_request(self, &key, pick_cost(self), &identity);
    moment at = moment_pick(round, &self->random);
    bool whole = round->admits || !one_in(self, 4);
    bool plain = !whole && at.now == WEIR_NOW && request.cost == 1 && request.plan == 0;
    uint64_t begin = moment_ticket(round);
    int verdict = plain ? weir_allow(round->limiter, key.bytes, key.size)
                        : weir_take(round->limiter, &request, at.now, whole ? &decision : NULL);
    note_answer(self, number, &request, verdict, whole ? &decision : NULL, entry_ended(round, begin, &at));
}

static void batch(life *self)
{
    torture_round *round = self->round;
    test_key keys[BATCH_MOST];
    uint64_t numbers[BATCH_MOST];
    weir_identity identities[BATCH_MOST];
    weir_request requests[BATCH_MOST];
    weir_decision decisions[BATCH_MOST];
    int verdicts[BATCH_MOST];
    size_t count = 1 + random_below(&self->random, BATCH_MOST);
    size_t bad = one_in(self, 4) ? random_below(&self->random, count) : count;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = pick_key(self);
        keys[i] = key_number(numbers[i]);
        requests[i] = make_request(self, &keys[i], pick_cost(self), &identities[i]);
    }
    if (bad < count)
        requests[bad] = (weir_request){.key = "", .key_len = WEIR_KEY_MAX + 1};
    moment at = moment_pick(round, &self->random);
    uint64_t begin = moment_ticket(round);
    int64_t accepted = weir_take_batch(round->limiter, requests, count, at.now, verdicts, decisions);
    ledger_entry entry = entry_ended(round, begin, &at);
    for (size_t i = 0; i < count; i++) {
        if (i == bad && (verdicts[i] != -EINVAL || decisions[i].verdict != -EINVAL))
            fault("a bad request in a batch: verdict %d", verdicts[i]);
        if (i == bad)
            continue;
        accepted -= verdicts[i];
        note_answer(self, numbers[i], &requests[i], verdicts[i], &decisions[i], entry);
    }
    if (accepted != 0)
        fault("a batch tells %" PRId64 " accepted too many", accepted);
    self->calls -= count < self->calls ? count - 1 : self->calls - 1; /* the last one is the loop's */
    tell(&torture_told.batches, 1);
}

static void peek(life *self)
{
    torture_round *round = self->round;
    weir_identity identity;
    weir_decision decision;
    test_key key = key_number(pick_key(self));
    weir_request request = make_request(self, &key, pick_cost(self), &identity);
    moment at = moment_pick(round, &self->random);
    int verdict = weir_peek(round->limiter, &request, at.now, &decision);
    if (verdict != decision.verdict || decision.flags & (WEIR_TABLE_FULL | WEIR_NO_MEMORY))
        fault("peek: verdict %d, in the answer %d, flags %u", verdict, decision.verdict, decision.flags);
    check_answer(round, &request, &decision);
    tell(&torture_told.peeks, 1);
}

void asker_reset(life *self, uint64_t number)
{
    torture_round *round = self->round;
    weir_identity identity;
    test_key key = key_number(number);
    weir_request request = make_request(self, &key, 1, &identity);
    moment none = {0, 0, 0};
    uint64_t begin = moment_ticket(round);
    int result = weir_reset(round->limiter, &request);
    if (result != 0)
        fault("weir_reset: %d", result);
    ledger_entry entry = entry_ended(round, begin, &none);
    entry.key = (uint32_t)number;
    entry.floor = 0; /* it decides nothing */
    entry.reset = true;
    ledger_add(&round->ledgers[self->index], &entry);
    tell(&torture_told.resets, 1);
}

void asker_live(life *self)
{
    uint64_t most = 100 + random_below(&self->random, 1500);
    self->keys = (unsigned)random_below(&self->random, ON_ALL + 1);
    for (uint64_t call = 0; call < most && self->calls > 0; call++, self->calls--) {
        uint64_t pick = random_below(&self->random, 256);
        if (pick < 8)
            batch(self);
        else if (pick < 24)
            peek(self);
        else if (pick == 24 && self->round->resets)
            asker_reset(self, pick_key(self));
        else
            asker_take(self, pick_key(self));
    }
}
