/*
 * A log beside a list of all its charges, for tests.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_LOG_BENCH_H
#define WEIR_TESTS_LOG_BENCH_H

#include <stddef.h>

#include "window_states.h"

enum { RECORDS = 1 << 15 };

/* A log beside a list of every charge since it was last cleared. */
typedef struct twin {
    weiri_rule rule;
    weiri_log log;
    uint64_t home[9];
    size_t gone; /* of the list: what does not count at log.newest */
    size_t count;
    uint64_t stamp[RECORDS];
    uint64_t charge[RECORDS];
} twin;

static inline weiri_rule log_rule_of(uint64_t window, uint32_t meter)
{
    weir_rule rule = {.limit = 1, .window_ns = window, .algorithm = WEIR_LOG, .meter = meter};
    return weiri_rule_make(&rule, UINT32_MAX);
}

static inline twin *twin_new(uint64_t window, uint32_t meter)
{
    twin *t = calloc(1, sizeof *t);
    cr_assert(t != NULL);
    t->rule = log_rule_of(window, meter);
    return t;
}

/* The same, with a home. */
static inline twin *twin_new_at_home(uint64_t window, uint32_t meter)
{
    twin *t = twin_new(window, meter);
    t->rule.ring = offsetof(twin, home) - offsetof(twin, log);
    EQUALS(weiri_log_home_size(), sizeof t->home);
    memset(t->home, 0xA5, sizeof t->home);
    return t;
}

static inline void twin_free(twin *t)
{
    log_free(&t->log, &t->rule);
    free(t);
}

static inline bool counts(const twin *t, size_t i, uint64_t time)
{
    return time < t->rule.window || t->stamp[i] > time - t->rule.window;
}

static inline size_t live_at(const twin *t, uint64_t time)
{
    size_t live = 0;
    for (size_t i = t->gone; i < t->count; i++)
        live += counts(t, i, time);
    return live;
}

static inline uint64_t used_at(const twin *t, uint64_t time)
{
    uint64_t used = 0;
    for (size_t i = t->gone; i < t->count; i++)
        used += counts(t, i, time) ? t->charge[i] : 0;
    return used;
}

static inline const weiri_chunk *chunk_at(const weiri_log *log, uint32_t at)
{
    return log->index_capacity == 0 ? log->only : log->index[(log->index_first + at) % log->index_capacity];
}

/* base and capacity of a chunk, as its header is promised to be. */
static inline uint32_t header(const weiri_chunk *chunk, unsigned field)
{
    uint32_t words[2];
    memcpy(words, chunk, sizeof words);
    return words[field];
}

/* Bases follow on from each other, dead chunks come first, `first` is in the one after them. */
static inline void check_index(const weiri_log *log)
{
    cr_assert(log->dead <= log->chunks && log->chunks <= (log->index_capacity > 0 ? log->index_capacity : 1));
    if (log->dead == log->chunks) {
        EQUALS(log->first, log->next);
        return;
    }
    const weiri_chunk *oldest = chunk_at(log, log->dead);
    cr_assert(log->first - header(oldest, 0) < header(oldest, 1));
    uint64_t end = log->first - header(oldest, 0); /* relative to the oldest base */
    end += log->next - log->first;
    uint64_t base = 0;
    for (uint32_t i = log->dead; i < log->chunks; i++) {
        EQUALS(header(chunk_at(log, i), 0), (uint32_t)(header(oldest, 0) + base));
        cr_assert(base <= end);
        base += header(chunk_at(log, i), 1);
    }
    cr_assert(base >= end);
}

static inline void twin_charge(twin *t, const weiri_log_view *view, uint64_t amount)
{
    log_charge(&t->log, &t->rule, view, amount);
    cr_assert(t->count < RECORDS);
    t->stamp[t->count] = view->time;
    t->charge[t->count++] = amount;
    while (!counts(t, t->gone, view->time))
        t->gone++;
}

static inline weiri_log_view look(const twin *t, uint64_t now)
{
    return weiri_log_look(&t->log, &t->rule, now, 0);
}

static inline void take_at(twin *t, uint64_t now, uint64_t amount)
{
    weiri_log_view view = look(t, now);
    twin_charge(t, &view, amount);
}

static inline void shed(twin *t)
{
    chunks_free(weiri_log_shed(&t->log, &t->rule, false), &t->rule);
}

#endif
