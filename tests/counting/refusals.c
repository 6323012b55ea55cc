/*
 * Refusals write nothing: no store and no atomic read-modify-write on a shared word, as the hooks see them. Guarantee
 * E, and section 4.2 of the contract.
 *
 *   cells     one counter: no refusal, peek or call on a key that has no charge ever writes
 *   nodes     all else: a refusal that an earlier one covers. Which are, is modelled here: verdicts of at least the
 *             smallest cost that was refused and still is, under whatever name they come (take, peek, batch, with an
 *             identity, late, on a frozen cell); and the whole decision of the same cost as it was last worked
 *             out for, until `remaining` grows or another is worked out. And two refused calls in turn, of other
 *             costs, plans, times: the first few are worked out, the others covered, save whole decisions by two rules
 *             or plans, or that differ in both their end and what remains
 *
 * Random traffic on few keys; a twin that has had the same charges tells when refusals end. That plain stores are none
 * either, is seen in the tables of docs/cost-model.md, which another test counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

#include "../../src/limiter/testing.h"
#include "../schedule/alone.h"
#include "../support/random.h"

enum { KEYS = 12, CALLS = 400, RULES = 3, PLANS = 2, TURNS = 30 };

/* What is published on one key, as far as it must be. */
struct cover {
    bool verdict, whole;
    uint64_t cost, until;                         /* verdicts of this cost and more, before this time */
    uint64_t whole_cost, whole_from, whole_until; /* the whole decision, in this span */
};

static struct {
    uint64_t seed, round;
    random_source random;
    weir *limiter, *twin;
    bool cell;
    bool sole;     /* one counter, that does not fit a cell */
    bool costs;    /* some rule charges them: else all calls weigh the same */
    bool requests; /* some rule charges requests: else a call of cost 0 changes nothing */
    struct cover cover[KEYS];
    uint64_t covered; /* refusals that had to write nothing, so far */
    uint64_t turns;   /* and those among two in turn */
} it;

static unsigned writes;

static void count_writes(enum weiri_access access, const void *place)
{
    (void)place;
    writes += access == WEIRI_STORE || access == WEIRI_UPDATE;
}

static uint64_t below(uint64_t bound)
{
    return random_below(&it.random, bound);
}

static weir *open_one(const weir_rule *rules, size_t count, uint64_t max_limit, const uint64_t *limits)
{
    weir_options options = weir_options_manual();
    options.plans = PLANS;
    options.plan_limits = limits;
    options.max_limit = max_limit;
    weir *limiter;
    alone_want("open", 0, (uint64_t)weir_open(&limiter, rules, count, &options));
    return limiter;
}

static void open_both(void)
{
    weir_rule rules[RULES];
    size_t count = 1 + below(RULES);
    uint64_t max_limit = count == 1 && below(3) == 0 ? UINT64_C(1) << 31 : 0;
    for (size_t i = 0; i < count; i++) {
        rules[i] = (weir_rule){.limit = 1 + below(30), .window_ns = 1000 + below(9000)};
        rules[i].algorithm = WEIR_LOG + (uint32_t)below(3);
        rules[i].meter = WEIR_PER_REQUEST + (uint32_t)below(2);
        rules[i].buckets = rules[i].algorithm == WEIR_BUCKETS ? 1 + below(20) : 0;
    }
    if (rules[0].algorithm == WEIR_COUNTER && max_limit) /* one that does not fit a cell */
        max_limit = UINT64_C(1) << 33;
    it.sole = count == 1 && rules[0].algorithm == WEIR_COUNTER;
    it.cell = count == 1 && rules[0].algorithm == WEIR_COUNTER && max_limit <= UINT32_MAX;
    uint64_t limits[PLANS * RULES];
    for (size_t i = 0; i < PLANS * count; i++)
        limits[i] = i < count ? rules[i].limit : 1 + below(30);
    it.limiter = open_one(rules, count, max_limit, limits);
    it.twin = open_one(rules, count, max_limit, limits);
    it.costs = it.requests = false;
    for (size_t i = 0; i < count; i++) {
        it.costs = it.costs || rules[i].meter == WEIR_PER_COST;
        it.requests = it.requests || rules[i].meter == WEIR_PER_REQUEST;
    }
    memset(it.cover, 0, sizeof it.cover);
}

/* Makes the call, in one of the ways that it can be made. Returns the verdict. */
static int call(const weir_request *plain, uint64_t now, bool peek, weir_decision *decision)
{
    weir_request request = *plain;
    weir_identity identity;
    if (below(3) == 0) {
        alone_want("identify", 0, (uint64_t)weir_identify(it.limiter, request.key, request.key_len, &identity));
        request.identity = &identity;
    }
    bool batch = !peek && below(4) == 0;
    writes = 0;
    alone_hook = count_writes;
    int verdict = batch  ? (int)weir_take_batch(it.limiter, &request, 1, now, NULL, decision)
                  : peek ? weir_peek(it.limiter, &request, now, decision)
                         : weir_take(it.limiter, &request, now, decision);
    alone_hook = NULL;
    return verdict;
}

static bool is_covered(const struct cover *cover, uint64_t cost, uint64_t now, bool whole)
{
    if (it.cell)
        return true;
    if (!cover->verdict || cost < cover->cost || now >= cover->until)
        return false;
    return !whole ||
           (cover->whole && cost == cover->whole_cost && now >= cover->whole_from && now < cover->whole_until);
}

/* A refusal that was not covered has been worked out, and `told` is what it says. */
static void note(struct cover *cover, uint64_t cost, uint64_t now, bool whole, const weir_decision *told)
{
    uint64_t until = told->retry_after_ns == WEIR_NEVER ? WEIR_NEVER : now + told->retry_after_ns;
    if (cover->verdict && cover->cost < cost && now < cover->until) {
        cover->whole = false; /* one of less stands, and covers more verdicts; it may have ended as a decision */
        return;
    }
    *cover = (struct cover){.verdict = true, .whole = whole, .cost = cost, .until = until};
    cover->whole_cost = cost;
    cover->whole_from = now;
    cover->whole_until = told->release_after_ns == 0 ? until : now + told->release_after_ns;
}

/* A migration begins somewhere, with a drop time at which nothing has expired; some cells may be left frozen. */
static void migrate(void)
{
    if (below(3) == 0)
        weiri_test_migrate(it.limiter, random_next(&it.random), 0);
    else
        weiri_test_freeze(it.limiter, random_next(&it.random), 0);
}

static void one_call(uint64_t *time)
{
    unsigned char key = (unsigned char)below(KEYS);
    struct cover *cover = &it.cover[key];
    weir_request request = weir_request_for(&key, 1);
    weir_decision decision, told;
    request.cost = below(8);
    *time += below(4) == 0 ? below(3000) : below(20);
    uint64_t now = below(8) == 0 ? *time - below(500) : *time, cost = it.costs ? request.cost : 1;
    bool peek = below(6) == 0, whole = below(2) == 0;
    int expected = weir_peek(it.twin, &request, now, &told);
    if (below(40) == 0)
        migrate();

    int verdict = call(&request, now, peek, whole ? &decision : NULL);
    alone_want("verdict", (uint64_t)expected, (uint64_t)verdict);
    if (verdict == 1) {
        if (!peek) {
            alone_want("the twin", 1, (uint64_t)weir_take(it.twin, &request, now, NULL));
            if (it.requests || request.cost > 0)
                *cover = (struct cover){.verdict = false};
        }
        return;
    }
    if (told.flags & WEIR_LATE)
        return; /* decided under the lock, so that it is told */
    if (!is_covered(cover, cost, now, whole)) {
        if (writes > 0) /* else by what stands beside */
            note(cover, cost, now, whole, &told);
        return;
    }
    alone_want(it.cell ? "writes of a refusal, cell" : "writes of a refusal that is covered", 0, writes);
    it.covered++;
}

/* Other charges than before, and nothing published: where a refusal of less stands, that is kept beside one of two. */
static void charge_anew(unsigned char key, uint64_t time)
{
    weir_request request = weir_request_for(&key, 1);
    it.cover[key] = (struct cover){.verdict = false};
    alone_want("reset", 0, (uint64_t)weir_reset(it.limiter, &request));
    alone_want("reset of the twin", 0, (uint64_t)weir_reset(it.twin, &request));
    for (unsigned i = 0; i < 6; i++) {
        request.cost = 1 + below(8);
        uint64_t now = time - 2000 + below(2000);
        if (weir_take(it.twin, &request, now, NULL) == 1)
            alone_want("a charge", 1, (uint64_t)weir_take(it.limiter, &request, now, NULL));
    }
}

/* A refused call, and what it is told. */
struct turn {
    weir_request request;
    uint64_t now;
    bool whole;
    weir_decision told;
};

/* Not late, on the key. False: none was found. */
static bool any_refused(const unsigned char *key, uint64_t time, struct turn *turn)
{
    for (unsigned i = 0; i < 8; i++) {
        turn->request = weir_request_for(key, 1);
        turn->request.cost = below(4) == 0 ? 1 + below(40) : 1 + below(8);
        turn->request.plan = below(3) == 0;
        turn->now = time - 500 + below(3000);
        turn->whole = below(3) != 0;
        if (weir_peek(it.twin, &turn->request, turn->now, &turn->told) == 0 && turn->told.flags == 0)
            return true;
    }
    return false;
}

static uint64_t end_of(const struct turn *turn)
{
    return turn->told.retry_after_ns == WEIR_NEVER ? WEIR_NEVER : turn->now + turn->told.retry_after_ns;
}

/* There are words for both: two verdicts, a verdict and a decision, or two decisions by one rule and plan that end
 * together, or that tell the same of what remains. A sole counter tells everything. */
static bool has_room(const struct turn *a, const struct turn *b)
{
    if (it.sole || !a->whole || !b->whole)
        return true;
    uint64_t grows[2] = {a->now + a->told.release_after_ns, b->now + b->told.release_after_ns};
    bool idle[2] = {a->told.release_after_ns == 0, b->told.release_after_ns == 0};
    return a->request.plan == b->request.plan && a->told.rule == b->told.rule &&
           (end_of(a) == end_of(b) || (a->told.remaining == b->told.remaining && idle[0] == idle[1] &&
                                       (idle[0] || grows[0] == grows[1])));
}

/* Two calls in turn: the first few are worked out. */
static void two_in_turn(uint64_t time)
{
    unsigned char key = (unsigned char)below(KEYS);
    struct turn turn[2];
    weir_decision decision;
    charge_anew(key, time);
    if (!any_refused(&key, time, &turn[0]) || !any_refused(&key, time, &turn[1]) || !has_room(&turn[0], &turn[1]))
        return;
    for (unsigned i = 0; i < 10; i++) {
        const struct turn *now = &turn[i % 2];
        int verdict = call(&now->request, now->now, below(2) == 0, now->whole ? &decision : NULL);
        alone_want("verdict in turn", 0, (uint64_t)verdict);
        if (i < 6)
            continue;
        alone_want("writes of two refusals in turn", 0, writes);
        it.turns++;
    }
    charge_anew(key, time);
}

/* What has no charge is refused, and peeked at, without a trace. */
static void unknown_keys(void)
{
    weir_decision decision;
    for (unsigned char i = 0; i < 20; i++) {
        unsigned char key[2] = {i, 'u'};
        weir_request request = weir_request_for(key, sizeof key);
        bool refused = it.costs && below(2) == 0;
        request.cost = refused ? UINT64_C(1) << 40 : 1;
        int verdict = call(&request, 1000000, !refused || below(2) == 0, below(2) == 0 ? &decision : NULL);
        alone_want("verdict on a key without a charge", !refused, (uint64_t)verdict);
        alone_want("writes of a call on a key without a charge", 0, writes);
    }
}

int main(void)
{
    it.seed = random_seed("refusals");
    uint64_t rounds = random_scaled(2000);
    for (it.round = 0; it.round < rounds; it.round++) {
        it.random = random_from(it.seed, it.round);
        open_both();
        uint64_t time = 1000000;
        for (unsigned i = 0; i < CALLS; i++)
            one_call(&time);
        for (unsigned i = 0; i < TURNS; i++) {
            two_in_turn(time);
            one_call(&time);
        }
        unknown_keys();
        weir_close(it.limiter);
        weir_close(it.twin);
    }
    printf("%" PRIu64 " refusals wrote nothing, nor did %" PRIu64 " in turn\n", it.covered, it.turns);
    return it.covered == 0 || it.turns == 0;
}
