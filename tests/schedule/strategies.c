/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/random.h"
#include "world.h"

/* --- who goes on --- */

static bool runnable(unsigned thread)
{
    const struct thread *self = &world.thread[thread];
    return !self->finished && !(self->waits && world.working - self->steps == self->seen);
}

unsigned schedule_runnable(void)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < world.play->threads; i++)
        mask |= runnable(i) ? 1U << i : 0;
    return mask;
}

/* The running thread if it can and does not wait, else the next in turn. */
static unsigned in_turn(unsigned mask)
{
    unsigned waits = world.thread[world.current].waits;
    for (unsigned i = 0; i < world.play->threads; i++) {
        unsigned thread = (world.current + i + waits) % world.play->threads;
        if (mask >> thread & 1)
            return thread;
    }
    schedule_failed("nobody can go on, after %" PRIu64 " points", world.step);
}

static unsigned by_priority(unsigned mask)
{
    for (unsigned i = 0; i < world.change_count; i++)
        if (world.change_at[i] == world.step)
            world.thread[world.current].priority = --world.lowest;
    unsigned best = in_turn(mask);
    for (unsigned i = 0; i < world.play->threads; i++)
        if ((mask >> i & 1) && world.thread[i].priority > world.thread[best].priority)
            best = i;
    return best;
}

unsigned schedule_pick(void)
{
    unsigned mask = schedule_runnable(), usual = in_turn(mask);
    if (world.random) {
        unsigned thread = by_priority(mask);
        if (thread != usual && world.choice_count < CHOICES_MAX)
            world.choices[world.choice_count++] = (struct choice){world.step, thread};
        return thread;
    }
    if (world.next_choice < world.choice_count && world.choices[world.next_choice].step == world.step) {
        unsigned thread = world.choices[world.next_choice++].thread;
        if (!(mask >> thread & 1))
            schedule_failed("thread %u cannot go on at point %" PRIu64, thread, world.step);
        return thread;
    }
    if (world.open && world.step > world.open_from)
        world.open[world.step] = (uint8_t)(mask & ~(1U << usual));
    return usual;
}

/* --- many runs --- */

static void begin(const struct schedule_play *play)
{
    schedule_catch_crashes();
    world.play = play;
    world.random = false;
    world.open = NULL;
    world.choice_count = world.change_count = 0;
    world.longest = 0;
}

struct search {
    unsigned switches; /* at most */
    uint64_t runs;
    unsigned first;
    uint8_t *open[SWITCHES_MAX]; /* STEPS_MAX each */
};

/* The run with the switches chosen so far, then each that has one more after them. */
static void explore(struct search *search, unsigned depth)
{
    uint64_t from = depth == 0 ? 0 : world.choices[depth - 1].step;
    world.choice_count = depth;
    world.open = depth < search->switches ? search->open[depth] : NULL;
    world.open_from = from;
    schedule_run(search->first);
    search->runs++;
    uint64_t end = world.step;
    for (uint64_t step = from + 1; depth < search->switches && step <= end; step++)
        for (unsigned thread = 0; thread < world.play->threads; thread++)
            if (search->open[depth][step] >> thread & 1) {
                world.choices[depth] = (struct choice){step, thread};
                explore(search, depth + 1);
            }
}

uint64_t schedule_exhaust(const struct schedule_play *play, unsigned switches)
{
    static uint8_t *open[SWITCHES_MAX];
    struct search search = {.switches = switches < SWITCHES_MAX ? switches : SWITCHES_MAX};
    for (unsigned i = 0; i < switches && i < SWITCHES_MAX; i++) {
        if (!open[i])
            open[i] = malloc(STEPS_MAX);
        if (!open[i])
            abort();
        search.open[i] = open[i];
    }
    begin(play);
    for (search.first = 0; search.first < play->threads; search.first++)
        explore(&search, 0);
    world.open = NULL;
    return search.runs;
}

void schedule_random(const struct schedule_play *play, unsigned depth, uint64_t runs, uint64_t seed)
{
    random_source random = random_from(seed, 0);
    uint64_t steps = 200; /* of a run; what the runs so far have had */
    begin(play);
    for (uint64_t i = 0; i < runs; i++) {
        world.random = true;
        world.choice_count = 0;
        world.change_count = depth - 1 < SWITCHES_MAX ? depth - 1 : SWITCHES_MAX;
        world.lowest = 0;
        for (unsigned j = 0; j < world.change_count; j++)
            world.change_at[j] = random_between(&random, 1, steps);
        for (unsigned j = 0; j < play->threads; j++)
            world.thread[j].priority = (int64_t)(random_below(&random, 1000000) + 1);
        schedule_run((unsigned)random_below(&random, play->threads));
        steps = world.longest;
    }
    world.random = false;
}

bool schedule_replay(const struct schedule_play *play, const char *schedule)
{
    int used = 0;
    unsigned first;
    begin(play);
    if (sscanf(schedule, "%u%n", &first, &used) != 1 || first >= play->threads)
        return false;
    struct choice choice;
    for (schedule += used; sscanf(schedule, " %" SCNu64 ":%u%n", &choice.step, &choice.thread, &used) == 2;
         schedule += used) {
        if (choice.thread >= play->threads || world.choice_count == CHOICES_MAX)
            return false;
        world.choices[world.choice_count++] = choice;
    }
    if (*schedule != '\0')
        return false;
    schedule_run(first);
    return true;
}

uint64_t schedule_stamp(void)
{
    return world.step;
}

uint64_t schedule_longest(void)
{
    return world.longest;
}
