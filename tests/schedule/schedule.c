/*
 * Every pair and every triple of acts (take, insert, split, grow, compact, sweep, set_limits, reset, each and others)
 * on every scene, and crowds of more, under a scheduler: guarantees A, B, C, F and G against the interleavings that
 * time never makes.
 *
 *   schedule pairs|triples|starved|crowds|deep [SWITCHES [RUNS]]
 *
 * For each cast on each scene: every schedule with up to SWITCHES chosen switches, then RUNS random ones. Starved:
 * pairs, again and again with each allocation of theirs failing in turn. Crowds: RUNS times up to four threads of
 * several acts each, with random schedules. Deep: a few plays, with more switches. WEIR_TEST_SCALE shortens or
 * lengthens what is not told; below 50 it takes a switch away.
 *
 * A failure prints WEIR_PLAY and WEIR_SCHEDULE: with these in the environment, that one schedule is run alone. A play
 * reads "KIND FILLING STARVE: ACT[,ACT...] ACT[,ACT...]", a word for each thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "acts.h"
#include "runtime.h"

/* --- plays --- */

enum { ACTS_MAX = 4 }; /* of one thread */

static struct {
    unsigned threads;
    unsigned acts[SCHEDULE_THREADS]; /* how many */
    unsigned act[SCHEDULE_THREADS][ACTS_MAX];
} cast;

static bool some_starved; /* in some run of a play the allocation that fails was asked for */

static void prepare(void *argument)
{
    (void)argument;
    scene_set(&scene);
}

static void body(void *argument, unsigned thread)
{
    (void)argument;
    for (unsigned i = 0; i < cast.acts[thread]; i++)
        acts[cast.act[thread][i]].act(thread);
}

static void check(void *argument)
{
    (void)argument;
    scene_check(&scene);
    some_starved = some_starved || scene.starved;
}

/* The play of the present scene and cast. Its name is good until the next. */
static struct schedule_play play_now(void)
{
    static char name[512];
    int length = snprintf(name, sizeof name, "%s %s %" PRIu64 ":", scene_kind_name[scene.kind],
                          scene_filling_name[scene.filling], scene.starve);
    for (unsigned i = 0; i < cast.threads; i++)
        for (unsigned j = 0; j < cast.acts[i]; j++)
            length += snprintf(name + length, sizeof name - (size_t)length, "%c%s", j == 0 ? ' ' : ',',
                               acts[cast.act[i][j]].name);
    return (struct schedule_play){name, cast.threads, prepare, body, check, NULL};
}

static bool index_of(const char *word, const char *const *names, unsigned count, unsigned *index)
{
    for (*index = 0; *index < count; ++*index)
        if (strcmp(word, names[*index]) == 0)
            return true;
    return false;
}

/* One thread's acts. */
static bool read_acts(char *word)
{
    char *rest = NULL;
    const char *names[ACTS];
    for (unsigned i = 0; i < ACTS; i++)
        names[i] = acts[i].name;
    if (cast.threads == SCHEDULE_THREADS)
        return false;
    unsigned *count = &cast.acts[cast.threads];
    *count = 0;
    for (char *act = strtok_r(word, ",", &rest); act; act = strtok_r(NULL, ",", &rest))
        if (*count == ACTS_MAX || !index_of(act, names, ACTS, &cast.act[cast.threads][(*count)++]))
            return false;
    cast.threads++;
    return true;
}

/* Scene and cast from a play's name. */
static bool read_play(const char *name)
{
    char copy[512], kind[16], filling[16], *rest = NULL;
    unsigned of_kind, of_filling;
    int used = 0;
    if (sscanf(name, "%15s %15s %" SCNu64 ":%n", kind, filling, &scene.starve, &used) != 3 || used == 0 ||
        !index_of(kind, scene_kind_name, SCENE_KINDS, &of_kind) ||
        !index_of(filling, scene_filling_name, SCENE_FILLINGS, &of_filling))
        return false;
    scene.kind = of_kind;
    scene.filling = of_filling;
    cast.threads = 0;
    snprintf(copy, sizeof copy, "%s", name + used);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!read_acts(word))
            return false;
    return cast.threads > 0;
}

/* --- many plays --- */

static struct {
    unsigned switches;
    uint64_t runs; /* random ones of a play */
    bool starved;
    uint64_t seed, plays, total, longest;
} plan;

static void perform(void)
{
    enum { DEPTH = 3 };
    struct schedule_play play = play_now();
    plan.plays++;
    plan.total += schedule_exhaust(&play, plan.switches);
    plan.longest = schedule_longest() > plan.longest ? schedule_longest() : plan.longest;
    schedule_random(&play, DEPTH, plan.runs, plan.seed + plan.plays);
    plan.total += plan.runs;
}

/* One cast on one scene; starved, once for each allocation that fails, until one does not come to it. */
static void perform_scene(void)
{
    enum { STARVE_MOST = 12 };
    scene.starve = plan.starved;
    do {
        some_starved = false;
        perform();
    } while (some_starved && scene.starve++ < STARVE_MOST);
}

/* Every multiset of acts, one for each thread, on every scene. */
static void perform_from(unsigned threads, unsigned thread, unsigned from)
{
    cast.acts[thread] = 1;
    for (unsigned act = from; act < ACTS; act++) {
        cast.act[thread][0] = act;
        if (thread + 1 < threads) {
            perform_from(threads, thread + 1, act);
            continue;
        }
        for (unsigned scenes = 0; scenes < SCENE_KINDS * SCENE_FILLINGS; scenes++) {
            scene.kind = scenes / SCENE_FILLINGS;
            scene.filling = scenes % SCENE_FILLINGS;
            perform_scene();
        }
    }
}

static void perform_casts(unsigned threads)
{
    cast.threads = threads;
    perform_from(threads, 0, 0);
}

static void perform_crowds(unsigned most)
{
    enum { RUNS = 8, DEPTH = 5 };
    random_source random = random_from(plan.seed, 0);
    for (uint64_t crowds = plan.runs / RUNS; crowds > 0; crowds--) {
        cast.threads = (unsigned)random_between(&random, 2, most);
        for (unsigned i = 0; i < cast.threads; i++) {
            cast.acts[i] = (unsigned)random_between(&random, 1, ACTS_MAX);
            for (unsigned j = 0; j < cast.acts[i]; j++)
                cast.act[i][j] = (unsigned)random_below(&random, ACTS);
        }
        scene.kind = (unsigned)random_below(&random, SCENE_KINDS);
        scene.filling = (unsigned)random_below(&random, SCENE_FILLINGS);
        scene.starve = random_one_in(&random, 4) ? random_between(&random, 1, 12) : 0;
        struct schedule_play play = play_now();
        schedule_random(&play, DEPTH, RUNS, random_next(&random));
        plan.plays++;
        plan.total += RUNS;
        plan.longest = schedule_longest() > plan.longest ? schedule_longest() : plan.longest;
    }
}

static int replay(const char *name, const char *schedule)
{
    if (!read_play(name)) {
        fprintf(stderr, "not a play: %s\n", name);
        return 2;
    }
    struct schedule_play play = play_now();
    if (!schedule_replay(&play, schedule)) {
        fprintf(stderr, "not a schedule of %u threads: %s\n", play.threads, schedule);
        return 2;
    }
    printf("%s: nothing wrong\n", play.name);
    return 0;
}

/* Plays in which a fault takes three switches or more to show. */
static void perform_deep(unsigned unused)
{
    (void)unused;
    static const char *const plays[] = {
        "log dead 0: revive sweep reclaim",
        "log dead 0: take,peek reset",
    };
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (!read_play(plays[i]))
            schedule_failed("not a play: %s", plays[i]);
        perform();
    }
}

static const struct {
    const char *name;
    void (*perform)(unsigned threads);
    unsigned threads, switches;
    uint64_t runs;
} casts[] = {
    {"pairs", perform_casts, 2, 1, 100}, {"triples", perform_casts, 3, 0, 40},
    {"starved", perform_casts, 2, 1, 4}, {"crowds", perform_crowds, SCHEDULE_THREADS, 0, 100000},
    {"deep", perform_deep, 3, 2, 1000},
};

int main(int argc, char **argv)
{
    const char *name = getenv("WEIR_PLAY"), *schedule = getenv("WEIR_SCHEDULE");
    if (name && schedule)
        return replay(name, schedule);
    for (size_t i = 0; argc > 1 && argc <= 4 && i < sizeof casts / sizeof *casts; i++) {
        if (strcmp(argv[1], casts[i].name) != 0)
            continue;
        unsigned fewer = random_scaled(100) < 50 && casts[i].switches > 0;
        plan.switches = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : casts[i].switches - fewer;
        plan.runs = argc > 3 ? strtoull(argv[3], NULL, 10) : random_scaled(casts[i].runs);
        plan.starved = strcmp(argv[1], "starved") == 0;
        plan.seed = random_seed("schedule");
        casts[i].perform(casts[i].threads);
        printf("%s: %" PRIu64 " plays, %" PRIu64 " runs, the longest of %" PRIu64 " points\n", argv[1], plan.plays,
               plan.total, plan.longest);
        return 0;
    }
    fprintf(stderr, "usage: schedule pairs|triples|starved|crowds|deep [SWITCHES [RUNS]]\n");
    return 2;
}
