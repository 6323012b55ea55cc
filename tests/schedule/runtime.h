/*
 * A scheduler for the real code. The library is built with hooks (src/sync/hook.h), so that every operation on a shared
 * word is a scheduling point; threads are coroutines that run one at a time, and at each point somebody decides who
 * goes on. So any interleaving can be made, again and again: the runs of one schedule are the same in every process.
 *
 *   exhaustive  every schedule with at most so many chosen switches, from each thread as the first (Musuvathi and
 *               Qadeer, Iterative context bounding, 2007). A thread that waits or ends hands on to the next in turn,
 *               for nothing.
 *   random      PCT: a priority for each thread, and depth-1 moments at which the running one loses its own (Burckhardt
 *               et al., A randomized scheduler with probabilistic guarantees of finding bugs, 2010). A bug that needs d
 *               ordering constraints is found by a run with probability at least 1/(n k^(d-1)).
 *   replay      one schedule, as a failure has printed it.
 *
 * The watcher is the RCU as well: a grace period waits for the sections that were open when it began, and for no other.
 * What it does not show: memory orders. Its threads see every store at once; for orders there are ThreadSanitizer and
 * the arguments in docs/design.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_RUNTIME_H
#define WEIR_TESTS_SCHEDULE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCHEDULE_THREADS = 4 };

/* One run's cast: `prepare` before, `body` in each thread, `check` after; the last may call schedule_failed. */
struct schedule_play {
    const char *name;
    unsigned threads;
    void (*prepare)(void *argument);
    void (*body)(void *argument, unsigned thread);
    void (*check)(void *argument);
    void *argument;
};

/* Every schedule with at most `switches` chosen switches (up to 8). Returns the number of runs. */
uint64_t schedule_exhaust(const struct schedule_play *play, unsigned switches);

/* `runs` random schedules of that depth. */
void schedule_random(const struct schedule_play *play, unsigned depth, uint64_t runs, uint64_t seed);

/* One schedule, "FIRST STEP:THREAD ...". False: not a schedule. */
bool schedule_replay(const struct schedule_play *play, const char *schedule);

/* The number of scheduling points passed so far in this run; a stamp for histories. */
uint64_t schedule_stamp(void);

/* The most points that one run has had. */
uint64_t schedule_longest(void);

/* Prints the play, its schedule and what is wrong, and ends the program with 1. */
__attribute__((format(printf, 1, 2), noreturn)) void schedule_failed(const char *format, ...);

#endif
