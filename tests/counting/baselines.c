/* SPDX-License-Identifier: MIT */
#include "baselines.h"

#include <stddef.h>

#include "../../bench/baselines/lfht.h"
#include "../../bench/baselines/locked.h"
#include "../../src/table/identity.h"

static const weir_rule counter_rule = {
    .limit = 5, .window_ns = 10 * WEIR_SECOND, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST};
static const weir_rule log_rule = {
    .limit = 5, .window_ns = 10 * WEIR_SECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};

/* A baseline's hash is SipHash with this key. */
static uint64_t hash(void *state, uint64_t key)
{
    (void)state;
    const weiri_hash_key hash_key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    weir_identity identity;
    weiri_identify(hash_key, &key, sizeof key, &identity);
    return identity.hash;
}

/* What stands before a key in its bucket is not known here: the ranges of the rows tell of it. */
static bool near(void *state, uint64_t key)
{
    (void)state;
    (void)key;
    return true;
}

/* --- one mutex, or 64, and uthash --- */

static void *open_locked(unsigned number)
{
    return locked_open(number / 2 == 0 ? 0 : 6, number % 2 == 0 ? &counter_rule : &log_rule, 1, UINT64_MAX);
}

static int act_on_locked(void *state, const struct scene_act *act, const uint64_t *keys)
{
    weir_decision decision;
    uint64_t now = SCENE_NOW + act->after * WEIR_MILLISECOND;
    scene_begin();
    int verdict = locked_take(state, keys, sizeof *keys, 1, now, act->whole ? &decision : NULL);
    scene_end();
    return verdict;
}

static void close_locked(void *state)
{
    locked_close(state);
}

/* --- cds_lfht --- */

enum { EXPECTED = 1 << 9 }; /* keys, more than there are */

static void *open_lfht(unsigned number)
{
    (void)number;
    return lfht_open(&counter_rule, EXPECTED, UINT64_MAX);
}

static int act_on_lfht(void *state, const struct scene_act *act, const uint64_t *keys)
{
    weir_decision decision;
    uint64_t now = SCENE_NOW + act->after * WEIR_MILLISECOND;
    scene_begin();
    int verdict = lfht_take(state, keys, sizeof *keys, 1, now, act->whole ? &decision : NULL);
    scene_end();
    return verdict;
}

static void close_lfht(void *state)
{
    (void)state; /* waits for threads that another process has */
}

#define LOCKED(name, number) \
    {name, SCENE_BASELINE, number, open_locked, close_locked, act_on_locked, hash, near, NULL}

static const struct scene_subject baselines[] = {
    LOCKED("mutex, counter", 0),
    LOCKED("mutex, log", 1),
    LOCKED("64 mutexes, counter", 2),
    LOCKED("64 mutexes, log", 3),
    {"cds_lfht, counter", SCENE_BASELINE, 0, open_lfht, close_lfht, act_on_lfht, hash, near, NULL},
};

const unsigned baseline_count = sizeof baselines / sizeof baselines[0];

struct scene_subject baseline(unsigned number)
{
    return baselines[number];
}
