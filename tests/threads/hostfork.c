/*
 * Guarantee G: forks beside threads that call weir inside read sections of the host's own, beside a host thread that
 * waits for grace periods, a thread that reclaims and a janitor that sweeps every millisecond. Each of these waits for
 * another at some point of a fork; none may do so in a circle. Children decide once and end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#include <signal.h>
#include <sys/wait.h>
#include <urcu/urcu-bp.h>

enum { READERS = 4, KEYS = 20000, SECONDS = 120 };

static weir *limiter;
static uint64_t children;
static _Atomic bool ended;
static _Atomic uint64_t calls_made, waits_made;

static void too_late(int number)
{
    (void)number;
    static const char text[] = "hostfork: FAILED: wanted all forks to return, one hangs\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(written < 0 ? 2 : 1);
}

static void fork_children(void)
{
    for (uint64_t number = 0; number < children; number++) {
        pid_t child = fork();
        if (child == 0) {
            weir_request request = weir_request_for(&number, sizeof number);
            int verdict = weir_take(limiter, &request, WEIR_NOW, NULL);
            _exit(verdict == 0 || verdict == 1 ? 0 : 1);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            failed("child %" PRIu64 ": wanted a fork and exit status 0", number);
    }
    atomic_store(&ended, true);
}

/* Keys that expire and come back all the time, so that the table grows, shrinks and retires. */
static void read_in_sections(unsigned index)
{
    for (uint64_t call = index; !atomic_load(&ended); call += READERS) {
        uint64_t key = call % KEYS;
        weir_request request = weir_request_for(&key, sizeof key);
        urcu_bp_read_lock();
        int verdict = weir_take(limiter, &request, WEIR_NOW, NULL);
        urcu_bp_read_unlock();
        if (verdict < 0)
            failed("a call inside a section of the host's own: got %d", verdict);
        atomic_fetch_add(&calls_made, 1);
    }
}

static void wait_for_grace_periods(void)
{
    while (!atomic_load(&ended)) {
        urcu_bp_synchronize_rcu();
        atomic_fetch_add(&waits_made, 1);
    }
}

static void change_and_reclaim(void)
{
    for (uint64_t limit = 5; !atomic_load(&ended); limit = 11 - limit)
        if (weir_set_limits(limiter, 0, &limit, 1) != 0 || weir_reclaim(limiter) != 0)
            failed("set_limits or reclaim failed");
}

static void work(void *shared, unsigned index)
{
    (void)shared;
    if (index == 0)
        fork_children();
    else if (index == 1)
        wait_for_grace_periods();
    else if (index == 2)
        change_and_reclaim();
    else
        read_in_sections(index);
}

int main(void)
{
    if (TEST_TSAN || TEST_ASAN) {
        printf("hostfork: skipped: a sanitizer's allocator may stay locked in the child of a threaded process\n");
        return TEST_SKIPPED;
    }
    const weir_rule rule = {
        .limit = 5, .window_ns = 20 * WEIR_MILLISECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_default();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    children = scaled(60, 10);
    if (weir_open(&limiter, &rule, 1, &options) != 0)
        failed("open failed");
    signal(SIGALRM, too_late);
    alarm(SECONDS);
    run_threads(3 + READERS, work, NULL);
    alarm(0);
    if (weir_close(limiter) != 0)
        failed("close failed");
    printf("hostfork: %" PRIu64 " children, %" PRIu64 " calls and %" PRIu64 " grace periods of the host meanwhile\n",
           children, atomic_load(&calls_made), atomic_load(&waits_made));
    return 0;
}
