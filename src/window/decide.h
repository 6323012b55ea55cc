/*
 * decide: several rules of one key, together. Pure functions over the states of one key: a block of memory with each
 * rule's state at rule->offset (weiri_counter, weiri_buckets or weiri_log). A block that is all zero is "nothing
 * charged", and then only its first weiri_states_head bytes are read.
 * Contract: docs/semantics.md, section 4.
 */
#ifndef WEIRI_WINDOW_DECIDE_H
#define WEIRI_WINDOW_DECIDE_H

#include "buckets.h"
#include "counter.h"
#include "log.h"
#include "rule.h"

/* The rules of one limiter. */
typedef struct weiri_rules {
    unsigned count;
    size_t states_size; /* bytes of the states of one key; SIZE_MAX where that cannot be told (too many buckets) */
    weiri_rule rule[WEIR_RULES_MAX];
} weiri_rules;

/* Bytes that are enough for "nothing charged", whatever the rules. */
#define WEIRI_STATES_HEAD (WEIR_RULES_MAX * 64)

/* One call on one key. */
typedef struct weiri_call {
    uint64_t now;
    uint64_t floor;         /* no decision on this key runs earlier */
    uint64_t cost;
    const uint64_t *limits; /* one for each rule */
} weiri_call;

/* How each rule stands for one call, before anything is recorded. */
typedef struct weiri_views {
    bool accepted; /* every rule accepts */
    bool late;     /* the floor decided some rule's time */
    bool records;  /* accepted, and some rule has a charge > 0 */
    bool accepts[WEIR_RULES_MAX];
    union weiri_view {
        weiri_counter_view counter;
        weiri_buckets_view buckets;
        weiri_log_view log;
    } of[WEIR_RULES_MAX];
} weiri_views;

/* Assigns offsets and states_size. Offsets are multiples of 8; WEIRI_STATES_HEAD covers every head. */
void weiri_rules_layout(weiri_rules *rules);

/* Looks at every rule; changes nothing. */
void weiri_decide(const weiri_rules *rules, const void *states, const weiri_call *call, weiri_views *views);

/* Records an accepted call. Logs must need nothing (weiri_log_needs). Rules with charge 0 record nothing. */
void weiri_charge(const weiri_rules *rules, void *states, const weiri_call *call, const weiri_views *views);

/*
 * Fills verdict, rule, limit, remaining, retry_after_ns, release_after_ns and the late flag of *decision; the rest
 * becomes 0.
 * charged: `states` already holds the call's charge (take); else they are as looked at (refusals, peeks): then
 * remaining and release are as they stand, and `rule` of an accepted call is the one that the take would name.
 */
void weiri_answer(const weiri_rules *rules, const void *states, const weiri_call *call, const weiri_views *views,
                  bool charged, weir_decision *decision);

/*
 * Until when a refusal holds, in absolute ns: every call with at least this cost and these limits, at any time before
 * it, is refused if nothing else happens. WEIR_NEVER where it holds for ever. (The retry of weiri_answer, added to now;
 * saturates.)
 */
uint64_t weiri_refused_until(const weiri_rules *rules, const void *states, const weiri_call *call,
                             const weiri_views *views);

/* The first time at which no charge of any rule counts any more; 0 where nothing was ever charged. */
uint64_t weiri_expires(const weiri_rules *rules, const void *states);

/* What weiri_expires never falls below any more, whatever is charged or reset; 0: nothing is known. */
uint64_t weiri_expires_surely(const weiri_rules *rules, const void *states);

/* Forgets the charges of every rule, not their time. */
void weiri_clear(const weiri_rules *rules, void *states);

#endif
