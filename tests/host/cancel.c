/*
 * Guarantee G where threads are cancelled in the middle of a call: it returns first, and the request takes effect at
 * the next cancellation point outside weir; no lock stays held. The request is there before the call, or comes while
 * the call waits: for a read section of the host's own, or for the janitor. Afterwards this process and a child take,
 * open, close and fork.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <signal.h>
#include <sys/wait.h>
#include <urcu/urcu-bp.h>

#include "../support/seccomp.h"

enum { KEYS = 200, SECONDS = 200, CHILD_SECONDS = 20 };

static test_heap heap;
static weir *limiter, *tended, *opened_one; /* manual; with the janitor; by who is cancelled */
static rule_set set;
static pid_t child_of_call;

static void too_late(int number)
{
    (void)number;
    static const char text[] = "cancel: FAILED: wanted every call to return, one hangs\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(written < 0 ? 2 : 1);
}

/* ---- a heap in which the janitor can be held ---- */

static _Atomic bool hold_janitor, janitor_held;

static void release(void *argument, void *memory, size_t size)
{
    char name[16] = "";
    heap_release(argument, memory, size);
    if (!atomic_load(&hold_janitor) || prctl(PR_GET_NAME, name) != 0 || strcmp(name, "weir janitor") != 0)
        return;
    atomic_store(&janitor_held, true);
    while (atomic_load(&hold_janitor))
        sched_yield();
}

static weir *open_one(bool with_janitor)
{
    weir_options options = with_janitor ? weir_options_default() : weir_options_manual();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    heap_use(&heap, &options);
    options.allocator.release = release;
    return opened(&set, &options);
}

static int take(weir *from, uint64_t number, uint64_t now)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    return weir_take(from, &request, now, NULL);
}

/* ---- the process goes on ---- */

/* What a process can do; its exit status says what was wrong. */
static int live(void)
{
    int state;
    alarm(CHILD_SECONDS);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    if (state != PTHREAD_CANCEL_ENABLE)
        return 10;
    for (uint64_t number = 0; number < KEYS; number++)
        if (take(limiter, number, WEIR_SECOND) < 0)
            return 11;
    weir *own = open_one(true);
    if (take(own, 1, WEIR_NOW) != 1)
        return 12;
    if (weir_close(own) != 0)
        return 13;
    pid_t child = fork();
    if (child == 0)
        _exit(take(limiter, 1, WEIR_SECOND) < 0);
    int status;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* the copy of who is to be cancelled: not in waitpid */
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 14;
}

static void want_child(const char *name, pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        failed("%s: fork: %s", name, strerror(errno));
    if (status != 0)
        failed("%s: wanted a child with status 0, got %#x (see live() in cancel.c)", name, (unsigned)status);
}

static void go_on(const char *name)
{
    pid_t child = fork();
    if (child == 0)
        _exit(live());
    want_child(name, child);
    for (uint64_t number = 0; number < KEYS; number++)
        if (take(limiter, number, WEIR_SECOND) < 0)
            failed("%s: weir_take afterwards", name);
    want_done("weir_close afterwards", weir_close(open_one(true)));
}

/* ---- who is cancelled ---- */

typedef struct victim {
    const char *name;
    int (*call)(void);
    bool pending; /* the request comes before the call; else while it sleeps */
    int result;
    _Atomic pid_t id;
    _Atomic bool returned;
} victim;

static void *be_cancelled(void *argument)
{
    victim *self = argument;
    int state;
    if (self->pending)
        pthread_cancel(pthread_self());
    atomic_store(&self->id, (pid_t)syscall(SYS_gettid));
    self->result = self->call();
    atomic_store(&self->returned, true);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    if (state != PTHREAD_CANCEL_ENABLE)
        failed("%s: wanted the thread cancellable as before the call, it is not", self->name);
    pthread_testcancel();
    return NULL;
}

/* Until it sleeps, has returned, or is no more. */
static void await_sleep(const victim *self)
{
    char path[64], text[256], state = 'R';
    while (atomic_load(&self->id) == 0)
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)atomic_load(&self->id));
    while (state != 'S' && !atomic_load(&self->returned)) {
        sched_yield();
        FILE *file = fopen(path, "r");
        if (!file)
            return;
        const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        state = end ? end[2] : 'S';
        fclose(file);
    }
}

static _Atomic bool in_section, leave_section;

static void *read_on(void *unused)
{
    urcu_bp_read_lock();
    atomic_store(&in_section, true);
    while (!atomic_load(&leave_section))
        sched_yield();
    urcu_bp_read_unlock();
    return unused;
}

/* Makes the call, and keeps it waiting where it waits for read sections or for a janitor that is held. */
static void cancel_in(const char *name, int (*call)(void), bool pending, bool waits)
{
    victim self = {.name = name, .call = call, .pending = pending};
    pthread_t thread, reader;
    void *result;
    atomic_store(&in_section, false);
    atomic_store(&leave_section, false);
    if (waits) {
        pthread_create(&reader, NULL, read_on, NULL);
        while (!atomic_load(&in_section))
            sched_yield();
    }
    pthread_create(&thread, NULL, be_cancelled, &self);
    await_sleep(&self);
    if (!pending)
        pthread_cancel(thread);
    atomic_store(&leave_section, true);
    atomic_store(&hold_janitor, false);
    pthread_join(thread, &result);
    if (waits)
        pthread_join(reader, NULL);
    if (!atomic_load(&self.returned))
        failed("%s: wanted the call to return, the thread was cancelled in it", name);
    if (result != PTHREAD_CANCELED)
        failed("%s: wanted the thread cancelled after the call, it was not", name);
    want_done(name, self.result);
}

/* ---- the calls ---- */

static int reclaim(void)
{
    return weir_reclaim(limiter);
}

static int fork_one(void)
{
    child_of_call = fork();
    if (child_of_call == 0)
        _exit(live());
    return child_of_call < 0 ? -errno : 0;
}

static int close_tended(void)
{
    return weir_close(tended);
}

static int open_with_janitor(void)
{
    opened_one = open_one(true);
    return 0;
}

static int count(void *counted, const weir_key *key)
{
    (void)key;
    ++*(unsigned *)counted;
    return 0;
}

/* Those that never wait for long. */
static int call_others(void)
{
    test_key key = key_number(KEYS + 1);
    weir_request request = request_for(&key, 1);
    weir_decision decision;
    uint64_t limits[] = {7, 7};
    unsigned keys = 0;
    int verdict;
    if (weir_take(tended, &request, WEIR_NOW, &decision) < 0 || weir_peek(tended, &request, WEIR_NOW, &decision) < 0 ||
        weir_take_batch(limiter, &request, 1, WEIR_SECOND, &verdict, NULL) != 1 ||
        !weir_allow(tended, key.bytes, key.size) || weir_now(tended) == WEIR_NOW)
        return 1;
    stats_of(tended);
    return weir_set_limits(tended, 0, limits, set.count) != 0 || weir_sweep(tended, WEIR_NOW, 0) != 1 ||
           weir_each(limiter, WEIR_SECOND, count, &keys) != 0 || keys == 0 || weir_reset(limiter, &request) != 0;
}

/* ---- the test ---- */

static void reclaim_and_fork(bool pending)
{
    uint64_t limits[] = {9, 9};
    want_done("weir_set_limits", weir_set_limits(limiter, 0, limits, set.count)); /* something is retired */
    if (stats_of(limiter).retired_bytes == 0)
        failed("wanted something retired");
    cancel_in("weir_reclaim", reclaim, pending, true);
    want_equal("retired bytes", 0, stats_of(limiter).retired_bytes);
    go_on("weir_reclaim");
    cancel_in("fork", fork_one, pending, true);
    want_child("fork", child_of_call);
    go_on("fork");
}

/* The last close, while the janitor is at work on the limiter. */
static void close_last(bool pending)
{
    tended = open_one(true);
    atomic_store(&janitor_held, false);
    atomic_store(&hold_janitor, true);
    for (uint64_t number = 0; !atomic_load(&janitor_held); number++)
        if (take(tended, number % 1000, WEIR_NOW) < 0)
            failed("weir_take before weir_close");
    cancel_in("weir_close", close_tended, pending, false);
    go_on("weir_close");
    tended = open_one(true); /* and while it is at rest */
    cancel_in("weir_close", close_tended, true, false);
    go_on("weir_close");
}

static void open_and_call(void)
{
    cancel_in("weir_open", open_with_janitor, true, false);
    tended = opened_one;
    cancel_in("the other calls", call_others, true, false);
    go_on("weir_open and other calls");
    want_done("weir_close", weir_close(tended));
}

/* A process in which no grace period is to be had: the first fork gives sections time instead, or cannot even that. */
static int live_filtered(bool sleepless)
{
    alarm(CHILD_SECONDS);
    limiter = open_one(false);
    if (take(limiter, 1, WEIR_SECOND) != 1)
        failed("wanted a new key accepted");
    if (!refuse_call(SYS_membarrier, EPERM, 0) ||
        (sleepless && (!refuse_call(SYS_nanosleep, EPERM, 0) || !refuse_call(SYS_clock_nanosleep, EPERM, 0))))
        return TEST_SKIPPED;
    cancel_in("fork without grace periods", fork_one, true, false);
    want_child("fork without grace periods", child_of_call);
    go_on("fork without grace periods");
    return 0;
}

static bool filtered(bool sleepless)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(live_filtered(sleepless));
    if (child < 0 || waitpid(child, &status, 0) != child)
        failed("fork: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
        return false;
    if (status != 0)
        failed("with a filter%s: wanted status 0, got %#x", sleepless ? ", sleepless" : "", (unsigned)status);
    return true;
}

int main(void)
{
    if (TEST_TSAN || TEST_ASAN) {
        printf("cancel: skipped: a sanitizer's allocator may stay locked in the child of a threaded process\n");
        return TEST_SKIPPED;
    }
    signal(SIGALRM, too_late);
    alarm(SECONDS);
    set = rule_set_of(KIND_TWO, 5, WEIR_MILLISECOND);
    pthread_atfork(pthread_testcancel, NULL, NULL); /* of the host's own: runs when weir has closed the gate */
    if (!filtered(false) || !filtered(true))
        printf("cancel: without the part with filters: none may be installed here\n");
    limiter = open_one(false);
    const uint64_t rounds = scaled(5, 2);
    for (uint64_t round = 0; round < rounds; round++) {
        reclaim_and_fork(round % 2 == 0);
        close_last(round % 2 == 0);
        open_and_call();
    }
    closed_clean(limiter, &heap, "the limiter");
    printf("cancel: %" PRIu64 " rounds\n", rounds);
    return 0;
}
