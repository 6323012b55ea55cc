/*
 * What the two parts of the scheduler share: runtime.c runs one schedule, strategies.c chooses it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_WORLD_H
#define WEIR_TESTS_SCHEDULE_WORLD_H

#include "fiber.h"
#include "runtime.h"

enum {
    STEPS_MAX = 100000, /* more in one run, and it does not end */
    IDLE_MAX = 1000000, /* the same before and after it */
    SWITCHES_MAX = 8,   /* chosen ones in a search, or changes of priority in a random run */
    CHOICES_MAX = 4096  /* that a random run can tell */
};

/* A switch that was chosen: before the point `step`, to `thread`. */
struct choice {
    uint64_t step;
    unsigned thread;
};

struct thread {
    struct fiber fiber;
    bool finished;
    bool waits;        /* has said that it waits */
    uint64_t seen;     /* what the others had done by its last access: it has found out about that */
    uint64_t steps;    /* its own */
    unsigned nesting;  /* read sections */
    uint64_t sections; /* outermost ones begun */
    int64_t priority;  /* random runs */
};

struct world {
    const struct schedule_play *play;
    bool active;
    unsigned current;
    uint64_t idle;    /* points passed before and after the threads run */
    uint64_t step;    /* points passed */
    uint64_t working; /* points that were not pauses */
    uint64_t longest;
    unsigned first;
    struct choice choices[CHOICES_MAX];
    unsigned choice_count, next_choice;
    bool random;
    uint64_t change_at[SWITCHES_MAX];
    unsigned change_count;
    int64_t lowest; /* priority */
    uint8_t *open;  /* exhaustive: at each step, the threads that could have been chosen instead */
    uint64_t open_from;
    struct thread thread[SCHEDULE_THREADS];
    struct thread outside; /* the test itself, before and after */
};

extern struct world world;

/* strategies.c: the threads that can go on, a bit each, and the one that shall. */
unsigned schedule_runnable(void);
unsigned schedule_pick(void);

/* runtime.c: one run of world.play, whose first thread is `first`. */
void schedule_run(unsigned first);
void schedule_catch_crashes(void);

#endif
