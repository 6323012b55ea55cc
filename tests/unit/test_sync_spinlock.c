/*
 * The spinlock of one key.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../support/random.h"
#include "sync/spinlock.h"

enum { THREADS = 4 };

Test(spinlock, is_had_by_one_at_a_time)
{
    weiri_spinlock lock = {{0}};

    cr_assert(weiri_spinlock_try(&lock));
    cr_assert(!weiri_spinlock_try(&lock));
    cr_assert(!weiri_spinlock_try(&lock));
    weiri_spinlock_unlock(&lock);
    weiri_spinlock_lock(&lock);
    cr_assert(!weiri_spinlock_try(&lock));
    weiri_spinlock_unlock(&lock);
    weiri_spinlock_wait(&lock);
    cr_assert(!weiri_spinlock_try(&lock));
    weiri_spinlock_unlock(&lock);
    cr_assert(weiri_spinlock_try(&lock));
}

struct account {
    weiri_spinlock lock;
    volatile uint64_t balance; /* plain: two increments at once lose one */
    volatile uint64_t twin;
    uint64_t rounds;
    bool by_try;
    pthread_barrier_t together;
};

static void *pay_in(void *argument)
{
    struct account *account = argument;

    pthread_barrier_wait(&account->together);
    for (uint64_t i = 0; i < account->rounds; i++) {
        if (account->by_try)
            for (unsigned attempt = 0; !weiri_spinlock_try(&account->lock); attempt++)
                weiri_backoff(attempt);
        else
            weiri_spinlock_lock(&account->lock);
        uint64_t balance = account->balance;
        if (account->twin != balance)
            return "somebody was in between";
        account->balance = balance + 1;
        account->twin = balance + 1;
        weiri_spinlock_unlock(&account->lock);
    }
    return NULL;
}

Test(spinlock, keeps_four_threads_apart_over_a_plain_counter)
{
    for (unsigned by_try = 0; by_try < 2; by_try++) {
        struct account account = {.rounds = random_scaled(400000), .by_try = by_try == 1};
        pthread_t thread[THREADS];
        void *wrong;

        cr_assert_eq(pthread_barrier_init(&account.together, NULL, THREADS), 0);
        for (unsigned i = 0; i < THREADS; i++)
            cr_assert_eq(pthread_create(&thread[i], NULL, pay_in, &account), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(thread[i], &wrong);
            cr_assert_null(wrong);
        }
        cr_assert_eq(account.balance, THREADS * account.rounds);
        cr_assert(weiri_spinlock_try(&account.lock));
    }
}

/* The holder lets go only when the waiter is at it. */
struct handing {
    weiri_spinlock lock;
    weiri_a32 waiting;
    uint64_t written;
};

static void *wait_for_it(void *argument)
{
    struct handing *handing = argument;

    if (weiri_spinlock_try(&handing->lock))
        return "it was not held";
    weiri_store_release_32(&handing->waiting, 1);
    weiri_spinlock_lock(&handing->lock);
    return handing->written == 42 ? NULL : "what was written under the lock is not seen";
}

Test(spinlock, a_waiter_gets_it_and_sees_what_was_written_under_it)
{
    struct handing handing = {.written = 0};
    pthread_t thread;
    void *wrong;

    weiri_spinlock_lock(&handing.lock);
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &handing), 0);
    while (weiri_load_acquire_32(&handing.waiting) == 0)
        sched_yield();
    handing.written = 42;
    weiri_spinlock_unlock(&handing.lock);
    pthread_join(thread, &wrong);
    cr_assert_null(wrong);
    cr_assert(!weiri_spinlock_try(&handing.lock));
}

/* In the place of the C library's: who waits is seen to yield and to sleep, in which state of cancellation. */
static _Thread_local unsigned yields, sleeps, cancellable;
static _Thread_local long asleep;
static _Thread_local void (*while_asleep)(void);

int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    int state = PTHREAD_CANCEL_ENABLE;
    sleeps++;
    asleep = wanted->tv_nsec;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    cancellable += state == PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(state, NULL);
    if (while_asleep) {
        while_asleep();
        return 0;
    }
    return clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left) == 0 ? 0 : -1;
}

Test(spinlock, who_waits_spins_then_yields_then_sleeps_and_is_not_cancelled_meanwhile)
{
    for (unsigned attempt = 0; attempt < 40; attempt++) {
        yields = sleeps = cancellable = 0;
        weiri_backoff(attempt);
        cr_assert_eq(yields, attempt >= 10 && attempt < 26, "attempt %u", attempt);
        cr_assert_eq(sleeps, attempt >= 26, "attempt %u", attempt);
        cr_assert_eq(cancellable, 0, "attempt %u", attempt);
        cr_assert(sleeps == 0 || asleep == 100000);
    }
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    cr_assert_eq(state, PTHREAD_CANCEL_ENABLE);
}

/* --- a lock that is held for long --- */

static weiri_spinlock held_long;
static unsigned deep, deepest;
static long napped[30];

static void let_go_at_the_third(void)
{
    if (sleeps == 3)
        weiri_spinlock_unlock(&held_long);
}

Test(spinlock, who_finds_it_held_for_long_sleeps_until_it_is_free)
{
    cr_assert(weiri_spinlock_try(&held_long));
    while_asleep = let_go_at_the_third;
    for (unsigned time = 0; time < 3; time++) { /* the second time it knows the lock: no other end */
        yields = sleeps = cancellable = 0;
        weiri_spinlock_lock(&held_long);
        cr_assert_eq(sleeps, 3);
        cr_assert_eq(asleep, 100000);
        cr_assert_eq(yields + cancellable, 0);
        cr_assert(!weiri_spinlock_try(&held_long));
    }
}

/* As one thread sleeps, another comes to wait; the last one finds the lock free. */
static void wait_deeper(void)
{
    unsigned own = deep++;
    napped[own] = asleep;
    if (deep < deepest)
        weiri_spinlock_wait(&held_long);
    weiri_spinlock_unlock(&held_long);
}

Test(spinlock, the_more_sleep_for_it_the_longer)
{
    while_asleep = wait_deeper;
    for (unsigned round = 0; round < 2; round++) { /* and when they are gone, one sleeps no longer than before */
        deepest = round == 0 ? 30 : 1;
        deep = 0;
        cr_assert(weiri_spinlock_try(&held_long));
        weiri_spinlock_wait(&held_long);
        weiri_spinlock_unlock(&held_long);
        cr_assert_eq(deep, deepest);
        for (unsigned i = 0; i < deepest; i++)
            cr_assert_eq(napped[i], i == 0 ? 100000 : i < 13 ? (i + 1L) * 300000 : 4000000, "%u: %ld", i, napped[i]);
    }
}
