/*
 * Guarantee G: a fork may meet the first weir_open of the process, which finds the other copies of weir through the
 * loader and takes locks for the first time. A child that copied that half made could never open. The fork that began
 * first is waited for by weir_open; where the search began first, the fork waits, and is led like any later one.
 *
 *   first fork | first search     which of them begins first
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

enum { SECONDS = 60, CHILD_SECONDS = 20, CHILD_STATUS = 7 };

static bool fork_first; /* else the search is */
static _Atomic pid_t opener, forker;
static _Atomic bool through, in_fork, in_search;

/* Until the thread sleeps, which here means that it waits; or `over`. */
static void await_sleep(const _Atomic pid_t *thread, const _Atomic bool *over)
{
    char name[64], line[512], state = 'R';
    while (atomic_load(thread) == 0)
        sched_yield();
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)atomic_load(thread));
    while (state != 'S' && !atomic_load(over)) {
        sched_yield();
        FILE *file = fopen(name, "r");
        const char *end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        state = end ? end[2] : 'R';
        if (file)
            fclose(file);
    }
}

static void open_and_close(void)
{
    rule_set set = rule_set_of(KIND_LOG, 3, WEIR_HOUR);
    weir_options options = weir_options_default();
    weir *limiter = opened(&set, &options);
    test_key key = key_number(1);
    weir_request request = request_for(&key, 1);
    want_equal("verdict", 1, (uint64_t)weir_take(limiter, &request, WEIR_NOW, NULL));
    want_done("weir_close", weir_close(limiter));
}

/* The last handler before a fork: it was registered first, before weir's of the load. */
static void last_before_fork(void)
{
    if (fork_first) {
        atomic_store(&in_fork, true);
        await_sleep(&opener, &through);
        if (atomic_load(&through))
            failed("wanted weir_open to wait for a fork that has begun");
    } else if (atomic_load(&in_search)) {
        failed("wanted a fork to wait for a search that has begun");
    }
}

static void after_fork(void)
{
    atomic_store(&in_fork, false);
}

__attribute__((constructor(101))) static void register_first(void)
{
    pthread_atfork(last_before_fork, after_fork, after_fork);
}

/* In the place of the C library's: the search of weir, held until the fork waits or has been made. */
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *object, size_t size, void *argument), void *argument)
{
    typeof(&dl_iterate_phdr) library = (typeof(&dl_iterate_phdr))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    bool first = !fork_first && atomic_load(&opener) == gettid() && !atomic_load(&in_fork);
    if (first) {
        atomic_store(&in_search, true);
        await_sleep(&forker, &in_fork);
        int result = library(visit, argument);
        atomic_store(&in_search, false);
        return result;
    }
    return library(visit, argument);
}

static void *open_first(void *unused)
{
    while (fork_first && !atomic_load(&in_fork))
        sched_yield();
    atomic_store(&opener, gettid());
    open_and_close();
    atomic_store(&through, true);
    return unused;
}

int main(int count, char **arguments)
{
    int status;
    if (TEST_TSAN || TEST_ASAN) {
        printf("first: skipped: a sanitizer's allocator may stay locked in the child of a threaded process\n");
        return TEST_SKIPPED;
    }
    if (count != 2)
        failed("usage: first fork|search");
    fork_first = strcmp(arguments[1], "fork") == 0;
    alarm(SECONDS);
    pthread_t thread = thread_started(open_first, NULL);
    while (!fork_first && !atomic_load(&in_search))
        sched_yield();
    atomic_store(&forker, gettid());
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        open_and_close();
        _exit(CHILD_STATUS);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != CHILD_STATUS << 8)
        failed("wanted a child that opens, takes and closes");
    pthread_join(thread, NULL);
    open_and_close();
    return 0;
}
