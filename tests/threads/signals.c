/*
 * Guarantee H: the janitor takes no signal of the host. Where all other threads block a signal, one sent to the process
 * stays pending; the janitor's mask, as the kernel tells it, blocks all that can be blocked, whatever the mask of the
 * thread that opened the limiter. weir changes neither that mask nor any handler, and prints nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#include <dirent.h>
#include <signal.h>

enum { TASKS_MAX = 256 };

static const int sent[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGHUP, SIGINT, SIGALRM, SIGCHLD, SIGPIPE, SIGURG, 40, 64};

static _Atomic int taken; /* the first signal somebody took */

static void take_signal(int number)
{
    int none = 0;
    atomic_compare_exchange_strong(&taken, &none, number);
}

static void do_nothing(void *shared, unsigned index)
{
    (void)shared, (void)index;
}

static size_t tasks(char (*names)[16])
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (!directory)
        failed("/proc/self/task: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && count < TASKS_MAX)
            snprintf(names[count++], sizeof(*names), "%.15s", entry->d_name);
    closedir(directory);
    return count;
}

static bool among(char (*names)[16], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The task's blocked signals, bit n-1 for signal n. */
static uint64_t blocked_by(const char *task)
{
    char path[64], line[256];
    uint64_t mask = 0;
    bool found = false;
    snprintf(path, sizeof(path), "/proc/self/task/%.15s/status", task); /* as names are told */
    FILE *file = fopen(path, "r");
    if (!file)
        failed("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file))
        found = sscanf(line, "SigBlk: %" SCNx64, &mask) == 1 || found;
    fclose(file);
    if (!found)
        failed("%s: no SigBlk", path);
    return mask;
}

/* Cannot be blocked: SIGKILL, SIGSTOP, and the two that the C library keeps for itself. */
static void check_mask(const char *task)
{
    const uint64_t never = 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1) | UINT64_C(3) << 31;
    uint64_t open = ~blocked_by(task) & ~never;
    if (open)
        failed("the janitor (task %s) wanted to block all signals, leaves open %#" PRIx64, task, open);
}

static void check_janitor(char (*before)[16], size_t count_before)
{
    char now[TASKS_MAX][16];
    size_t count = tasks(now), new_tasks = 0;
    for (size_t i = 0; i < count; i++)
        if (!among(before, count_before, now[i])) {
            check_mask(now[i]);
            new_tasks++;
        }
    want_equal("threads since weir_open: the janitor", 1, new_tasks);
}

static weir *open_swept(enum kind kind)
{
    weir_options options = weir_options_default();
    rule_set set = rule_set_of(kind, 3, WEIR_MILLISECOND);
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    return opened(&set, &options);
}

static void use(weir *limiter, uint64_t calls)
{
    static uint64_t number;
    for (uint64_t call = 0; call < calls; call++) {
        test_key key = key_number(number++);
        if (!weir_allow(limiter, key.bytes, key.size))
            failed("weir_allow refused a new key");
    }
}

/* Sends every signal to the process, and works on while it is pending, so that the janitor wakes and sweeps. */
static void send_all(weir *limiter, uint64_t calls)
{
    sigset_t pending;
    for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
        kill(getpid(), sent[i]);
        uint64_t swept = stats_of(limiter).swept;
        do
            use(limiter, calls);
        while (stats_of(limiter).swept == swept);
        sigpending(&pending);
        if (taken || sigismember(&pending, sent[i]) != 1)
            failed("signal %d: wanted it pending, %s (%d)", sent[i], taken ? "the janitor took it" : "it is gone",
                   taken);
    }
}

static void check_same(const struct sigaction *before, const sigset_t *mask_before)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) != 0)
            continue;
        if (now.sa_handler != before[number].sa_handler || now.sa_flags != before[number].sa_flags)
            failed("the handler of signal %d has changed", number);
        if (sigismember(&mask, number) != sigismember(mask_before, number))
            failed("whether this thread blocks signal %d has changed", number);
    }
}

int main(void)
{
    static char before[TASKS_MAX][16];
    static struct sigaction actions[128];
    sigset_t none, all;
    if (getenv("MESON_EXE_WRAPPER")) {
        printf("signals: skipped: under an emulator the signals and masks that the kernel knows are the emulator's\n");
        return TEST_SKIPPED;
    }
    uint64_t calls = scaled(20000, 1000);
    sigemptyset(&none);
    sigfillset(&all);
    run_threads(1, do_nothing, NULL); /* a sanitizer's own thread starts with the first one of ours */
    size_t count;
    while ((count = tasks(before)) > 1 && !TEST_TSAN && !TEST_ASAN)
        sched_yield(); /* the joined thread may be listed for a moment longer */
    for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++)
        signal(sent[i], take_signal);
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)sigaction(number, NULL, &actions[number]);

    /* Opened with all signals open, which the janitor must not inherit. */
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    weir *limiter = open_swept(KIND_COUNTER), *second = open_swept(KIND_LOG);
    check_same(actions, &none);
    check_janitor(before, count);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &all); /* without those that cannot be blocked */
    send_all(limiter, calls);
    send_all(second, calls);
    check_same(actions, &all);
    check_janitor(before, count);
    want_done("weir_close", weir_close(limiter));
    want_done("weir_close", weir_close(second));
    want_equal("signal taken", 0, (uint64_t)taken);
    printf("signals: %zu signals sent twice, %" PRIu64 " calls or more while each was pending\n",
           sizeof(sent) / sizeof(*sent), calls);
    return 0;
}
