/*
 * Published refusals, on a limiter: that they say what the lock's path would at every time, cost and plan, that they
 * take no lock, and what takes them back. Guarantees A and E, and section 4 of the contract.
 *
 * SPDX-License-Identifier: MIT
 */
#include "limiter_bench.h"

static uint64_t tag_of(const weiri_node *node)
{
    return weiri_load_acquire_64(&node->refusal.tag);
}

static bool published(const weiri_node *node)
{
    return (tag_of(node) & WEIRI_HOLDS) != 0;
}

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

Test(refused, what_it_covers_is_what_the_lock_says_at_every_instant, .timeout = 120)
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

Test(refused, is_answered_without_the_lock)
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

Test(refused, is_cleared_by_a_charge)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request two = request_for(&key, 2), one = request_for(&key, 1);
    weir_decision decision;

    cr_assert_eq(weir_take(bench.limiter, &two, 5, NULL), 1); /* smaller than what is refused */
    cr_assert(!published(node));
    cr_assert_eq(weir_take(bench.limiter, &one, 5, &decision), 0);
    cr_assert_eq(decision.remaining, 0);
    cr_assert_eq(decision.retry_after_ns, 16);
    cr_assert(covered(bench.limiter, &key, 20, 3, NULL));
    cr_assert(!covered(bench.limiter, &key, 21, 3, NULL));
    bench_close(&bench);
}

Test(refused, is_cleared_by_a_charge_whatever_the_rules)
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
            cr_assert(!published(node_of(limiter, &key)), "layout %zu", layout);
            cleared++;
        }
        cr_assert(cleared > 0 || layout == 1, "layout %zu", layout); /* there all calls weigh the same */
        bench_close(&bench);
    }
}

Test(refused, is_not_cleared_by_what_charges_nothing)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request two = request_for(&key, 2), none = request_for(&key, 0);
    uint64_t tag = tag_of(node);

    cr_assert_eq(weir_peek(bench.limiter, &two, 5, NULL), 1);
    cr_assert_eq(weir_take(bench.limiter, &none, 5, NULL), 1);
    cr_assert_eq(tag_of(node), tag);
    bench_close(&bench);
}

Test(refused, is_cleared_by_a_reset)
{
    struct bench bench;
    weir_identity key;
    weiri_node *node = refused(&bench, &key);
    weir_request three = request_for(&key, 3);

    cr_assert_eq(weir_reset(bench.limiter, &three), 0);
    cr_assert(!published(node));
    cr_assert_eq(weir_take(bench.limiter, &three, 1, NULL), 1);
    bench_close(&bench);
}

Test(refused, masks_no_other_limit_and_refuses_by_a_lowered_one)
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

Test(refused, at_a_raised_floor_is_told_from_there_on)
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
    cr_assert_eq(decision.retry_after_ns, 16);
    cr_assert(published(node));
    cr_assert(covered(bench.limiter, &key, 5, 3, NULL));
    cr_assert(!covered(bench.limiter, &key, 9, 3, &decision)); /* what the sweep did is for the lock to tell */
    cr_assert_eq(weir_take(bench.limiter, &three, 9, &decision), 0);
    cr_assert_eq(decision.flags, WEIR_LATE);
    cr_assert(covered(bench.limiter, &key, 10, 3, &decision));
    cr_assert_eq(decision.flags, 0);
    cr_assert_eq(decision.retry_after_ns, 11);
    bench_close(&bench);
}

/* --- any refusals, one after the other, against what the lock would say --- */

static const weir_rule counters[][2] = {
    {{.limit = UINT64_C(1) << 33, .window_ns = 20, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST}},
    {{.limit = UINT64_C(1) << 33, .window_ns = 20, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST}},
};

struct scene {
    random_source random;
    struct bench bench;
    weiri_limits plans[2];
    weiri_node *node;
    uint64_t told; /* whole decisions that were, so far */
};

static uint64_t below(struct scene *scene, uint64_t bound)
{
    return random_below(&scene->random, bound);
}

/* A key with a few charges, limits by which it is refused, and a drop time. */
static void scene_open(struct scene *scene, unsigned layout)
{
    if (layout < LAYOUTS)
        open_layout(&scene->bench, layout);
    else
        bench_open(&scene->bench, counters[layout - LAYOUTS], 1, UINT64_MAX);
    weir *limiter = scene->bench.limiter;
    weir_identity key = key_at(limiter, 0, 1, 1);
    for (uint64_t now = below(scene, 10), i = 0; i < 6; i++, now += below(scene, 6))
        take(limiter, &key, 1 + below(scene, 3), now);
    for (unsigned plan = 0; plan < 2; plan++) {
        scene->plans[plan] = (weiri_limits){.version = plan + 1};
        for (unsigned i = 0; i < limiter->rules.count; i++)
            scene->plans[plan].limit[i] = 1 + below(scene, 5);
    }
    scene->node = node_of(limiter, &key);
    weiri_refusal_clear(scene->node);
    scene->node->drop = below(scene, 3) == 0 ? below(scene, 30) : 0;
}

static weiri_ask any_ask(struct scene *scene)
{
    return (weiri_ask){.limiter = scene->bench.limiter, .now = below(scene, 60), .cost = below(scene, 9),
                       .limits = &scene->plans[below(scene, 2)]};
}

/* The floor that the segments tell: mostly none. */
static uint64_t any_floor(struct scene *scene)
{
    return below(scene, 3) == 0 ? below(scene, 40) : 0;
}

/* What whoever has the lock works out. */
static bool by_states(const struct scene *scene, const weiri_ask *ask, uint64_t *floor, weir_decision *decision,
                      uint64_t *until)
{
    const weiri_rules *rules = &scene->bench.limiter->rules;
    weiri_views views;
    *floor = *floor > scene->node->drop ? *floor : scene->node->drop;
    const weiri_call call = {ask->now, *floor, ask->cost, ask->limits->limit};
    weiri_decide(rules, scene->node->states, &call, &views);
    weiri_answer(rules, scene->node->states, &call, &views, false, decision);
    if (!views.accepted)
        *until = weiri_refused_until(rules, scene->node->states, &call, &views);
    return views.accepted;
}

static void publish_any(struct scene *scene)
{
    weiri_ask ask = any_ask(scene);
    uint64_t floor = any_floor(scene), until, before = tag_of(scene->node);
    weir_decision decision, again;
    bool whole = below(scene, 4) != 0;
    if (by_states(scene, &ask, &floor, &decision, &until))
        return;
    weiri_refusal_publish(scene->node, &ask, floor, until, whole ? &decision : NULL);
    cr_assert(weiri_refusal_covers(scene->node, &ask, floor, NULL));
    if (floor > ask.now && !(decision.flags & WEIR_LATE)) /* not late by the newest charge: not told */
        return;
    cr_assert(!whole || weiri_refusal_covers(scene->node, &ask, floor, &again));
    uint64_t tag = tag_of(scene->node);
    cr_assert_geq(tag, before);
    weiri_refusal_publish(scene->node, &ask, floor, until, whole ? &decision : NULL);
    cr_assert_eq(tag_of(scene->node), tag); /* once is enough */
}

static void compare_any(struct scene *scene)
{
    const weiri_ask ask = any_ask(scene);
    const uint64_t known = any_floor(scene);
    uint64_t floor = known, until, value[2];
    weir_decision wanted, told;
    bool accepted = by_states(scene, &ask, &floor, &wanted, &until);
    cr_assert(!accepted || !weiri_refusal_covers(scene->node, &ask, known, NULL),
              "cost %" PRIu64 " at %" PRIu64 ", floor %" PRIu64, ask.cost, ask.now, known);
    if (!weiri_refusal_covers(scene->node, &ask, known, &told))
        return;
    const char *field = decision_difference(&wanted, &told, &value[0], &value[1]);
    cr_assert_null(field, "%s: wanted %" PRIu64 ", told %" PRIu64 "; cost %" PRIu64 " at %" PRIu64 ", floor %" PRIu64
                   ", drop %" PRIu64, field, value[0], value[1], ask.cost, ask.now, known, scene->node->drop);
    scene->told++;
}

Test(refused, whatever_is_told_is_what_the_lock_says, .timeout = 120)
{
    static struct scene scene;
    const uint64_t seed = random_seed("refused"), rounds = random_scaled(6000);
    for (unsigned layout = 0; layout < LAYOUTS + 2; layout++) {
        scene.told = 0;
        for (uint64_t round = 0; round < rounds; round++) {
            scene.random = random_from(seed, layout * rounds + round);
            scene_open(&scene, layout);
            for (unsigned i = 0; i < 5; i++) {
                publish_any(&scene);
                for (unsigned j = 0; j < 40; j++)
                    compare_any(&scene);
            }
            bench_close(&scene.bench);
        }
        cr_assert_gt(scene.told, 4 * rounds, "layout %u", layout);
    }
}

Test(refused, by_a_sole_counter_is_everything_until_it_changes)
{
    struct scene scene = {.random = random_from(1, 1)};
    bench_open(&scene.bench, counters[0], 1, UINT64_MAX);
    weir *limiter = scene.bench.limiter;
    weir_identity key = key_at(limiter, 0, 1, 1);
    cr_assert_eq(take(limiter, &key, 7, 30), 1);
    scene.node = node_of(limiter, &key);
    for (unsigned plan = 0; plan < 2; plan++)
        scene.plans[plan] = (weiri_limits){.version = plan + 1, .limit = {5 + plan}};
    weiri_ask ask = {.limiter = limiter, .now = 30, .cost = 1, .limits = &scene.plans[0]};
    weiri_refusal_publish(scene.node, &ask, 0, 50, NULL);
    uint64_t tag = tag_of(scene.node), told = 0;

    for (ask.now = 0; ask.now < 100; ask.now++)
        for (ask.cost = 0; ask.cost < 10; ask.cost++)
            for (unsigned plan = 0; plan < 2; plan++) {
                uint64_t floor = 0, until;
                weir_decision wanted, got;
                ask.limits = &scene.plans[plan];
                bool accepted = by_states(&scene, &ask, &floor, &wanted, &until);
                cr_assert_eq(weiri_refusal_covers(scene.node, &ask, 0, NULL), !accepted);
                cr_assert_eq(weiri_refusal_covers(scene.node, &ask, 0, &got), !accepted);
                cr_assert(accepted || decision_difference(&wanted, &got, &floor, &until) == NULL);
                told += !accepted;
            }
    cr_assert_gt(told, 1000);
    cr_assert_eq(tag_of(scene.node), tag);
    cr_assert_eq(take(limiter, &key, 1, 30), 1);
    cr_assert(!published(scene.node));
    bench_close(&scene.bench);
}
