/* The commonest charge on a node: the only rule is a log, see window/log_quick.h. */
#include "../window/log_quick.h"
#include "node.h"

/* Fills the answer of a call that weiri_charge_quick has recorded: what weiri_answer would find, who looks again. */
static __attribute__((noinline)) void answer_quick(const weiri_node *node, const weiri_ask *ask,
                                                   const weiri_log_view *view, uint64_t charge, weir_decision *decision)
{
    const weiri_log *log = (const weiri_log *)(const void *)node->states;
    const weiri_log_view charged = {.time = view->time, .used = view->used + charge, .first = view->first};
    const uint64_t limit = ask->limits->limit[0], remaining = limit - charged.used;
    *decision = (weir_decision){.verdict = 1, .limit = limit, .remaining = remaining};
    decision->release_after_ns =
        weiri_log_opens(log, &ask->limiter->rules.rule[0], &charged, limit, remaining + 1) - ask->now;
}

/* As weiri_charge_quick, for records of so many words. */
static inline __attribute__((always_inline)) bool charge_words(weiri_node *node, const weiri_ask *ask, uint64_t floor,
                                                               uint32_t words, uint64_t charge,
                                                               weiri_log_quick *found)
{
    weiri_log *log = (weiri_log *)(void *)node->states;
    const uint64_t limit = ask->limits->limit[0];
    if (!weiri_log_quick_look(log, &ask->limiter->rules.rule[0], words, ask->now, floor, limit, charge, found))
        return false;
    weiri_refusal_clear(node);
    weiri_log_quick_charge(log, words, found, charge);
    return true;
}

bool weiri_charge_quick(weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision)
{
    weiri_log_quick found;
    if (!ask->limiter->one_log || node->dead || ask->peek) /* of the dead not even a look: a header stands there */
        return false;
    floor = floor > node->drop ? floor : node->drop;
    const bool costs = weiri_log_words(&ask->limiter->rules.rule[0]) == 2;
    const bool charged = costs ? charge_words(node, ask, floor, 2, ask->cost, &found)
                               : charge_words(node, ask, floor, 1, 1, &found);
    if (charged && decision)
        answer_quick(node, ask, &found.view, costs ? ask->cost : 1, decision);
    return charged;
}
