/*
 * rule: one rule as compiled at open, constant from then on.
 */
#ifndef WEIRI_WINDOW_RULE_H
#define WEIRI_WINDOW_RULE_H

#include <weir/types.h>

#include "divisor.h"

typedef struct weiri_rule {
    uint64_t window;     /* W */
    uint64_t width;      /* buckets: g = ceil(W/B) */
    uint64_t buckets;    /* B */
    weiri_divisor by;    /* counter: W, buckets: g */
    uint32_t algorithm;  /* enum weir_algorithm */
    uint32_t meter;      /* enum weir_meter */
    uint64_t max_limit;  /* what set_limits may reach */
    size_t offset;       /* where the rule's state stands among the states of a key, from weiri_rules_layout */
    size_t size;         /* bytes of that state, ring included; SIZE_MAX where that cannot be told */
    size_t ring;         /* buckets: bytes from the state to its ring; log: to a chunk of its own, 0: it has none */
} weiri_rule;

/* Compiles a rule that has been checked. Until weiri_rules_layout the state stands alone, its ring right behind it. */
weiri_rule weiri_rule_make(const weir_rule *rule, uint64_t max_limit);

/* What `rule` charges for a call of this cost. */
static inline uint64_t weiri_rule_charge(const weiri_rule *rule, uint64_t cost)
{
    return rule->meter == WEIR_PER_COST ? cost : 1;
}

/* charge <= limit is tested first: sums of legal numbers can pass 64 bits. */
static inline bool weiri_fits(uint64_t used, uint64_t limit, uint64_t charge)
{
    return charge <= limit && used <= limit - charge;
}

#endif
