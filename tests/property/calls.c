/*
 * The random calls of a world, each put to the limiter and to the oracle.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define BATCH 70 /* more than one read section of 64 */

static uint64_t any_cost(struct world *world)
{
    uint64_t limit = oracle_limit(world->oracle, 0, (size_t)random_below(&world->random, world->rule_count));

    if (world->deep && !random_one_in(&world->random, 25))
        return random_between(&world->random, 0, 2);
    switch (random_below(&world->random, 12)) {
    case 0:
        return 0;
    case 1:
        return limit;
    case 2:
        return limit + 1;
    case 3:
        return world->last_remaining;
    case 4:
        return world->last_remaining + 1;
    case 5:
        return limit / 2;
    case 6:
        return random_one_in(&world->random, 3) ? UINT64_MAX : random_sized(&world->random, 64);
    case 7:
    case 8:
        return random_below(&world->random, limit / 4 + 2);
    default:
        return 1;
    }
}

weir_request world_request(struct world *world, size_t *key)
{
    /* Half the calls go to a few keys, so that they fill up even among hundreds. */
    size_t among = random_one_in(&world->random, 2) && world->key_count > 4 ? 4 : world->key_count;
    size_t chosen = (size_t)random_below(&world->random, among);
    weir_request request = weir_request_for(world->keys[chosen].bytes, world->keys[chosen].length);

    if (world->keys[chosen].length == 0 && random_one_in(&world->random, 2))
        request.key = NULL;
    request.cost = any_cost(world);
    request.plan = world->plans == 0 ? 0 : (uint32_t)random_below(&world->random, world->plans);
    if (key != NULL)
        *key = chosen;
    return request;
}

/* What the limiter is given: at times the identity in the key's place. The oracle knows keys alone. */
static weir_request disguised(struct world *world, weir_request request, size_t key)
{
    if (random_one_in(&world->random, 3)) {
        request.identity = &world->keys[key].identity;
        if (random_one_in(&world->random, 2)) {
            request.key = NULL;
            request.key_len = 0;
        }
    }
    return request;
}

void world_compare(struct world *world, const char *call, const weir_decision *wanted, const weir_decision *got)
{
    uint64_t wanted_value;
    uint64_t got_value;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);

    if (field != NULL)
        world_wrong(world, "%s: %s wanted %" PRIu64 ", got %" PRIu64, call, field, wanted_value, got_value);
    world->last_remaining = wanted->remaining;
}

void world_take(struct world *world)
{
    size_t key;
    weir_request request = world_request(world, &key);
    weir_request given = disguised(world, request, key);
    uint64_t now = world_time(world);
    weir_decision wanted;
    weir_decision got;
    int verdict;

    memset(&got, 0xee, sizeof got);
    verdict = weir_take(world->limiter, &given, now, &got);
    if (oracle_take(world->oracle, &request, now, &wanted) != verdict)
        world_wrong(world, "take: result %d", verdict);
    world_compare(world, "take", &wanted, &got);
}

void world_take_verdict(struct world *world)
{
    size_t key;
    weir_request request = world_request(world, &key);
    weir_request given = disguised(world, request, key);
    uint64_t now = world_time(world);
    int wanted = oracle_take(world->oracle, &request, now, NULL);
    int verdict = weir_take(world->limiter, &given, now, NULL);

    if (verdict != wanted)
        world_wrong(world, "take, verdict alone: wanted %d, got %d", wanted, verdict);
}

void world_peek(struct world *world)
{
    size_t key;
    weir_request request = world_request(world, &key);
    weir_request given = disguised(world, request, key);
    uint64_t now = world_time(world);
    weir_decision wanted;
    weir_decision got;
    int verdict;

    memset(&got, 0xee, sizeof got);
    verdict = weir_peek(world->limiter, &given, now, &got);
    if (oracle_peek(world->oracle, &request, now, &wanted) != verdict)
        world_wrong(world, "peek: result %d", verdict);
    world_compare(world, "peek", &wanted, &got);
    if (weir_peek(world->limiter, &given, now, NULL) != verdict)
        world_wrong(world, "peek, verdict alone: not %d", verdict);
}

void world_take_batch(struct world *world)
{
    size_t count = (size_t)random_below(&world->random, random_one_in(&world->random, 4) ? BATCH : 6);
    uint64_t now = world_time(world);
    bool tells_verdicts = random_one_in(&world->random, 2);
    bool tells_decisions = random_one_in(&world->random, 2);
    weir_request requests[BATCH];
    weir_request given[BATCH];
    int verdicts[BATCH];
    weir_decision decisions[BATCH];
    int64_t accepted = 0;
    int64_t got;

    for (size_t i = 0; i < count; i++) {
        size_t key;

        requests[i] = world_request(world, &key);
        given[i] = disguised(world, requests[i], key);
    }
    got = weir_take_batch(world->limiter, given, count, now, tells_verdicts ? verdicts : NULL,
                          tells_decisions ? decisions : NULL);
    for (size_t i = 0; i < count; i++) {
        weir_decision wanted;

        oracle_take(world->oracle, &requests[i], now, &wanted);
        accepted += wanted.verdict;
        if (tells_verdicts && verdicts[i] != wanted.verdict)
            world_wrong(world, "batch: verdict %zu wanted %d, got %d", i, wanted.verdict, verdicts[i]);
        if (tells_decisions)
            world_compare(world, "batch", &wanted, &decisions[i]);
    }
    if (got != accepted)
        world_wrong(world, "batch: accepted wanted %" PRId64 ", got %" PRId64, accepted, got);
}

void world_reset(struct world *world)
{
    size_t key;
    weir_request request = world_request(world, &key);
    weir_request given = disguised(world, request, key);

    if (weir_reset(world->limiter, &given) != 0)
        world_wrong(world, "reset failed");
    oracle_reset(world->oracle, &request);
}

struct walk {
    struct world *world;
    unsigned seen[WORLD_KEYS];
};

static int visit(void *argument, const weir_key *key)
{
    struct walk *walk = argument;
    struct world *world = walk->world;
    size_t i = 0;

    while (i < world->key_count && memcmp(&world->keys[i].identity, &key->identity, sizeof key->identity) != 0)
        i++;
    if (i == world->key_count) {
        world_wrong(world, "each: a key that is none of ours");
        return 1;
    }
    walk->seen[i]++;
    if (key->hashed != (world->keys[i].length > 15))
        world_wrong(world, "each: hashed is %d for a key of %zu bytes", key->hashed, world->keys[i].length);
    else if (!key->hashed && (key->key_len != world->keys[i].length ||
                              (key->key_len > 0 && memcmp(key->key, world->keys[i].bytes, key->key_len) != 0)))
        world_wrong(world, "each: another key's bytes");
    return 0;
}

void world_each(struct world *world)
{
    struct walk walk = {.world = world};
    uint64_t failed = world->memory.failed;
    int result = weir_each(world->limiter, world->now, visit, &walk);

    if (result == -ENOMEM && world->memory.failed > failed)
        return;
    if (result != 0)
        world_wrong(world, "each: result %d", result);
    for (size_t i = 0; i < world->key_count; i++) {
        const struct world_key *key = &world->keys[i];

        if (walk.seen[i] > 1)
            world_wrong(world, "each: a key seen %u times", walk.seen[i]);
        if (walk.seen[i] == 0 && oracle_is_charged(world->oracle, key->bytes, key->length, world->now))
            world_wrong(world, "each: a charged key was not seen");
        if (walk.seen[i] > 0 && !oracle_knows(world->oracle, key->bytes, key->length))
            world_wrong(world, "each: a key that was never charged");
    }
}

void world_any_call(struct world *world)
{
    uint64_t roll = random_below(&world->random, 100);

    world->step++;
    /* Resets keep logs short. */
    if (world->deep && roll >= 90 && !random_one_in(&world->random, 30))
        roll = 0;
    if (roll < 60)
        world_take(world);
    else if (roll < 72)
        world_peek(world);
    else if (roll < 82)
        world_take_verdict(world);
    else if (roll < 90)
        world_take_batch(world);
    else if (roll < 94)
        world_reset(world);
    else if (roll < 98)
        world_set_limits(world);
    else
        world_each(world);
}
