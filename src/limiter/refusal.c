#include "node.h"

#include <string.h>

/* What costs are compared by: where no rule charges the cost, all calls weigh the same. */
static inline uint64_t weight(const weiri_ask *ask)
{
    return ask->limiter->costs ? ask->cost : 1;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A refusal as it was read, or is to be written. */
typedef struct refused {
    uint64_t low, high;   /* it is of costs from `low` on, and told wholly of those up to `high` */
    uint64_t until;       /* before this time; WEIR_NEVER: always */
    uint64_t from, grows; /* and told wholly in this span; grows 0: it is a verdict alone */
    uint64_t remaining;
    uint64_t terms;
} refused;

static inline uint64_t version_of(uint64_t terms)
{
    return terms >> WEIRI_TERMS_VERSION;
}

/* --- read: all fields acquire, see node.h --- */

/* The verdict. What the floor has let expire does not refuse: `time` is no earlier. */
static inline bool refuses(const refused *found, const weiri_ask *ask, uint64_t time)
{
    return version_of(found->terms) == ask->limits->version && time < found->until && weight(ask) >= found->low;
}

/* Of what it refuses: the whole decision. Of calls before the floor only what is late for sure is told. */
static inline bool tells(const refused *found, const weiri_ask *ask, uint64_t time)
{
    return weight(ask) <= found->high && time >= found->from && time < found->grows &&
           (time == ask->now || found->terms & WEIRI_TERMS_LATE);
}

static inline bool answers(const refused *found, const weiri_ask *ask, uint64_t time, bool whole)
{
    return refuses(found, ask, time) && (!whole || tells(found, ask, time));
}

/* What a decision needs beside the verdict. */
static inline void read_rest(const weiri_refusal *refusal, refused *first)
{
    const uint64_t costs = first->terms >> WEIRI_TERMS_COSTS & WEIRI_COSTS_ALL;
    first->high = costs == WEIRI_COSTS_ALL ? UINT64_MAX : first->low + costs;
    first->from = weiri_load_acquire_64(&refusal->from);
    first->grows = weiri_load_acquire_64(&refusal->grows);
    first->remaining = weiri_load_acquire_64(&refusal->remaining);
}

/* The second, which differs from the first in three words. */
static inline refused second_of(const weiri_refusal *refusal, const refused *first, enum weiri_holds holds)
{
    refused second = *first;
    uint64_t other[3];
    for (unsigned i = 0; i < 3; i++)
        other[i] = weiri_load_acquire_64(&refusal->other[i]);
    if (holds == WEIRI_HOLDS_SPAN) {
        second.from = other[0];
        second.grows = other[1];
        second.remaining = other[2];
        return second;
    }
    second.low = other[0];
    second.until = other[1];
    if (holds == WEIRI_HOLDS_COSTS) {
        second.high = other[2];
    } else {
        second.terms = other[2];
        second.grows = 0;
    }
    return second;
}

static inline void fill(const refused *found, const weiri_ask *ask, uint64_t time, weir_decision *decision)
{
    const uint32_t rule = found->terms >> WEIRI_TERMS_RULE & (WEIR_RULES_MAX - 1);
    *decision = (weir_decision){.flags = time > ask->now ? WEIR_LATE : 0,
                                .rule = rule,
                                .limit = ask->limits->limit[rule],
                                .remaining = found->remaining,
                                .retry_after_ns = found->until == WEIR_NEVER ? WEIR_NEVER : found->until - ask->now,
                                .release_after_ns = found->grows == UINT64_MAX ? 0 : found->grows - ask->now};
}

/* The tag still stands: after the fields, which acquire. */
static inline bool not_torn(const weiri_refusal *refusal, uint64_t tag)
{
    return weiri_load_relaxed_64(&refusal->tag) == tag;
}

/* By a copy of the only counter, as if that were looked at. */
static bool counter_covers(const weiri_refusal *refusal, const weiri_ask *ask, uint64_t floor, uint64_t tag,
                           weir_decision *decision)
{
    const weiri_rules *rules = &ask->limiter->rules;
    const weiri_counter counter = {.index = weiri_load_acquire_64(&refusal->index),
                                   .current = weiri_load_acquire_64(&refusal->current),
                                   .previous = weiri_load_acquire_64(&refusal->previous)};
    floor = later(floor, weiri_load_acquire_64(&refusal->drop));
    if (!not_torn(refusal, tag))
        return false;
    const weiri_counter_view view = weiri_counter_look(counter, rules->rule, ask->now, floor);
    if (weiri_counter_accepts(&view, rules->rule, ask->limits->limit[0], weiri_rule_charge(rules->rule, ask->cost)))
        return false;
    if (decision) {
        const weiri_call call = {ask->now, floor, ask->cost, ask->limits->limit};
        weiri_views views;
        weiri_decide(rules, &counter, &call, &views);
        weiri_answer(rules, &counter, &call, &views, false, decision);
    }
    return true;
}

static inline refused first_of(const weiri_refusal *refusal)
{
    return (refused){.terms = weiri_load_acquire_64(&refusal->terms),
                     .until = weiri_load_acquire_64(&refusal->until),
                     .low = weiri_load_acquire_64(&refusal->low)};
}

/* Whatever else holds: out of the way of the first. */
static __attribute__((noinline)) bool second_covers(const weiri_refusal *refusal, const weiri_ask *ask, uint64_t floor,
                                                    uint64_t tag, weir_decision *decision)
{
    const enum weiri_holds holds = tag & WEIRI_HOLDS;
    if (holds == WEIRI_HOLDS_ONE)
        return false;
    if (holds == WEIRI_HOLDS_COUNTER)
        return counter_covers(refusal, ask, floor, tag, decision);
    const uint64_t time = later(ask->now, floor);
    refused found = first_of(refusal);
    if (decision)
        read_rest(refusal, &found);
    found = second_of(refusal, &found, holds);
    if (!answers(&found, ask, time, decision != NULL))
        return false;
    if (decision)
        fill(&found, ask, time, decision);
    return not_torn(refusal, tag);
}

bool weiri_refusal_covers(const weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision)
{
    const weiri_refusal *refusal = &node->refusal;
    const uint64_t tag = weiri_load_acquire_64(&refusal->tag); /* acquire: the fields are read after it */
    if ((tag & WEIRI_HOLDS) == WEIRI_HOLDS_NOTHING)
        return false;
    const uint64_t time = later(ask->now, floor);
    refused first = first_of(refusal);
    if (!refuses(&first, ask, time))
        return second_covers(refusal, ask, floor, tag, decision);
    if (!decision)
        return not_torn(refusal, tag);
    read_rest(refusal, &first);
    if (!tells(&first, ask, time))
        return second_covers(refusal, ask, floor, tag, decision);
    fill(&first, ask, time, decision);
    return not_torn(refusal, tag);
}

/* --- written, under the lock --- */

/* A wait added to the time it is told at is a time below 2^64-1. No decision: the verdict alone is published. */
static refused refused_of(const weiri_ask *ask, uint64_t floor, uint64_t until, const weir_decision *decision)
{
    refused new = {.low = weight(ask), .high = weight(ask), .until = until, .from = UINT64_MAX};
    new.terms = ask->limits->version << WEIRI_TERMS_VERSION;
    if (!decision)
        return new;
    const bool late = decision->flags & WEIR_LATE;
    new.terms |= (uint64_t)decision->rule << WEIRI_TERMS_RULE | (late ? WEIRI_TERMS_LATE : 0);
    new.remaining = decision->remaining;
    new.from = late ? floor : ask->now;
    new.grows = decision->release_after_ns == 0 ? UINT64_MAX : ask->now + decision->release_after_ns;
    if (until == WEIR_NEVER && decision->rule == 0) { /* above its limit: of the first rule, every cost that is */
        new.low = ask->limits->limit[0] + 1;
        new.high = UINT64_MAX;
    }
    return new;
}

/* Can the words of one tell what `remaining` is of both? It is the same until the same time. Then each is right since
 * when the other is, if both are late or neither; else since when `new` is, whose terms stand. */
static bool same_span(refused *new, refused *old)
{
    if (new->grows == 0 || old->grows != new->grows || (old->terms ^ new->terms) & ~(uint64_t)WEIRI_TERMS_LATE)
        return false;
    if (old->terms == new->terms)
        new->from = earlier(old->from, new->from);
    old->from = new->from;
    old->terms = new->terms;
    return true;
}

/* Do both end together, by the same rule? Then every cost in between does, as far as there is room to tell. */
static bool same_costs(refused *new, refused *old)
{
    const uint64_t low = earlier(old->low, new->low), high = later(old->high, new->high);
    if (new->grows == 0 || old->grows == 0 || old->until != new->until || old->terms != new->terms ||
        (high - low >= WEIRI_COSTS_ALL && high != UINT64_MAX))
        return false;
    new->low = old->low = low;
    new->high = old->high = high;
    return true;
}

static bool verdicts_covered(const refused *by, const refused *old)
{
    return version_of(by->terms) == version_of(old->terms) && by->low <= old->low && old->until <= by->until;
}

/* How much would be missed of what stands, where `new` comes. */
enum worth { ENDED, COVERED, VERDICTS, DECISIONS, SMALLER };

static enum worth worth_of(const refused *old, const refused *new, uint64_t time)
{
    if (old->until <= time)
        return ENDED;
    if (version_of(old->terms) == version_of(new->terms) && old->low < new->low)
        return SMALLER; /* covers verdicts that `new` does not */
    if (old->grows > time)
        return DECISIONS;
    return verdicts_covered(new, old) ? COVERED : VERDICTS;
}

/* Which of two that stand, the first and newer one or the other, is kept beside `new`. */
static refused kept_of(const refused old[2], const refused *new, uint64_t time)
{
    const enum worth first = worth_of(&old[0], new, time), second = worth_of(&old[1], new, time);
    if (first == SMALLER && second == SMALLER)
        return old[old[1].low < old[0].low];
    return old[second > first];
}

/* `second`, where there is one, as far as there are words for it. */
static void write_down(weiri_node *node, refused *first, refused *second)
{
    weiri_refusal *refusal = &node->refusal;
    enum weiri_holds holds = WEIRI_HOLDS_ONE;
    uint64_t other[3] = {0};
    if (second && same_span(first, second)) {
        holds = WEIRI_HOLDS_COSTS;
        memcpy(other, (uint64_t[]){second->low, second->until, second->high}, sizeof other);
    } else if (second && same_costs(first, second)) {
        holds = WEIRI_HOLDS_SPAN;
        memcpy(other, (uint64_t[]){second->from, second->grows, second->remaining}, sizeof other);
    } else if (second && !verdicts_covered(first, second)) {
        holds = WEIRI_HOLDS_VERDICT;
        memcpy(other, (uint64_t[]){second->low, second->until, second->terms}, sizeof other);
    }
    const uint64_t costs = first->high == UINT64_MAX ? WEIRI_COSTS_ALL : first->high - first->low;
    weiri_refusal_clear(node);
    weiri_store_release_64(&refusal->terms, first->terms | costs << WEIRI_TERMS_COSTS); /* release: after the number, */
    weiri_store_release_64(&refusal->low, first->low);                                  /* see node.h */
    weiri_store_release_64(&refusal->until, first->until);
    weiri_store_release_64(&refusal->grows, first->grows);
    weiri_store_release_64(&refusal->from, first->from);
    weiri_store_release_64(&refusal->remaining, first->remaining);
    for (unsigned i = 0; i < 3 && holds != WEIRI_HOLDS_ONE; i++)
        weiri_store_release_64(&refusal->other[i], other[i]);
    weiri_store_release_64(&refusal->tag, weiri_load_relaxed_64(&refusal->tag) | holds); /* release: after the fields */
}

static void publish_counter(weiri_node *node)
{
    const weiri_counter *counter = (const weiri_counter *)(const void *)node->states;
    weiri_refusal *refusal = &node->refusal;
    const uint64_t tag = weiri_load_relaxed_64(&refusal->tag);
    if ((tag & WEIRI_HOLDS) != WEIRI_HOLDS_NOTHING)
        return; /* nothing has changed */
    weiri_store_release_64(&refusal->drop, node->drop); /* release: after the number, see node.h */
    weiri_store_release_64(&refusal->index, counter->index);
    weiri_store_release_64(&refusal->current, counter->current);
    weiri_store_release_64(&refusal->previous, counter->previous);
    weiri_store_release_64(&refusal->tag, tag | WEIRI_HOLDS_COUNTER); /* release: after the fields */
}

/* What stands: how many. */
static unsigned read_all(const weiri_refusal *refusal, refused old[2])
{
    const enum weiri_holds holds = weiri_load_relaxed_64(&refusal->tag) & WEIRI_HOLDS;
    if (holds == WEIRI_HOLDS_NOTHING)
        return 0;
    old[0] = first_of(refusal);
    read_rest(refusal, &old[0]);
    old[0].terms &= ~(WEIRI_COSTS_ALL << WEIRI_TERMS_COSTS);
    if (holds == WEIRI_HOLDS_ONE)
        return 1;
    old[1] = second_of(refusal, &old[0], holds);
    return 2;
}

/* One that stands and is equal but for its costs, and since when it is told, becomes part of the new one. */
static bool widen(refused *new, refused *old)
{
    refused wide = *new;
    if (!same_span(&wide, old) || !same_costs(&wide, old))
        return false;
    *new = wide;
    return true;
}

void weiri_refusal_publish(weiri_node *node, const weiri_ask *ask, uint64_t floor, uint64_t until,
                           const weir_decision *decision)
{
    const weiri_rules *rules = &ask->limiter->rules;
    const uint64_t time = later(ask->now, floor);
    refused old[2] = {{0}, {0}}, new = refused_of(ask, floor, until, decision);
    if (rules->count == 1 && rules->rule[0].algorithm == WEIR_COUNTER) {
        publish_counter(node);
        return;
    }
    unsigned count = read_all(&node->refusal, old);
    for (unsigned i = 0; i < count; i++)
        if (answers(&old[i], ask, time, decision != NULL))
            return;
    if (ask->limits->version > WEIRI_VERSION_MAX)
        return;
    bool two = count > 0;
    refused kept = count == 2 ? kept_of(old, &new, time) : old[0];
    for (unsigned i = 0; i < count; i++)
        if (widen(&new, &old[i])) {
            kept = old[1 - i];
            two = count == 2;
            break;
        }
    two = two && kept.until > time;
    if (two && new.grows == 0 && kept.grows != 0) /* the words for a decision go to the one that has it */
        write_down(node, &kept, &new);
    else
        write_down(node, &new, two ? &kept : NULL);
}
