/* SPDX-License-Identifier: MIT */
#include "../threads/common.h"

#include <signal.h>

#include "disturb.h"

static const _Atomic uint64_t *progress;
static _Thread_local volatile sig_atomic_t within; /* a call */
static _Thread_local volatile uint64_t random_state;

/* Until others have made a few calls, or none of them gets on. To yield is rare: on a busy machine it takes long. */
static void wait_for_others(unsigned patience)
{
    uint64_t random = random_state;
    uint64_t enough = atomic_load(progress) + 1 + random_below(&random, 8);

    if (random_below(&random, 8) == 0)
        sched_yield();
    for (unsigned i = 0; i < patience && atomic_load(progress) < enough; i++)
        atomic_signal_fence(memory_order_seq_cst);
    random_state = random;
}

static void on_poke(int signal)
{
    int error = errno;

    (void)signal;
    if (within)
        wait_for_others(5000);
    errno = error;
}

static void handle(int signal, const struct sigaction *action)
{
    if (sigaction(signal, action, NULL) != 0)
        failed("sigaction: %s", strerror(errno));
}

#if defined(__x86_64__) && !TEST_TSAN

#include <ucontext.h>
#include <x86intrin.h>

#define TRAP_FLAG 0x100

static _Thread_local volatile unsigned left; /* instructions to go slowly */

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *thread = context;
    uint64_t random = random_state;
    int error = errno;

    (void)signal;
    (void)info;
    if (left > 0)
        left--;
    if (left == 0)
        thread->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    else if (random_below(&random, 24) == 0)
        wait_for_others(500);
    random_state = random;
    errno = error;
}

static bool handle_steps(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&action.sa_mask);
    handle(SIGTRAP, &action);
    return true;
}

static void start_steps(unsigned instructions)
{
    left = instructions;
    if (instructions > 0)
        __writeeflags(__readeflags() | TRAP_FLAG);
}

static void stop_steps(void)
{
    if (left > 0)
        __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
    left = 0;
}

#else

static bool handle_steps(void)
{
    return false;
}

static void start_steps(unsigned instructions)
{
    (void)instructions;
}

static void stop_steps(void)
{
}

#endif

bool disturb_init(const _Atomic uint64_t *counter)
{
    struct sigaction action = {.sa_handler = on_poke, .sa_flags = SA_RESTART};

    progress = counter;
    sigfillset(&action.sa_mask); /* no steps while it waits */
    sigdelset(&action.sa_mask, SIGTRAP);
    handle(SIGUSR1, &action);
    return handle_steps();
}

void disturb_begin(unsigned slow_instructions, uint64_t random)
{
    random_state = random;
    within = 1;
    start_steps(slow_instructions);
}

void disturb_end(void)
{
    stop_steps();
    within = 0;
}

void disturb_poke(pthread_t thread)
{
    int error = pthread_kill(thread, SIGUSR1);

    if (error != 0)
        failed("pthread_kill: %s", strerror(error));
}
