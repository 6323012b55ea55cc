/*
 * The janitor: one thread for the process, from the first limiter that wants it to the last, with all signals blocked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/allocator.h"
#include "limiter/limiter.h"

static const weir_rule rule = {.limit = 5, .window_ns = 10, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST};

enum { THREADS_MAX = 64 };

/* Threads of this process, Criterion's own among them; their numbers go to `ids`, if any. */
static unsigned threads(pid_t ids[THREADS_MAX])
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    cr_assert_not_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
        if (id <= 0)
            continue;
        cr_assert_lt(count, THREADS_MAX);
        if (ids)
            ids[count] = id;
        count++;
    }
    closedir(tasks);
    return count;
}

static bool among(pid_t id, const pid_t ids[THREADS_MAX], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Once may not do: who finds the janitor's lock taken goes on, since a decision waits for nobody. */
static void wake_again(weir *limiter)
{
    cr_assert(weiri_janitor_wake(limiter));
    sched_yield();
}

/* A thread that was joined may stand in /proc for a moment still: the test ends when it is gone. */
static void threads_become(unsigned wanted)
{
    while (threads(NULL) != wanted)
        sched_yield();
}

static uint64_t any_clock(void *unused)
{
    (void)unused;
    return 1000;
}

static weir *open_with(uint32_t clock, uint32_t janitor)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.clock = clock;
    options.janitor = janitor;
    options.clock_read = clock == WEIR_CLOCK_CUSTOM ? any_clock : NULL;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    return limiter;
}

Test(janitor, starts_with_the_first_limiter_and_ends_with_the_last)
{
    const unsigned before = threads(NULL);
    weir *limiter[4];

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 4; i++) {
            limiter[i] = open_with(WEIR_CLOCK_MONOTONIC + i % 3, 1);
            cr_assert_eq(threads(NULL), before + 1);
        }
        for (unsigned i = 0; i < 4; i++) {
            cr_assert_eq(threads(NULL), before + 1);
            cr_assert_eq(weir_close(limiter[(i + round) % 4]), 0);
        }
        threads_become(before);
    }
}

Test(janitor, is_not_started_for_manual_or_custom_clocks_nor_where_it_is_off)
{
    const unsigned before = threads(NULL);
    weir *limiter[] = {open_with(WEIR_CLOCK_MANUAL, 1),    open_with(WEIR_CLOCK_CUSTOM, 1),
                       open_with(WEIR_CLOCK_MANUAL, 0),    open_with(WEIR_CLOCK_CUSTOM, 0),
                       open_with(WEIR_CLOCK_MONOTONIC, 0), open_with(WEIR_CLOCK_REALTIME, 0),
                       open_with(WEIR_CLOCK_BOOTTIME, 0)};

    cr_assert_eq(threads(NULL), before);
    for (size_t i = 0; i < sizeof limiter / sizeof *limiter; i++) {
        cr_assert(!limiter[i]->tended);
        cr_assert_eq(weir_close(limiter[i]), 0);
    }
    cr_assert_eq(threads(NULL), before);
}

Test(janitor, does_not_outlive_its_last_limiter_though_others_are_open)
{
    const unsigned before = threads(NULL);
    weir *manual = open_with(WEIR_CLOCK_MANUAL, 1), *named = open_with(WEIR_CLOCK_MONOTONIC, 1);

    cr_assert_eq(threads(NULL), before + 1);
    cr_assert_eq(weir_close(named), 0);
    threads_become(before);
    cr_assert_eq(weir_close(manual), 0);
}

Test(janitor, blocks_all_signals_and_leaves_the_callers_alone)
{
    sigset_t mine, now;
    pid_t before[THREADS_MAX], after[THREADS_MAX], janitor = 0;
    const unsigned count = threads(before);
    char path[64], line[256];
    uint64_t blocked = 0;

    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
    weir *limiter = open_with(WEIR_CLOCK_MONOTONIC, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signal = 1; signal < 32; signal++)
        cr_assert_eq(sigismember(&now, signal), signal == SIGUSR2);
    /* A thread begins with everything blocked: it is looked at when it has done something. */
    cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){5}, 1), 0);
    while (weiri_load_relaxed_64(&limiter->memory.retired_bytes) != 0)
        wake_again(limiter);
    cr_assert_eq(threads(after), count + 1);
    for (unsigned i = 0; i <= count; i++)
        if (!among(after[i], before, count))
            janitor = after[i];
    cr_assert_neq(janitor, 0);
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)janitor);
    FILE *status = fopen(path, "r");
    cr_assert_not_null(status);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    fclose(status);
    /* Not those that a thread raises itself, which a tool that runs the program, such as valgrind, may keep open. */
    const int asynchronous[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGABRT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM,
                                SIGTERM, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGIO, SIGPROF};
    for (size_t i = 0; i < sizeof asynchronous / sizeof *asynchronous; i++)
        cr_assert(blocked >> (asynchronous[i] - 1) & 1, "signal %d", asynchronous[i]);
    cr_assert_eq(weir_close(limiter), 0);
}

Test(janitor, cannot_be_had_inside_a_read_section)
{
    const unsigned before = threads(NULL);
    test_allocator counting = {0};
    weir_options options = weir_options_default();
    weir *limiter;

    options.allocator = test_allocator_for(&counting);
    weiri_rcu_enter();
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EDEADLK);
    cr_assert_null(limiter);
    options.janitor = 0;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    cr_assert_eq(weir_close(limiter), -EDEADLK);
    weiri_rcu_leave();
    cr_assert_eq(threads(NULL), before);
    cr_assert_eq(weir_close(limiter), 0);
    cr_assert_eq(counting.blocks, 0);
    cr_assert_eq(counting.faults, 0);
}

/* Its memory is back where it was before the first key came: the janitor has swept and freed. */
Test(janitor, sweeps_and_frees_without_being_asked)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.max_lateness_ns = 0;
    options.sweep_interval_ns = 1;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    for (uint64_t i = 0; i < 100; i++)
        cr_assert_eq(weir_allow(limiter, &i, sizeof i), 1);
    weir_statistics statistics = {.struct_size = sizeof statistics};
    do { /* a key that is swept before its charge is made anew, and swept again */
        sched_yield();
        cr_assert_eq(weir_stats(limiter, &statistics), 0);
    } while (statistics.swept < 100 || statistics.keys != 0 || statistics.retired_bytes != 0);
    cr_assert_eq(weir_close(limiter), 0);
}

/* More keys than it looks at in one hold of the gate: all but the last are charged in the caller's future. */
Test(janitor, sweeps_to_the_end_of_a_large_table)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.max_lateness_ns = 0;
    options.sweep_interval_ns = 1;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    for (uint64_t i = 0; i < 5000; i++) {
        weir_request request = {.key = &i, .key_len = sizeof i, .cost = 1};
        cr_assert_eq(weir_take(limiter, &request, weir_now(limiter) + WEIR_HOUR, NULL), 1);
    }
    uint64_t last = ~UINT64_C(0xff);
    weir_identity identity = {{last | WEIRI_MARK_HASHED, 1}, last, limiter->owner};
    weir_request request = {.identity = &identity, .cost = 1};
    cr_assert_eq(weir_take(limiter, &request, WEIR_NOW, NULL), 1);
    weir_statistics statistics = {.struct_size = sizeof statistics};
    do {
        sched_yield();
        cr_assert_eq(weir_stats(limiter, &statistics), 0);
    } while (statistics.swept == 0 || statistics.keys != 5000);
    cr_assert_eq(weir_close(limiter), 0);
}

/* A turn long before the next sweep: what is retired goes, and nothing is swept. */
Test(janitor, comes_at_once_where_it_is_woken)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.max_lateness_ns = 0;
    options.sweep_interval_ns = 1000 * WEIR_HOUR;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    cr_assert(weir_allow(limiter, "key", 3));
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){5}, 1), 0);
        cr_assert_gt(weiri_load_relaxed_64(&limiter->memory.retired_bytes), 0);
        while (weiri_load_relaxed_64(&limiter->memory.retired_bytes) != 0)
            wake_again(limiter);
    }
    weir_statistics statistics = {.struct_size = sizeof statistics};
    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    cr_assert_eq(statistics.keys, 1);
    cr_assert_eq(statistics.swept, 0);
    cr_assert_eq(weir_close(limiter), 0);
}

/* In the place of the C library's: where the janitor has nothing to do, it goes to sleep here. */
static weiri_a64 naps, woken;
static weiri_a32 slow; /* 1: others run before it goes on */

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    weiri_add_relaxed_64(&naps, 1);
    int result = real(condition, mutex, until);
    for (unsigned i = 0; i < 1000 && weiri_load_acquire_32(&slow); i++)
        sched_yield();
    weiri_add_relaxed_64(&woken, 1);
    return result;
}

Test(janitor, is_gone_when_the_last_limiter_is_closed_however_slow_it_is)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.sweep_interval_ns = 1000 * WEIR_HOUR;
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
        while (weiri_load_relaxed_64(&naps) == weiri_load_relaxed_64(&woken))
            sched_yield();
        weiri_store_release_32(&slow, 1);
        cr_assert_eq(weir_close(limiter), 0);
        cr_assert_eq(weiri_load_relaxed_64(&naps), weiri_load_relaxed_64(&woken));
        weiri_store_release_32(&slow, 0);
    }
}

Test(janitor, goes_back_to_sleep_each_time_it_was_woken)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.sweep_interval_ns = 1000 * WEIR_HOUR;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t before = weiri_load_relaxed_64(&naps);
        while (weiri_load_relaxed_64(&naps) == before)
            wake_again(limiter);
    }
    cr_assert_eq(weir_close(limiter), 0);
}

/* Crowded memory alone wakes it, without a word from the test. */
Test(janitor, is_woken_by_crowded_memory)
{
    weir_options options = weir_options_default();
    weir *limiter;

    options.sweep_interval_ns = 1000 * WEIR_HOUR;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    uint64_t most = 0, each = sizeof(weiri_limits);
    for (uint64_t i = 0; i < (UINT64_C(1) << 20) / each + 2; i++) {
        cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){5}, 1), 0);
        uint64_t retired = weiri_load_relaxed_64(&limiter->memory.retired_bytes);
        most = retired > most ? retired : most;
    }
    /* A call that finds its lock taken goes on; a later one calls again. */
    while (weiri_memory_crowded(&limiter->memory)) {
        cr_assert_eq(weir_set_limits(limiter, 0, &(uint64_t){5}, 1), 0);
        sched_yield();
    }
    cr_assert_leq(weiri_load_relaxed_64(&limiter->memory.retired_bytes), UINT64_C(1) << 20);
    cr_assert_geq(most, (UINT64_C(1) << 20) / each * each); /* nobody came before it was crowded */
    cr_assert_eq(weir_close(limiter), 0);
}

Test(janitor, comes_to_every_limiter_though_one_is_due_at_every_moment)
{
    weir_options options = weir_options_default();
    weir *patient, *hasty;

    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    cr_assert_eq(weir_open(&patient, &rule, 1, &options), 0);
    options.sweep_interval_ns = 1;
    cr_assert_eq(weir_open(&hasty, &rule, 1, &options), 0); /* first in the list */
    for (uint64_t i = 0; i < 1000; i++) {
        weir_request request = weir_request_for(&i, sizeof i);
        cr_assert_eq(weir_take(patient, &request, WEIR_NOW, NULL), 1);
    }
    weir_statistics statistics = {.struct_size = sizeof statistics};
    do { /* ends when the janitor has come, else with the test's own bound on time */
        sched_yield();
        cr_assert_eq(weir_stats(patient, &statistics), 0);
    } while (statistics.keys > 0 || statistics.retired_bytes > 0);
    cr_assert_geq(statistics.swept, 1000);
    cr_assert_eq(weir_close(hasty), 0);
    cr_assert_eq(weir_close(patient), 0);
}

/* --- in a child, where it is gone --- */

static weiri_a32 within, may_leave;

static void *stay_in_a_section(void *unused)
{
    weiri_rcu_enter();
    weiri_store_release_32(&within, 1);
    while (weiri_load_acquire_32(&may_leave) == 0)
        sched_yield();
    weiri_rcu_leave();
    return unused;
}

/* Ends a child by way of another program: valgrind would find leaks of Criterion's threads, which are not there. */
static void leave(void)
{
    execl("/bin/true", "true", (char *)NULL);
    _exit(127);
}

static void *fork_again(void *unused)
{
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        leave();
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? unused : (void *)"fork failed";
}

/* The exit status: of a decision in the child that finds memory crowded while another thread forks, which a third one
 * keeps waiting for a read section. */
static int wake_during_a_fork(weir *limiter)
{
    pthread_t reader, forker;
    void *said;

    alarm(20);
    if (pthread_create(&reader, NULL, stay_in_a_section, NULL) != 0)
        return 10;
    while (weiri_load_acquire_32(&within) == 0)
        sched_yield();
    if (pthread_create(&forker, NULL, fork_again, NULL) != 0)
        return 11;
    while (weiri_load_acquire_32(&weiri_gate) != WEIRI_GATE_CLOSING)
        sched_yield();
    if (!weiri_janitor_wake(limiter) || weiri_load_acquire_32(&weiri_gate) != WEIRI_GATE_CLOSING)
        return 12;
    weiri_store_release_32(&may_leave, 1);
    pthread_join(reader, NULL);
    pthread_join(forker, &said);
    if (said)
        return 13;
    threads_become(1);
    if (!weiri_janitor_wake(limiter) || threads(NULL) != 2)
        return 14;
    return weir_close(limiter) == 0 ? 0 : 15;
}

/* Guarantee E: a decision that would start it in the child does not wait for another thread's fork. */
Test(janitor, is_started_in_a_child_by_who_need_not_wait_for_a_fork)
{
    weir_options options = weir_options_default();
    weir *limiter;
    int status, *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (getenv("MESON_EXE_WRAPPER"))
        cr_skip_test("an emulator may not follow threads that start in the child of a threaded process");
    cr_assert_neq(told, MAP_FAILED);
    options.sweep_interval_ns = WEIR_HOUR;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    while (weiri_load_relaxed_64(&naps) == 0) /* asleep, it has no lock of a sanitizer's that the child would miss */
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        *told = 1 + wake_during_a_fork(limiter);
        leave();
    }
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "%#x (signal 14: it waits)", (unsigned)status);
    cr_assert_eq(*told, 1, "%d (13, 15: it was not told, or not started)", *told);
    cr_assert_eq(weir_close(limiter), 0);
}
