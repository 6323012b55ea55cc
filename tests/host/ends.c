/*
 * Guarantee G: a process may end at any moment, with limiters open, the janitor sweeping and calls in the middle: its
 * exit status is what it said, nothing crashes and nothing hangs. Handlers of exit and of quick_exit call weir once
 * more, as do destructors of thread-specific data, which run after liburcu's own has unregistered the thread.
 *
 *   ends           the test: each way in processes of its own
 *   ends WAY       one of them, which ends with status 10 + WAY
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

enum { CALLERS = 3, SECONDS = 30, FIRST_STATUS = 10 };

enum way {
    RETURN_FROM_MAIN,
    EXIT_IN_MAIN,
    EXIT_IN_A_THREAD,
    EXIT_AFTER_MAIN_HAS_ENDED,
    EXIT_IN_A_WALK,
    EXIT_IN_THE_ALLOCATOR,
    EXIT_AFTER_CLOSE,
    UNDERSCORE_EXIT,
    QUICK_EXIT,
    LAST_THREAD_ENDS,
    WAYS
};

static const char *const name_of[] = {
    "return from main", "exit in main", "exit in a thread", "exit after main has ended", "exit in a walk",
    "exit in the allocator", "exit after close", "_exit", "quick_exit", "the last thread ends",
};

static enum way way;
static weir *limiters[2];
static _Atomic uint64_t calls_made;
static _Atomic bool stop, exiting;
static pthread_key_t at_thread_end;
static _Atomic unsigned destructors;

static int status(void)
{
    return FIRST_STATUS + (int)way;
}

static void call(uint64_t number)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    for (unsigned i = 0; i < 2; i++)
        if (weir_take(limiters[i], &request, WEIR_NOW, NULL) < 0)
            failed("weir_take");
    atomic_fetch_add(&calls_made, 1);
}

/* In the handlers, while other threads call. */
static void call_once_more(void)
{
    call(1);
    if (weir_sweep(limiters[0], WEIR_NOW, 0) != 1 || weir_reclaim(limiters[1]) != 0)
        failed("wanted sweep and reclaim to work while the process ends");
}

static void call_when_thread_ends(void *unused)
{
    (void)unused;
    call(2);
    atomic_fetch_add(&destructors, 1);
}

static void *call_until_stopped(void *first)
{
    pthread_setspecific(at_thread_end, &at_thread_end);
    for (uint64_t number = (uintptr_t)first; !atomic_load(&stop); number += CALLERS)
        call(number % 5000);
    return NULL;
}

static void *exit_from_here(void *main_thread)
{
    if (main_thread)
        pthread_join(*(pthread_t *)main_thread, NULL);
    exit(status());
}

static int exit_in_visit(void *unused, const weir_key *key)
{
    (void)unused, (void)key;
    exit(status());
}

static void *allocate_or_exit(void *heap, size_t alignment, size_t size)
{
    if (atomic_exchange(&exiting, false))
        _exit(status()); /* inside a read section: exit would run handlers there, which call weir */
    return heap_allocate(heap, alignment, size);
}

static void open_both(void)
{
    static test_heap heap;
    for (unsigned i = 0; i < 2; i++) {
        weir_options options = weir_options_default();
        rule_set set = rule_set_of(i == 0 ? KIND_COUNTER : KIND_LOG, 3, WEIR_MILLISECOND);
        options.max_lateness_ns = 0;
        options.sweep_interval_ns = WEIR_MILLISECOND;
        options.allocator = (weir_allocator){allocate_or_exit, heap_release, &heap};
        limiters[i] = opened(&set, &options);
    }
}

static void close_both(void)
{
    for (unsigned i = 0; i < 2; i++)
        want_done("weir_close", weir_close(limiters[i]));
}

/* The last thread of the host to end, by pthread_exit: with no janitor left, that ends the process, with status 0. */
static void *close_and_end(void *callers)
{
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(((pthread_t *)callers)[i], NULL);
    want_equal("destructors that have called", CALLERS, destructors);
    close_both();
    return NULL;
}

static int end(void)
{
    static pthread_t callers[CALLERS], main_thread;
    pthread_t thread;
    alarm(SECONDS);
    pthread_key_create(&at_thread_end, call_when_thread_ends);
    open_both();
    if (way != EXIT_AFTER_CLOSE && way != LAST_THREAD_ENDS) {
        atexit(call_once_more);
        at_quick_exit(call_once_more);
    }
    for (uintptr_t i = 0; i < CALLERS; i++)
        pthread_create(&callers[i], NULL, call_until_stopped, (void *)i);
    while (atomic_load(&calls_made) < 1000 || stats_of(limiters[0]).swept == 0)
        sched_yield();
    switch (way) {
    case EXIT_IN_MAIN:
        exit(status());
    case EXIT_AFTER_MAIN_HAS_ENDED:
        main_thread = pthread_self();
        pthread_create(&thread, NULL, exit_from_here, &main_thread);
        pthread_exit(NULL);
    case EXIT_IN_A_THREAD:
        pthread_create(&thread, NULL, exit_from_here, NULL);
        pthread_join(thread, NULL);
        break;
    case EXIT_IN_A_WALK:
        for (;;)
            weir_each(limiters[1], WEIR_NOW, exit_in_visit, NULL);
    case EXIT_IN_THE_ALLOCATOR:
        atomic_store(&exiting, true);
        pthread_join(callers[0], NULL);
        break;
    case UNDERSCORE_EXIT:
        _exit(status());
    case QUICK_EXIT:
        quick_exit(status());
    case EXIT_AFTER_CLOSE:
        atomic_store(&stop, true);
        close_and_end(callers);
        break;
    case LAST_THREAD_ENDS:
        atomic_store(&stop, true);
        pthread_create(&thread, NULL, close_and_end, callers);
        pthread_exit(NULL);
    case RETURN_FROM_MAIN:
    case WAYS:
        break;
    }
    return status();
}

static void run_process(enum way how)
{
    char text[12];
    snprintf(text, sizeof text, "%d", (int)how);
    char *arguments[] = {program_invocation_name, text, NULL};
    pid_t child;
    int got, wanted = how == LAST_THREAD_ENDS ? 0 : FIRST_STATUS + (int)how;
    int error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    if (error)
        failed("posix_spawn: %s", strerror(error));
    while (waitpid(child, &got, 0) < 0)
        if (errno != EINTR)
            failed("waitpid: %s", strerror(errno));
    if (!WIFEXITED(got) || WEXITSTATUS(got) != wanted)
        failed("%s: wanted exit status %d, got %#x", name_of[how], wanted, (unsigned)got);
}

int main(int count, char **arguments)
{
    if (count == 2) {
        way = (enum way)atoi(arguments[1]);
        return end();
    }
    uint64_t times = scaled(5, 2);
    for (uint64_t i = 0; i < times; i++)
        for (enum way how = 0; how < WAYS; how++) /* ThreadSanitizer loses track of a main thread that ends first */
            if (!TEST_TSAN || (how != EXIT_AFTER_MAIN_HAS_ENDED && how != LAST_THREAD_ENDS))
                run_process(how);
    printf("ends: %" PRIu64 " processes in each way\n", times);
    return 0;
}
