/*
 * The janitor: one thread for the whole process, which sweeps the limiters that asked for it and frees what they
 * retired. It starts with the first of them and ends with the last; all signals are blocked in it.
 *
 * Locks. `life` is held while the thread is started or joined, by whoever opens or closes; the janitor never takes it.
 * `turn` guards the list and the flags below; it is held for some instructions only, except that pthread_cond_wait gives
 * it up. A fork takes `life` before it closes the gate, so that whoever holds it and waits for the janitor can finish,
 * and `turn` after the gate is closed; neither waits for `life` inside a read section of the host's own, where the fork
 * would wait for it. In the child the thread is gone, and is started when a limiter next needs it.
 *
 * The janitor works inside holds of the gate, a slice at a time, so that a fork waits for one slice at most.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "../sync/cancel.h"
#include "../sync/spinlock.h"
#include "limiter.h"

static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called; /* the janitor waits here, on CLOCK_MONOTONIC */
static pthread_cond_t left;   /* who closes a limiter waits here */
static bool prepared;         /* the two above are made */
static weir *limiters;        /* tended ones */
static weir *at_work;         /* the one the janitor is in */
static bool running, stopping;
static pthread_t thread;

enum {
    SLICE = 2048, /* keys looked at in one hold of the gate */
    TRIES = 15    /* to have `turn`: some dozen microseconds, and a few turns of others */
};

static uint64_t monotonic(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
}

static uint64_t due(const weir *limiter)
{
    return limiter->hurried < limiter->next_sweep ? limiter->hurried : limiter->next_sweep;
}

/* The limiter that has been due longest, so that none is starved by one that is due again at once; or NULL, and the time
 * to wait for. `turn` is held. */
static weir *next_due(uint64_t now, uint64_t *until)
{
    weir *first = limiters;
    for (weir *limiter = limiters; limiter; limiter = limiter->next_tended)
        first = due(limiter) < due(first) ? limiter : first;
    *until = first ? due(first) : now + WEIR_HOUR;
    return first && *until <= now ? first : NULL;
}

static bool wanted_away(void)
{
    pthread_mutex_lock(&turn);
    bool away = stopping || at_work->closing;
    pthread_mutex_unlock(&turn);
    return away;
}

/* One round over a limiter. Ends early where it is being closed. */
static void tend(weir *limiter, bool sweep)
{
    uint64_t hash = 0, now;
    if (sweep && weiri_gate_ready() && weiri_read_clock(limiter, &now)) {
        uint64_t time = weiri_drop_time(limiter, now);
        int end;
        do {
            bool inside = weiri_gate_hold();
            end = weiri_sweep_some(limiter, &hash, time, SLICE, true);
            weiri_gate_release(inside);
            if (weiri_memory_crowded(&limiter->memory))
                weiri_reclaim(&limiter->memory);
        } while (!end && !wanted_away());
    }
    weiri_reclaim(&limiter->memory);
    while (weiri_tend_some(&limiter->memory) && !wanted_away())
        continue;
}

/* `turn` is held, and given up meanwhile. */
static void take_turn(weir *limiter, uint64_t now)
{
    bool sweep = limiter->next_sweep <= now;
    at_work = limiter;
    limiter->hurried = UINT64_MAX;
    pthread_mutex_unlock(&turn);
    tend(limiter, sweep);
    pthread_mutex_lock(&turn);
    if (sweep)
        limiter->next_sweep = monotonic() + limiter->sweep_interval;
    at_work = NULL;
    pthread_cond_broadcast(&left);
}

static void *work(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "weir janitor"); /* for who looks at the process; failing changes nothing */
    pthread_mutex_lock(&turn);
    while (!stopping) {
        uint64_t now = monotonic(), until;
        weir *limiter = next_due(now, &until);
        if (limiter) {
            take_turn(limiter, now);
            continue;
        }
        struct timespec time = {(time_t)(until / WEIR_SECOND), (long)(until % WEIR_SECOND)};
        pthread_cond_timedwait(&called, &turn, &time);
    }
    pthread_mutex_unlock(&turn);
    return NULL;
}

static void prepare_conditions(void)
{
    pthread_condattr_t monotonic_clock;
    pthread_condattr_init(&monotonic_clock);
    pthread_condattr_setclock(&monotonic_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&called, &monotonic_clock);
    pthread_cond_init(&left, &monotonic_clock);
    pthread_condattr_destroy(&monotonic_clock);
    prepared = true;
}

/* Starts the thread if it does not run. `life` is held. 0 or -errno. */
static int start_thread(void)
{
    sigset_t all, before;
    if (running)
        return 0;
    stopping = false; /* nobody reads it: no thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return -error;
    pthread_mutex_lock(&turn);
    running = true;
    pthread_mutex_unlock(&turn);
    return 0;
}

static void stop_thread(void)
{
    pthread_mutex_lock(&turn);
    bool was_running = running;
    stopping = true;
    running = false;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&turn);
    if (was_running)
        pthread_join(thread, NULL);
}

int weiri_janitor_add(weir *limiter)
{
    if (weiri_rcu_inside())
        return -EDEADLK;
    pthread_mutex_lock(&life);
    if (!prepared)
        prepare_conditions();
    int error = start_thread();
    if (!error) {
        pthread_mutex_lock(&turn);
        limiter->tended = true;
        limiter->hurried = UINT64_MAX;
        limiter->next_sweep = monotonic() + limiter->sweep_interval;
        limiter->next_tended = limiters;
        limiters = limiter;
        pthread_cond_signal(&called);
        pthread_mutex_unlock(&turn);
    }
    pthread_mutex_unlock(&life);
    return error;
}

/* Takes a limiter off the list and waits until the janitor is out of it. True where it was the last. */
static bool take_off(weir *limiter)
{
    pthread_mutex_lock(&turn);
    for (weir **at = &limiters; *at; at = &(*at)->next_tended) {
        if (*at == limiter) {
            *at = limiter->next_tended;
            break;
        }
    }
    limiter->closing = true;
    while (at_work == limiter)
        pthread_cond_wait(&left, &turn);
    bool last = limiters == NULL;
    pthread_mutex_unlock(&turn);
    return last;
}

void weiri_janitor_remove(weir *limiter)
{
    if (!limiter->tended)
        return;
    int cancel = weiri_no_cancel_begin(); /* both wait with `life` held, where a thread may be cancelled */
    pthread_mutex_lock(&life);
    if (take_off(limiter))
        stop_thread();
    pthread_mutex_unlock(&life);
    weiri_no_cancel_end(cancel);
}

bool weiri_janitor_wake(weir *limiter)
{
    for (unsigned attempt = 0; pthread_mutex_trylock(&turn) != 0; attempt++) {
        if (attempt == TRIES)
            return true; /* a decision waits for nobody, let alone a fork: whoever retires next calls again */
        weiri_backoff(attempt);
    }
    bool there = running;
    if (there && limiter->hurried == UINT64_MAX) {
        limiter->hurried = monotonic();
        pthread_cond_signal(&called);
    }
    pthread_mutex_unlock(&turn);
    if (there)
        return true;
    if (weiri_rcu_inside())
        return false;
    /* A child of a fork: the thread did not come along. `life` is tried only: a fork holds it for as long as it waits for
     * read sections, and who closes a limiter until the janitor has left it. A later call sees to it. */
    if (pthread_mutex_trylock(&life) != 0)
        return true;
    int error = start_thread();
    pthread_mutex_unlock(&life);
    return error == 0;
}

static void before_gate(void)
{
    pthread_mutex_lock(&life);
}

static void before_fork(void)
{
    pthread_mutex_lock(&turn);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&turn);
}

static void after_fork_in_child(void)
{
    running = false;
    at_work = NULL;
    if (prepared)
        prepare_conditions(); /* their waiters are gone */
    pthread_mutex_unlock(&turn);
}

static void after_gate(void)
{
    pthread_mutex_unlock(&life);
}

const weiri_gate_handlers weiri_janitor_fork_handlers = {before_gate, before_fork, after_fork_in_parent,
                                                         after_fork_in_child, after_gate};
