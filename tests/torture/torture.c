/*
 * torture [SECONDS]: rounds of everything at once; see torture.h. Without SECONDS so many rounds as a test may take
 * (WEIR_TEST_SCALE). WEIR_SEED repeats a run: the rounds are the same, the threads' order is not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

enum { USUAL_ROUNDS = TORTURE_SHAPES * TORTURE_TIMES }; /* every shape in every kind of time */

torture_counts torture_told;

static void print_ages(const char *what, _Atomic uint64_t *ages)
{
    printf("  %s", what);
    for (unsigned age = 0; age < POISON_AGES; age++)
        printf("%s%" PRIu64, age ? " " : "", (uint64_t)ages[age]);
    printf(" (ages 0 ... %d, and older)\n", POISON_AGES - 2);
}

#define TOLD(field)  (uint64_t) torture_told.field
#define TOLDQ(field) (uint64_t) quarantine_told.field

void torture_print(void)
{
    printf("%s: %" PRIu64 " rounds, %" PRIu64 " calls: %" PRIu64 " accepted, %" PRIu64 " refused, %" PRIu64
           " unrecorded; %" PRIu64 " batches, %" PRIu64 " peeks, %" PRIu64 " resets, %" PRIu64 " late\n",
           program_invocation_short_name, TOLD(rounds), TOLD(calls), TOLD(accepted), TOLD(refused), TOLD(unrecorded),
           TOLD(batches), TOLD(peeks), TOLD(resets), TOLD(late));
    printf("  %" PRIu64 " keys, %" PRIu64 " splits, %" PRIu64 " compactions, %" PRIu64 " swept, %" PRIu64
           " cells helped; %" PRIu64 " sweeps, %" PRIu64 " walks, %" PRIu64 " limits set\n",
           TOLD(keys), TOLD(splits), TOLD(compactions), TOLD(swept), TOLD(helped), TOLD(sweeps), TOLD(walks),
           TOLD(limits));
    printf("  %" PRIu64 " threads died, %" PRIu64 " times one was stopped, %" PRIu64 " jumps of the clock, %" PRIu64
           " limiters opened and closed, %" PRIu64 " allocations, %" PRIu64 " failed\n",
           TOLD(died), TOLD(shaken), TOLD(jumps), TOLD(opened), TOLDQ(allocated), TOLDQ(failed));
    printf("  judged %" PRIu64 " times a key and rule, %" PRIu64 " held exactly what is known\n", TOLD(judged),
           TOLD(settled));
    printf("  %" PRIu64 " blocks freed, %" PRIu64 " of all were alone on a page; %" PRIu64 " grace periods; %" PRIu64
           " times held in a reader, %" PRIu64 " objects, %" PRIu64 " nodes looked into\n",
           TOLDQ(freed), TOLDQ(fenced), TOLDQ(grace_periods), TOLD(looks), TOLD(held), TOLD(inside));
    print_ages("unharmed on leaving the quarantine, by grace periods since freed: ", quarantine_told.age_left);
    print_ages("poison seen by readers, by grace periods since freed: ", quarantine_told.age_found);
    fflush(stdout);
}

/* A run in which something never happened proves nothing of it. */
static void want_all(void)
{
    const uint64_t always[] = {TOLD(accepted), TOLD(refused),     TOLD(batches), TOLD(peeks),   TOLD(sweeps),
                               TOLD(walks),    TOLD(splits),      TOLD(swept),   TOLD(jumps),   TOLD(late),
                               TOLD(opened),   TOLD(compactions), TOLD(held),    TOLD(inside),  TOLD(settled),
                               TOLD(limits),   TOLD(judged),      TOLD(shaken),  TOLDQ(fenced), TOLDQ(grace_periods)};
    /* By the rounds' chance, or somebody's being stopped in a migration: not in every short run. */
    const uint64_t mostly[] = {TOLD(unrecorded), TOLD(resets), TOLD(helped), TOLDQ(failed)};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        if (always[i] == 0)
            failed("number %zu of what happens in every run never did", i);
    for (size_t i = 0; i < sizeof(mostly) / sizeof(*mostly) && TOLD(rounds) >= USUAL_ROUNDS; i++)
        if (mostly[i] == 0)
            failed("number %zu of what happens in every long run never did", i);
}

int main(int count, char **arguments)
{
    uint64_t seconds = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
    uint64_t seed = seed_of_run(), rounds = scaled(USUAL_ROUNDS, TORTURE_SHAPES), calls = scaled(45000, 8000);
    struct timespec start, now;
    fault_watch();
    quarantine_start(seed);
    shake_start();
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned round = 0;; round++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (seconds ? round >= TORTURE_SHAPES && (uint64_t)(now.tv_sec - start.tv_sec) >= seconds : round >= rounds)
            break;
        torture_run(seed, round, seconds ? calls * (1 + round % 4) : calls);
    }
    torture_print();
    want_all();
    return 0;
}
