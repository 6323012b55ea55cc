/*
 * Guarantee G: threads come and go without registering, limiters open and close from several threads while the janitor
 * sweeps, and a process may end with a limiter open and threads calling. Everything allocated is given back at close.
 * Also H: one janitor thread for the whole process, however many limiters there are.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum { TEAM = 8, OPENERS = 4, LIMITERS = 6 };

static uint64_t seed;
static _Atomic uint64_t calls_made, opens_made;

static weir_options busy_options(test_heap *heap)
{
    weir_options options = weir_options_default();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    if (heap)
        heap_use(heap, &options);
    return options;
}

static int take(weir *limiter, uint64_t number, uint64_t cost)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, cost);
    int verdict = weir_take(limiter, &request, WEIR_NOW, NULL);
    if (verdict < 0)
        failed("weir_take: wanted 0 or 1, got %d", verdict);
    atomic_fetch_add(&calls_made, 1);
    return verdict;
}

static unsigned tasks(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (!directory)
        failed("/proc/self/task: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* ---- threads that live for one call or two ---- */

typedef struct short_run {
    weir *limiter;
    unsigned round;
    _Atomic uint64_t accepted;
} short_run;

static void live_shortly(void *shared, unsigned index)
{
    short_run *self = shared;
    for (unsigned call = 0; call <= index % 2; call++)
        atomic_fetch_add(&self->accepted, (uint64_t)take(self->limiter, 0, 1));
    (void)take(self->limiter, 1 + self->round * TEAM + index, 1);
}

static void short_lives(enum kind kind)
{
    test_heap heap = {0};
    weir_options options = busy_options(&heap);
    uint64_t rounds = scaled(1000 / TEAM, 4), calls = rounds * TEAM * 3 / 2, limit = calls / 2;
    rule_set set = rule_set_of(kind, limit, WEIR_WINDOW_MAX);
    short_run self = {.limiter = opened(&set, &options)};
    for (self.round = 0; self.round < rounds; self.round++)
        run_threads(TEAM, live_shortly, &self);
    want_equal("accepted from short-lived threads", limit, self.accepted);
    want_equal("keys", 1 + rounds * TEAM, stats_of(self.limiter).keys);
    closed_clean(self.limiter, &heap, set.name);
}

/* ---- open and close, again and again ---- */

/* Closes at any moment: right away, with keys alive, with all expired, with the janitor in the middle. */
static void open_and_close(void *shared, unsigned index)
{
    uint64_t rounds = *(uint64_t *)shared, random = seed + index;
    for (uint64_t round = 0; round < rounds; round++) {
        test_heap heap = {0};
        weir_options options = busy_options(&heap);
        rule_set set = rule_set_of((enum kind)((round + index) % KINDS), 3, WEIR_MICROSECOND);
        weir *limiter = opened(&set, &options);
        uint64_t keys = random_below(&random, 3) * random_below(&random, 2000);
        for (uint64_t key = 0; key < keys; key++)
            (void)take(limiter, key, 1);
        if (round % 3 == 0 && weir_sweep(limiter, WEIR_NOW, 0) < 0)
            failed("weir_sweep failed");
        if (round % 5 == 0)
            want_done("weir_reclaim", weir_reclaim(limiter));
        closed_clean(limiter, &heap, set.name);
        atomic_fetch_add(&opens_made, 1);
    }
}

/* ---- several limiters under the one janitor ---- */

static void use_all(void *shared, unsigned index)
{
    weir **limiters = shared;
    uint64_t random = seed + index * 77, calls = scaled(60000, 2000);
    for (uint64_t call = 0; call < calls; call++)
        (void)take(limiters[random_below(&random, LIMITERS)], call / 8 + index % 2, 1);
}

static void do_nothing(void *shared, unsigned index)
{
    (void)shared, (void)index;
}

/* Goes first: before it, nothing of weir has run. */
static void one_janitor(void)
{
    run_threads(1, do_nothing, NULL); /* a sanitizer's own thread starts with the first one of ours */
    test_heap heaps[LIMITERS] = {0};
    weir *limiters[LIMITERS];
    unsigned before = tasks();
    for (unsigned i = 0; i < 2000; i++) { /* a thread of another test, joined, may be listed for a moment longer */
        sched_yield();
        unsigned now = tasks();
        before = now < before ? now : before;
    }
    for (unsigned i = 0; i < LIMITERS; i++) {
        weir_options options = busy_options(&heaps[i]);
        rule_set set = rule_set_of((enum kind)i, 4, WEIR_MILLISECOND);
        limiters[i] = opened(&set, &options);
    }
    run_threads(4, use_all, limiters);
    /* A joined thread may be listed for a moment longer. */
    for (unsigned i = 0; i < 1000000 && tasks() > before + 1; i++)
        sched_yield();
    want_equal("threads of the process, over those before", 1, tasks() - before);
    for (unsigned i = 0; i < LIMITERS; i++)
        closed_clean(limiters[i], &heaps[i], "one of many");
}

/* ---- the process ends ---- */

static weir *left_open[2];
static _Atomic bool calling;

static void *call_for_ever(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument;
    for (;; number += 4) {
        (void)take(left_open[0], number, 1);
        (void)take(left_open[1], number % 64, 1);
        atomic_store(&calling, true);
    }
    return NULL;
}

static void *exit_from_here(void *argument)
{
    (void)argument;
    exit(0);
}

/* In a process of its own: 0 return from main, 1 exit from another thread, 2 quick_exit, 3 main's thread ends first. */
static int end_somehow(unsigned way)
{
    pthread_t thread;
    weir_options options = busy_options(NULL);
    rule_set inline_set = rule_set_of(KIND_COUNTER, 3, WEIR_MILLISECOND);
    rule_set node_set = rule_set_of(KIND_LOG, 3, WEIR_MILLISECOND);
    left_open[0] = opened(&inline_set, &options);
    left_open[1] = opened(&node_set, &options);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&thread, NULL, call_for_ever, (void *)i);
    while (!atomic_load(&calling))
        sched_yield();
    if (way == 1 || way == 3) {
        pthread_create(&thread, NULL, exit_from_here, NULL);
        if (way == 3)
            pthread_exit(NULL);
        pthread_join(thread, NULL);
    }
    if (way == 2)
        quick_exit(0);
    return 0;
}

static void ends(const char *program, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        char way[2] = {(char)('0' + i % 4), 0};
        char *itself[] = {(char *)(uintptr_t)program, way, NULL};
        char *wrapped[] = {"sh", "-c", "eval \"exec $MESON_EXE_WRAPPER \\\"\\$0\\\" $1\"", itself[0], way, NULL};
        bool direct = getenv("MESON_EXE_WRAPPER") == NULL; /* else it is built for another machine */
        pid_t child;
        int status, error = posix_spawn(&child, direct ? "/proc/self/exe" : "/bin/sh", NULL, NULL,
                                        direct ? itself : wrapped, environ);
        if (error)
            failed("posix_spawn: %s", strerror(error));
        while (waitpid(child, &status, 0) < 0)
            if (errno != EINTR)
                failed("waitpid: %s", strerror(errno));
        if (status != 0)
            failed("end of the process, way %s: wanted status 0, got %#x", way, (unsigned)status);
    }
}

int main(int count, char **arguments)
{
    if (count > 1)
        return end_somehow((unsigned)(arguments[1][0] - '0'));
    seed = seed_of_run();
    uint64_t rounds = scaled(60, 6), times = scaled(24, 4);
    one_janitor();
    short_lives(KIND_LOG);
    short_lives(KIND_COUNTER);
    short_lives(KIND_TWO);
    run_threads(OPENERS, open_and_close, &rounds);
    ends(arguments[0], times);
    printf("lifetimes: %" PRIu64 " calls, %" PRIu64 " limiters opened and closed, %" PRIu64 " processes ended\n",
           calls_made, opens_made, times);
    return 0;
}
