/*
 * Guarantee B from what callers saw, whatever the interleaving, with a clock that jumps both ways.
 *
 * The effective stamp t of an accepted charge is max(now, newest stamp recorded on the key, floor). It is not told, but
 * it lies in [low, high], from the order of the calls in real time:
 *
 *   Tickets come from one counter, by read-modify-writes that acquire and release, right before and after each call.
 *   If A.end < B.begin, all of A happens before all of B. If anything that X did is seen by A, then X.begin < A.end.
 *
 *   low    Stamps of a key never fall from one acceptance to the next: while it is held t >= newest, and when it was
 *          dropped, at T, every later decision runs at T or later, which is later than any stamp dropped. So
 *          low(B) = max(B.now, low(A) for every A of the key with A.end < B.begin).
 *   high   t is A's own now, or a floor, or the stamp of an earlier accepted charge of the key, which came from a now
 *          or a floor too. An earlier one X was seen by A, so X.begin < A.end. Whoever may raise a floor writes its
 *          drop time down before it begins, and A reads the largest after it ended; a whole answer without WEIR_LATE
 *          says that it was not decided at a floor of its own (A.floor 0).
 *          So high(A) = max(X.now, X.floor for every X of the key with X.begin < A.end, A among them).
 *
 * A reset forgets charges and no time: it stands in the order too, at the newest stamp, with the same two bounds and no
 * now of its own.
 *
 * Log and buckets. Take any x, and S = the charges with low > x-W and high <= x. All their stamps lie in (x-W, x]. The
 * last of S in the order of acceptance has the newest stamp t <= x of them, so all of S lies in (t-W, t], and B says
 * that the charges that no reset has forgotten add up to at most the limit it was decided with. That is at most the
 * largest limit in S, and resets between two of S have a stamp in (x-W, x]: there are at most R of them, those with
 * low <= x and high > x-W. So S adds up to at most limit * (1 + R). It is enough to look at x = each `high`.
 *
 * Counter. Not in B, but of the charges that lie in window i beyond doubt, the last in order finds at least all the
 * others in `current`: S(i) <= limit. It also finds all of S(i-1) in `previous`, at an offset of at most e, the largest
 * that one of S(i) can have: S(i-1) * (W-e) + S(i) * W <= limit * W.
 *
 * What is held at the end. Looked at at P, no earlier than any stamp or floor, so that the effective time is P itself:
 * a charge counts for certain if low lies in the window (P-W, P] and it began after every reset had ended; it may count
 * if high does and it did not end before some reset began. What weir says is used must lie between the two sums: less
 * is a charge lost, more is one counted twice. Where no clock jumps while calls overlap the two are equal.
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

static int by_end(const void *a, const void *b)
{
    const bound *const *x = a, *const *y = b;
    return (*x)->end < (*y)->end ? -1 : (*x)->end > (*y)->end;
}

static int by_high(const void *a, const void *b)
{
    const bound *x = a, *y = b;
    return x->high < y->high ? -1 : x->high > y->high;
}

static int by_low(const void *a, const void *b)
{
    const bound *const *x = a, *const *y = b;
    return (*x)->low < (*y)->low ? -1 : (*x)->low > (*y)->low;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

size_t judge_bounds(const weir_rule *rule, const ledger_entry *entries, size_t count, uint64_t largest, bound *out,
                    bound **room)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const ledger_entry *entry = &entries[i];
        uint64_t charge = entry->reset ? 0 : rule->meter == WEIR_PER_COST ? entry->cost : 1;
        if (charge == 0 && !entry->reset)
            continue; /* records nothing in this rule */
        out[made] = (bound){.begin = entry->begin, .end = entry->end, .now = entry->now, .now_high = entry->now_high};
        out[made].floor = entry->floor;
        out[made].charge = charge;
        out[made].limit = entry->reset ? 0 : entry->limit ? entry->limit : largest;
        room[made] = &out[made];
        made++;
    }
    qsort(room, made, sizeof(*room), by_end);
    uint64_t newest = 0, oldest = 0;
    for (size_t i = 0, began = 0; i < made; i++) { /* by end: high */
        for (; began < made && out[began].begin < room[i]->end; began++)
            newest = larger(newest, larger(out[began].now_high, out[began].floor));
        room[i]->high = newest;
    }
    for (size_t i = 0, ended = 0; i < made; i++) { /* by begin: low */
        for (; ended < made && room[ended]->end < out[i].begin; ended++)
            oldest = larger(oldest, room[ended]->low);
        out[i].low = larger(oldest, out[i].now);
    }
    return made;
}

/* The largest limit among the charges with high in (x-W, x], as x moves over the highs: a queue of falling limits. */
typedef struct limit_queue {
    const bound **at;
    size_t first, count;
} limit_queue;

static uint64_t queue_move(limit_queue *self, const bound *added, uint64_t window)
{
    while (self->count > self->first && self->at[self->count - 1]->limit <= added->limit)
        self->count--;
    self->at[self->count++] = added;
    while (self->at[self->first]->high + window <= added->high)
        self->first++;
    return self->at[self->first]->limit;
}

enum { NOT_YET = 0, COUNTED, TOO_OLD };

/* `bounds` by high, `lows` the same by low. */
static void judge_windows(uint64_t window, bound *bounds, bound **lows, const bound **queue, size_t count)
{
    limit_queue limits = {.at = queue};
    uint64_t sum = 0, resets = 0;
    size_t started = 0, ended = 0, oldest = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = bounds[i].high;
        for (; oldest < count && lows[oldest]->low + window <= x; oldest++) {
            sum -= lows[oldest]->place == COUNTED ? lows[oldest]->charge : 0;
            lows[oldest]->place = TOO_OLD;
        }
        for (; started < count && lows[started]->low <= x; started++)
            resets += lows[started]->charge == 0;
        for (; bounds[ended].high + window <= x; ended++)
            resets -= bounds[ended].charge == 0;
        if (bounds[i].place == NOT_YET) {
            sum += bounds[i].charge;
            bounds[i].place = COUNTED;
        }
        uint64_t limit = queue_move(&limits, &bounds[i], window);
        if (sum > limit * (1 + resets))
            fault("B: %" PRIu64 " accepted within (%" PRIu64 ", %" PRIu64 "], limit %" PRIu64 ", resets %" PRIu64, sum,
                  x < window ? 0 : x - window, x, limit, resets);
    }
}

/* The largest offset in window `index` that a charge made there can have had. */
static uint64_t offset_of(const bound *self, uint64_t window)
{
    uint64_t index = self->high / window;
    uint64_t offset = self->floor / window == index ? self->floor % window : 0;
    return self->now_high / window == index ? larger(offset, self->now_high % window) : offset;
}

/* `bounds` by high. */
static void judge_counter(uint64_t window, const bound *bounds, size_t count)
{
    uint64_t index = 0, sum = 0, before = 0, offset = 0, limit = 0, resets = 0;
    for (size_t i = 0; i < count; i++)
        resets += bounds[i].charge == 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = bounds[i].high / window;
        if (bounds[i].low / window != at)
            continue;
        if (at != index) {
            before = at == index + 1 ? sum : 0;
            sum = 0, offset = 0;
            index = at;
        }
        sum += bounds[i].charge;
        offset = larger(offset, offset_of(&bounds[i], window));
        limit = larger(limit, bounds[i].limit);
        if (sum > limit * (1 + resets))
            fault("counter: %" PRIu64 " accepted in window %" PRIu64 ", limit %" PRIu64, sum, index, limit);
        if (resets == 0 && before * (window - offset) + sum * window > limit * window)
            fault("counter: %" PRIu64 " accepted in window %" PRIu64 " up to %" PRIu64 " after %" PRIu64
                  ", limit %" PRIu64,
                  sum, index, offset, before, limit);
    }
}

void judge_rule(const weir_rule *rule, bound *bounds, size_t count, bound **room)
{
    if (count == 0)
        return;
    qsort(bounds, count, sizeof(*bounds), by_high);
    if (rule->algorithm == WEIR_COUNTER) {
        judge_counter(rule->window_ns, bounds, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        room[i] = &bounds[i];
    qsort(room, count, sizeof(*room), by_low);
    judge_windows(rule->window_ns, bounds, room, (const bound **)(room + count), count);
}

/* Stamps from here on count when looked at; a counter is looked at where `previous` is nearly worn off. */
static uint64_t window_at(const weir_rule *rule, uint64_t *when)
{
    uint64_t window = rule->window_ns;
    if (rule->algorithm == WEIR_COUNTER) {
        uint64_t start = *when / window * window;
        *when = start + window - 1;
        return start;
    }
    uint64_t from = *when < window ? 0 : *when - window + 1;
    uint64_t width = rule->buckets ? (window + rule->buckets - 1) / rule->buckets : 1;
    return from / width * width;
}

judge_used judge_settled(const weir_rule *rule, const bound *bounds, size_t count, uint64_t floor)
{
    judge_used used = {.when = floor};
    uint64_t reset_began = 0, reset_ended = 0;
    for (size_t i = 0; i < count; i++) {
        used.when = larger(used.when, bounds[i].high);
        if (bounds[i].charge == 0) {
            reset_began = larger(reset_began, bounds[i].begin);
            reset_ended = larger(reset_ended, bounds[i].end);
        }
    }
    uint64_t from = window_at(rule, &used.when);
    for (size_t i = 0; i < count; i++) {
        if (bounds[i].low >= from && bounds[i].begin >= reset_ended)
            used.least += bounds[i].charge;
        if (bounds[i].high >= from && bounds[i].end >= reset_began)
            used.most += bounds[i].charge;
    }
    used.most += rule->algorithm == WEIR_COUNTER; /* `previous`, nearly worn off, counts 1 */
    return used;
}
