/*
 * buckets: the ring moves with the charges; a look only tells what has left it since.
 */
#include "buckets.h"

#include <string.h>

static uint64_t *ring_of(const weiri_buckets *state, const weiri_rule *rule)
{
    return (uint64_t *)(void *)((char *)(uintptr_t)state + rule->ring);
}

/* The oldest bucket that counts at `time`; never more than B before the bucket of `time`. */
static uint64_t trailing(const weiri_rule *rule, uint64_t time)
{
    return time < rule->window ? 0 : weiri_divide(time - rule->window + 1, rule->by);
}

/* Where `bucket` stands, head - B <= bucket <= head. */
static uint64_t slot_of(const weiri_buckets *state, const weiri_rule *rule, uint64_t bucket)
{
    uint64_t back = state->head - bucket;
    return back <= state->head_slot ? state->head_slot - back : state->head_slot + rule->buckets + 1 - back;
}

static uint64_t slot_after(const weiri_rule *rule, uint64_t slot)
{
    return slot == rule->buckets ? 0 : slot + 1;
}

/* Sum of `count` buckets from `bucket` on. */
static uint64_t sum(const weiri_buckets *state, const weiri_rule *rule, uint64_t bucket, uint64_t count)
{
    const uint64_t *ring = ring_of(state, rule);
    uint64_t total = 0;
    for (uint64_t slot = slot_of(state, rule, bucket); count > 0; count--, slot = slot_after(rule, slot))
        total += ring[slot];
    return total;
}

/* What counts at `time` >= newest, of a state with charges: those that left taken off, or those left over added up. */
static uint64_t used_at(const weiri_buckets *state, const weiri_rule *rule, uint64_t time)
{
    uint64_t before = trailing(rule, state->newest);
    uint64_t now = trailing(rule, time);
    if (now > state->head)
        return 0;
    uint64_t left = now - before;
    uint64_t stay = state->head - now + 1;
    return left <= stay ? state->total - sum(state, rule, before, left) : sum(state, rule, now, stay);
}

weiri_buckets_view weiri_buckets_look(const weiri_buckets *state, const weiri_rule *rule, uint64_t now, uint64_t floor)
{
    uint64_t own = now > state->newest ? now : state->newest;
    weiri_buckets_view view = {.time = floor > own ? floor : own, .used = state->total, .late = floor > own};
    if (state->total != 0 && view.time != state->newest)
        view.used = used_at(state, rule, view.time);
    return view;
}

/* Zeroes what counts at `newest` and no longer at `time`. */
static void drop_until(weiri_buckets *state, const weiri_rule *rule, uint64_t time)
{
    uint64_t *ring = ring_of(state, rule);
    uint64_t bucket = trailing(rule, state->newest);
    uint64_t end = trailing(rule, time);
    end = end > state->head ? state->head + 1 : end;
    for (uint64_t slot = slot_of(state, rule, bucket); bucket < end; bucket++, slot = slot_after(rule, slot))
        ring[slot] = 0;
}

/*
 * The places that the head moves onto are zero: they held buckets more than B before it, which do not count any more.
 */
void weiri_buckets_charge(weiri_buckets *state, const weiri_rule *rule, const weiri_buckets_view *view, uint64_t charge)
{
    if (view->used != state->total)
        drop_until(state, rule, view->time);
    uint64_t head = weiri_divide(view->time, rule->by);
    uint64_t moved = head - state->head;
    if (view->used == 0) {
        state->head_slot = 0; /* the ring is all zero: any place will do */
    } else {
        state->head_slot += moved;
        state->head_slot -= state->head_slot > rule->buckets ? rule->buckets + 1 : 0;
    }
    state->head = head;
    state->newest = view->time;
    state->total = view->used + charge;
    ring_of(state, rule)[state->head_slot] += charge;
}

/* Bucket j leaves when the trailing bucket is j + 1: at (j + 1) * g + W - 1, below 2^64 - 1. */
uint64_t weiri_buckets_opens(const weiri_buckets *state, const weiri_rule *rule, const weiri_buckets_view *view,
                             uint64_t limit, uint64_t charge)
{
    uint64_t room = limit - charge;
    if (view->used <= room)
        return view->time;
    const uint64_t *ring = ring_of(state, rule);
    uint64_t excess = view->used - room;
    uint64_t bucket = trailing(rule, view->time);
    uint64_t slot = slot_of(state, rule, bucket);
    while (ring[slot] < excess) {
        excess -= ring[slot];
        bucket++;
        slot = slot_after(rule, slot);
    }
    return (bucket + 1) * rule->width + rule->window - 1;
}

uint64_t weiri_buckets_expires(const weiri_buckets *state, const weiri_rule *rule)
{
    if (state->newest == 0 && state->total == 0)
        return 0;
    return (state->head + 1) * rule->width + rule->window - 1;
}

void weiri_buckets_clear(weiri_buckets *state, const weiri_rule *rule)
{
    if (state->total != 0)
        memset(ring_of(state, rule), 0, ((size_t)rule->buckets + 1) * sizeof(uint64_t));
    state->total = 0;
}
