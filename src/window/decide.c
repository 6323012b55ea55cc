/*
 * decide: one rule after the other, then what their answers come to together.
 */
#include "decide.h"

typedef union weiri_view view_of;

_Static_assert(sizeof(weiri_log) <= 64 && sizeof(weiri_buckets) <= 64 && sizeof(weiri_counter) <= 64,
               "WEIRI_STATES_HEAD covers every head");

static const void *state_of(const weiri_rule *rule, const void *states)
{
    return (const char *)states + rule->offset;
}

static void *state_in(const weiri_rule *rule, void *states)
{
    return (char *)states + rule->offset;
}

/* Heads first; rings, and homes of logs, behind all heads. */
void weiri_rules_layout(weiri_rules *rules)
{
    size_t size = 0;
    for (unsigned i = 0; i < rules->count; i++) {
        weiri_rule *rule = &rules->rule[i];
        rule->offset = size;
        size += rule->algorithm == WEIR_BUCKETS ? sizeof(weiri_buckets) : rule->size;
    }
    for (unsigned i = 0; i < rules->count; i++) {
        weiri_rule *rule = &rules->rule[i];
        if (rule->algorithm == WEIR_COUNTER)
            continue;
        size_t ring = rule->algorithm == WEIR_LOG ? weiri_log_home_size()
                      : rule->size == SIZE_MAX    ? SIZE_MAX
                                                  : rule->size - sizeof(weiri_buckets);
        rule->ring = size - rule->offset;
        if (__builtin_add_overflow(size, ring, &size)) {
            size = SIZE_MAX;
            break;
        }
    }
    rules->states_size = size;
}

/* How one rule stands, and whether it accepts. */
static inline bool judge(const weiri_rule *rule, const void *state, const weiri_call *call, uint64_t limit,
                         uint64_t charge, view_of *view, bool *late)
{
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        view->counter = weiri_counter_look(*(const weiri_counter *)state, rule, call->now, call->floor);
        *late |= view->counter.late;
        return weiri_counter_accepts(&view->counter, rule, limit, charge);
    case WEIR_BUCKETS:
        view->buckets = weiri_buckets_look(state, rule, call->now, call->floor);
        *late |= view->buckets.late;
        return weiri_fits(view->buckets.used, limit, charge);
    default:
        view->log = weiri_log_look(state, rule, call->now, call->floor);
        *late |= view->log.late;
        return weiri_fits(view->log.used, limit, charge);
    }
}

void weiri_decide(const weiri_rules *rules, const void *states, const weiri_call *call, weiri_views *views)
{
    bool accepted = true;
    bool late = false;
    bool charges = false;
    for (unsigned i = 0; i < rules->count; i++) {
        const weiri_rule *rule = &rules->rule[i];
        uint64_t charge = weiri_rule_charge(rule, call->cost);
        bool accepts = judge(rule, state_of(rule, states), call, call->limits[i], charge, &views->of[i], &late);
        views->accepts[i] = accepts;
        accepted &= accepts;
        charges |= charge > 0;
    }
    views->accepted = accepted;
    views->late = late;
    views->records = accepted && charges;
}

void weiri_charge(const weiri_rules *rules, void *states, const weiri_call *call, const weiri_views *views)
{
    for (unsigned i = 0; i < rules->count; i++) {
        const weiri_rule *rule = &rules->rule[i];
        uint64_t charge = weiri_rule_charge(rule, call->cost);
        if (charge == 0)
            continue;
        void *state = state_in(rule, states);
        if (rule->algorithm == WEIR_COUNTER)
            *(weiri_counter *)state = weiri_counter_charged(&views->of[i].counter, charge);
        else if (rule->algorithm == WEIR_BUCKETS)
            weiri_buckets_charge(state, rule, &views->of[i].buckets, charge);
        else
            weiri_log_charge(state, rule, &views->of[i].log, charge);
    }
}

static uint64_t used_in(const weiri_rule *rule, const view_of *view)
{
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        return view->counter.at.current | view->counter.at.previous;
    case WEIR_BUCKETS:
        return view->buckets.used;
    default:
        return view->log.used;
    }
}

static uint64_t remaining_in(const weiri_rule *rule, const view_of *view, uint64_t limit)
{
    if (rule->algorithm == WEIR_COUNTER)
        return weiri_counter_remaining(&view->counter, rule, limit);
    uint64_t used = used_in(rule, view);
    return used < limit ? limit - used : 0;
}

/* WEIR_NEVER for a charge above the limit; every time is below it. */
static uint64_t opens_at(const weiri_rule *rule, const void *state, const view_of *view, uint64_t limit,
                         uint64_t charge)
{
    if (charge > limit)
        return WEIR_NEVER;
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        return weiri_counter_opens(&view->counter, rule, limit, charge);
    case WEIR_BUCKETS:
        return weiri_buckets_opens(state, rule, &view->buckets, limit, charge);
    default:
        return weiri_log_opens(state, rule, &view->log, limit, charge);
    }
}

/* The refusing rule that opens last, and when; what a rule accepts, it goes on accepting. */
static unsigned last_to_open(const weiri_rules *rules, const void *states, const weiri_call *call,
                             const weiri_views *views, uint64_t *when)
{
    unsigned last = 0;
    *when = 0;
    for (unsigned i = 0; i < rules->count; i++) {
        if (views->accepts[i])
            continue;
        const weiri_rule *rule = &rules->rule[i];
        uint64_t charge = weiri_rule_charge(rule, call->cost);
        uint64_t opens = opens_at(rule, state_of(rule, states), &views->of[i], call->limits[i], charge);
        if (opens > *when) {
            *when = opens;
            last = i;
        }
    }
    return last;
}

/* The rule with least left after the charge of an accepted call, whether recorded so far or not. */
static unsigned least_remaining(const weiri_rules *rules, const weiri_call *call, const weiri_views *views)
{
    unsigned least = 0;
    uint64_t smallest = UINT64_MAX;
    for (unsigned i = 0; i < rules->count; i++) {
        const weiri_rule *rule = &rules->rule[i];
        uint64_t remaining = remaining_in(rule, &views->of[i], call->limits[i]) - weiri_rule_charge(rule, call->cost);
        if (remaining < smallest) {
            smallest = remaining;
            least = i;
        }
    }
    return least;
}

void weiri_answer(const weiri_rules *rules, const void *states, const weiri_call *call, const weiri_views *views,
                  bool charged, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = views->accepted, .flags = views->late ? WEIR_LATE : 0};
    if (views->accepted) {
        decision->rule = least_remaining(rules, call, views);
    } else {
        uint64_t opens;
        decision->rule = last_to_open(rules, states, call, views, &opens);
        decision->retry_after_ns = opens == WEIR_NEVER ? WEIR_NEVER : opens - call->now;
    }
    const weiri_rule *rule = &rules->rule[decision->rule];
    const void *state = state_of(rule, states);
    uint64_t limit = call->limits[decision->rule];
    view_of view = views->of[decision->rule];
    if (charged) {
        bool late = false;
        judge(rule, state, call, limit, 0, &view, &late);
    }
    decision->limit = limit;
    decision->remaining = remaining_in(rule, &view, limit);
    if (used_in(rule, &view) != 0) {
        uint64_t release = opens_at(rule, state, &view, limit, decision->remaining + 1);
        decision->release_after_ns = release - call->now;
    }
}

uint64_t weiri_refused_until(const weiri_rules *rules, const void *states, const weiri_call *call,
                             const weiri_views *views)
{
    uint64_t opens;
    last_to_open(rules, states, call, views, &opens);
    return opens;
}

static uint64_t expires_in(const weiri_rule *rule, const void *state)
{
    const weiri_counter *counter = state;
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        return (counter->index | counter->current | counter->previous) != 0 ? weiri_counter_expires(counter, rule) : 0;
    case WEIR_BUCKETS:
        return weiri_buckets_expires(state, rule);
    default:
        return weiri_log_expires(state, rule);
    }
}

/* Has the state a time of its own? It only grows, and a reset keeps it; at time 0 it cannot be told from none. */
static bool has_time(const weiri_rule *rule, const void *state)
{
    switch (rule->algorithm) {
    case WEIR_COUNTER:
        return ((const weiri_counter *)state)->index != 0;
    case WEIR_BUCKETS:
        return ((const weiri_buckets *)state)->newest != 0;
    default:
        return ((const weiri_log *)state)->newest != 0;
    }
}

uint64_t weiri_expires(const weiri_rules *rules, const void *states)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < rules->count; i++) {
        uint64_t expires = expires_in(&rules->rule[i], state_of(&rules->rule[i], states));
        last = expires > last ? expires : last;
    }
    return last;
}

uint64_t weiri_expires_surely(const weiri_rules *rules, const void *states)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < rules->count; i++) {
        const void *state = state_of(&rules->rule[i], states);
        uint64_t expires = has_time(&rules->rule[i], state) ? expires_in(&rules->rule[i], state) : 0;
        last = expires > last ? expires : last;
    }
    return last;
}

void weiri_clear(const weiri_rules *rules, void *states)
{
    for (unsigned i = 0; i < rules->count; i++) {
        const weiri_rule *rule = &rules->rule[i];
        void *state = state_in(rule, states);
        if (rule->algorithm == WEIR_COUNTER) {
            weiri_counter *counter = state;
            counter->current = 0;
            counter->previous = 0;
        } else if (rule->algorithm == WEIR_BUCKETS) {
            weiri_buckets_clear(state, rule);
        } else {
            weiri_log_clear(state, rule);
        }
    }
}
