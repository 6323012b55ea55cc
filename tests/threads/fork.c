/*
 * Guarantees G and H: fork under load, with the janitor running. Every child decides on a hot key and on a new one,
 * sweeps, reclaims and closes its copies; none may hang, for more than five seconds, on a lock whose holder did not come
 * along. The parent goes on and counts exactly. A child goes on from a copy: on its new key exactly its plan's limit is
 * accepted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap.h"

#include <signal.h>
#include <sys/wait.h>

enum { ASKERS = 3, FORKERS = 2, LIMITERS = 3, CHILD_LIMIT = 5, SECONDS = 60, CHILD_SECONDS = 5 };

static const enum kind kind_of[LIMITERS] = {KIND_LOG, KIND_COUNTER, KIND_TWO};

static weir *steady[LIMITERS];   /* endless window: counts exactly */
static weir *churning[LIMITERS]; /* windows of a millisecond, swept every millisecond */
static uint64_t limit, children;
static _Atomic uint64_t accepted[LIMITERS], calls_made, forks_done;
static _Atomic int running_child[FORKERS];

/*
 * Under AddressSanitizer as of these compilers, malloc may stay locked in a child of a process with threads: there our
 * own lock, taken before a fork, keeps everyone out of malloc meanwhile.
 */
static pthread_mutex_t malloc_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_malloc(void)
{
    pthread_mutex_lock(&malloc_lock);
}

static void unlock_malloc(void)
{
    pthread_mutex_unlock(&malloc_lock);
}

static void *locked_allocate(void *heap, size_t alignment, size_t size)
{
    lock_malloc();
    void *memory = heap_allocate(heap, alignment, size);
    unlock_malloc();
    return memory;
}

static void locked_release(void *heap, void *memory, size_t size)
{
    lock_malloc();
    heap_release(heap, memory, size);
    unlock_malloc();
}

static int take(weir *limiter, const test_key *key, uint32_t plan)
{
    weir_request request = request_for(key, 1);
    request.plan = plan;
    return weir_take(limiter, &request, WEIR_NOW, NULL);
}

/* ---- the child; its exit status says where it failed ---- */

static int child_uses(weir *limiter, uint64_t number, bool counts)
{
    test_key hot = key_number(0), new_key = key_number(UINT64_C(1) << 40 | number);
    uint64_t taken = 0;
    int verdict = take(limiter, &hot, 0);
    if (verdict != 0 && verdict != 1)
        return 10;
    for (unsigned call = 0; call < 3 * CHILD_LIMIT; call++)
        taken += take(limiter, &new_key, 1) == 1;
    if (taken < CHILD_LIMIT || (counts && taken != CHILD_LIMIT))
        return 11;
    int swept = weir_sweep(limiter, WEIR_NOW, 0);
    if (swept != 0 && swept != 1)
        return 12;
    return weir_reclaim(limiter) == 0 ? 0 : 13;
}

static void child_main(uint64_t number)
{
    int fault = 0;
    signal(SIGALRM, SIG_DFL);
    alarm(CHILD_SECONDS);
    for (unsigned i = 0; i < LIMITERS && !fault; i++) {
        fault = child_uses(steady[i], number, true);
        fault = fault ? fault : child_uses(churning[i], number, false);
    }
    for (unsigned i = 0; i < LIMITERS && !fault; i++)
        if (weir_close(steady[i]) != 0 || weir_close(churning[i]) != 0)
            fault = 14;
    /* A leak checker would blame the child for what vanished threads held. */
    if (TEST_ASAN || number % 2)
        _exit(fault);
    exit(fault);
}

/* ---- the parent ---- */

static void too_late(int number)
{
    (void)number;
    static const char text[] = "fork: FAILED: wanted all children to end, one hangs\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    for (unsigned i = 0; i < FORKERS; i++)
        if (atomic_load(&running_child[i]) > 0)
            kill(atomic_load(&running_child[i]), SIGKILL);
    _exit(written < 0 ? 2 : 1);
}

static void fork_children(unsigned index)
{
    uint64_t number;
    while ((number = atomic_fetch_add(&forks_done, 1)) < children) {
        pid_t child = fork();
        if (child == 0)
            child_main(number);
        if (child < 0)
            failed("fork: %s", strerror(errno));
        atomic_store(&running_child[index], child);
        int status;
        while (waitpid(child, &status, 0) < 0)
            if (errno != EINTR)
                failed("waitpid: %s", strerror(errno));
        atomic_store(&running_child[index], 0);
        if (WIFSIGNALED(status))
            failed("child %" PRIu64 ": wanted exit status 0, got signal %d", number, WTERMSIG(status));
        if (status != 0)
            failed("child %" PRIu64 ": wanted 0, got %d (10 hot key, 11 new key, 12 sweep, 13 reclaim, 14 close)",
                   number, WEXITSTATUS(status));
    }
}

static void ask(unsigned index)
{
    uint64_t random = index, calls = 0;
    test_key hot = key_number(0);
    while (atomic_load(&forks_done) < children + FORKERS) {
        unsigned i = (unsigned)(calls++ % LIMITERS);
        test_key key = key_number(1 + calls / 4 % 100000);
        int got = take(steady[i], &hot, 0);
        if (got < 0 || take(churning[i], &key, 0) < 0 || take(churning[i], &hot, 0) < 0)
            failed("weir_take failed in the parent");
        atomic_fetch_add(&accepted[i], (uint64_t)got);
        if (random_below(&random, 4096) == 0 && weir_sweep(churning[i], WEIR_NOW, 0) < 0)
            failed("weir_sweep failed in the parent");
        if (random_below(&random, 8192) == 0 && weir_reclaim(churning[i]) != 0)
            failed("weir_reclaim failed in the parent");
    }
    atomic_fetch_add(&calls_made, 3 * calls);
}

static void work(void *shared, unsigned index)
{
    (void)shared;
    if (index < FORKERS)
        fork_children(index);
    else
        ask(index);
}

static weir *open_one(enum kind kind, uint64_t own_limit, uint64_t window, test_heap *heap)
{
    weir_options options = weir_options_default();
    rule_set set = rule_set_of(kind, own_limit, window);
    uint64_t limits[] = {own_limit, CHILD_LIMIT, CHILD_LIMIT, CHILD_LIMIT};
    if (set.count == 2)
        limits[1] = own_limit;
    options.plans = 2;
    options.plan_limits = limits;
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    if (TEST_ASAN)
        options.allocator = (weir_allocator){locked_allocate, locked_release, heap};
    return opened(&set, &options);
}

int main(void)
{
    if (TEST_TSAN) {
        printf("fork: skipped: ThreadSanitizer does not follow threads started in the child of a threaded process\n");
        return TEST_SKIPPED;
    }
    static test_heap heap;
    children = scaled(200, 10);
    limit = scaled(200000, 1000);
    signal(SIGALRM, too_late);
    alarm(SECONDS);
    if (TEST_ASAN) /* before weir's own, so that it comes after them */
        pthread_atfork(lock_malloc, unlock_malloc, unlock_malloc);
    for (unsigned i = 0; i < LIMITERS; i++) {
        steady[i] = open_one(kind_of[i], limit, WEIR_WINDOW_MAX, &heap);
        churning[i] = open_one(kind_of[i], 3, WEIR_MILLISECOND, &heap);
    }
    fflush(NULL);
    run_threads(FORKERS + ASKERS, work, NULL);

    test_key hot = key_number(0);
    for (unsigned i = 0; i < LIMITERS; i++) {
        /* What the load left, so that the sum is exact on a slow machine too. */
        for (int got; (got = take(steady[i], &hot, 0)) != 0; accepted[i]++)
            if (got < 0)
                failed("weir_take failed after the forks");
        want_equal("accepted in the parent", limit, accepted[i]);
        want_done("weir_close", weir_close(steady[i]));
        want_done("weir_close", weir_close(churning[i]));
    }
    want_equal("bytes after close", 0, heap.bytes);
    printf("fork: %" PRIu64 " children, %" PRIu64 " calls meanwhile\n", children, calls_made);
    return 0;
}
