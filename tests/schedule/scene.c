#include "scene.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "limiter/testing.h"
#include "runtime.h"

enum { LIMIT = 3, MAX_KEYS = 2 };

#define LATENESS WEIR_SECOND

const char *const scene_kind_name[SCENE_KINDS] = {"cell", "log", "several"};
const char *const scene_filling_name[SCENE_FILLINGS] = {"dead", "full", "moving", "bound"};

static const weir_rule cell_rules[] = {
    {.limit = LIMIT, .window_ns = SCENE_WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST},
};
static const weir_rule log_rules[] = {
    {.limit = LIMIT, .window_ns = SCENE_WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST},
};
static const weir_rule several_rules[] = {
    {.limit = LIMIT, .window_ns = SCENE_WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    {.limit = LIMIT, .window_ns = SCENE_WINDOW, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_REQUEST, .buckets = 2},
    {.limit = LIMIT, .window_ns = SCENE_WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
};

static const struct {
    const weir_rule *rules;
    size_t count;
} rules_of[SCENE_KINDS] = {{cell_rules, 1}, {log_rules, 1}, {several_rules, 3}};

static weir_request request_for(enum scene_key key)
{
    static const char *const name[SCENE_KEYS] = {"hot", "old", "new"};
    weir_request request = weir_request_for(name[key], 3);
    request.cost = 1;
    return request;
}

uint64_t scene_hash(const struct scene *scene, enum scene_key key)
{
    weir_request request = request_for(key);
    weir_identity identity;
    if (weir_identify(scene->limiter, request.key, request.key_len, &identity) != 0)
        schedule_failed("weir_identify failed");
    return identity.hash;
}

void scene_floor(struct scene *scene, uint64_t now)
{
    if (scene->floor_count == SCENE_FLOORS)
        schedule_failed("too many floors in a scene");
    scene->floors[scene->floor_count++] = (struct serial_floor){now - LATENESS, scene->stamp++};
}

/* --- calls --- */

static struct serial_call called(struct scene *scene, enum serial_verb verb, unsigned thread)
{
    return (struct serial_call){.verb = verb, .thread = thread, .called = scene->stamp++};
}

static void returned(struct scene *scene, enum scene_key key, struct serial_call *call, int verdict)
{
    if (verdict != 0 && verdict != 1)
        schedule_failed("a call returned %d", verdict);
    if (scene->call_count[key] == SCENE_CALLS)
        schedule_failed("too many calls in a scene");
    call->verdict = verdict;
    call->returned = scene->stamp++;
    scene->calls[key][scene->call_count[key]++] = *call;
}

void scene_take(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now)
{
    weir_request request = request_for(key);
    scene_floor(scene, now); /* making room may drop */
    struct serial_call call = called(scene, SERIAL_TAKE, thread);
    call.now = now;
    call.cost = request.cost;
    int verdict = weir_take(scene->limiter, &request, now, &call.answer);
    returned(scene, key, &call, verdict);
}

void scene_take_verdict(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now)
{
    weir_request request = request_for(key);
    scene_floor(scene, now);
    struct serial_call call = called(scene, SERIAL_TAKE_VERDICT, thread);
    call.now = now;
    call.cost = request.cost;
    int verdict = weir_take(scene->limiter, &request, now, NULL);
    returned(scene, key, &call, verdict);
}

/* Verdicts alone: the calls are one after the other, all between the same two stamps. */
void scene_batch(struct scene *scene, unsigned thread, const enum scene_key keys[3], uint64_t now)
{
    const weir_request requests[3] = {request_for(keys[0]), request_for(keys[1]), request_for(keys[2])};
    int verdicts[3];
    scene_floor(scene, now);
    const struct serial_call batch = called(scene, SERIAL_TAKE_VERDICT, thread);
    int64_t accepted = weir_take_batch(scene->limiter, requests, 3, now, verdicts, NULL);
    for (unsigned i = 0; i < 3; i++) {
        struct serial_call call = batch;
        call.now = now;
        call.cost = requests[i].cost;
        returned(scene, keys[i], &call, verdicts[i]);
        accepted -= verdicts[i];
    }
    if (accepted != 0)
        schedule_failed("a batch miscounts by %d", (int)accepted);
}

void scene_peek(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now)
{
    weir_request request = request_for(key);
    struct serial_call call = called(scene, SERIAL_PEEK, thread);
    call.now = now;
    call.cost = request.cost;
    int verdict = weir_peek(scene->limiter, &request, now, &call.answer);
    returned(scene, key, &call, verdict);
}

void scene_reset(struct scene *scene, unsigned thread, enum scene_key key)
{
    weir_request request = request_for(key);
    struct serial_call call = called(scene, SERIAL_RESET, thread);
    int result = weir_reset(scene->limiter, &request);
    returned(scene, key, &call, result);
}

/* One call, in the history of every key; without memory, none. */
void scene_limit(struct scene *scene, unsigned thread, uint64_t limit)
{
    size_t count = rules_of[scene->kind].count;
    struct serial_call call = called(scene, SERIAL_SET_LIMITS, thread);
    for (size_t i = 0; i < count; i++)
        call.limits[i] = limit;
    int result = weir_set_limits(scene->limiter, 0, call.limits, count);
    if (result == -ENOMEM && scene->starve != 0)
        return;
    for (unsigned key = 0; key < SCENE_KEYS; key++) {
        struct serial_call same = call;
        returned(scene, key, &same, result);
    }
}

void scene_sweep(struct scene *scene, uint64_t now, uint64_t max_keys)
{
    scene_floor(scene, now);
    int result = weir_sweep(scene->limiter, now, max_keys);
    if (result != 1 && !(max_keys != 0 && result == 0))
        schedule_failed("weir_sweep returned %d", result);
}

static int see(void *argument, const weir_key *key)
{
    struct scene_walk *walk = argument;
    for (unsigned i = 0; i < SCENE_KEYS; i++) {
        weir_request request = request_for(i);
        if (key->key_len == request.key_len && memcmp(key->key, request.key, request.key_len) == 0)
            walk->seen[i]++;
    }
    return 0;
}

void scene_each(struct scene *scene)
{
    if (scene->walk_count == SCENE_WALKS)
        schedule_failed("too many walks in a scene");
    struct scene_walk walk = {{0}};
    int result = weir_each(scene->limiter, SCENE_NOW, see, &walk);
    if (result == -ENOMEM && scene->starve != 0)
        return;
    if (result != 0)
        schedule_failed("weir_each returned %d", result);
    scene->walks[scene->walk_count++] = walk;
}

/* --- before and after --- */

static void take_plain(struct scene *scene, const char *key, size_t length)
{
    weir_request request = weir_request_for(key, length);
    request.cost = 1;
    if (weir_take(scene->limiter, &request, SCENE_NOW, NULL) != 1)
        schedule_failed("%.*s is refused", (int)length, key);
}

void scene_set(struct scene *scene)
{
    enum scene_kind kind = scene->kind;
    enum scene_filling filling = scene->filling;
    uint64_t starve = scene->starve;
    *scene = (struct scene){.kind = kind, .filling = filling, .starve = starve};
    arena_reset();
    weir_options options = weir_options_manual();
    options.max_lateness_ns = LATENESS;
    options.allocator = arena_allocator();
    options.max_keys = filling == SCENE_BOUND ? MAX_KEYS : 0;
    int error = weir_open(&scene->limiter, rules_of[kind].rules, rules_of[kind].count, &options);
    if (error)
        schedule_failed("weir_open returned %d", error);
    scene_take(scene, 0, SCENE_HOT, SCENE_OLD); /* so a sweep must look at what stands there */
    for (unsigned i = 0; i < LIMIT; i++)
        scene_take(scene, 0, SCENE_KEY_OLD, SCENE_OLD);
    for (unsigned i = 0; i < LIMIT - 1; i++)
        scene_take(scene, 0, SCENE_HOT, SCENE_NOW);
    if (filling == SCENE_FULL) {
        static const char other[] = "abcdef";
        for (size_t i = 0; i + 1 < sizeof other; i++)
            take_plain(scene, &other[i], 1);
    }
    if (filling == SCENE_MOVING)
        weiri_test_start(scene->limiter, scene_hash(scene, SCENE_HOT), WEIRI_TEST_SPLIT, SCENE_NOW, false);
    if (starve != 0)
        arena_fail_at(arena_allocations() + starve);
}

static void check_serial(const struct scene *scene, enum scene_key key)
{
    static const char *const name[SCENE_KEYS] = {"HOT", "OLD", "NEW"};
    static char explanation[16384];
    const struct serial_history history = {
        .rules = rules_of[scene->kind].rules,
        .rule_count = rules_of[scene->kind].count,
        .calls = scene->calls[key],
        .count = scene->call_count[key],
        .floors = scene->floors,
        .floor_count = scene->floor_count,
        .may_fail = scene->starve != 0 || scene->filling == SCENE_BOUND,
    };
    if (!serial_check(&history, explanation, sizeof explanation))
        schedule_failed("the calls on %s have no serial order\n%s", name[key], explanation);
}

/* HOT is charged throughout, unless it is reset, and not droppable at NOW: every walk has seen it once. */
static void check_walks(const struct scene *scene)
{
    for (size_t i = 0; i < scene->walk_count; i++) {
        const struct scene_walk *walk = &scene->walks[i];
        for (unsigned key = 0; key < SCENE_KEYS; key++)
            if (walk->seen[key] > 1)
                schedule_failed("a walk has seen key %u %u times", key, walk->seen[key]);
        bool reset = false;
        for (size_t call = 0; call < scene->call_count[SCENE_HOT]; call++)
            reset = reset || scene->calls[SCENE_HOT][call].verb == SERIAL_RESET;
        if (!reset && walk->seen[SCENE_HOT] != 1)
            schedule_failed("a walk has not seen HOT, which was there throughout");
    }
}

static weir_statistics stats_of(const struct scene *scene)
{
    weir_statistics stats = {.struct_size = sizeof stats};
    if (weir_stats(scene->limiter, &stats) != 0)
        schedule_failed("weir_stats failed");
    return stats;
}

/* Everything expires; what is in use then is the limiter, its directory and a bare segment or two. */
static void check_memory(struct scene *scene)
{
    uint64_t later = SCENE_NOW + 100 * WEIR_SECOND;
    if (weir_sweep(scene->limiter, later, 0) != 1 || weir_reclaim(scene->limiter) != 0)
        schedule_failed("the last sweep or reclaim failed");
    weir_statistics stats = stats_of(scene);
    if (stats.keys != 0 || stats.retired_bytes != 0)
        schedule_failed("after everything expired: %lu keys, %lu bytes retired", (unsigned long)stats.keys,
                        (unsigned long)stats.retired_bytes);
    if (stats.bytes > 16384)
        schedule_failed("after everything expired: %lu bytes in use", (unsigned long)stats.bytes);
}

void scene_check(struct scene *scene)
{
    scene->starved = arena_failed();
    arena_fail_at(0);
    for (unsigned key = 0; key < SCENE_KEYS; key++) {
        scene_peek(scene, SCHEDULE_THREADS, key, SCENE_NOW);
        scene_take(scene, SCHEDULE_THREADS, key, SCENE_NOW);
        scene_peek(scene, SCHEDULE_THREADS, key, SCENE_NOW);
        check_serial(scene, key);
    }
    scene_each(scene);
    check_walks(scene);
    if (scene->filling == SCENE_BOUND && stats_of(scene).keys > MAX_KEYS)
        schedule_failed("max_keys is %d, and %lu are held", MAX_KEYS, (unsigned long)stats_of(scene).keys);
    check_memory(scene);
    if (weir_close(scene->limiter) != 0)
        schedule_failed("weir_close failed");
    const char *wrong = arena_verdict();
    if (wrong)
        schedule_failed("%s", wrong);
}
