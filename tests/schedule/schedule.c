/*
 * Every pair and every triple of acts (take, insert, split, grow, compact, sweep, set_limits, reset, each and others) on
 * every scene, under a scheduler: guarantees A, B, C, F and G against the interleavings that time never makes.
 *
 *   schedule pairs|triples|starved [SWITCHES [RUNS]]
 *
 * For each cast on each scene: every schedule with up to SWITCHES chosen switches, then RUNS random ones. Starved: pairs,
 * again and again with each allocation of theirs failing in turn. WEIR_TEST_SCALE shortens or lengthens what is not told.
 * A failure prints WEIR_PLAY and WEIR_SCHEDULE: with these in the environment, that one schedule is run alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/limiter/testing.h"
#include "../support/random.h"
#include "runtime.h"
#include "scene.h"

static struct scene scene;

/* --- acts --- */

static void take(unsigned thread)
{
    scene_take(&scene, thread, SCENE_HOT, SCENE_NOW);
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

static void peek(unsigned thread)
{
    scene_peek(&scene, thread, SCENE_HOT, SCENE_NOW);
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

static const struct {
    const char *name;
    void (*act)(unsigned thread);
} acts[] = {
    {"take", take},       {"insert", insert},   {"revive", revive}, {"late", late},
    {"peek", peek},       {"split", split},     {"grow", grow},     {"compact", compact},
    {"sweep", sweep},     {"set_limits", set_limits}, {"reset", reset},   {"each", each},
};

enum { ACTS = sizeof acts / sizeof *acts };

/* --- plays --- */

static unsigned cast[SCHEDULE_THREADS]; /* which act each thread does */

static void prepare(void *argument)
{
    (void)argument;
    scene_set(&scene);
}

static void body(void *argument, unsigned thread)
{
    (void)argument;
    acts[cast[thread]].act(thread);
}

static bool some_starved; /* in some run of a play the allocation that fails was asked for */

static void check(void *argument)
{
    (void)argument;
    scene_check(&scene);
    some_starved = some_starved || scene.starved;
}

static struct {
    unsigned switches;
    uint64_t runs; /* random ones of a play */
    bool starved;
    uint64_t seed, plays, total, longest;
    const char *wanted, *schedule; /* one play alone, or NULL */
} plan;

static void perform(const struct schedule_play *play)
{
    if (plan.wanted && strcmp(plan.wanted, play->name) != 0)
        return;
    plan.plays++;
    if (plan.schedule) {
        if (!schedule_replay(play, plan.schedule)) {
            fprintf(stderr, "not a schedule of %u threads: %s\n", play->threads, plan.schedule);
            exit(2);
        }
        plan.total++;
        return;
    }
    plan.total += schedule_exhaust(play, plan.switches, 0);
    plan.longest = schedule_longest() > plan.longest ? schedule_longest() : plan.longest;
    schedule_random(play, 3, plan.runs, plan.seed + plan.plays);
    plan.total += plan.runs;
}

/* One cast on one scene; starved, once for each allocation that fails, until one does not come to it. */
static void perform_scene(unsigned threads)
{
    enum { STARVE_MOST = 12 };
    char name[128];
    for (scene.starve = plan.starved; scene.starve <= STARVE_MOST; scene.starve++) {
        int length = snprintf(name, sizeof name, "%s %s", scene_kind_name[scene.kind], scene_filling_name[scene.filling]);
        if (plan.starved)
            length += snprintf(name + length, sizeof name - (size_t)length, " -%" PRIu64, scene.starve);
        for (unsigned i = 0; i < threads; i++)
            length += snprintf(name + length, sizeof name - (size_t)length, "%s %s", i == 0 ? ":" : "", acts[cast[i]].name);
        some_starved = false;
        perform(&(struct schedule_play){name, threads, prepare, body, check, NULL});
        if (!plan.starved || (!plan.wanted && !some_starved))
            break;
    }
}

static void perform_all(unsigned threads, unsigned thread, unsigned from)
{
    for (cast[thread] = from; cast[thread] < ACTS; cast[thread]++) {
        if (thread + 1 < threads) {
            perform_all(threads, thread + 1, cast[thread]);
            continue;
        }
        for (unsigned scenes = 0; scenes < SCENE_KINDS * SCENE_FILLINGS; scenes++) {
            scene.kind = scenes / SCENE_FILLINGS;
            scene.filling = scenes % SCENE_FILLINGS;
            perform_scene(threads);
        }
    }
}

int main(int argc, char **argv)
{
    const char *casts = argc > 1 ? argv[1] : "";
    bool triples = strcmp(casts, "triples") == 0;
    plan.starved = strcmp(casts, "starved") == 0;
    if (argc > 4 || (!triples && !plan.starved && strcmp(casts, "pairs") != 0)) {
        fprintf(stderr, "usage: schedule pairs|triples|starved [SWITCHES [RUNS]]\n");
        return 2;
    }
    plan.switches = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : triples ? 0 : 1;
    plan.runs = argc > 3 ? strtoull(argv[3], NULL, 10) : random_scaled(triples ? 40 : plan.starved ? 4 : 100);
    plan.wanted = getenv("WEIR_PLAY");
    plan.schedule = getenv("WEIR_SCHEDULE");
    plan.seed = random_seed("schedule");
    perform_all(triples ? 3 : 2, 0, 0);
    printf("%s: %" PRIu64 " plays, %" PRIu64 " runs, the longest of %" PRIu64 " points\n", casts, plan.plays, plan.total,
           plan.longest);
    return plan.plays == 0;
}
