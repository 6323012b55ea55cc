/* The way into the limiter and out of it: allow, take, peek, reset, identify, prefetch. */
#include "call.h"

void weiri_relieve(weir *limiter)
{
    if (!weiri_memory_crowded(&limiter->memory))
        return;
    if (limiter->tended && weiri_janitor_wake(limiter))
        return;
    /* Inside a section of the host's own this does nothing; a later call will see to it. */
    weiri_reclaim_some(&limiter->memory);
}

int weiri_unrecorded(const weir *limiter, uint32_t flag, weir_decision *decision)
{
    int verdict = limiter->when_full == WEIR_FULL_ADMIT;
    if (decision) {
        decision->verdict = verdict;
        decision->flags |= flag;
        decision->retry_after_ns = 0; /* unknown */
    }
    return verdict;
}

/* Drops expired nodes in the key's segment, or in the next one in turn. Where the gate is closed, fewer. False: in the
 * segment there is nothing for a migration to drop. */
static bool drop_nodes(weiri_ask *ask, weiri_segment *segment, uint64_t time)
{
    enum weiri_swept swept = WEIRI_SWEEP_DEAD;
    bool held = false;
    bool holding = ask->holding || (weiri_gate_pass(&held) && held);
    if (segment)
        swept = weiri_sweep_nodes(ask->limiter, segment, time, false, holding);
    else
        weiri_sweep_next(ask->limiter, time, holding);
    if (held)
        weiri_gate_release(true);
    return swept != WEIRI_SWEEP_LIVE;
}

weiri_segment *weiri_find_room(weiri_ask *ask, weiri_segment *segment)
{
    weir *limiter = ask->limiter;
    ask->slow = true;
    if (!weiri_forward(segment)) {
        uint64_t time = weiri_drop_time(limiter, ask->now);
        if (limiter->nodes)
            drop_nodes(ask, segment, time);
        if (!weiri_make_room(&limiter->table, segment, time))
            return NULL;
    }
    return weiri_advance(&limiter->table, segment, ask->identity);
}

int weiri_reserve(weiri_ask *ask, weiri_segment **segment, bool *swept)
{
    weir *limiter = ask->limiter;
    if (weiri_table_reserve(&limiter->table))
        return 1;
    if (*swept)
        return 0;
    *swept = true;
    ask->slow = true;
    uint64_t time = weiri_drop_time(limiter, ask->now);
    bool dead = !limiter->nodes || drop_nodes(ask, *segment, time);
    if (weiri_forward(*segment) || (dead && weiri_compact(&limiter->table, *segment, time))) {
        *segment = weiri_help(&limiter->table, *segment, ask->identity->hash);
        return -1;
    }
    drop_nodes(ask, NULL, time); /* so that no dead key keeps others out for ever */
    return -1;
}

/* --- the ways in --- */

int weiri_not_ready(const weiri_ask *ask, weir_decision *decision)
{
    if (decision)
        *decision = (weir_decision){.limit = 0};
    return weiri_unrecorded(ask->limiter, WEIR_NO_MEMORY, decision);
}

/* Not inlined, so that the common case need not keep its values in memory for it. */
static __attribute__((noinline)) int call(weir *limiter, const weir_identity *identity, const weir_request *request,
                                          uint64_t now, bool peek, weir_decision *decision)
{
    weiri_ask ask = {.limiter = limiter, .identity = identity, .now = now, .cost = request->cost, .peek = peek};
    return weiri_decide_generally(&ask, request->plan, decision);
}

int weir_take(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    if (!weiri_resolve_now(limiter, &now) || !weiri_request_good(limiter, request) || request->plan >= limiter->plans)
        return -EINVAL;
    weir_identity identity = {.owner = 0}, passed;
    weiri_request_identity(limiter, request, &identity);
    if (!decision && !limiter->nodes && weiri_gate_ready()) {
        weiri_rcu_enter();
        weiri_segment *segment = weiri_directory_find(&limiter->table.directory, identity.hash);
        weiri_finding finding = weiri_find(segment, weiri_identity_pair(&identity), identity.hash);
        int verdict = weiri_cell_quick(limiter, finding, segment->floor, weiri_limits_of(limiter, request->plan), now,
                                       request->cost);
        weiri_rcu_leave();
        if (verdict != WEIRI_NOT_QUICK)
            return verdict;
    }
    passed = identity; /* a copy whose address goes out, so that the other stays in registers */
    return call(limiter, &passed, request, now, false, decision);
}

int weir_peek(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    if (!weiri_resolve_now(limiter, &now) || !weiri_request_good(limiter, request) || request->plan >= limiter->plans)
        return -EINVAL;
    weir_identity identity;
    weiri_request_identity(limiter, request, &identity);
    return call(limiter, &identity, request, now, true, decision);
}

bool weir_allow(weir *limiter, const void *key, size_t key_len)
{
    weir_request request = weir_request_for(key, key_len);
    int verdict = weir_take(limiter, &request, WEIR_NOW, NULL);
    return verdict < 0 ? limiter->when_full == WEIR_FULL_ADMIT : verdict == 1;
}

int weir_identify(const weir *limiter, const void *key, size_t key_len, weir_identity *identity)
{
    if (key_len > WEIR_KEY_MAX || (!key && key_len != 0))
        return -EINVAL;
    weiri_identify(limiter->table.hash_key, key, key_len, identity);
    identity->owner = limiter->owner;
    return 0;
}

void weir_prefetch(const weir *limiter, const weir_request *request)
{
    if (!weiri_rcu_known() || !weiri_request_good(limiter, request)) /* a thread's first call may wait */
        return;
    weir_identity identity;
    weiri_request_identity(limiter, request, &identity);
    weiri_rcu_enter();
    const weiri_segment *segment = weiri_directory_find(&limiter->table.directory, identity.hash);
    weiri_segment_prefetch(segment, identity.hash);
    weiri_rcu_leave();
}

int weir_reset(weir *limiter, const weir_request *request)
{
    if (!weiri_request_good(limiter, request))
        return -EINVAL;
    if (!weiri_gate_ready())
        return -ENOMEM;
    weir_identity identity;
    weiri_request_identity(limiter, request, &identity);
    weiri_ask ask = {.limiter = limiter, .identity = &identity}; /* needs no time: nothing is decided */
    weiri_run(&ask, 0, limiter->nodes ? weiri_node_reset : weiri_cell_reset, NULL);
    return 0;
}
