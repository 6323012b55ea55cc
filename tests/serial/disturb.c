/* SPDX-License-Identifier: MIT */
#include "../threads/common.h"

#include "disturb.h"

enum { SPINS = TEST_TSAN ? 30 : 1000 }; /* there each look takes long */

static const _Atomic uint64_t *progress;
static _Atomic uint64_t pauses;

/* Of the calling thread. */
static _Thread_local uint64_t rarity; /* of pauses; 0: it is not within a call */
static _Thread_local uint64_t until_pause;
static _Thread_local uint64_t random_state;

void disturb_init(const _Atomic uint64_t *counter)
{
    progress = counter;
}

void disturb_begin(uint64_t one_in, uint64_t random)
{
    random_state = random;
    rarity = one_in;
    until_pause = one_in == 0 ? 0 : random_below(&random_state, 2 * one_in);
}

void disturb_end(void)
{
    rarity = 0;
}

uint64_t disturb_pauses(void)
{
    return atomic_load(&pauses);
}

/* Until others have made a few calls, or none of them gets on: it may be that all wait for this thread. To yield takes
 * long on a busy machine, so it is not done each time. */
static void pause_a_while(void)
{
    uint64_t enough = atomic_load(progress) + 1 + random_below(&random_state, 8);
    bool yields = random_below(&random_state, 3) == 0;

    atomic_fetch_add_explicit(&pauses, 1, memory_order_relaxed);
    for (unsigned i = 0; i < SPINS && atomic_load(progress) < enough; i++)
        if (yields && i == SPINS / 2)
            sched_yield();
}

static void at_bound(void)
{
    if (rarity == 0 || until_pause-- != 0)
        return;
    pause_a_while();
    until_pause = random_below(&random_state, 2 * rarity);
}

/* What the compiler calls at each function bound of a library that is built so. */
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)function;
    (void)caller;
    at_bound();
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
    at_bound();
}
