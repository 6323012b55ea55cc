/*
 * Guarantee A, from outside: histories of concurrent calls on single keys, each of which must have a serial order that
 * the oracle accepts in every field of every answer, see support/serial.h. Two to four threads make random calls in
 * short bursts, on limiters of every kind, with sweeps, migrations, resets, limit changes, other keys, full tables and
 * lack of memory among them; where the library is watched (disturb.h), they stop midway. With A come C (a charge lost
 * by a move or a sweep leaves no order), 4.8 and 4.10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "era.h"
#include "disturb.h"

#ifndef HISTORIES_WATCHED
#define HISTORIES_WATCHED 0
#endif

enum { IN_BURST = 12 };

struct run {
    struct era era;
    pthread_barrier_t barrier;
    _Atomic uint64_t arrived;
    uint64_t seed;
    struct era_sums sums[ERA_THREADS];
};

/* Time goes on, between two bursts. */
static void move_on(struct era *era)
{
    uint64_t ahead[] = {0, 0, 1, era->window / 4, era->window, 3 * era->window};

    era->base += ahead[random_below(&era->random, 6)];
}

/* Off together, as closely as can be: who sleeps at a barrier wakes up when the others are through. */
static void start_together(struct run *run, uint64_t burst)
{
    atomic_fetch_add(&run->arrived, 1);
    for (unsigned i = 0; atomic_load(&run->arrived) < burst * run->era.threads; i++)
        if (i % 256 == 255)
            sched_yield();
}

static void work(void *shared, unsigned index)
{
    struct run *run = shared;
    uint64_t random = mix(run->seed) + index;

    for (unsigned burst = 1; burst <= run->era.bursts; burst++) {
        uint64_t calls = 1 + random_below(&random, IN_BURST);

        pthread_barrier_wait(&run->barrier);
        start_together(run, burst);
        for (uint64_t i = 0; i < calls; i++)
            era_call(&run->era, index, &random);
        pthread_barrier_wait(&run->barrier);
        if (index == 0) {
            move_on(&run->era);
            era_look(&run->era);
        }
    }
    pthread_barrier_wait(&run->barrier);
    for (unsigned key = index; key < run->era.key_count; key += run->era.threads)
        era_check(&run->era, key, &run->sums[index]);
}

static void one_era(struct run *run, uint64_t seed)
{
    run->seed = seed;
    atomic_store(&run->arrived, 0);
    era_open(&run->era, seed);
    pthread_barrier_init(&run->barrier, NULL, run->era.threads);
    run_threads(run->era.threads, work, run);
    pthread_barrier_destroy(&run->barrier);
    era_close(&run->era, &run->sums[0]);
}

static struct era_sums total(const struct era_sums *sums)
{
    struct era_sums all = {0};

    for (unsigned t = 0; t < ERA_THREADS; t++) {
        const uint64_t *from = (const uint64_t *)&sums[t];
        uint64_t overlap = all.overlap > sums[t].overlap ? all.overlap : sums[t].overlap;

        for (size_t i = 0; i < sizeof all / sizeof *from; i++)
            ((uint64_t *)&all)[i] += from[i];
        all.overlap = overlap;
    }
    return all;
}

static void want_at_least(const char *what, uint64_t bound, uint64_t got)
{
    if (got < bound)
        failed("%s: wanted at least %" PRIu64 ", got %" PRIu64, what, bound, got);
}

/* Histories in which next to nothing happened, or one call after the other, prove nothing. The floors are a fifth to a
 * half of what is usual. */
static void want_enough(const struct era_sums *all, uint64_t eras)
{
    want_at_least("histories", eras, all->histories);
    want_at_least("calls", 30 * eras, all->calls);
    want_at_least("accepted", 10 * eras, all->accepted);
    want_at_least("refused", 15 * eras, all->refused);
    want_at_least("flagged late", eras / 2, all->late);
    want_at_least("unrecorded", eras / 10, all->unrecorded);
    want_at_least("splits", 2 * eras, all->splits);
    want_at_least("compactions", eras, all->compactions);
    want_at_least("keys swept", eras / 5, all->swept);
    want_at_least("calls at once", HISTORIES_WATCHED ? 6 : 3, all->overlap);
    want_at_least("pauses", HISTORIES_WATCHED ? 150 * eras : 0, disturb_pauses());
    want_at_least("cells helped", HISTORIES_WATCHED ? eras / 8 : 0, all->helped);
}

int main(void)
{
    static struct run run;
    uint64_t seed = seed_of_run();
    uint64_t eras = scaled(5000, 200);
    struct era_sums all;

    disturb_init(&era_stamp);
    for (uint64_t i = 0; i < eras; i++)
        one_era(&run, mix(seed + i));
    all = total(run.sums);
    printf("%" PRIu64 " histories, %" PRIu64 " calls, %" PRIu64 " pauses in them, at most %" PRIu64 " at once\n",
           all.histories, all.calls, disturb_pauses(), all.overlap);
    printf("%" PRIu64 " accepted, %" PRIu64 " refused, %" PRIu64 " flagged late, %" PRIu64 " unrecorded\n",
           all.accepted, all.refused, all.late, all.unrecorded);
    printf("%" PRIu64 " splits, %" PRIu64 " compactions, %" PRIu64 " cells helped, %" PRIu64 " keys swept\n",
           all.splits, all.compactions, all.helped, all.swept);
    want_enough(&all, eras);
    return 0;
}
