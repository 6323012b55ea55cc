/*
 * cell: the state of one counter rule with a limit below 2^32, in the cell itself, and the common case of a call on it.
 *
 *   word 0   | window index : 63 | FROZEN : 1 |        word 1   | current : 32 | previous : 32 |
 *
 * Read as a snapshot (the index only grows: every decision runs at max(now, the cell's window, floor)), decided purely,
 * published by one swap that expects the whole snapshot. A refusal writes nothing. A reset keeps the index, since
 * otherwise a late call could bring an old index back under a reader; at index 0 that would be UNINIT, so there it is
 * stored as { 0, current 0, previous 1 }, which no charge can make (there is no window before the first).
 */
#ifndef WEIRI_LIMITER_CELL_H
#define WEIRI_LIMITER_CELL_H

#include "limiter.h"

#define WEIRI_RESET_AT_ZERO UINT64_C(1)

static inline weiri_counter weiri_cell_unpack(weiri_pair state)
{
    weiri_counter counter = {state.word[0] >> 1, state.word[1] >> 32, state.word[1] & UINT32_MAX};
    if (counter.index == 0)
        counter.previous = 0;
    return counter;
}

static inline weiri_pair weiri_cell_pack(weiri_counter counter)
{
    return (weiri_pair){{counter.index << 1, counter.current << 32 | counter.previous}};
}

/*
 * The common case, in registers: a verdict alone, and the key's own cell is there and not frozen. 1, 0, or
 * WEIRI_NOT_QUICK: nothing was done, and weiri_cell_call goes through the other cases too. Inside a read section.
 */
static inline __attribute__((always_inline)) int weiri_cell_quick(const weir *limiter, weiri_finding finding,
                                                                  uint64_t floor, const weiri_limits *limits,
                                                                  uint64_t now, uint64_t cost)
{
    const weiri_rule *rule = &limiter->rules.rule[0];
    const uint64_t limit = limits->limit[0], charge = weiri_rule_charge(rule, cost);
    if (finding.found != WEIRI_HELD)
        return WEIRI_NOT_QUICK;
    for (;;) {
        weiri_pair state = weiri_load_snapshot_128(&finding.cell->state);
        if (state.word[0] & WEIRI_FROZEN)
            return WEIRI_NOT_QUICK;
        weiri_counter_view view = weiri_counter_look(weiri_cell_unpack(state), rule, now, floor);
        if (!weiri_counter_accepts(&view, rule, limit, charge))
            return 0;
        if (charge == 0 ||
            weiri_cas_128(&finding.cell->state, state, weiri_cell_pack(weiri_counter_charged(&view, charge))))
            return 1;
    }
}

#endif
