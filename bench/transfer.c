/*
 * weir-transfer: how long a cache line takes from one core to another, the one figure that docs/cost-model.md needs of
 * a machine. Two threads, each on a core of its own, pass a number to and fro; and then both add to one word as fast as
 * they can.
 *
 *   weir-transfer [CPU CPU]     default: 0 1
 *
 * Told are percentiles over short rounds, since on a busy machine most rounds are interrupted. In a virtual machine the
 * cores may move: run it again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 4000, PASSES = 500, BURST = 50 };

/* Two lines apart, since some processors fetch lines in pairs. */
static _Alignas(128) _Atomic uint64_t ball;
static _Alignas(128) _Atomic uint64_t word;
static _Alignas(128) _Atomic uint64_t bursts; /* that the other thread has added */
static _Alignas(128) _Atomic int stop;

static size_t cpus[2] = {0, 1};
static double times[ROUNDS];

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pin(size_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "weir-transfer: there is no processor %zu for this program\n", cpu);
        exit(1);
    }
}

static void pass(uint64_t from, uint64_t to)
{
    while (atomic_load_explicit(&ball, memory_order_acquire) != from)
        continue;
    atomic_store_explicit(&ball, to, memory_order_release);
}

static void *give_back(void *unused)
{
    pin(cpus[1]);
    for (uint64_t i = 0; i < (uint64_t)ROUNDS * PASSES; i++)
        pass(2 * i + 1, 2 * i + 2);
    return unused;
}

static void *add(void *unused)
{
    pin(cpus[1]);
    while (!stop) {
        for (unsigned i = 0; i < BURST; i++)
            atomic_fetch_add(&word, 1);
        atomic_fetch_add(&bursts, 1);
    }
    return unused;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void tell(const char *what, unsigned rounds)
{
    qsort(times, rounds, sizeof times[0], by_size);
    printf("%-44s %7.1f %7.1f %7.1f\n", what, times[rounds / 20], times[rounds / 4], times[rounds / 2]);
}

static void start(pthread_t *thread, void *(*body)(void *))
{
    if (pthread_create(thread, NULL, body, NULL) != 0) {
        fputs("weir-transfer: no thread\n", stderr);
        exit(1);
    }
}

static void measure_passing(void)
{
    pthread_t other;
    start(&other, give_back);
    uint64_t i = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        for (unsigned n = 0; n < PASSES; n++, i++)
            pass(2 * i, 2 * i + 1);
        times[round] = (now_ns() - begin) / PASSES / 2;
    }
    pthread_join(other, NULL);
    tell("a line from core to core, ns", ROUNDS);
}

static double add_some(void)
{
    double begin = now_ns();
    for (unsigned n = 0; n < PASSES; n++)
        atomic_fetch_add(&word, 1);
    return (now_ns() - begin) / PASSES;
}

static void measure_adding(void)
{
    pthread_t other;
    for (unsigned round = 0; round < ROUNDS; round++)
        times[round] = add_some();
    tell("an atomic addition, alone, ns", ROUNDS);
    start(&other, add);
    unsigned count = 0;
    double until = now_ns() + 30e9;
    while (count < ROUNDS && now_ns() < until) {
        uint64_t had = bursts;
        double time = add_some();
        uint64_t more = bursts - had;
        if (more > 1) /* the other did run: nanoseconds for each addition of either */
            times[count++] = time * PASSES / (PASSES + (double)more * BURST);
    }
    stop = 1;
    pthread_join(other, NULL);
    if (count > 0)
        tell("one of two cores' additions to one word, ns", count);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        cpus[0] = strtoul(argv[1], NULL, 10);
        cpus[1] = strtoul(argv[2], NULL, 10);
    } else if (argc != 1) {
        fputs("usage: weir-transfer [CPU CPU]\n", stderr);
        return 2;
    }
    pin(cpus[0]);
    printf("%-44s %7s %7s %7s\n", "", "p5", "p25", "median");
    measure_passing();
    measure_adding();
    return 0;
}
