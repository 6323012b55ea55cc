/* Sweeps, walks, limits, resets, reclaims, forced migrations, grace periods. SPDX-License-Identifier: MIT */
#include "torture.h"

#include "limiter/testing.h"

/* --- weir_each: nobody twice, the anchors exactly once --- */

enum { WALK_ROOM = 1 << 14 };

typedef struct walk {
    weir_identity seen[WALK_ROOM]; /* by hash, then the next free place; word 0 is never 0 */
    life *self;
    uint64_t keys, anchors;
    bool charges;
} walk;

static int visit(void *argument, const weir_key *key)
{
    walk *walking = argument;
    const weir_identity *identity = &key->identity;
    for (uint64_t at = identity->hash >> 20;; at++) {
        weir_identity *place = &walking->seen[at % WALK_ROOM];
        if (place->word[0] == identity->word[0] && place->word[1] == identity->word[1])
            fault("weir_each shows a key twice");
        if (place->word[0] == 0) {
            *place = *identity;
            break;
        }
    }
    if (key->key_len == 9 || key->hashed) { /* one number in four is a long key, which cannot be read back */
        uint64_t number = 0;
        memcpy(&number, (const unsigned char *)key->key + 1, 8);
        walking->anchors += !key->hashed && number >= FIRST_ANCHOR && number < FIRST_MANY;
    } else {
        fault("weir_each shows a key of %zu bytes", key->key_len);
    }
    if (walking->charges && walking->keys % 64 == 0) /* a callback may call what it likes */
        asker_take(walking->self, asker_any_key(walking->self));
    return ++walking->keys == WALK_ROOM / 2; /* no more than fit */
}

static void walk_keys(life *self)
{
    torture_round *round = self->round;
    walk *walking = calloc(1, sizeof(*walking));
    if (!walking)
        fault("no memory for a walk");
    walking->self = self;
    walking->charges = random_below(&self->random, 4) == 0;
    moment at = moment_pick(round, &self->random);
    int result = weir_each(round->limiter, at.now, visit, walking);
    if (result != 0 && result != 1 && result != -ENOMEM)
        fault("weir_each: %d", result);
    bool all_stay = round->time == TIME_FROZEN || round->lateness == UINT64_MAX;
    uint64_t readable = ANCHORS - ANCHORS / 4;
    if (all_stay && result == 0 && walking->anchors != readable)
        fault("weir_each shows %" PRIu64 " of %" PRIu64 " keys that were there all the time", walking->anchors,
              readable);
    free(walking);
    tell(&torture_told.walks, 1);
}

/* --- the others --- */

static void change_limits(life *self)
{
    torture_round *round = self->round;
    const torture_shape *shape = &round->shape;
    uint32_t plan = (uint32_t)random_below(&self->random, shape->plans);
    uint64_t limits[TORTURE_RULES];
    for (size_t rule = 0; rule < shape->count; rule++) {
        uint64_t base = shape->plan_limits[plan * shape->count + rule];
        limits[rule] = round->changes ? base + random_below(&self->random, base + 1) : base;
    }
    int result = weir_set_limits(round->limiter, plan, limits, shape->count);
    if (result != 0 && result != -ENOMEM)
        fault("weir_set_limits: %d", result);
    tell(&torture_told.limits, 1);
}

static void sweep(life *self)
{
    moment at = moment_pick(self->round, &self->random);
    uint64_t most = random_below(&self->random, 4) ? 1 + random_below(&self->random, 300) : 0;
    int end = weir_sweep(self->round->limiter, at.now, most);
    if (end != 1 && (end != 0 || most == 0))
        fault("weir_sweep of %" PRIu64 " keys: %d", most, end);
    tell(&torture_told.sweeps, 1);
}

static void look_at_counts(const torture_round *round)
{
    weir_statistics stats = stats_of(round->limiter);
    if (round->max_keys && stats.keys > round->max_keys)
        fault("%" PRIu64 " keys, max_keys %" PRIu64, stats.keys, round->max_keys);
}

static void migrate(life *self)
{
    moment at = moment_pick(self->round, &self->random);
    if (at.now == WEIR_NOW)
        at.now = at.low;
    for (unsigned i = 0; i < 24; i++)
        weiri_test_migrate(self->round->limiter, random_next(&self->random), at.now);
}

void tender_live(life *self)
{
    torture_round *round = self->round;
    uint64_t most = 20 + random_below(&self->random, 400);
    for (uint64_t i = 0; i < most && atomic_load(&round->asking) > 0; i++) {
        uint64_t pick = random_below(&self->random, round->swift ? 128 : 32);
        if (pick < 6 || pick >= 64)
            sweep(self);
        else if (pick >= 32)
            (void)weir_reclaim(round->limiter);
        else if (pick < 7)
            walk_keys(self);
        else if (pick < 11)
            change_limits(self);
        else if (pick < 13 && round->resets)
            asker_reset(self, asker_any_key(self));
        else if (pick < 15)
            (void)weir_reclaim(round->limiter);
        else if (pick < 17)
            quarantine_grace_period();
        else if (pick < 24 && round->forced)
            migrate(self);
        else if (pick < 26)
            look_at_counts(round);
        else
            sched_yield();
    }
}
