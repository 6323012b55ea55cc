/*
 * Shaking: a timer's signal, five thousand times a second, stops one of the threads of the torture wherever it is (with
 * a lock held, between two swaps, in the allocator) and lets the others run. Few cores alone would seldom do that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

#include <signal.h>

static void stop_here(int signal)
{
    int before = errno;
    uint64_t number = atomic_fetch_add_explicit(&torture_told.shaken, 1, memory_order_relaxed);
    struct timespec pause = {.tv_nsec = (long)(mix(number) % 200000)};
    (void)signal;
    if (number % 4 == 0)
        nanosleep(&pause, NULL); /* for nothing: it is a thread that was preempted */
    else
        sched_yield();
    errno = before;
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

void shake_me(void)
{
    mask(SIG_UNBLOCK);
}

void shake_start(void)
{
    struct sigaction action = {.sa_handler = stop_here, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec times = {{.tv_nsec = 200000}, {.tv_nsec = 200000}};
    timer_t timer;
    mask(SIG_BLOCK); /* here, and in every thread until it asks for it */
    sigaction(SIGUSR1, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &times, NULL) != 0)
        fault("timer_create: %s", strerror(errno));
}
