#include "rules.h"

#include <errno.h>
#include <string.h>

/* How one rule stands before a call is recorded. */
typedef struct view {
    bool accepts;
    union {
        weiri_counter_view counter;
        weiri_buckets_view buckets;
        ring_view log;
    };
} view;

static void *state_of(const weiri_rule *rule, const void *state)
{
    return (char *)(uintptr_t)state + rule->offset;
}

void rules_compile(rules *set, const weir_rule *given, unsigned count)
{
    *set = (rules){.count = count};
    for (unsigned i = 0; i < count; i++) {
        weiri_rule *rule = &set->rule[i];
        *rule = weiri_rule_make(&given[i], given[i].limit);
        rule->offset = set->state_size;
        set->limit[i] = given[i].limit;
        set->state_size += rule->algorithm == WEIR_LOG ? ring_size(rule, given[i].limit) : rule->size;
    }
}

/* A ring's records are not touched: a ring of thousands would cost more than all the rest. */
void rules_begin(const rules *set, void *state)
{
    for (unsigned i = 0; i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        bool log = rule->algorithm == WEIR_LOG;
        memset(state_of(rule, state), 0, log ? sizeof(ring) : rule->size);
        if (log)
            ring_init(state_of(rule, state), rule, set->limit[i]);
    }
}

void rules_end(const rules *set, void *state)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->rule[i].algorithm == WEIR_LOG)
            ring_free(state_of(&set->rule[i], state));
}

static inline bool look(const weiri_rule *rule, const void *state, uint64_t limit, uint64_t charge, uint64_t now,
                        view *at)
{
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        at->counter = weiri_counter_look(*(const weiri_counter *)state, rule, now, 0);
        at->accepts = weiri_counter_accepts(&at->counter, rule, limit, charge);
        break;
    case WEIR_BUCKETS:
        at->buckets = weiri_buckets_look(state, rule, now, 0);
        at->accepts = weiri_fits(at->buckets.used, limit, charge);
        break;
    default:
        at->log = ring_look(state, rule, now);
        at->accepts = weiri_fits(at->log.used, limit, charge);
    }
    return at->accepts;
}

static inline bool ready(const weiri_rule *rule, void *state, uint64_t limit, const view *at)
{
    return rule->algorithm != WEIR_LOG || ring_ready(state, rule, limit, &at->log);
}

static inline void record(const weiri_rule *rule, void *state, uint64_t charge, const view *at)
{
    if (rule->algorithm == WEIR_COUNTER)
        *(weiri_counter *)state = weiri_counter_charged(&at->counter, charge);
    else if (rule->algorithm == WEIR_BUCKETS)
        weiri_buckets_charge(state, rule, &at->buckets, charge);
    else
        ring_charge(state, rule, &at->log, charge);
}

/* --- the whole answer --- */

static uint64_t used_in(const weiri_rule *rule, const view *at)
{
    if (rule->algorithm == WEIR_COUNTER)
        return at->counter.at.current | at->counter.at.previous;
    return rule->algorithm == WEIR_BUCKETS ? at->buckets.used : at->log.used;
}

static uint64_t remaining_in(const weiri_rule *rule, const view *at, uint64_t limit)
{
    return rule->algorithm == WEIR_COUNTER ? weiri_counter_remaining(&at->counter, rule, limit)
                                           : limit - used_in(rule, at);
}

static uint64_t opens_at(const weiri_rule *rule, const void *state, const view *at, uint64_t limit, uint64_t charge)
{
    if (charge > limit)
        return WEIR_NEVER;
    if (rule->algorithm == WEIR_COUNTER)
        return weiri_counter_opens(&at->counter, rule, limit, charge);
    if (rule->algorithm == WEIR_BUCKETS)
        return weiri_buckets_opens(state, rule, &at->buckets, limit, charge);
    return ring_opens(state, rule, &at->log, limit, charge);
}

/* The refusing rule that opens last; fills in the wait. */
static uint32_t last_to_open(const rules *set, const void *state, uint64_t cost, uint64_t now, const view *views,
                             uint64_t *wait)
{
    uint32_t last = 0;
    uint64_t latest = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        if (views[i].accepts)
            continue;
        uint64_t opens = opens_at(rule, state_of(rule, state), &views[i], set->limit[i],
                                  weiri_rule_charge(rule, cost));
        if (opens > latest) {
            latest = opens;
            last = i;
        }
    }
    *wait = latest == WEIR_NEVER ? WEIR_NEVER : latest - now;
    return last;
}

static uint32_t least_remaining(const rules *set, uint64_t cost, const view *views)
{
    uint32_t least = 0;
    uint64_t smallest = UINT64_MAX;
    for (unsigned i = 0; i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        uint64_t left = remaining_in(rule, &views[i], set->limit[i]) - weiri_rule_charge(rule, cost);
        if (left < smallest) {
            smallest = left;
            least = i;
        }
    }
    return least;
}

/* `state` has the charge of an accepted call in it, `views` are from before. */
static void answer(const rules *set, const void *state, uint64_t cost, uint64_t now, bool accepted,
                   const view *views, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = accepted};
    decision->rule = accepted ? least_remaining(set, cost, views)
                              : last_to_open(set, state, cost, now, views, &decision->retry_after_ns);
    const weiri_rule *rule = &set->rule[decision->rule];
    const void *own = state_of(rule, state);
    uint64_t limit = set->limit[decision->rule];
    view at;
    look(rule, own, limit, 0, now, &at);
    decision->limit = limit;
    decision->remaining = remaining_in(rule, &at, limit);
    if (used_in(rule, &at) != 0)
        decision->release_after_ns = opens_at(rule, own, &at, limit, decision->remaining + 1) - now;
}

/* --- --- */

/* The common case, with nothing around it: one rule, and the verdict alone. */
static int take_one(const rules *set, void *state, uint64_t cost, uint64_t now)
{
    const weiri_rule *rule = &set->rule[0];
    uint64_t charge = weiri_rule_charge(rule, cost);
    view at;
    if (!look(rule, state, set->limit[0], charge, now, &at))
        return 0;
    if (charge == 0)
        return 1;
    if (!ready(rule, state, set->limit[0], &at))
        return -ENOMEM;
    record(rule, state, charge, &at);
    return 1;
}

int rules_take(const rules *set, void *state, uint64_t cost, uint64_t now, weir_decision *decision)
{
    view views[WEIR_RULES_MAX];
    bool accepted = true;
    if (set->count == 1 && !decision)
        return take_one(set, state, cost, now);
    for (unsigned i = 0; i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        accepted &= look(rule, state_of(rule, state), set->limit[i], weiri_rule_charge(rule, cost), now, &views[i]);
    }
    for (unsigned i = 0; accepted && i < set->count; i++)
        if (!ready(&set->rule[i], state_of(&set->rule[i], state), set->limit[i], &views[i]))
            return -ENOMEM;
    for (unsigned i = 0; accepted && i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        uint64_t charge = weiri_rule_charge(rule, cost);
        if (charge > 0)
            record(rule, state_of(rule, state), charge, &views[i]);
    }
    if (decision)
        answer(set, state, cost, now, accepted, views, decision);
    return accepted;
}

uint64_t rules_expire(const rules *set, const void *state)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const weiri_rule *rule = &set->rule[i];
        const void *own = state_of(rule, state);
        uint64_t expires;
        if (rule->algorithm == WEIR_BUCKETS) {
            expires = weiri_buckets_expires(own, rule);
        } else if (rule->algorithm == WEIR_LOG) {
            const ring *log = own;
            expires = log->used > 0 ? log->newest + rule->window : 0;
        } else {
            const weiri_counter *counter = own;
            bool recorded = (counter->index | counter->current) != 0;
            expires = recorded ? weiri_counter_expires(counter, rule) : 0;
        }
        last = expires > last ? expires : last;
    }
    return last;
}
