/*
 * buckets: a ring of B+1 numbers a key. Bucket j covers [jg, (j+1)g), g = ceil(W/B). A call at t is accepted iff the
 * sum of the buckets floor((t-W+1)/g) ... floor(t/g), plus c, is <= L: the trailing bucket counts in full while any
 * part of it is inside. Contract: docs/semantics.md, section 3, buckets.
 *
 *   newest   total   head index   head slot  ...  ring[0 ... B]
 *                                   |___ the newest bucket's place; older ones before it, wrapping round
 *
 * The ring holds zero wherever a bucket does not count at `newest`. It stands rule->ring bytes after the state: behind
 * the states of all rules, so that a short block of zeros is "nothing charged" whatever the rules.
 *
 * A state whose first fields are all zero is "nothing charged", and its ring is not read.
 */
#ifndef WEIRI_WINDOW_BUCKETS_H
#define WEIRI_WINDOW_BUCKETS_H

#include "rule.h"

typedef struct weiri_buckets {
    uint64_t newest;    /* newest stamp recorded */
    uint64_t total;     /* sum of the buckets that count at `newest` */
    uint64_t head;      /* floor(newest / g) */
    uint64_t head_slot; /* where bucket `head` stands in the ring */
} weiri_buckets;

typedef struct weiri_buckets_view {
    uint64_t time; /* max(now, newest, floor) */
    uint64_t used; /* sum of the buckets that count at `time` */
    bool late;
} weiri_buckets_view;

weiri_buckets_view weiri_buckets_look(const weiri_buckets *state, const weiri_rule *rule, uint64_t now, uint64_t floor);
void weiri_buckets_charge(weiri_buckets *state, const weiri_rule *rule, const weiri_buckets_view *view,
                          uint64_t charge);

/* The first time >= the view's at which `charge` (<= limit) would be accepted. At most B steps. */
uint64_t weiri_buckets_opens(const weiri_buckets *state, const weiri_rule *rule, const weiri_buckets_view *view,
                             uint64_t limit, uint64_t charge);
uint64_t weiri_buckets_expires(const weiri_buckets *state, const weiri_rule *rule);

/* Forgets the charges, not the time. */
void weiri_buckets_clear(weiri_buckets *state, const weiri_rule *rule);

#endif
