/*
 * Guarantee G: every way in which a process makes another, under load, from several threads at once: fork, and in the
 * child again; vfork, posix_spawn and system. A child is a process like any other: its limiter goes on from a copy, the
 * janitor starts again, it opens limiters of its own, has threads, forks, and closes everything. On a key of its own
 * each generation finds what the one before has charged, and exactly that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum { FORKERS = 3, ASKERS = 2, LIMITERS = 3, LIMIT = 5, GENERATIONS = 3, CHILD_SECONDS = 20, SECONDS = 200 };

static const enum kind kind_of[LIMITERS] = {KIND_LOG, KIND_COUNTER, KIND_TWO};

static test_heap heap;
static weir *steady[LIMITERS];
static weir *churning; /* windows of a millisecond, swept every millisecond */
static uint64_t rounds;
static _Atomic unsigned forking = FORKERS;
static _Atomic uint64_t calls_made, processes;

static int take(weir *limiter, uint64_t number)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    return weir_take(limiter, &request, WEIR_NOW, NULL);
}

static weir *open_one(enum kind kind, uint64_t window)
{
    weir_options options = weir_options_default();
    rule_set set = rule_set_of(kind, LIMIT, window);
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    heap_use(&heap, &options);
    return opened(&set, &options);
}

/* ---- a child; its exit status says what was wrong ---- */

static void *churn(void *ended)
{
    for (uint64_t call = 0; !atomic_load((_Atomic bool *)ended); call++)
        if (take(churning, call % 2000) < 0)
            _exit(20);
    return NULL;
}

/* Until the janitor of this process has swept: it was not here when the child began. */
static int meet_janitor(void)
{
    weir *own = open_one(KIND_LOG, WEIR_MILLISECOND);
    for (uint64_t call = 0; stats_of(own).swept == 0; call++)
        if (take(own, call % 1000) < 0)
            return 21;
    return weir_close(own) == 0 ? 0 : 22;
}

/* `calls` of the key on each limiter, all with that verdict. */
static bool all(uint64_t key, uint64_t calls, int verdict)
{
    for (unsigned i = 0; i < LIMITERS; i++)
        for (uint64_t call = 0; call < calls; call++)
            if (take(steady[i], key) != verdict)
                return false;
    return true;
}

static bool all_closed(void)
{
    for (unsigned i = 0; i < LIMITERS; i++)
        if (weir_close(steady[i]) != 0)
            return false;
    return weir_close(churning) == 0;
}

static int live(uint64_t key, unsigned generation);

/* Forks beside a thread that calls. */
static int have_child(uint64_t key, unsigned generation)
{
    _Atomic bool ended = false;
    pthread_t thread;
    int status;
    if (pthread_create(&thread, NULL, churn, &ended) != 0)
        return 11;
    pid_t child = fork();
    if (child == 0)
        _exit(live(key, generation));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 12;
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 13;
}

/* Charges once, has a child that does the same, and takes what is left: what the child has taken is the child's. */
static int live(uint64_t key, unsigned generation)
{
    alarm(CHILD_SECONDS);
    if (!all(key, 1, 1))
        return 10;
    int fault = generation + 1 < GENERATIONS ? have_child(key, generation + 1) : 0;
    if (fault)
        return fault;
    if (!all(key, LIMIT - 1 - generation, 1))
        return 14;
    if (!all(key, 1, 0))
        return 15;
    fault = meet_janitor();
    if (fault)
        return fault;
    return all_closed() ? 0 : 16;
}

/* ---- the parent ---- */

static void want_exit(const char *how, int wanted, pid_t child)
{
    int status;
    if (child < 0)
        failed("%s: %s", how, strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            failed("waitpid: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
        failed("%s: wanted exit status %d, got %#x (see live() in forks.c)", how, wanted, (unsigned)status);
    atomic_fetch_add(&processes, 1);
}

static void fork_family(uint64_t number)
{
    pid_t child = fork();
    if (child == 0)
        _exit(live(UINT64_C(1) << 40 | number, 0));
    want_exit("fork", 0, child);
}

static void borrow_process(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(6);
    want_exit("vfork", 6, child);
}

static void spawn_shell(void)
{
    char *arguments[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)"exit 5", NULL};
    pid_t child;
    int error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    if (error)
        failed("posix_spawn: %s", strerror(error));
    want_exit("posix_spawn", 5, child);
}

static void make_processes(unsigned index)
{
    for (uint64_t round = 0; round < rounds; round++) {
        fork_family(round << 8 | index);
        borrow_process();
        spawn_shell();
        int status = system("exit 4");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 4)
            failed("system: wanted exit status 4, got %#x", (unsigned)status);
        atomic_fetch_add(&processes, 1);
    }
    atomic_fetch_sub(&forking, 1);
}

static void ask(unsigned index)
{
    uint64_t calls = 0;
    for (; atomic_load(&forking) > 0; calls++) {
        for (unsigned i = 0; i < LIMITERS; i++)
            if (take(steady[i], index) < 0)
                failed("weir_take");
        if (take(churning, calls % 20000) < 0)
            failed("weir_take");
    }
    atomic_fetch_add(&calls_made, calls * (LIMITERS + 1));
}

static void work(void *unused, unsigned index)
{
    (void)unused;
    if (index < FORKERS)
        make_processes(index);
    else
        ask(index);
}

int main(void)
{
    if (TEST_TSAN || TEST_ASAN) {
        printf("forks: skipped: a sanitizer's allocator may stay locked in the child of a threaded process\n");
        return TEST_SKIPPED;
    }
    rounds = scaled(6, 2);
    alarm(SECONDS);
    for (unsigned i = 0; i < LIMITERS; i++)
        steady[i] = open_one(kind_of[i], WEIR_WINDOW_MAX);
    churning = open_one(KIND_LOG, WEIR_MILLISECOND);
    run_threads(FORKERS + ASKERS, work, NULL);
    for (unsigned i = 0; i < LIMITERS; i++)
        want_done("weir_close", weir_close(steady[i]));
    want_done("weir_close", weir_close(churning));
    want_equal("bytes after weir_close", 0, heap.bytes);
    printf("forks: %" PRIu64 " processes made, %" PRIu64 " calls meanwhile\n", processes, calls_made);
    return 0;
}
