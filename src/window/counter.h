/*
 * counter: two numbers a key. Windows are aligned at multiples of W; `current` belongs to window `index`, `previous` to
 * the one before. A call at offset e of its window is accepted iff
 *
 *     previous * (W - e) + (current + c) * W  <=  L * W          exact, 128 bits
 *
 * Pure: a value goes in, a value comes out. The all-zero value is "nothing charged".
 * Contract: docs/semantics.md, section 3, counter.
 */
#ifndef WEIRI_WINDOW_COUNTER_H
#define WEIRI_WINDOW_COUNTER_H

#include "rule.h"

typedef struct weiri_counter {
    uint64_t index;    /* the newest window charged */
    uint64_t current;  /* charges in it */
    uint64_t previous; /* charges in the window before */
} weiri_counter;

/* A counter as it stands at one call's effective time; `at` is what a charge would be added to. */
typedef struct weiri_counter_view {
    weiri_counter at;
    uint64_t time;   /* max(now, start of the newest window charged, floor) */
    uint64_t offset; /* time - at.index * W */
    bool late;       /* the floor alone decided the time */
} weiri_counter_view;

/* The window it already has is tested first: the division is for the first call in a later one. */
static inline weiri_counter_view weiri_counter_look(weiri_counter counter, const weiri_rule *rule, uint64_t now,
                                                    uint64_t floor)
{
    uint64_t start = counter.index * rule->window;
    uint64_t own = now > start ? now : start;
    weiri_counter_view view = {.at = counter, .late = floor > own};
    view.time = view.late ? floor : own;
    view.offset = view.time - start;
    if (view.offset >= rule->window) {
        view.at.index = weiri_divide(view.time, rule->by);
        view.at.previous = view.at.index == counter.index + 1 ? counter.current : 0;
        view.at.current = 0;
        view.offset = view.time - view.at.index * rule->window;
    }
    return view;
}

static inline bool weiri_counter_accepts(const weiri_counter_view *view, const weiri_rule *rule, uint64_t limit,
                                         uint64_t charge)
{
    if (!weiri_fits(view->at.current, limit, charge))
        return false;
    uint64_t room = limit - charge - view->at.current;
    return (weiri_u128)view->at.previous * (rule->window - view->offset) <= (weiri_u128)room * rule->window;
}

/* The counter with an accepted charge in it. */
static inline weiri_counter weiri_counter_charged(const weiri_counter_view *view, uint64_t charge)
{
    weiri_counter counter = view->at;
    counter.current += charge;
    return counter;
}

/* The largest charge that would be accepted at the view's time. */
uint64_t weiri_counter_remaining(const weiri_counter_view *view, const weiri_rule *rule, uint64_t limit);

/* The first time >= the view's at which `charge` (<= limit) would be accepted. */
uint64_t weiri_counter_opens(const weiri_counter_view *view, const weiri_rule *rule, uint64_t limit, uint64_t charge);

/* The first time at which no charge counts any more: (index + 2) * W. */
static inline uint64_t weiri_counter_expires(const weiri_counter *counter, const weiri_rule *rule)
{
    uint64_t expires;
    bool beyond = __builtin_mul_overflow(counter->index + 2, rule->window, &expires);
    return beyond ? UINT64_MAX : expires;
}

#endif
