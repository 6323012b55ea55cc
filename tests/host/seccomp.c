/*
 * Guarantees G and H where the kernel refuses membarrier, which liburcu's grace periods use: by a filter that was there
 * before the program started, and by one that comes in the middle of its work, for this thread and those it starts, or
 * for all at once; with EPERM and with ENOSYS. Every decision, field by field, is the one of a process without a
 * filter; nothing aborts; memory is told as it is, and is given back by weir_close; forks under load go on.
 *
 *   seccomp                        the test
 *   seccomp HOW ERRNO DESCRIPTOR   one process of it: works, and writes its decisions there
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../support/seccomp.h"

enum { KEYS = 400, PASSING = 20000, ASKERS = 4, CHILD_LIMIT = 5, CHILD_SECONDS = 5, SECONDS = 120 };

/* When the filter comes. */
enum how { NEVER, FROM_THE_START, LATER, LATER_FOR_ALL, HOWS };
static const char *const name_of[] = {"no filter", "from the start", "later", "later, for all threads"};

extern int urcu_bp_has_sys_membarrier; /* liburcu: found at its start, and relied on */

static test_heap heap;

/* ---- the filter ---- */

static bool refused(int error)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1 && errno == error;
}

static void refuse(int error, bool for_all)
{
    if (!refuse_call(SYS_membarrier, error, for_all ? SECCOMP_FILTER_FLAG_TSYNC : 0) || !refused(error))
        failed("wanted membarrier refused with %s", strerror(error));
}

/* ---- decisions ---- */

static uint64_t tell(int output, const weir_decision *decision)
{
    if (write(output, decision, sizeof *decision) != sizeof *decision)
        failed("write: %s", strerror(errno));
    return decision->verdict == 1;
}

/* One stretch of calls of every kind, decided by their number alone, written down. */
static void decide(weir *limiter, const rule_set *set, uint64_t from, uint64_t to, int output)
{
    for (uint64_t call = from; call < to; call++) {
        uint64_t random = call, now = WEIR_SECOND + call * WEIR_MILLISECOND;
        weir_decision decision = {0};
        test_key key = key_number(random_below(&random, KEYS));
        weir_request request = request_for(&key, random_below(&random, 3));
        now -= random_below(&random, 4) * 100 * WEIR_MICROSECOND; /* late, within max_lateness */
        uint64_t limits[] = {3 + call % 5, 4 + call % 5};
        int verdict = call % 7 == 0 ? weir_peek(limiter, &request, now, &decision)
                                    : weir_take(limiter, &request, now, &decision);
        want_equal("verdict", (uint64_t)decision.verdict, (uint64_t)verdict);
        tell(output, &decision);
        if (call % 1000 == 500)
            want_done("weir_set_limits", weir_set_limits(limiter, 0, limits, set->count));
        if (call % 300 == 100)
            want_done("weir_reset", weir_reset(limiter, &request));
        if (call % 700 == 600)
            want_equal("weir_sweep", 1, (uint64_t)weir_sweep(limiter, now, 0));
    }
}

/* ---- memory ---- */

/* What is held now, without what is retired: bounded by what lives, whether or not anything can be freed. */
static void check_memory(weir *limiter, enum how how, uint64_t now)
{
    int wanted = how >= LATER ? -EPERM : 0, got = weir_reclaim(limiter);
    if (got != wanted)
        failed("weir_reclaim: wanted %d, got %d", wanted, got);
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(limiter, now + WEIR_HOUR, 0));
    uint64_t retired = stats_of(limiter).retired_bytes;
    got = weir_reclaim(limiter);
    if (got != wanted)
        failed("weir_reclaim: wanted %d, got %d", wanted, got);
    weir_statistics statistics = stats_of(limiter);
    want_equal("keys", 0, statistics.keys);
    want_equal("retired bytes", how >= LATER ? retired : 0, statistics.retired_bytes);
    want_equal("bytes", heap.bytes, statistics.bytes);
    want_at_most("bytes that are not retired", 64 * 1024 + 6 * PASSING, statistics.bytes - statistics.retired_bytes);
}

/* Keys that come once and go. */
static void let_pass(weir *limiter, uint64_t now)
{
    for (uint64_t number = 0; number < PASSING; number++) {
        test_key key = key_number(KEYS + number);
        weir_request request = request_for(&key, 1);
        if (weir_take(limiter, &request, now, NULL) != 1)
            failed("wanted a new key accepted");
    }
}

static void decide_all(enum how how, int error, uint64_t calls, int output)
{
    weir *limiters[KINDS];
    rule_set sets[KINDS];
    for (enum kind kind = 0; kind < KINDS; kind++) {
        weir_options options = weir_options_manual();
        options.max_lateness_ns = WEIR_MILLISECOND;
        heap_use(&heap, &options);
        sets[kind] = rule_set_of(kind, 5, 20 * WEIR_MILLISECOND);
        sets[kind].max_limit = sets[kind].max_limit ? sets[kind].max_limit : 10;
        limiters[kind] = opened(&sets[kind], &options);
        decide(limiters[kind], &sets[kind], 0, calls / 2, output);
    }
    if (how >= LATER)
        refuse(error, how == LATER_FOR_ALL);
    for (enum kind kind = 0; kind < KINDS; kind++)
        decide(limiters[kind], &sets[kind], calls / 2, calls, output);
    for (enum kind kind = 0; kind < KINDS; kind++)
        want_done("weir_close", weir_close(limiters[kind]));
    want_equal("bytes after weir_close", 0, heap.bytes);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        weir_options options = weir_options_manual();
        options.max_lateness_ns = 0;
        heap_use(&heap, &options);
        weir *limiter = opened(&sets[kind], &options);
        let_pass(limiter, WEIR_SECOND);
        check_memory(limiter, how, WEIR_SECOND);
        want_done("weir_close", weir_close(limiter));
        want_equal("bytes after weir_close", 0, heap.bytes);
    }
}

/* ---- threads and forks, with the janitor ---- */

static weir *limiter_under_load;
static _Atomic bool ended;

static int take(uint64_t number, uint32_t plan)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    request.plan = plan;
    return weir_take(limiter_under_load, &request, WEIR_NOW, NULL);
}

static void child_main(uint64_t number)
{
    int taken = 0;
    alarm(CHILD_SECONDS);
    for (uint64_t hot = 0; hot < 4; hot++)
        if (take(hot, 0) < 0)
            _exit(10);
    for (unsigned call = 0; call < 3 * CHILD_LIMIT; call++)
        taken += take(UINT64_C(1) << 40 | number, 1);
    if (taken != CHILD_LIMIT)
        _exit(11);
    if (weir_sweep(limiter_under_load, WEIR_NOW, 0) != 1)
        _exit(12);
    _exit(weir_close(limiter_under_load) == 0 ? 0 : 13);
}

static void fork_children(uint64_t children)
{
    for (uint64_t number = 0; number < children; number++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            child_main(number);
        if (child < 0 || waitpid(child, &status, 0) != child)
            failed("fork: %s", strerror(errno));
        if (status != 0)
            failed("child %" PRIu64 ": wanted 0, got %#x (signal 14: hangs; 10 hot key, 11 new key, 12 sweep, 13 close)",
                   number, (unsigned)status);
    }
    atomic_store(&ended, true);
}

static void ask(uint64_t index)
{
    for (uint64_t call = index; !atomic_load(&ended); call++)
        if (take(call % 4, 0) < 0 || (call % 8 == 0 && take(100 + call / 8 % PASSING, 0) < 0))
            failed("weir_take under load");
}

static void work(void *children, unsigned index)
{
    if (index == 0)
        fork_children(*(uint64_t *)children);
    else
        ask(index);
}

/* A long window of a large limit: every call is a charge, under the key's lock. */
static void fork_under_load(enum how how, int error, uint64_t children)
{
    const uint64_t limits[] = {UINT32_MAX, CHILD_LIMIT};
    rule_set set = rule_set_of(KIND_BUCKETS, UINT32_MAX, WEIR_HOUR);
    weir_options options = weir_options_default();
    options.plans = 2;
    options.plan_limits = limits;
    options.sweep_interval_ns = WEIR_HOUR; /* a filter for all threads must not meet a grace period, see weir.h */
    limiter_under_load = opened(&set, &options);
    for (uint64_t number = 0; number < 100; number++)
        if (take(number, 0) != 1)
            failed("wanted a new key accepted");
    if (how >= LATER)
        refuse(error, how == LATER_FOR_ALL);
    run_threads(1 + ASKERS, work, &children);
    want_done("weir_close", weir_close(limiter_under_load));
}

/* One process: `part` 0 decides, 1 forks. */
static int process(enum how how, int error, int output)
{
    if ((how == FROM_THE_START) != refused(error) || urcu_bp_has_sys_membarrier == (how == FROM_THE_START))
        failed("%s: wanted membarrier %s", name_of[how], how == FROM_THE_START ? "refused" : "as it is");
    alarm(SECONDS);
    if (output >= 0)
        decide_all(how, error, scaled(20000, 4000), output);
    else
        fork_under_load(how, error, scaled(how == LATER ? 30 : 8, 5));
    return 0;
}

/* ---- the test ---- */

/* Starts this program again, under a filter where that is to come first. `output` < 0: for the forks. */
static void run_process(enum how how, int error, int output)
{
    char texts[3][16];
    snprintf(texts[0], sizeof texts[0], "%d", (int)how);
    snprintf(texts[1], sizeof texts[1], "%d", error);
    snprintf(texts[2], sizeof texts[2], "%d", output);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (how == FROM_THE_START)
            refuse(error, false);
        execl("/proc/self/exe", "seccomp", texts[0], texts[1], texts[2], (char *)NULL);
        _exit(3);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        failed("fork: %s", strerror(errno));
    if (status != 0)
        failed("%s, %s: wanted status 0, got %#x", name_of[how], strerror(error), (unsigned)status);
}

static const weir_decision *decisions_of(int file, size_t *count)
{
    struct stat about;
    if (fstat(file, &about) != 0 || about.st_size == 0)
        failed("wanted decisions written");
    *count = (size_t)about.st_size / sizeof(weir_decision);
    void *all = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (all == MAP_FAILED)
        failed("mmap: %s", strerror(errno));
    return all;
}

static void want_same(enum how how, int error, const weir_decision *wanted, size_t wanted_count, int file)
{
    size_t count;
    const weir_decision *got = decisions_of(file, &count);
    want_equal("decisions", wanted_count, count);
    for (size_t i = 0; i < count; i++)
        if (memcmp(&wanted[i], &got[i], sizeof *got) != 0)
            failed("%s, %s: decision %zu of %zu is not that of a process without a filter", name_of[how],
                   strerror(error), i, count);
    munmap((void *)(uintptr_t)got, count * sizeof *got);
}

/* In a child, since a filter is for good. */
static bool can_be_refused(void)
{
    int status;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        _exit(refuse_call(SYS_membarrier, EPERM, 0) && refused(EPERM) ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **arguments)
{
    if (count == 4)
        return process((enum how)atoi(arguments[1]), atoi(arguments[2]), atoi(arguments[3]));
    if (!can_be_refused()) {
        printf("seccomp: skipped: membarrier is not there, or no filter may take it away here\n");
        return TEST_SKIPPED;
    }
    size_t decisions;
    int plain = memfd_create("plain", 0);
    run_process(NEVER, 0, plain);
    const weir_decision *wanted = decisions_of(plain, &decisions);
    for (enum how how = FROM_THE_START; how < HOWS; how++)
        for (unsigned i = 0; i < 2; i++) {
            int error = i == 0 ? EPERM : ENOSYS, file = memfd_create("filtered", 0);
            run_process(how, error, file);
            want_same(how, error, wanted, decisions, file);
            close(file);
            /* A sanitizer's allocator may stay locked in the child of a threaded process. */
            if (i == 0 && !TEST_ASAN && !TEST_TSAN)
                run_process(how, error, -1);
        }
    printf("seccomp: %zu decisions, the same under each of 6 filters\n", decisions);
    return 0;
}
