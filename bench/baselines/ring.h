/*
 * ring: the log of one key as one would write it: a ring of records, oldest first, each a stamp, or where costs are
 * charged a stamp and the running total before it (so that a wait is found by halving, as weir does). Not thread-safe:
 * its owner has a lock. Nothing is let go of by a look, so that a late call after a refusal finds what it should.
 *
 * Up to RING_INLINE words stand right behind the ring, in the owner's own block; a longer ring is a block of its own
 * that doubles, up to as many records as the limit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_RING_H
#define WEIR_BENCH_RING_H

#include <stdlib.h>

#include "window/rule.h"

enum { RING_INLINE = 64 };

typedef struct ring {
    uint64_t newest; /* newest stamp recorded */
    uint64_t total;  /* of all charges ever, modulo 2^64 */
    uint32_t first;  /* where the oldest record stands */
    uint32_t used;   /* records */
    uint32_t room;   /* records that there are places for */
    uint32_t own;    /* 1: `word` is a block of its own */
    uint64_t *word;
} ring;

typedef struct ring_view {
    uint64_t time; /* max(now, newest) */
    uint64_t used; /* sum of the charges that count at `time` */
    uint32_t gone; /* records that do not */
} ring_view;

static inline uint32_t ring_words(const weiri_rule *rule)
{
    return rule->meter == WEIR_PER_COST ? 2 : 1;
}

/* Record number `n`, 0: the oldest. */
static inline const uint64_t *ring_record(const ring *log, uint32_t words, uint32_t n)
{
    uint32_t to_end = log->room - log->first;
    return &log->word[(size_t)(n < to_end ? log->first + n : n - to_end) * words];
}

static inline ring_view ring_look(const ring *log, const weiri_rule *rule, uint64_t now)
{
    const uint32_t words = ring_words(rule);
    ring_view view = {.time = now > log->newest ? now : log->newest};
    if (view.time >= rule->window)
        while (view.gone < log->used && ring_record(log, words, view.gone)[0] <= view.time - rule->window)
            view.gone++;
    if (words == 1)
        view.used = log->used - view.gone;
    else if (view.gone < log->used)
        view.used = log->total - ring_record(log, words, view.gone)[1];
    return view;
}

/* The size of a ring that has nothing charged, and how it is made of zeros. */
size_t ring_size(const weiri_rule *rule, uint64_t limit);
void ring_init(ring *log, const weiri_rule *rule, uint64_t limit);
void ring_free(ring *log);

/* A place for one more record under `view`; false: no memory, nothing changed. */
bool ring_grow(ring *log, const weiri_rule *rule, uint64_t limit);

static inline bool ring_ready(ring *log, const weiri_rule *rule, uint64_t limit, const ring_view *view)
{
    return log->used - view->gone < log->room || ring_grow(log, rule, limit);
}

/* Records an accepted charge (> 0); the ring is ready. */
static inline void ring_charge(ring *log, const weiri_rule *rule, const ring_view *view, uint64_t charge)
{
    const uint32_t words = ring_words(rule);
    log->first += view->gone;
    log->first -= log->first >= log->room ? log->room : 0;
    log->used -= view->gone;
    uint64_t *record = (uint64_t *)(uintptr_t)ring_record(log, words, log->used);
    record[0] = view->time;
    if (words == 2)
        record[1] = log->total;
    log->total += charge;
    log->newest = view->time;
    log->used++;
}

/* The first time at which `charge` (<= limit) would be accepted. */
uint64_t ring_opens(const ring *log, const weiri_rule *rule, const ring_view *view, uint64_t limit, uint64_t charge);

#endif
