/*
 * Guarantees G and H: every function may be called from where a host may be: in the middle of a walk over the keys, in
 * a read section of the host's own, and in a walk within such a section. It works, or says -EDEADLK where it would wait
 * for that very section; none hangs. Meanwhile others fork, reclaim, wait for grace periods of the host's, charge the
 * keys, and start and stop the janitor, so that whatever can be waited for is being held.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <signal.h>
#include <sys/wait.h>
#include <urcu/urcu-bp.h>

enum { KEYS = 300, SECONDS = 240, STOP = 41 };

static test_heap heap;
static weir *limiter, *other; /* with a clock; manual */
static rule_set set;
static _Atomic bool ended;
static _Atomic uint64_t verbs_called, forks, opens, waits;

static void too_late(int number)
{
    (void)number;
    static const char text[] = "inside: FAILED: wanted every call to return, one hangs\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(written < 0 ? 2 : 1);
}

/* ---- every function, once ---- */

/* What it is to return: 0 or 1 and either may be; `waits` are those that a read section forbids. */
static void want_verdict(const char *what, int64_t got)
{
    if (got != 0 && got != 1)
        failed("%s, %s: wanted 0 or 1, got %" PRId64, set.name, what, got);
    atomic_fetch_add(&verbs_called, 1);
}

static void want_result(const char *what, int wanted, int got)
{
    if (got != wanted)
        failed("%s, %s: wanted %d, got %d", set.name, what, wanted, got);
    atomic_fetch_add(&verbs_called, 1);
}

static weir_options janitor_options(void)
{
    weir_options options = weir_options_default();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    options.max_limit = set.max_limit;
    heap_use(&heap, &options);
    return options;
}

static int count_key(void *count, const weir_key *key)
{
    (void)key;
    ++*(unsigned *)count;
    return 0;
}

static int stop_at_once(void *unused, const weir_key *key)
{
    (void)unused, (void)key;
    return STOP;
}

/* Decides, looks, walks, changes: never waits for a grace period, so it works everywhere. */
static void call_on(weir *self, uint64_t now, const weir_request *request)
{
    weir_decision decisions[3];
    int verdicts[3];
    weir_request three[] = {*request, *request, *request};
    uint64_t limits[] = {set.rules[0].limit, set.rules[1].limit};
    weir_identity identity;
    unsigned keys = 0;
    want_verdict("weir_take", weir_take(self, request, now, NULL));
    want_verdict("weir_take", weir_take(self, request, now, decisions));
    want_verdict("weir_peek", weir_peek(self, request, now, decisions));
    int64_t batch = weir_take_batch(self, three, 3, now, verdicts, decisions);
    want_result("weir_take_batch", verdicts[0] + verdicts[1] + verdicts[2], (int)batch);
    if (request->key)
        want_result("weir_identify", 0, weir_identify(self, request->key, request->key_len, &identity));
    want_result("weir_set_limits", 0, weir_set_limits(self, 0, limits, set.count));
    want_verdict("weir_sweep", weir_sweep(self, now, 50));
    want_result("weir_sweep", 1, weir_sweep(self, now, 0));
    want_result("weir_reset", 0, weir_reset(self, request));
    want_verdict("weir_take", weir_take(self, request, now, NULL));
    want_result("weir_each", 0, weir_each(self, now, count_key, &keys));
    int stopped = weir_each(self, now, stop_at_once, NULL);
    want_result("weir_each", stopped ? STOP : 0, stopped);
    stats_of(self);
}

/* Those that wait for readers or for the janitor: `section`: in a read section of the host's own. */
static void call_waiting(weir *self, bool section)
{
    const int waiting = section ? -EDEADLK : 0;
    weir_options with_janitor = janitor_options(), manual = weir_options_manual();
    weir *new_one;
    heap_use(&heap, &manual);
    manual.max_limit = set.max_limit;
    want_result("weir_reclaim", waiting, weir_reclaim(self));
    want_result("weir_open, with the janitor", waiting, weir_open(&new_one, set.rules, set.count, &with_janitor));
    if (!section)
        want_result("weir_close of another, with the janitor", 0, weir_close(new_one));
    want_result("weir_open", 0, weir_open(&new_one, set.rules, set.count, &manual));
    weir_request request = weir_request_for("new", 3);
    want_verdict("weir_take on a new limiter", weir_take(new_one, &request, 5, NULL));
    want_result("weir_close", waiting, weir_close(new_one));
    if (section) { /* nothing was closed */
        want_verdict("weir_take after a weir_close that was refused", weir_take(new_one, &request, 5, NULL));
        int depth = urcu_bp_read_ongoing();
        for (int i = 0; i < depth; i++)
            urcu_bp_read_unlock();
        want_result("weir_close outside", 0, weir_close(new_one));
        for (int i = 0; i < depth; i++)
            urcu_bp_read_lock();
    }
    want_result("weir_close of NULL", 0, weir_close(NULL));
}

static void call_all(const weir_request *request, bool section)
{
    test_key key = key_number(7);
    weir_request own = request ? *request : request_for(&key, 1), foreign = request_for(&key, 1);
    call_on(limiter, WEIR_NOW, &own);
    want_verdict("weir_allow", weir_allow(limiter, key.bytes, key.size));
    if (weir_now(limiter) == WEIR_NOW || weir_now(other) != WEIR_NOW)
        failed("%s: weir_now", set.name);
    call_on(other, weir_now(limiter), &foreign);
    call_waiting(limiter, section);
    call_waiting(other, section);
}

/* ---- from where ---- */

typedef struct place {
    bool section;
    unsigned depth, visits;
} place;

/* Calls everything at the first keys of a walk, another walk within it too. */
static int visit(void *argument, const weir_key *key)
{
    place *self = argument;
    weir_request request = {.identity = &key->identity, .cost = 1};
    if (self->visits++ == 3)
        return STOP;
    call_all(&request, self->section);
    if (self->depth > 0) {
        place deeper = {.section = self->section, .depth = self->depth - 1};
        int result = weir_each(limiter, WEIR_NOW, visit, &deeper);
        if (result != 0 && result != STOP)
            failed("%s: weir_each within weir_each: got %d", set.name, result);
    }
    return 0;
}

static void walk(bool section)
{
    place self = {.section = section, .depth = 1};
    int result = weir_each(limiter, WEIR_NOW, visit, &self);
    if (result != 0 && result != STOP)
        failed("%s: weir_each: got %d", set.name, result);
}

static void call_from_everywhere(void)
{
    walk(false);
    urcu_bp_read_lock();
    call_all(NULL, true);
    walk(true);
    urcu_bp_read_lock(); /* nested */
    call_all(NULL, true);
    urcu_bp_read_unlock();
    want_result("weir_reclaim, still inside", -EDEADLK, weir_reclaim(limiter));
    urcu_bp_read_unlock();
    want_result("weir_reclaim, outside", 0, weir_reclaim(limiter));
}

/* ---- the others ---- */

static void fork_children(void)
{
    while (!atomic_load(&ended)) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            /* A sanitizer's allocator may stay locked in the child of a threaded process. */
            bool good = TEST_ASAN || (weir_reclaim(limiter) == 0 && weir_sweep(limiter, WEIR_NOW, 0) == 1);
            _exit(good ? 0 : 1);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            failed("%s: wanted a fork and exit status 0", set.name);
        atomic_fetch_add(&forks, 1);
    }
}

static void wait_and_reclaim(void)
{
    while (!atomic_load(&ended)) {
        urcu_bp_synchronize_rcu();
        want_done("weir_reclaim beside", weir_reclaim(limiter));
        want_done("weir_reclaim beside", weir_reclaim(other));
        atomic_fetch_add(&waits, 1);
    }
}

static void open_and_close(void)
{
    weir_options options = janitor_options();
    while (!atomic_load(&ended)) {
        weir *passing = opened(&set, &options);
        if (!weir_allow(passing, "x", 1))
            failed("%s: weir_allow on a new limiter: wanted true", set.name);
        want_done("weir_close beside", weir_close(passing));
        atomic_fetch_add(&opens, 1);
    }
}

static void charge(void)
{
    for (uint64_t number = 0; !atomic_load(&ended); number++) {
        test_key key = key_number(number % KEYS);
        weir_request request = request_for(&key, 1);
        if (weir_take(limiter, &request, WEIR_NOW, NULL) < 0 ||
            weir_take(other, &request, weir_now(limiter), NULL) < 0)
            failed("%s: weir_take beside", set.name);
        if (number % 64 == 0)
            sched_yield(); /* few processors: let the others hold something */
    }
}

static void work(void *shared, unsigned index)
{
    uint64_t rounds = *(uint64_t *)shared;
    switch (index) {
    case 0:
        for (uint64_t round = 0; round < rounds; round++)
            call_from_everywhere();
        atomic_store(&ended, true);
        break;
    case 1:
        if (!TEST_TSAN) /* which does not follow the child of a threaded process */
            fork_children();
        break;
    case 2:
        wait_and_reclaim();
        break;
    case 3:
        open_and_close();
        break;
    default:
        charge();
    }
}

static void run_kind(enum kind kind, uint64_t rounds)
{
    set = rule_set_of(kind, 5, 20 * WEIR_MILLISECOND);
    weir_options options = janitor_options(), manual = weir_options_manual();
    manual.max_lateness_ns = 0;
    heap_use(&heap, &manual);
    /* Without one, a call that retires much may wait itself, and the janitor starts and stops with open_and_close. */
    options.janitor = kind % 2;
    limiter = opened(&set, &options);
    other = opened(&set, &manual);
    atomic_store(&ended, false);
    run_threads(5, work, &rounds);
    want_done("weir_close", weir_close(limiter));
    want_done("weir_close", weir_close(other));
    want_equal("bytes after weir_close", 0, heap.bytes);
}

int main(void)
{
    uint64_t rounds = scaled(15, 2);
    signal(SIGALRM, too_late);
    alarm(SECONDS);
    for (enum kind kind = 0; kind < KINDS; kind++)
        if (kind != KIND_LOG_COST)
            run_kind(kind, rounds);
    printf("inside: %" PRIu64 " calls from within, beside %" PRIu64 " forks, %" PRIu64 " limiters opened, %" PRIu64
           " grace periods of the host\n",
           verbs_called, forks, opens, waits);
    return 0;
}
