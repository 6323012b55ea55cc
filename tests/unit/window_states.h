/*
 * The states of one key with the memory that its logs ask for: what a limiter does around the pure functions, on one
 * thread. Every block has its size checked when it comes back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_WINDOW_STATES_H
#define WEIR_TESTS_WINDOW_STATES_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "window/decide.h"

/* Two numbers are the same; further arguments, a format and what belongs to it, say where. */
#define EQUALS(got, wanted, ...)                                                                                       \
    do {                                                                                                               \
        uint64_t got_value = (uint64_t)(got);                                                                          \
        uint64_t wanted_value = (uint64_t)(wanted);                                                                    \
        char place[160] = "";                                                                                          \
        if (got_value != wanted_value) {                                                                               \
            snprintf(place, sizeof place, " " __VA_ARGS__);                                                            \
        }                                                                                                              \
        cr_assert(got_value == wanted_value, "%s is %" PRIu64 ", wanted %" PRIu64 "%s", #got, got_value, wanted_value, \
                  place);                                                                                              \
    } while (0)

typedef struct key_states {
    weiri_rules rules;
    uint64_t limits[WEIR_RULES_MAX];
    uint64_t floor;
    void *states;
} key_states;

/* A block that knows its size and begins as rubbish. */
static inline void *sized_new(size_t size)
{
    size_t *block = malloc(size + 16);
    cr_assert(block != NULL);
    memset(block, 0xA5, size + 16);
    block[0] = size;
    return block + 2;
}

static inline void sized_free(void *memory, size_t size)
{
    if (memory == NULL)
        return;
    size_t *block = (size_t *)memory - 2;
    EQUALS(block[0], size);
    free(block);
}

static inline void chunks_free(weiri_chunk *chunk, const weiri_rule *rule)
{
    while (chunk != NULL) {
        weiri_chunk *after = weiri_chunk_after(chunk);
        sized_free(chunk, weiri_chunk_size(chunk, rule));
        chunk = after;
    }
}

/* Chunks, index and what both hold together. */
static inline size_t log_bytes(const weiri_log *log, const weiri_rule *rule)
{
    size_t bytes = log->index_capacity * sizeof(weiri_chunk *);
    for (uint32_t i = 0; i < log->chunks; i++) {
        uint32_t at = (log->index_first + i) % (log->index_capacity > 0 ? log->index_capacity : 1);
        bytes += weiri_chunk_size(log->index_capacity > 0 ? log->index[at] : log->only, rule);
    }
    return bytes;
}

static inline void log_supply(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, weiri_log_need need)
{
    void *chunk = need.chunk > 0 ? sized_new(need.chunk) : NULL;
    void *index = need.index > 0 ? sized_new(need.index) : NULL;
    size_t index_size = need.index;
    size_t chunk_size = need.chunk;
    weiri_log_supply(log, rule, view, &chunk, &chunk_size, &index, &index_size);
    sized_free(chunk, chunk_size);
    sized_free(index, index_size);
}

static inline void log_charge(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t charge)
{
    log_supply(log, rule, view, weiri_log_needs(log, rule, view));
    weiri_log_need more = weiri_log_needs(log, rule, view);
    cr_assert(more.chunk == 0 && more.index == 0);
    weiri_log_charge(log, rule, view, charge);
}

/* What a sweep does with a live log at `time`. */
static inline void log_trim(weiri_log *log, const weiri_rule *rule, uint64_t time)
{
    size_t index_size = 0;
    weiri_log_forget(log, rule, time);
    chunks_free(weiri_log_shed(log, rule, false), rule);
    chunks_free(weiri_log_go_home(log, rule), rule);
    size_t size = weiri_log_loose(log, rule);
    if (size > 0) {
        weiri_log_move move = weiri_log_move_into(sized_new(size), size, rule);
        enum weiri_moved moved;
        while ((moved = weiri_log_move_some(log, rule, &move)) == WEIRI_MOVE_MORE)
            ;
        EQUALS(moved, WEIRI_MOVE_DONE);
        sized_free(move.chunk, weiri_chunk_size(move.chunk, rule));
        chunks_free(weiri_log_shed(log, rule, false), rule);
        EQUALS(weiri_log_loose(log, rule), 0);
    }
    void *index = weiri_log_drop_index(log, &index_size);
    sized_free(index, index_size);
}

static inline void log_free(weiri_log *log, const weiri_rule *rule)
{
    chunks_free(weiri_log_shed(log, rule, true), rule);
    sized_free(log->index, log->index_capacity * sizeof(weiri_chunk *));
    log->index = NULL;
}

static inline weiri_log *log_of(const key_states *key, unsigned rule)
{
    return (weiri_log *)(void *)((char *)key->states + key->rules.rule[rule].offset);
}

static inline void key_open(key_states *key, const weir_rule *rules, size_t count)
{
    *key = (key_states){.rules.count = (unsigned)count};
    for (size_t i = 0; i < count; i++) {
        key->rules.rule[i] = weiri_rule_make(&rules[i], rules[i].limit);
        key->limits[i] = rules[i].limit;
    }
    weiri_rules_layout(&key->rules);
    cr_assert(key->rules.states_size != SIZE_MAX);
    key->states = calloc(1, key->rules.states_size);
    cr_assert(key->states != NULL);
}

static inline void key_close(key_states *key)
{
    for (unsigned i = 0; i < key->rules.count; i++)
        if (key->rules.rule[i].algorithm == WEIR_LOG)
            log_free(log_of(key, i), &key->rules.rule[i]);
    free(key->states);
}

static inline weiri_call key_call(const key_states *key, uint64_t now, uint64_t cost)
{
    return (weiri_call){.now = now, .floor = key->floor, .cost = cost, .limits = key->limits};
}

static inline weir_decision key_peek(const key_states *key, uint64_t now, uint64_t cost)
{
    weiri_call call = key_call(key, now, cost);
    weiri_views views;
    weir_decision decision;
    weiri_decide(&key->rules, key->states, &call, &views);
    weiri_answer(&key->rules, key->states, &call, &views, false, &decision);
    return decision;
}

static inline weir_decision key_take(key_states *key, uint64_t now, uint64_t cost)
{
    weiri_call call = key_call(key, now, cost);
    weiri_views views;
    weir_decision decision;
    weiri_decide(&key->rules, key->states, &call, &views);
    if (views.records) {
        for (unsigned i = 0; i < key->rules.count; i++) {
            const weiri_rule *rule = &key->rules.rule[i];
            if (rule->algorithm == WEIR_LOG && weiri_rule_charge(rule, cost) > 0) {
                weiri_log_need need = weiri_log_needs(log_of(key, i), rule, &views.of[i].log);
                log_supply(log_of(key, i), rule, &views.of[i].log, need);
            }
        }
        weiri_charge(&key->rules, key->states, &call, &views);
    }
    weiri_answer(&key->rules, key->states, &call, &views, views.accepted, &decision);
    return decision;
}

#endif
