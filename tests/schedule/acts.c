/* SPDX-License-Identifier: MIT */
#include "acts.h"

#include "limiter/testing.h"
#include "runtime.h"

struct scene scene;

static void take(unsigned thread)
{
    scene_take(&scene, thread, SCENE_HOT, SCENE_NOW);
}

/* The verdict alone: its common case is a way of its own. */
static void verdict(unsigned thread)
{
    scene_take_verdict(&scene, thread, SCENE_HOT, SCENE_NOW);
}

static void batch(unsigned thread)
{
    static const enum scene_key keys[3] = {SCENE_HOT, SCENE_NEW, SCENE_HOT};
    scene_batch(&scene, thread, keys, SCENE_NOW);
}

static void insert(unsigned thread)
{
    scene_take(&scene, thread, SCENE_NEW, SCENE_NOW);
}

static void revive(unsigned thread)
{
    scene_take(&scene, thread, SCENE_KEY_OLD, SCENE_NOW);
}

/* So late that OLD's charges would count, were they there. */
static void late(unsigned thread)
{
    scene_take(&scene, thread, SCENE_KEY_OLD, SCENE_OLD + WEIR_SECOND);
}

/* In the window after the next, so that all counts of a counter are new. */
static void later(unsigned thread)
{
    scene_take(&scene, thread, SCENE_HOT, SCENE_NOW + 2 * SCENE_WINDOW);
}

static void peek(unsigned thread)
{
    scene_peek(&scene, thread, SCENE_HOT, SCENE_NOW);
}

static void reclaim(unsigned thread)
{
    (void)thread;
    if (weir_reclaim(scene.limiter) != 0)
        schedule_failed("weir_reclaim failed");
}

static void move(enum weiri_test_migration kind)
{
    scene_floor(&scene, SCENE_NOW);
    weiri_test_start(scene.limiter, scene_hash(&scene, SCENE_HOT), kind, SCENE_NOW, true);
    if (weir_reclaim(scene.limiter) != 0)
        schedule_failed("weir_reclaim failed");
}

static void split(unsigned thread)
{
    (void)thread;
    move(WEIRI_TEST_SPLIT);
}

static void grow(unsigned thread)
{
    (void)thread;
    move(WEIRI_TEST_MAKE_ROOM);
}

static void compact(unsigned thread)
{
    (void)thread;
    move(WEIRI_TEST_COMPACT);
}

static void sweep(unsigned thread)
{
    (void)thread;
    scene_sweep(&scene, SCENE_NOW, 0);
    if (weir_reclaim(scene.limiter) != 0)
        schedule_failed("weir_reclaim failed");
}

static void set_limits(unsigned thread)
{
    scene_limit(&scene, thread, thread % 2 == 0 ? 5 : 1);
}

static void reset(unsigned thread)
{
    scene_reset(&scene, thread, SCENE_HOT);
}

static void each(unsigned thread)
{
    (void)thread;
    scene_each(&scene);
}

const struct act acts[ACTS] = {
    {"take", take},       {"insert", insert}, {"revive", revive},   {"late", late},
    {"later", later},     {"peek", peek},     {"split", split},     {"grow", grow},
    {"compact", compact}, {"sweep", sweep},   {"reclaim", reclaim}, {"set_limits", set_limits},
    {"reset", reset},     {"each", each},     {"verdict", verdict}, {"batch", batch},
};
