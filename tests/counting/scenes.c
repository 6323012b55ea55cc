/* SPDX-License-Identifier: MIT */
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../src/limiter/limiter.h"
#include "../../src/limiter/testing.h"
#include "arena.h"

enum {
    TABLE = 256, /* keys that are in the table, so that it has several segments */
    HALF = TABLE / 2,
    AGES = 100000 /* ms from when it is filled until paths are run: nothing of that counts any more */
};

/* The secret of a limiter is the same in every run. */
ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    memset(buffer, 0x5a, length);
    return (ssize_t)length;
}

struct scene_watcher scene_watcher;
static bool counted; /* the act that runs is a counted call */

void scene_begin(void)
{
    if (counted)
        scene_watcher.begin();
}

void scene_end(void)
{
    if (counted)
        scene_watcher.end();
}

static void want(const struct scene_subject *subject, const char *path, int wanted, int got)
{
    if (wanted == got)
        return;
    fprintf(stderr, "FAILED: %s: %s: wanted %d, got %d\n", subject->name, path, wanted, got);
    exit(1);
}

/* --- weir --- */

static weir_request request_for(const uint64_t *key, const struct scene_act *act)
{
    weir_request request = weir_request_for(key, sizeof *key);
    request.cost = act->cost ? act->cost : 1;
    return request;
}

static void freeze(weir *limiter, const weir_identity *identity, uint64_t now)
{
    weiri_test_start(limiter, identity->hash, WEIRI_TEST_SPLIT, now, false);
    weiri_rcu_enter();
    weiri_segment *segment = weiri_directory_find(&limiter->table.directory, identity->hash);
    weiri_cell *cell = weiri_find(segment, weiri_identity_pair(identity), identity->hash).cell;
    weiri_pair state = weiri_load_snapshot_128(&cell->state);
    if (!weiri_forward(segment) ||
        !weiri_cas_128(&cell->state, state, (weiri_pair){{state.word[0] | WEIRI_FROZEN, state.word[1]}})) {
        fprintf(stderr, "FAILED: a cell cannot be frozen\n");
        exit(1);
    }
    weiri_rcu_leave();
}

static int act_on_weir(void *state, const struct scene_act *act, const uint64_t *keys)
{
    weir_request requests[SCENE_BATCH];
    weir_identity identity;
    weir_decision decision;
    int verdicts[SCENE_BATCH];
    uint64_t now = SCENE_NOW + act->after * WEIR_MILLISECOND;
    unsigned count = act->what == SCENE_TAKES ? SCENE_BATCH : 1;
    for (unsigned i = 0; i < count; i++)
        requests[i] = request_for(&keys[i], act);
    if ((act->identity || act->what == SCENE_FREEZE) && weir_identify(state, keys, sizeof *keys, &identity) != 0)
        return -1;
    requests[0].identity = act->identity ? &identity : NULL;

    scene_begin();
    int verdict = 0;
    switch (act->what) {
    case SCENE_TAKE:
        verdict = weir_take(state, requests, now, act->whole ? &decision : NULL);
        break;
    case SCENE_PEEK:
        verdict = weir_peek(state, requests, now, act->whole ? &decision : NULL);
        break;
    case SCENE_RESET:
        verdict = weir_reset(state, requests);
        break;
    case SCENE_TAKES:
        verdict = (int)(weir_take_batch(state, requests, count, now, verdicts, NULL) / count);
        break;
    case SCENE_FREEZE:
        freeze(state, &identity, now);
        break;
    case SCENE_NOTHING:
        break;
    }
    scene_end();
    return verdict;
}

static uint64_t hash_of_weir(void *state, uint64_t key)
{
    weir_identity identity;
    return weir_identify(state, &key, sizeof key, &identity) == 0 ? identity.hash : 0;
}

static bool near_in_weir(void *state, uint64_t key)
{
    weir *limiter = state;
    weir_identity identity;
    if (weir_identify(limiter, &key, sizeof key, &identity) != 0)
        return false;
    weiri_rcu_enter();
    weiri_segment *segment = weiri_directory_find(&limiter->table.directory, identity.hash);
    weiri_finding finding = weiri_find(segment, weiri_identity_pair(&identity), identity.hash);
    bool near = finding.cell == &segment->cell[weiri_first_cell(segment, identity.hash)];
    weiri_rcu_leave();
    return near;
}

static void close_weir(void *state)
{
    weir_close(state);
}

static const struct {
    const char *name;
    uint32_t algorithm, meter, rules;
    uint64_t limit, max_limit, max_keys;
} weirs[SCENE_WEIR_KINDS] = {
    [SCENE_COUNTER] = {"counter", WEIR_COUNTER, WEIR_PER_COST, 1, 5, 0, 0},
    [SCENE_LOG] = {"log", WEIR_LOG, WEIR_PER_REQUEST, 1, 5, 0, 0},
    [SCENE_COSTS] = {"log, per cost", WEIR_LOG, WEIR_PER_COST, 1, 5, 0, 0},
    [SCENE_BUCKETS] = {"buckets", WEIR_BUCKETS, WEIR_PER_REQUEST, 1, 5, 0, 0},
    [SCENE_RULES] = {"log and counter", WEIR_LOG, WEIR_PER_REQUEST, 2, 5, 0, 0},
    [SCENE_LARGE] = {"counter, 2^32 and more", WEIR_COUNTER, WEIR_PER_COST, 1, 5, UINT64_C(1) << 33, 0},
    [SCENE_LONG] = {"log of 200", WEIR_LOG, WEIR_PER_REQUEST, 1, 200, 0, 0},
    [SCENE_COUNTERS] = {"counter", WEIR_COUNTER, WEIR_PER_COST, 1, 5, 0, 0},
    [SCENE_LOGS] = {"log", WEIR_LOG, WEIR_PER_REQUEST, 1, 5, 0, 0},
    [SCENE_FULL_COUNTER] = {"counter", WEIR_COUNTER, WEIR_PER_COST, 1, 5, 0, TABLE},
    [SCENE_FULL_LOG] = {"log", WEIR_LOG, WEIR_PER_REQUEST, 1, 5, 0, TABLE},
};

static void *open_weir(unsigned kind)
{
    weir_options options = weir_options_manual();
    weir *limiter;
    weir_rule rules[2];
    for (unsigned i = 0; i < 2; i++)
        rules[i] = (weir_rule){.limit = weirs[kind].limit,
                               .window_ns = 10 * WEIR_SECOND,
                               .algorithm = i == 0 ? weirs[kind].algorithm : WEIR_COUNTER,
                               .meter = weirs[kind].meter};
    rules[0].buckets = weirs[kind].algorithm == WEIR_BUCKETS ? 10 : 0;
    options.max_limit = weirs[kind].max_limit;
    options.max_keys = weirs[kind].max_keys;
    options.max_lateness_ns = UINT64_MAX; /* nothing is dropped: the table stays as it is */
    options.allocator = arena_allocator();
    return weir_open(&limiter, rules, weirs[kind].rules, &options) == 0 ? limiter : NULL;
}

struct scene_subject scene_weir(enum scene_kind kind)
{
    return (struct scene_subject){.name = weirs[kind].name,
                                  .kind = kind,
                                  .number = kind,
                                  .open = open_weir,
                                  .close = close_weir,
                                  .act = act_on_weir,
                                  .hash = hash_of_weir,
                                  .near = near_in_weir};
}

/* --- running paths --- */

/* The keys of one half of the table, in the order in which they are used. */
struct half {
    uint64_t keys[HALF];
    unsigned used;
    uint64_t fresh; /* numbers from here on are not in the table */
};

static bool in_half(const struct scene_subject *subject, uint64_t key, unsigned half)
{
    return subject->hash(subject->state, key) >> 63 == half;
}

static void fill(const struct scene_subject *subject, struct half halves[2])
{
    const struct scene_act first = {.what = SCENE_TAKE, .want = 1};
    uint64_t key = 1;
    for (unsigned i = 0; i < TABLE; i++, key++) {
        struct half *half = &halves[i % 2];
        while (!in_half(subject, key, i % 2))
            key++;
        half->keys[half->used++] = key;
        want(subject, "fill", 1, subject->act(subject->state, &first, &key));
    }
    for (unsigned i = 0; i < 2; i++) {
        halves[i].used = 0;
        halves[i].fresh = key;
    }
}

/* One key for a path, that stands where it is first looked for: the rows are for the shortest look. */
static uint64_t key_for(const struct scene_subject *subject, const struct scene_path *path, struct half *half,
                        unsigned number)
{
    uint64_t key;
    do {
        if (!path->fresh && half->used == HALF) {
            fprintf(stderr, "FAILED: more paths than keys\n");
            exit(1);
        }
        key = path->fresh ? half->fresh++ : half->keys[half->used++];
    } while (!in_half(subject, key, number) || !subject->near(subject->state, key));
    return key;
}

static void do_before(const struct scene_subject *subject, const struct scene_path *path, const uint64_t *key)
{
    for (unsigned i = 0; i < SCENE_BEFORE && path->before[i].what != SCENE_NOTHING; i++) {
        struct scene_act act = path->before[i];
        act.after += AGES;
        int got = 0;
        for (unsigned n = 0; n < (act.times ? act.times : 1); n++)
            got = subject->act(subject->state, &act, key);
        want(subject, path->name, act.want, got);
    }
}

void scene_run(struct scene_subject *subject,
               void (*each)(const struct scene_subject *subject, const struct scene_path *path,
                            uint64_t keys[2][SCENE_BATCH]))
{
    struct half halves[2] = {{{0}, 0, 0}, {{0}, 0, 0}};
    subject->state = subject->open(subject->number);
    want(subject, "open", 1, subject->state != NULL);
    fill(subject, halves);
    for (const struct scene_path *path = scene_paths; path < scene_paths + scene_path_count; path++) {
        if (!(path->kinds >> subject->kind & 1))
            continue;
        uint64_t keys[2][SCENE_BATCH];
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = 0; k < scene_decisions(path); k++) {
                keys[i][k] = key_for(subject, path, &halves[i], i);
                do_before(subject, path, &keys[i][k]);
            }
        each(subject, path, keys);
    }
    subject->close(subject->state);
}

void scene_call(const struct scene_subject *subject, const struct scene_path *path, const uint64_t *keys)
{
    struct scene_act call = path->call;
    call.after += AGES;
    counted = true;
    int got = subject->act(subject->state, &call, keys);
    counted = false;
    want(subject, path->name, call.want, got);
}
