/*
 * call: what the ways in share: a request checked, its identity, the read section around a decision.
 */
#ifndef WEIRI_LIMITER_CALL_H
#define WEIRI_LIMITER_CALL_H

#include <errno.h>

#include "cell.h"

/* Is everything in a request but its plan in range? */
static inline bool weiri_request_good(const weir *limiter, const weir_request *request)
{
    if ((request->flags | request->receipt | request->reserved[0] | request->reserved[1]) != 0)
        return false;
    if (request->identity)
        return request->identity->owner == limiter->owner;
    return request->key_len <= WEIR_KEY_MAX && (request->key || request->key_len == 0);
}

/* Of a good request; `owner` is not filled. Word by word, so that it can stay in registers. */
static inline __attribute__((always_inline)) void
weiri_request_identity(const weir *limiter, const weir_request *request, weir_identity *identity)
{
    if (request->identity) {
        identity->word[0] = request->identity->word[0];
        identity->word[1] = request->identity->word[1];
        identity->hash = request->identity->hash;
    } else {
        weiri_identify(limiter->table.hash_key, request->key, request->key_len, identity);
    }
}

static inline const weiri_limits *weiri_limits_of(const weir *limiter, uint32_t plan)
{
    return weiri_load_acquire_pointer(&limiter->plan[plan]); /* its fields were written before it was set */
}

/* The answer where there is no memory to make this thread known to liburcu. */
__attribute__((cold)) int weiri_not_ready(const weiri_ask *ask, weir_decision *decision);

typedef int (*weiri_attempt)(weiri_ask *ask, weir_decision *decision);

/* The general way, in a read section of its own. Where the fork gate is closed, it leaves the section and starts over. */
static inline __attribute__((always_inline)) int weiri_run(weiri_ask *ask, uint32_t plan, weiri_attempt once,
                                                           weir_decision *decision)
{
    int result;
    for (;;) {
        if (!weiri_gate_ready())
            return weiri_not_ready(ask, decision);
        weiri_rcu_enter();
        ask->limits = weiri_limits_of(ask->limiter, plan);
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

static inline int weiri_decide_generally(weiri_ask *ask, uint32_t plan, weir_decision *decision)
{
    return ask->limiter->nodes ? weiri_run(ask, plan, weiri_node_call, decision)
                               : weiri_run(ask, plan, weiri_cell_call, decision);
}

#endif
