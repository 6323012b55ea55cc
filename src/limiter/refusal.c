#include "node.h"

/* What costs are compared by: where no rule charges the cost, all calls weigh the same. */
static uint64_t weight(const weiri_ask *ask)
{
    return ask->limiter->costs ? ask->cost : 1;
}

/* A refusal of less, under the same limits and still holding, covers more calls than this one. */
static bool covered(const weiri_refusal *refusal, const weiri_ask *ask)
{
    return weiri_load_relaxed_64(&refusal->tag) != 0 &&
           weiri_load_relaxed_64(&refusal->version) == ask->limits->version &&
           weiri_load_relaxed_64(&refusal->cost) < weight(ask) && ask->now < weiri_load_relaxed_64(&refusal->until);
}

void weiri_refusal_publish(weiri_node *node, const weiri_ask *ask, uint64_t until, const weir_decision *decision)
{
    weiri_refusal *refusal = &node->refusal;
    uint64_t from = UINT64_MAX, grows = 0; /* no decision: the verdict alone is published */
    if (covered(refusal, ask))
        return;
    if (decision) { /* a wait added to the time it is told at is a time below 2^64-1 */
        from = ask->now;
        grows = decision->release_after_ns == 0 ? UINT64_MAX : ask->now + decision->release_after_ns;
    }
    weiri_refusal_clear(node);
    weiri_store_release_64(&refusal->version, ask->limits->version); /* release: after tag = 0, see node.h */
    weiri_store_release_64(&refusal->cost, weight(ask));
    weiri_store_release_64(&refusal->until, until);
    weiri_store_release_64(&refusal->from, from);
    weiri_store_release_64(&refusal->grows, grows);
    weiri_store_release_64(&refusal->remaining, decision ? decision->remaining : 0);
    weiri_store_release_64(&refusal->rule, decision ? decision->rule : 0);
    weiri_store_release_64(&refusal->tag, ++node->tags); /* release: after the fields */
}

/* The whole decision, where it is the same as the published one but for the time that has passed. */
static bool fill(const weiri_refusal *refusal, const weiri_ask *ask, uint64_t until, weir_decision *decision)
{
    uint64_t grows = weiri_load_acquire_64(&refusal->grows);
    if (weight(ask) != weiri_load_acquire_64(&refusal->cost) || ask->now < weiri_load_acquire_64(&refusal->from) ||
        ask->now >= grows)
        return false;
    uint32_t rule = (uint32_t)weiri_load_acquire_64(&refusal->rule);
    *decision = (weir_decision){.rule = rule,
                                .limit = ask->limits->limit[rule],
                                .remaining = weiri_load_acquire_64(&refusal->remaining),
                                .retry_after_ns = until == WEIR_NEVER ? WEIR_NEVER : until - ask->now,
                                .release_after_ns = grows == UINT64_MAX ? 0 : grows - ask->now};
    return true;
}

bool weiri_refusal_covers(const weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision)
{
    const weiri_refusal *refusal = &node->refusal;
    uint64_t tag = weiri_load_acquire_64(&refusal->tag); /* acquire: the fields are read after it */
    if (tag == 0 || weiri_load_acquire_64(&refusal->version) != ask->limits->version)
        return false;
    uint64_t until = weiri_load_acquire_64(&refusal->until);
    uint64_t time = ask->now > floor ? ask->now : floor; /* what the floor has let expire does not refuse */
    if (time >= until || weight(ask) < weiri_load_acquire_64(&refusal->cost))
        return false;
    if (decision && (floor > ask->now || !fill(refusal, ask, until, decision)))
        return false;                                   /* a late call is flagged: by the lock */
    return weiri_load_relaxed_64(&refusal->tag) == tag; /* after the fields, which acquire */
}
