/*
 * Published refusals, on a node alone: what they cover, and which give way to which. Guarantee E.
 *
 * SPDX-License-Identifier: MIT
 */
#include "limiter_bench.h"

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
    weiri_refusal_publish(&scene->node, &ask, 0, until, decision);
}

static void publish(struct scene *scene, uint64_t now, uint64_t cost, uint64_t until, const weir_decision *decision)
{
    weiri_ask ask = ask_of(scene, now, cost);
    weiri_refusal_publish(&scene->node, &ask, 0, until, decision);
}

static uint64_t tag_of(const weiri_node *node)
{
    return weiri_load_acquire_64(&node->refusal.tag);
}

static bool published(const weiri_node *node)
{
    return (tag_of(node) & WEIRI_HOLDS) != 0;
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
    uint64_t tag = tag_of(&s.node);

    publish(&s, 150, 6, 300, NULL); /* covered */
    cr_assert_eq(tag_of(&s.node), tag);
    publish(&s, 150, 6, 300, &whole); /* the verdict is covered, the decision is not: beside it */
    publish(&s, 160, 7, 400, &whole); /* another: in the place of the larger */
    cr_assert(covers(&s, 150, 5, 0, NULL));
    cr_assert(covers(&s, 170, 7, 0, &(weir_decision){0}));
    cr_assert(!covers(&s, 170, 6, 0, &(weir_decision){0}));
    publish(&s, 200, 6, 300, &whole); /* the one of 5 has ended */
    cr_assert(covers(&s, 299, 6, 0, NULL));
    cr_assert(!covers(&s, 150, 5, 0, NULL));
    publish(&s, 150, 4, 180, NULL);
    cr_assert(covers(&s, 150, 4, 0, NULL));
    s.limits.version = 8;
    publish(&s, 150, 6, 300, NULL);
    cr_assert(covers(&s, 299, 6, 0, NULL));
}

Test(refusal, whole_decisions_of_two_costs_in_turn_are_told)
{
    struct scene s;
    weir_decision decision, seven = whole;
    scene_publish(&s, true, 200, &whole);
    seven.release_after_ns = 49; /* at 101: the same time */
    publish(&s, 101, 7, 300, &seven);
    uint64_t tag = tag_of(&s.node);

    for (unsigned i = 0; i < 4; i++) {
        cr_assert(covers(&s, 110, 5, 0, &decision));
        cr_assert(decision.rule == 1 && decision.limit == 20 && decision.remaining == 3);
        cr_assert(decision.retry_after_ns == 90 && decision.release_after_ns == 40);
        cr_assert(covers(&s, 110, 7, 0, &decision));
        cr_assert(decision.rule == 1 && decision.limit == 20 && decision.remaining == 3);
        cr_assert(decision.retry_after_ns == 190 && decision.release_after_ns == 40);
        publish(&s, 110, 5, 200, &(weir_decision){0}); /* already told: nothing is written */
        cr_assert_eq(tag_of(&s.node), tag);
    }
    cr_assert(covers(&s, 100, 7, 0, &decision)); /* since the earlier one */
    cr_assert(!covers(&s, 99, 7, 0, &decision));
    cr_assert(!covers(&s, 110, 6, 0, &decision));
    cr_assert(!covers(&s, 110, 8, 0, &decision));
    cr_assert(covers(&s, 250, 7, 0, NULL));
    cr_assert(!covers(&s, 250, 6, 0, NULL));
    seven.release_after_ns = 50;
    publish(&s, 100, 9, 300, &seven); /* ends as that of 7 */
    cr_assert(covers(&s, 110, 5, 0, &decision));
    cr_assert(covers(&s, 110, 7, 0, &decision));
    cr_assert(covers(&s, 110, 8, 0, &decision));
    cr_assert_eq(decision.retry_after_ns, 190);
}

Test(refusal, of_two_costs_by_two_rules_the_older_is_a_verdict)
{
    struct scene s;
    weir_decision decision, seven = whole;
    scene_publish(&s, true, 200, &whole);
    seven.rule = 0;
    publish(&s, 100, 7, 300, &seven);

    cr_assert(covers(&s, 110, 7, 0, &decision));
    cr_assert(decision.rule == 0 && decision.limit == 10);
    cr_assert(!covers(&s, 110, 5, 0, &decision));
    cr_assert(covers(&s, 199, 5, 0, NULL));
    cr_assert(!covers(&s, 200, 5, 0, NULL));
    publish(&s, 110, 6, 250, NULL); /* covered */
    cr_assert(covers(&s, 110, 7, 0, &decision));
    publish(&s, 210, 9, 400, &whole); /* of the two that cover less cost the smaller has ended */
    cr_assert(covers(&s, 299, 7, 0, NULL));
    scene_publish(&s, true, 200, &whole);
    publish(&s, 100, 7, 300, &seven);
    publish(&s, 110, 9, 400, &whole); /* of the two that cover less cost the smaller stays */
    cr_assert(covers(&s, 110, 9, 0, &decision));
    cr_assert(covers(&s, 110, 5, 0, NULL));
    cr_assert(!covers(&s, 250, 7, 0, NULL));
    publish(&s, 110, 4, 150, NULL); /* a verdict leaves the decision where it is */
    cr_assert(covers(&s, 110, 4, 0, NULL));
    cr_assert(covers(&s, 110, 9, 0, &decision));
}

/* Published at 100 for a cost of 5, rule 1, ends at 200, 3 remain until 150; and then another of 9. */
static void publish_beside(struct scene *scene, uint64_t at, uint64_t until, weir_decision decision)
{
    scene_publish(scene, true, 200, &whole);
    publish(scene, at, 9, until, &decision);
}

Test(refusal, costs_between_two_that_end_together_are_told_like_them)
{
    struct scene s;
    weir_decision decision;

    publish_beside(&s, 110, 200, (weir_decision){.rule = 1, .remaining = 3, .release_after_ns = 40});
    for (uint64_t cost = 0; cost < 14; cost++)
        cr_assert_eq(covers(&s, 100, cost, 0, &decision), cost >= 5 && cost <= 9);
    cr_assert(!covers(&s, 99, 7, 0, &decision)); /* from the earlier on */
    cr_assert_eq(tag_of(&s.node) & WEIRI_HOLDS, WEIRI_HOLDS_ONE); /* which has room for both */
    publish(&s, 100, 3, 200, &whole);
    cr_assert(covers(&s, 149, 3, 0, &decision));
    cr_assert(covers(&s, 149, 9, 0, &decision));

    /* The span of another time is that of all of them. */
    publish_beside(&s, 150, 200, (weir_decision){.rule = 1, .remaining = 4, .release_after_ns = 20});
    for (uint64_t now = 90; now < 180; now++) {
        cr_assert_eq(covers(&s, now, 7, 0, &decision), now >= 100 && now < 170);
        cr_assert(now < 100 || now >= 170 || decision.remaining == (now < 150 ? 3 : 4));
    }
    /* Not those that end at another time, by another rule, or under other limits. */
    publish_beside(&s, 100, 201, (weir_decision){.rule = 1, .remaining = 3, .release_after_ns = 50});
    cr_assert(covers(&s, 100, 5, 0, &decision) && covers(&s, 100, 9, 0, &decision));
    cr_assert(!covers(&s, 100, 7, 0, &decision));
    publish_beside(&s, 100, 200, (weir_decision){.rule = 0, .remaining = 3, .release_after_ns = 50});
    cr_assert(covers(&s, 100, 9, 0, &decision));
    cr_assert(!covers(&s, 100, 7, 0, &decision));
    scene_publish(&s, true, 200, &whole);
    s.limits.version = 8;
    publish(&s, 100, 9, 200, &whole);
    cr_assert(covers(&s, 100, 9, 0, &decision));
    cr_assert(!covers(&s, 100, 7, 0, &decision));
}

Test(refusal, tells_of_costs_as_far_as_there_is_room)
{
    struct scene s;
    weir_decision decision;
    const uint64_t farthest = 5 + WEIRI_COSTS_ALL - 1;

    scene_publish(&s, true, 200, &whole);
    publish(&s, 100, farthest, 200, &whole);
    cr_assert(covers(&s, 100, 5, 0, &decision) && covers(&s, 100, farthest, 0, &decision));
    cr_assert(!covers(&s, 100, farthest + 1, 0, &decision));
    publish(&s, 100, farthest + 1, 200, &whole); /* told beside */
    cr_assert(covers(&s, 100, 5, 0, &decision) && covers(&s, 100, farthest + 1, 0, &decision));
    cr_assert(!covers(&s, 100, farthest + 2, 0, &decision));
    publish(&s, 100, UINT64_MAX, 200, &whole);
    cr_assert(covers(&s, 100, 5, 0, &decision) && covers(&s, 100, UINT64_MAX, 0, &decision));
}

Test(refusal, under_a_version_beyond_all_reason_is_not_published)
{
    struct scene s;
    scene_publish(&s, true, 200, &whole);
    s.limits.version = WEIRI_VERSION_MAX;
    publish(&s, 100, 5, 200, &whole);
    cr_assert(covers(&s, 100, 5, 0, NULL));
    s.limits.version = WEIRI_VERSION_MAX + 1;
    cr_assert(!covers(&s, 100, 5, 0, NULL));
    publish(&s, 100, 5, 200, &whole);
    cr_assert(!covers(&s, 100, 5, 0, NULL));
    s.limits.version = WEIRI_VERSION_MAX;
    cr_assert(covers(&s, 100, 5, 0, NULL));
    s.limits.version = WEIRI_VERSION_MAX + 1 + 3;
    publish(&s, 100, 5, 200, &whole);
    s.limits.version = 3; /* whose low bits are the same */
    cr_assert(!covers(&s, 100, 5, 0, NULL));
}

Test(refusal, above_the_limit_of_the_first_rule_every_cost_is_told)
{
    struct scene s;
    weir_decision decision, never = {.rule = 0, .limit = 10, .remaining = 3, .retry_after_ns = WEIR_NEVER};
    scene_publish(&s, true, 200, NULL);
    publish(&s, 100, 77, WEIR_NEVER, &never);

    for (uint64_t cost = 5; cost < 14; cost++)
        cr_assert_eq(covers(&s, 100, cost, 0, &decision), cost > 10); /* the limit */
    cr_assert(covers(&s, 100, UINT64_MAX, 0, &decision));
    cr_assert_eq(decision.retry_after_ns, WEIR_NEVER);
    never.rule = 1; /* the first might be above its limit too at a larger cost */
    scene_publish(&s, true, WEIR_NEVER, &never);
    cr_assert(covers(&s, 100, 5, 0, &decision));
    cr_assert(!covers(&s, 100, 6, 0, &decision));
}

Test(refusal, under_two_plans_in_turn_both_verdicts_hold)
{
    struct scene s;
    weir_decision decision, other = whole;
    other.remaining = 1;
    scene_publish(&s, true, 200, &whole);
    s.limits.version = 8;
    publish(&s, 100, 5, 250, &other);

    for (s.limits.version = 0; s.limits.version < 10; s.limits.version++) {
        bool known = s.limits.version == 7 || s.limits.version == 8;
        cr_assert_eq(covers(&s, 199, 5, 0, NULL), known);
        cr_assert_eq(covers(&s, 149, 5, 0, &decision), s.limits.version == 8); /* the newer one */
        cr_assert_eq(covers(&s, 200, 5, 0, NULL), s.limits.version == 8);
    }
    cr_assert_eq(decision.remaining, 1);
    /* Whatever is worked out under one, in turn for ever, the other's verdict stays. */
    for (uint64_t now = 160; now < 190; now += 10)
        for (unsigned plan = 0; plan < 2; plan++) {
            s.limits.version = 7 + plan;
            other.release_after_ns = 10;
            publish(&s, now, 5, plan ? 250 : 200, &other);
            cr_assert(covers(&s, now, 5, 0, &decision));
            s.limits.version = 8 - plan;
            cr_assert(covers(&s, now, 5, 0, NULL));
        }
}

Test(refusal, on_either_side_of_what_remains_both_are_told)
{
    struct scene s;
    weir_decision decision, after = whole;
    scene_publish(&s, true, 300, &whole); /* remaining grows at 150 */
    after.remaining = 8;
    publish(&s, 160, 5, 300, &after);
    uint64_t tag = tag_of(&s.node);
    for (uint64_t now = 90; now < 220; now++) {
        bool before = now >= 100 && now < 150, later = now >= 160 && now < 210;
        cr_assert_eq(covers(&s, now, 5, 0, &decision), before || later);
        if (before || later)
            cr_assert(decision.remaining == (before ? 3 : 8) && decision.retry_after_ns == 300 - now &&
                      decision.release_after_ns == (before ? 150 : 210) - now);
        cr_assert(!covers(&s, now, 6, 0, &decision));
    }
    cr_assert_eq(tag_of(&s.node), tag);
}

Test(refusal, of_a_late_call_is_told_to_late_ones_from_its_floor_on)
{
    struct scene s;
    weir_decision decision, late = whole; /* told at 100: ends at 200, grows at 150 */
    late.flags = WEIR_LATE;
    scene_publish(&s, true, 200, NULL);
    weiri_refusal_clear(&s.node);
    weiri_ask ask = ask_of(&s, 100, 5);
    weiri_refusal_publish(&s.node, &ask, 120, 200, &late);

    for (uint64_t now = 90; now < 160; now++)
        for (uint64_t floor = 90; floor < 160; floor++) {
            uint64_t time = now > floor ? now : floor;
            cr_assert(covers(&s, now, 5, floor, NULL));
            cr_assert_eq(covers(&s, now, 5, floor, &decision), time >= 120 && time < 150);
            if (time < 120 || time >= 150)
                continue;
            cr_assert_eq(decision.flags, floor > now ? WEIR_LATE : 0);
            cr_assert(decision.retry_after_ns == 200 - now && decision.release_after_ns == 150 - now);
        }
    /* One that was not late takes back to its time what is told, and tells the late no more. */
    publish(&s, 110, 5, 200, &(weir_decision){.rule = 1, .remaining = 3, .release_after_ns = 40});
    cr_assert(covers(&s, 110, 5, 0, &decision));
    cr_assert(!covers(&s, 110, 5, 125, &decision));
    weiri_refusal_publish(&s.node, &ask, 125, 200, &late);
    cr_assert(covers(&s, 110, 5, 125, &decision));
    cr_assert(!covers(&s, 110, 5, 124, &decision));
    cr_assert(!covers(&s, 110, 5, 0, &decision));
}

Test(refusal, is_gone_when_cleared_and_no_tag_comes_back)
{
    struct scene s;
    scene_publish(&s, true, 200, &whole);
    weir_decision decision;
    uint64_t last = tag_of(&s.node);

    cr_assert(published(&s.node));
    for (unsigned i = 0; i < 5; i++) {
        weiri_refusal_clear(&s.node);
        uint64_t cleared = tag_of(&s.node);
        cr_assert_gt(cleared, last);
        weiri_refusal_clear(&s.node);
        cr_assert_eq(tag_of(&s.node), cleared);
        cr_assert(!published(&s.node));
        cr_assert(!covers(&s, 100, 5, 0, NULL));
        cr_assert(!covers(&s, 100, 5, 0, &decision));
        publish(&s, 100, 5, 200, &whole);
        cr_assert_gt(tag_of(&s.node), cleared);
        last = tag_of(&s.node);
        publish(&s, 100, 6, 201, &whole);
        cr_assert_gt(tag_of(&s.node), last);
        last = tag_of(&s.node);
        cr_assert(covers(&s, 200, 6, 0, NULL));
        cr_assert(!covers(&s, 200, 5, 0, NULL));
    }
}
