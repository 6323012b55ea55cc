/*
 * Published refusals: what they cover, that they say what the lock's path would, and what takes them back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "limiter_bench.h"

/* --- on a node alone --- */

struct scene {
    weir limiter;
    weiri_limits limits;
    weiri_node node;
};

static weiri_ask ask_of(struct scene *scene, uint64_t now, uint64_t cost)
{
    return (weiri_ask){.limiter = &scene->limiter, .now = now, .cost = cost, .limits = &scene->limits};
}

/* A refusal of cost 5 at 100, worked out with version 7; it ends at 200. */
static void scene_publish(struct scene *scene, bool costs, uint64_t until, const weir_decision *decision)
{
    memset(scene, 0, sizeof *scene);
    scene->limiter.costs = costs;
    scene->limits = (weiri_limits){.version = 7, .limit = {10, 20}};
    weiri_ask ask = ask_of(scene, 100, 5);
    weiri_refusal_publish(&scene->node, &ask, until, decision);
}

static bool covers(struct scene *scene, uint64_t now, uint64_t cost, uint64_t floor, weir_decision *decision)
{
    weiri_ask ask = ask_of(scene, now, cost);
    return weiri_refusal_covers(&scene->node, &ask, floor, decision);
}

static const weir_decision whole = {
    .rule = 1, .limit = 20, .remaining = 3, .retry_after_ns = 100, .release_after_ns = 50};

Test(refusal, covers_costs_from_its_own_up_until_it_ends)
{
    struct scene s;
    scene_publish(&s, true, 200, NULL);

    cr_assert(covers(&s, 100, 5, 0, NULL));
    cr_assert(covers(&s, 100, 6, 0, NULL));
    cr_assert(covers(&s, 100, UINT64_MAX, 0, NULL));
    cr_assert(!covers(&s, 100, 4, 0, NULL));
    cr_assert(covers(&s, 199, 5, 0, NULL));
    cr_assert(!covers(&s, 200, 5, 0, NULL));
    cr_assert(covers(&s, 0, 5, 0, NULL)); /* earlier times too: charges in a window do not grow by themselves */
    cr_assert(covers(&s, 100, 5, 199, NULL));
    cr_assert(!covers(&s, 100, 5, 200, NULL)); /* what the floor has let expire does not refuse */
}

Test(refusal, without_a_rule_for_costs_all_calls_weigh_the_same)
{
    struct scene s;
    scene_publish(&s, false, 200, &whole);
    weir_decision decision;

    cr_assert(covers(&s, 100, 0, 0, &decision));
    cr_assert(covers(&s, 100, 4, 0, NULL));
    cr_assert(covers(&s, 100, 500, 0, &decision));
}

Test(refusal, never_ends_where_no_wait_helps)
{
    struct scene s;
    weir_decision decision, never = whole;
    never.retry_after_ns = WEIR_NEVER;
    scene_publish(&s, true, WEIR_NEVER, &never);

    cr_assert(covers(&s, WEIR_TIME_MAX, 5, 0, NULL));
    cr_assert(covers(&s, 149, 5, 0, &decision));
    cr_assert_eq(decision.retry_after_ns, WEIR_NEVER);
}

Test(refusal, is_for_the_limits_it_was_worked_out_with)
{
    struct scene s;
    scene_publish(&s, true, 200, &whole);
    weir_decision decision;

    for (s.limits.version = 0; s.limits.version < 10; s.limits.version++) {
        cr_assert_eq(covers(&s, 100, 5, 0, NULL), s.limits.version == 7);
        cr_assert_eq(covers(&s, 100, 5, 0, &decision), s.limits.version == 7);
    }
}

Test(refusal, tells_the_whole_decision_from_its_time_until_remaining_grows)
{
    struct scene s;
    scene_publish(&s, true, 200, &whole);

    for (uint64_t now = 90; now < 210; now++) {
        weir_decision decision;
        bool tells = now >= 100 && now < 150;
        cr_assert_eq(covers(&s, now, 5, 0, &decision), tells, "at %" PRIu64, now);
        if (!tells)
            continue;
        cr_assert_eq(decision.verdict, 0);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.rule, 1);
        cr_assert_eq(decision.limit, 20);
        cr_assert_eq(decision.remaining, 3);
        cr_assert_eq(decision.retry_after_ns, 200 - now);
        cr_assert_eq(decision.release_after_ns, 150 - now);
        cr_assert(!covers(&s, now, 6, 0, &decision)); /* another cost has another wait */
        cr_assert(covers(&s, now, 6, 0, NULL));
        cr_assert(!covers(&s, now, 5, now + 1, &decision)); /* late: to be flagged */
        cr_assert(covers(&s, now, 5, now, &decision));
    }
}

Test(refusal, with_nothing_charged_remaining_never_grows)
{
    struct scene s;
    weir_decision decision, idle = whole;
    idle.release_after_ns = 0;
    scene_publish(&s, true, 200, &idle);

    cr_assert(covers(&s, 199, 5, 0, &decision));
    cr_assert_eq(decision.release_after_ns, 0);
    cr_assert_eq(decision.retry_after_ns, 1);
}

Test(refusal, of_a_release_beyond_64_bits_only_the_verdict_is_told)
{
    struct scene s;
    weir_decision decision, far = whole;
    far.release_after_ns = UINT64_MAX - 50; /* added to 100: beyond */
    scene_publish(&s, true, 200, &far);

    cr_assert(covers(&s, 100, 5, 0, NULL));
    cr_assert(!covers(&s, 100, 5, 0, &decision));
}

Test(refusal, a_verdict_published_alone_fills_no_decision)
{
    struct scene s;
    weir_decision decision;
    scene_publish(&s, true, 200, NULL);

    cr_assert(covers(&s, 100, 5, 0, NULL));
    cr_assert(!covers(&s, 100, 5, 0, &decision));
}

Test(refusal, of_less_that_still_holds_is_not_replaced_by_one_of_more)
{
    struct scene s;
    scene_publish(&s, true, 200, NULL);
    uint64_t tag = weiri_load_relaxed_64(&s.node.refusal.tag);

    weiri_ask more = ask_of(&s, 150, 6), less = ask_of(&s, 150, 4), later = ask_of(&s, 200, 6);
    weiri_refusal_publish(&s.node, &more, 300, &whole);
    cr_assert_eq(weiri_load_relaxed_64(&s.node.refusal.tag), tag);
    cr_assert(covers(&s, 150, 5, 0, NULL));
    weiri_refusal_publish(&s.node, &later, 300, &whole); /* the one of 5 has ended */
    cr_assert(covers(&s, 299, 6, 0, NULL));
    cr_assert(!covers(&s, 150, 5, 0, NULL));
    weiri_refusal_publish(&s.node, &less, 180, NULL);
    cr_assert(covers(&s, 150, 4, 0, NULL));
    s.limits.version = 8; /* another set of limits: of no use to calls under this one */
    weiri_refusal_publish(&s.node, &more, 300, NULL);
    cr_assert(covers(&s, 299, 6, 0, NULL));
}

Test(refusal, is_gone_when_cleared_and_no_tag_comes_back)
{
    struct scene s;
    scene_publish(&s, true, 200, &whole);
    weiri_ask ask = ask_of(&s, 100, 5);
    weir_decision decision;
    uint64_t last = weiri_load_acquire_64(&s.node.refusal.tag);

    cr_assert_neq(last, 0);
    for (unsigned i = 0; i < 5; i++) {
        weiri_refusal_clear(&s.node);
        weiri_refusal_clear(&s.node);
        cr_assert_eq(weiri_load_acquire_64(&s.node.refusal.tag), 0);
        cr_assert(!covers(&s, 100, 5, 0, NULL));
        cr_assert(!covers(&s, 100, 5, 0, &decision));
        weiri_refusal_publish(&s.node, &ask, 200, &whole);
        weiri_refusal_publish(&s.node, &ask, 201, &whole);
        cr_assert_eq(weiri_load_acquire_64(&s.node.refusal.tag), last + 2);
        last += 2;
        cr_assert(covers(&s, 200, 5, 0, NULL)); /* the later one */
    }
}

/* --- on a limiter --- */

static const weir_rule layouts[][2] = {
    {{.limit = 5, .window_ns = 20, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST}},
    {{.limit = 3, .window_ns = 20, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST}},
    {{.limit = 5, .window_ns = 20, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 5}},
    {{.limit = 5, .window_ns = 10, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
     {.limit = 3, .window_ns = 20, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST}},
    {{.limit = 9, .window_ns = 30, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
     {.limit = 4, .window_ns = 8, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 4}},
};

enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static weir *open_layout(struct bench *bench, size_t layout)
{
    weir *limiter = bench_open(bench, layouts[layout], layouts[layout][1].algorithm ? 2 : 1, UINT64_MAX);
    cr_assert(limiter->nodes);
    return limiter;
}

/* Is the call answered by what is published, without the lock? */
static bool covered(weir *limiter, const weir_identity *key, uint64_t now, uint64_t cost, weir_decision *decision)
{
    weiri_ask ask = {.limiter = limiter, .identity = key, .now = now, .cost = cost};
    ask.limits = weiri_load_acquire_pointer(&limiter->plan[0]);
    return weiri_refusal_covers(node_of(limiter, key), &ask, 0, decision);
}

/* What the lock says: nothing is published any more, and the peek does not publish where it accepts. */
static int by_lock(weir *limiter, const weir_identity *key, uint64_t now, uint64_t cost, weir_decision *decision)
{
    weir_request request = request_for(key, cost);
    weiri_refusal_clear(node_of(limiter, key));
    return weir_peek(limiter, &request, now, decision);
}

/* Takes a refusal at `at`, then holds what it covers against the lock at each instant and cost. Returns how often. */
static uint64_t compare(weir *limiter, const weir_identity *key, uint64_t at, uint64_t cost)
{
    weir_request request = request_for(key, cost);
    weir_decision first, published, wanted;
    uint64_t whole_ones = 0, verdicts = 0;

    if (weir_peek(limiter, &request, at, &first) == 1)
        return 0;
    for (uint64_t now = 0; now < 100; now++)
        for (uint64_t asked = 0; asked <= 10; asked++) {
            uint64_t value[2];
            by_lock(limiter, key, at, cost, &first); /* publishes it anew */
            bool verdict = covered(limiter, key, now, asked, NULL);
            bool all = covered(limiter, key, now, asked, &published);
            int answer = by_lock(limiter, key, now, asked, &wanted);
            cr_assert(!verdict || answer == 0, "cost %" PRIu64 " at %" PRIu64 " after %" PRIu64 " at %" PRIu64, asked,
                      now, cost, at);
            cr_assert(!all || verdict);
            if (all) {
                const char *field = decision_difference(&wanted, &published, &value[0], &value[1]);
                cr_assert_null(field, "%s: %" PRIu64 " by the lock, %" PRIu64 " published; cost %" PRIu64 " at %" PRIu64
                               " after %" PRIu64, field, value[0], value[1], asked, now, at);
            }
            verdicts += verdict;
            whole_ones += all;
            /* It ends no earlier than need be: at its own cost, up to the wait that was told. */
            if (asked == cost && first.retry_after_ns != WEIR_NEVER)
                cr_assert_eq(verdict, now < at + first.retry_after_ns);
        }
    cr_assert_gt(verdicts, 0);
    return whole_ones;
}

Test(refusal, what_it_covers_is_what_the_lock_says_at_every_instant, .timeout = 120)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        struct bench bench;
        weir *limiter = open_layout(&bench, layout);
        weir_identity key = key_at(limiter, 0, 1, 1);
        uint64_t whole_ones = 0;

        for (uint64_t now = 12; now < 20; now += 3)
            take(limiter, &key, 2, now);
        for (uint64_t at = 8; at < 45; at += 4)
            for (uint64_t cost = 1; cost <= 10; cost += 1 + cost / 3)
                whole_ones += compare(limiter, &key, at, cost);
        cr_assert_gt(whole_ones, 0);
        bench_close(&bench);
    }
}

Test(refusal, is_answered_without_the_lock)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        struct bench bench;
        weir *limiter = open_layout(&bench, layout);
        weir_identity key = key_at(limiter, 0, 1, 1);
        weir_request request = request_for(&key, 4);
        weir_decision decision, again;

        while (weir_take(limiter, &request, 1, &decision) == 1)
            ;
        weiri_node *node = node_of(limiter, &key);
        cr_assert(weiri_spinlock_try(&node->lock)); /* from here on, who needs the lock waits for ever */
        cr_assert_eq(weir_take(limiter, &request, 1, &again), 0);
        cr_assert_eq(memcmp(&decision, &again, sizeof again), 0);
        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 0);
        cr_assert_eq(weir_peek(limiter, &request, 1, &again), 0);
        request.cost = 5;
        cr_assert_eq(weir_take(limiter, &request, 1, NULL), 0);
        weiri_spinlock_unlock(&node->lock);
        bench_close(&bench);
    }
}

/* A node with a refusal of cost 3 at 1, published. */
static weiri_node *refused(struct bench *bench, weir_identity *key)
{
    weir *limiter = open_layout(bench, 0);
    *key = key_at(limiter, 0, 1, 1);
    weir_request request = request_for(key, 3);
    weir_decision decision;

    cr_assert_eq(weir_take(limiter, &request, 1, NULL), 1);
    cr_assert_eq(weir_take(limiter, &request, 1, &decision), 0);
    cr_assert_eq(decision.retry_after_ns, 20);
    cr_assert(covered(limiter, key, 1, 3, NULL));
    return node_of(limiter, key);
}

Test(refusal, is_cleared_by_a_charge)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request two = request_for(&key, 2), one = request_for(&key, 1);
    weir_decision decision;

    cr_assert_eq(weir_take(bench.limiter, &two, 5, NULL), 1); /* smaller than what is refused */
    cr_assert_eq(weiri_load_acquire_64(&node->refusal.tag), 0);
    cr_assert_eq(weir_take(bench.limiter, &one, 5, &decision), 0);
    cr_assert_eq(decision.remaining, 0);
    cr_assert_eq(decision.retry_after_ns, 16);
    cr_assert(covered(bench.limiter, &key, 20, 3, NULL));
    cr_assert(!covered(bench.limiter, &key, 21, 3, NULL));
    bench_close(&bench);
}

Test(refusal, is_cleared_by_a_charge_whatever_the_rules)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        struct bench bench;
        weir *limiter = open_layout(&bench, layout);
        weir_identity key = key_at(limiter, 0, 1, 1);
        uint64_t cleared = 0;

        cr_assert_eq(take(limiter, &key, 1, 1), 1);
        for (uint64_t now = 1; now < 200; now++) {
            if (take(limiter, &key, 9, now) == 1 || take(limiter, &key, 1, now) == 0)
                continue; /* refused, then less accepted */
            cr_assert_eq(weiri_load_acquire_64(&node_of(limiter, &key)->refusal.tag), 0, "layout %zu", layout);
            cleared++;
        }
        cr_assert(cleared > 0 || layout == 1, "layout %zu", layout); /* there all calls weigh the same */
        bench_close(&bench);
    }
}

Test(refusal, is_not_cleared_by_what_charges_nothing)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request two = request_for(&key, 2), none = request_for(&key, 0);
    uint64_t tag = weiri_load_acquire_64(&node->refusal.tag);

    cr_assert_eq(weir_peek(bench.limiter, &two, 5, NULL), 1);
    cr_assert_eq(weir_take(bench.limiter, &none, 5, NULL), 1);
    cr_assert_eq(weiri_load_acquire_64(&node->refusal.tag), tag);
    bench_close(&bench);
}

Test(refusal, is_cleared_by_a_reset)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request three = request_for(&key, 3);

    cr_assert_eq(weir_reset(bench.limiter, &three), 0);
    cr_assert_eq(weiri_load_acquire_64(&node->refusal.tag), 0);
    cr_assert_eq(weir_take(bench.limiter, &three, 1, NULL), 1);
    bench_close(&bench);
}

Test(refusal, masks_no_other_limit_and_refuses_by_a_lowered_one)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request three = request_for(&key, 3), one = request_for(&key, 1);
    weir_decision decision;

    cr_assert_eq(weir_set_limits(bench.limiter, 0, &(uint64_t){2}, 1), 0);
    cr_assert(!covered(bench.limiter, &key, 1, 3, NULL));
    cr_assert_eq(weir_take(bench.limiter, &three, 1, &decision), 0);
    cr_assert_eq(decision.limit, 2);
    cr_assert_eq(decision.remaining, 0);
    cr_assert_eq(decision.retry_after_ns, WEIR_NEVER); /* 3 is more than 2 */
    cr_assert_eq(weir_take(bench.limiter, &one, 1, NULL), 0);
    cr_assert_eq(weir_set_limits(bench.limiter, 0, &(uint64_t){6}, 1), 0);
    cr_assert_eq(weir_take(bench.limiter, &three, 1, NULL), 1);
    cr_assert_eq(weir_take(bench.limiter, &three, 1, NULL), 0);
    /* The same limit again is another object: refused all the same, by the lock. */
    cr_assert_eq(weir_set_limits(bench.limiter, 0, &(uint64_t){6}, 1), 0);
    cr_assert(!covered(bench.limiter, &key, 1, 3, NULL));
    cr_assert_eq(weir_take(bench.limiter, &three, 1, NULL), 0);
    cr_assert(covered(bench.limiter, &key, 1, 3, NULL));
    cr_assert_eq(node_of(bench.limiter, &key), node);
    bench_close(&bench);
}

Test(refusal, at_a_raised_floor_is_not_published)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request three = request_for(&key, 3);
    weir_decision decision;

    weiri_refusal_clear(node);
    node->drop = 10; /* as a sweep leaves it that trimmed this node */
    cr_assert_eq(weir_take(bench.limiter, &three, 5, &decision), 0);
    cr_assert_eq(decision.flags, WEIR_LATE);
    cr_assert_eq(weiri_load_acquire_64(&node->refusal.tag), 0);
    cr_assert_eq(weir_take(bench.limiter, &three, 10, &decision), 0);
    cr_assert_eq(decision.flags, 0);
    cr_assert_neq(weiri_load_acquire_64(&node->refusal.tag), 0);
    bench_close(&bench);
}
