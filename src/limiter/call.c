/* The way into the limiter and out of it: allow, take, peek, batch, reset, identify. */
#include <errno.h>

#include "limiter.h"

void weiri_relieve(weir *limiter)
{
    if (!weiri_memory_crowded(&limiter->memory))
        return;
    if (limiter->tended && weiri_janitor_wake(limiter))
        return;
    /* Inside a section of the host's own this does nothing; a later call will see to it. */
    weiri_reclaim(&limiter->memory);
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

/* Drops expired nodes in the key's segment, or in the next one in turn. Where the gate is closed, fewer. */
static void drop_nodes(weiri_ask *ask, weiri_segment *segment, uint64_t time)
{
    bool held = false;
    bool holding = ask->holding || (weiri_gate_pass(&held) && held);
    if (segment)
        weiri_sweep_nodes(ask->limiter, segment, time, false, holding);
    else
        weiri_sweep_next(ask->limiter, time, holding);
    if (held)
        weiri_gate_release(true);
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
    if (limiter->nodes)
        drop_nodes(ask, *segment, time);
    if (weiri_forward(*segment) || weiri_compact(&limiter->table, *segment, time)) {
        *segment = weiri_help(&limiter->table, *segment, ask->identity->hash);
        return -1;
    }
    drop_nodes(ask, NULL, time); /* so that no dead key keeps others out for ever */
    return -1;
}

/* --- the read section, and the fork gate --- */

typedef int (*attempt)(weiri_ask *ask, weir_decision *decision);

/* One call in a read section of its own. Where the fork gate is closed, the section is left, and it starts over. */
static inline __attribute__((always_inline)) int run(weiri_ask *ask, uint32_t plan, attempt once,
                                                     weir_decision *decision)
{
    int result;
    for (;;) {
        weiri_rcu_enter();
        ask->limits = weiri_load_acquire_pointer(&ask->limiter->plan[plan]);
        result = once(ask, decision);
        weiri_rcu_leave();
        if (result != WEIRI_CLOSED_GATE)
            break;
        ask->holding = weiri_gate_wait();
    }
    if (ask->holding)
        weiri_gate_release(true);
    if (ask->slow)
        weiri_relieve(ask->limiter);
    return result;
}

static attempt attempt_of(const weir *limiter)
{
    return limiter->nodes ? weiri_node_call : weiri_cell_call;
}

/* Checks a request; *own is filled where it does not bring an identity. Returns the identity, or NULL. */
static inline const weir_identity *checked(const weir *limiter, const weir_request *request, weir_identity *own)
{
    if (request->flags != 0 || (request->receipt | request->reserved[0] | request->reserved[1]) != 0)
        return NULL;
    if (request->identity)
        return request->identity->owner == limiter->owner ? request->identity : NULL;
    if (request->key_len > WEIR_KEY_MAX || (!request->key && request->key_len != 0))
        return NULL;
    weiri_identify(limiter->table.hash_key, request->key, request->key_len, own);
    return own; /* its owner is not looked at again */
}

/* Checks a request and makes an ask of it; `now` is resolved. 0 or -EINVAL. */
static int ask_for(weiri_ask *ask, weir *limiter, const weir_request *request, uint64_t now, weir_identity *own)
{
    const weir_identity *identity = checked(limiter, request, own);
    if (!identity || request->plan >= limiter->plans)
        return -EINVAL;
    *ask = (weiri_ask){.limiter = limiter, .identity = identity, .now = now, .cost = request->cost};
    return 0;
}

static int call(weir *limiter, const weir_request *request, uint64_t now, bool peek, weir_decision *decision)
{
    weiri_ask ask;
    weir_identity own;
    if (!weiri_resolve_now(limiter, &now) || ask_for(&ask, limiter, request, now, &own) != 0)
        return -EINVAL;
    ask.peek = peek;
    return limiter->nodes ? run(&ask, request->plan, weiri_node_call, decision)
                          : run(&ask, request->plan, weiri_cell_call, decision);
}

int weir_identify(const weir *limiter, const void *key, size_t key_len, weir_identity *identity)
{
    if (key_len > WEIR_KEY_MAX || (!key && key_len != 0))
        return -EINVAL;
    weiri_identify(limiter->table.hash_key, key, key_len, identity);
    identity->owner = limiter->owner;
    return 0;
}

int weir_take(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return call(limiter, request, now, false, decision);
}

int weir_peek(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return call(limiter, request, now, true, decision);
}

bool weir_allow(weir *limiter, const void *key, size_t key_len)
{
    weir_request request = weir_request_for(key, key_len);
    int verdict = call(limiter, &request, WEIR_NOW, false, NULL);
    return verdict < 0 ? limiter->when_full == WEIR_FULL_ADMIT : verdict == 1;
}

enum { BATCH_SECTION = 64 }; /* calls in one read section: a grace period waits for no more */

/* One of a batch, inside its read section. */
static int batch_one(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision, bool *slow)
{
    weiri_ask ask;
    weir_identity own;
    if (ask_for(&ask, limiter, request, now, &own) != 0) {
        if (decision)
            *decision = (weir_decision){.verdict = -EINVAL};
        return -EINVAL;
    }
    ask.limits = weiri_load_acquire_pointer(&limiter->plan[request->plan]);
    int verdict = attempt_of(limiter)(&ask, decision);
    *slow = *slow || ask.slow;
    return verdict;
}

/* From *at on, up to BATCH_SECTION of them; stops before one that meets a closed fork gate. */
static int64_t batch_some(weir *limiter, const weir_request *requests, size_t *at, size_t count, uint64_t now,
                          int *verdicts, weir_decision *decisions)
{
    size_t end = count - *at > BATCH_SECTION ? *at + BATCH_SECTION : count;
    int64_t accepted = 0;
    bool slow = false;
    weiri_rcu_enter();
    for (; *at < end; ++*at) {
        int verdict = batch_one(limiter, &requests[*at], now, decisions ? &decisions[*at] : NULL, &slow);
        if (verdict == WEIRI_CLOSED_GATE)
            break;
        if (verdicts)
            verdicts[*at] = verdict;
        accepted += verdict == 1;
    }
    weiri_rcu_leave();
    if (slow)
        weiri_relieve(limiter);
    return accepted;
}

int64_t weir_take_batch(weir *limiter, const weir_request *requests, size_t count, uint64_t now, int *verdicts,
                        weir_decision *decisions)
{
    int64_t accepted = 0;
    if (!weiri_resolve_now(limiter, &now))
        return -EINVAL;
    for (size_t at = 0; at < count;) {
        size_t before = at;
        accepted += batch_some(limiter, requests, &at, count, now, verdicts, decisions);
        if (at < count && at - before < BATCH_SECTION) { /* the gate was closed for this one: singly, it waits */
            int verdict = call(limiter, &requests[at], now, false, decisions ? &decisions[at] : NULL);
            if (verdicts)
                verdicts[at] = verdict;
            accepted += verdict == 1;
            at++;
        }
    }
    return accepted;
}

int weir_reset(weir *limiter, const weir_request *request)
{
    weir_identity own;
    const weir_identity *identity = checked(limiter, request, &own);
    if (!identity)
        return -EINVAL;
    weiri_ask ask = {.limiter = limiter, .identity = identity}; /* needs no time: nothing is decided */
    run(&ask, 0, limiter->nodes ? weiri_node_reset : weiri_cell_reset, NULL);
    return 0;
}
