/*
 * Can the scheduler see? Small plays with known faults: a lost update, a deadlock, a wait for ever, a grace period that
 * is not waited for. Each must be found, and found again by the schedule that was printed; and their faultless twins
 * must pass.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime.h"
#include "sync/rcu.h"
#include "sync/spinlock.h"

static weiri_a64 number;
static weiri_spinlock lock[2];
static weiri_apointer published;
static struct {
    weiri_a64 alive;
} object;

static void prepare(void *argument)
{
    (void)argument;
    weiri_store_relaxed_64(&number, 0);
    lock[0] = lock[1] = (weiri_spinlock){{0}};
    weiri_store_relaxed_64(&object.alive, 1);
    weiri_store_release_pointer(&published, &object);
}

static void nothing(void *argument)
{
    (void)argument;
}

static void two(void *argument)
{
    (void)argument;
    if (weiri_load_relaxed_64(&number) != 2)
        schedule_failed("an update is lost");
}

static void add_by_hand(void *argument, unsigned thread)
{
    (void)argument, (void)thread;
    weiri_store_relaxed_64(&number, weiri_load_relaxed_64(&number) + 1);
}

static void add_by_swap(void *argument, unsigned thread)
{
    uint64_t before;
    (void)argument, (void)thread;
    do
        before = weiri_load_relaxed_64(&number);
    while (!weiri_cas_64(&number, before, before + 1));
}

static void lock_crosswise(void *argument, unsigned thread)
{
    (void)argument;
    weiri_spinlock_lock(&lock[thread]);
    weiri_spinlock_lock(&lock[1 - thread]);
    weiri_spinlock_unlock(&lock[1 - thread]);
    weiri_spinlock_unlock(&lock[thread]);
}

static void lock_in_order(void *argument, unsigned thread)
{
    (void)argument, (void)thread;
    weiri_spinlock_lock(&lock[0]);
    weiri_spinlock_lock(&lock[1]);
    weiri_spinlock_unlock(&lock[1]);
    weiri_spinlock_unlock(&lock[0]);
}

static void wait_for_one(void *argument, unsigned thread)
{
    (void)argument;
    if (thread == 0)
        weiri_store_relaxed_64(&number, 1);
    else
        for (unsigned i = 0; weiri_load_relaxed_64(&number) != 1; i++)
            weiri_backoff(i);
}

/* The one may have come and gone. */
static void wait_too_late(void *argument, unsigned thread)
{
    wait_for_one(argument, thread);
    if (thread == 0)
        weiri_store_relaxed_64(&number, 2);
}

static void read_published(void)
{
    weiri_rcu_enter();
    const weiri_a64 *alive = weiri_load_acquire_pointer(&published);
    if (alive && weiri_load_relaxed_64(alive) == 0)
        schedule_failed("what was freed is read");
    weiri_rcu_leave();
}

/* The lock is left behind, and waited for when the threads are gone. */
static void forget_to_unlock(void *argument, unsigned thread)
{
    (void)argument;
    if (thread == 0)
        weiri_spinlock_lock(&lock[0]);
}

static void lock_afterwards(void *argument)
{
    (void)argument;
    weiri_spinlock_lock(&lock[0]);
}

static void free_at_once(void *argument, unsigned thread)
{
    (void)argument;
    if (thread == 0) {
        read_published();
    } else {
        weiri_store_release_pointer(&published, NULL);
        weiri_store_relaxed_64(&object.alive, 0);
    }
}

static void free_after_grace(void *argument, unsigned thread)
{
    (void)argument;
    if (thread == 0) {
        read_published();
    } else {
        weiri_store_release_pointer(&published, NULL);
        weiri_rcu_wait();
        weiri_store_relaxed_64(&object.alive, 0);
    }
}

/* What the play prints when it is searched (schedule NULL) or replayed, in a process of its own. True: it failed. */
static bool fails(const struct schedule_play *play, const char *schedule, bool at_random, char *output, size_t size)
{
    int ends[2], status;
    if (pipe(ends) != 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (schedule)
            schedule_replay(play, schedule);
        else if (at_random)
            schedule_random(play, 3, 1000, 1);
        else
            schedule_exhaust(play, 2);
        _Exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t more; got + 1 < size && (more = read(ends[0], output + got, size - got - 1)) > 0;)
        got += (size_t)more;
    output[got] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return status != 0;
}

/* `wanted`: what must be said, or NULL for a play without fault. */
static int examine(const char *name, void (*body)(void *, unsigned), void (*check)(void *), const char *wanted)
{
    char output[1024], again[1024], schedule[256] = "";
    const struct schedule_play play = {name, 2, prepare, body, check, NULL};
    for (int at_random = 0; at_random < 2; at_random++) {
        bool failed = fails(&play, NULL, at_random != 0, output, sizeof output);
        if (failed != (wanted != NULL) || (wanted && !strstr(output, wanted))) {
            printf("%s, %s: wanted %s, got %s\n", name, at_random ? "at random" : "exhaustively",
                   wanted ? wanted : "nothing wrong", failed ? output : "nothing wrong\n");
            return 1;
        }
        if (!wanted)
            continue;
        const char *told = strstr(output, "WEIR_SCHEDULE='");
        if (!told || sscanf(told, "WEIR_SCHEDULE='%255[^']'", schedule) != 1 ||
            !fails(&play, schedule, false, again, sizeof again) || !strstr(again, wanted)) {
            printf("%s: '%s' does not replay\n", name, schedule);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    int wrong = examine("a sum by load and store", add_by_hand, two, "an update is lost") +
                examine("a sum by swap", add_by_swap, two, NULL) +
                examine("two locks crosswise", lock_crosswise, nothing, "no end") +
                examine("two locks in one order", lock_in_order, nothing, NULL) +
                examine("a wait for what may be gone", wait_too_late, nothing, "nobody can go on") +
                examine("a wait for what comes", wait_for_one, nothing, NULL) +
                examine("a lock left behind", forget_to_unlock, lock_afterwards, "no end before or after") +
                examine("freed at once", free_at_once, nothing, "what was freed is read") +
                examine("freed after a grace period", free_after_grace, nothing, NULL);
    printf("scheduler: %d of 9 wrong\n", wrong);
    return wrong != 0;
}
