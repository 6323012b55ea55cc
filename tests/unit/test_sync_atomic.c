/*
 * The atomic operations by name: what each replaces and tells, and sixteen bytes that are never seen torn.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "../support/random.h"
#include "sync/atomic.h"

Test(atomic, a_swap_replaces_what_it_expects_and_nothing_else)
{
    weiri_a32 small = {5};
    weiri_a64 large = {UINT64_C(5) << 40};
    int objects[2];
    weiri_apointer pointer = {NULL};

    cr_assert(!weiri_cas_32(&small, 4, 9));
    cr_assert_eq(weiri_load_acquire_32(&small), 5);
    cr_assert(weiri_cas_32(&small, 5, 9));
    cr_assert_eq(weiri_load_relaxed_32(&small), 9);
    cr_assert(!weiri_cas_64(&large, 5, 9)); /* all its bits count */
    cr_assert_eq(weiri_load_acquire_64(&large), UINT64_C(5) << 40);
    cr_assert(weiri_cas_64(&large, UINT64_C(5) << 40, UINT64_MAX));
    cr_assert_eq(weiri_load_relaxed_64(&large), UINT64_MAX);
    cr_assert(weiri_cas_pointer(&pointer, NULL, &objects[0]));
    cr_assert(!weiri_cas_pointer(&pointer, NULL, &objects[1]));
    cr_assert_eq(weiri_load_acquire_pointer(&pointer), &objects[0]);
    cr_assert_eq(weiri_exchange_pointer(&pointer, &objects[1]), &objects[0]);
    cr_assert_eq(weiri_load_relaxed_pointer(&pointer), &objects[1]);
    weiri_store_release_pointer(&pointer, NULL);
    cr_assert_null(weiri_load_acquire_pointer(&pointer));
    weiri_store_release_32(&small, 1);
    weiri_store_release_64(&large, 2);
    cr_assert_eq(weiri_load_acquire_32(&small), 1);
    cr_assert_eq(weiri_load_acquire_64(&large), 2);
    weiri_store_relaxed_64(&large, 3);
    cr_assert_eq(weiri_load_relaxed_64(&large), 3);
}

Test(atomic, sums_are_modulo_2_to_the_64)
{
    weiri_a64 sum = {UINT64_MAX};

    cr_assert_eq(weiri_add_relaxed_64(&sum, 3), 2); /* what stands there afterwards */
    weiri_sub_relaxed_64(&sum, 5);
    cr_assert_eq(weiri_load_relaxed_64(&sum), UINT64_MAX - 2);
}

Test(atomic, sixteen_bytes_are_swapped_only_where_both_words_are_as_expected)
{
    const weiri_pair old = {{1, 2}}, new = {{UINT64_MAX, UINT64_C(1) << 63}};
    weiri_a128 place = {{1, 2}};

    cr_assert(!weiri_cas_128(&place, (weiri_pair){{1, 3}}, new));
    cr_assert(!weiri_cas_128(&place, (weiri_pair){{0, 2}}, new));
    cr_assert(!weiri_cas_128(&place, (weiri_pair){{2, 1}}, new));
    cr_assert(weiri_pair_equal(weiri_load_snapshot_128(&place), old));
    cr_assert(weiri_cas_128(&place, old, new));
    cr_assert(weiri_pair_equal(weiri_load_snapshot_128(&place), new));
    cr_assert(weiri_pair_equal(weiri_load_once_128(&place), new));
    cr_assert(!weiri_pair_equal(old, (weiri_pair){{1, 3}}));
    cr_assert(!weiri_pair_equal(old, (weiri_pair){{3, 2}}));
}

enum { THREADS = 4 };

/* Word 1 follows from word 0: a pair that was never written shows. */
static uint64_t partner(uint64_t word)
{
    return (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

struct contest {
    weiri_a128 place;
    uint64_t rounds;
    pthread_barrier_t together;
};

static void *count_up(void *argument)
{
    struct contest *contest = argument;

    pthread_barrier_wait(&contest->together);
    for (uint64_t i = 0; i < contest->rounds;) {
        weiri_pair seen = weiri_load_snapshot_128(&contest->place);
        if (seen.word[1] != partner(seen.word[0]))
            return "torn";
        i += weiri_cas_128(&contest->place, seen, (weiri_pair){{seen.word[0] + 1, partner(seen.word[0] + 1)}});
    }
    return NULL;
}

Test(atomic, snapshots_are_never_torn_and_no_swap_is_lost)
{
    /* The three loads stand close together: without the last, a torn pair turns up in some million rounds only. */
    struct contest contest = {.place = {{0, partner(0)}}, .rounds = random_scaled(6000000)};
    pthread_t thread[THREADS];
    void *wrong;

    cr_assert_eq(pthread_barrier_init(&contest.together, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, count_up, &contest), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &wrong);
        cr_assert_null(wrong);
    }
    weiri_pair end = weiri_load_snapshot_128(&contest.place);
    cr_assert_eq(end.word[0], THREADS * contest.rounds);
    cr_assert_eq(end.word[1], partner(end.word[0]));
}

enum { PLACES = 100000 };

struct places {
    weiri_a128 place[PLACES];
    weiri_a64 won;
    weiri_a32 readers; /* that have begun */
};

/* Goes along behind the others: each place is looked at until it is there. */
static void *read_all(void *argument)
{
    struct places *places = argument;

    weiri_store_release_32(&places->readers, 1);
    for (unsigned i = 0; i < PLACES; i++) {
        weiri_pair seen;
        do
            seen = weiri_load_once_128(&places->place[i]);
        while (seen.word[0] == 0);
        if (seen.word[1] != partner(seen.word[0]))
            return "torn";
    }
    return NULL;
}

/* Each place goes from zero to one value, by whoever is first; all see that one. */
static void *claim_all(void *argument)
{
    struct places *places = argument;
    uint64_t own = (uint64_t)(uintptr_t)&own | 1, won = 0;

    while (weiri_load_acquire_32(&places->readers) == 0)
        sched_yield();
    for (unsigned i = 0; i < PLACES; i++) {
        won += weiri_cas_128(&places->place[i], (weiri_pair){{0, 0}}, (weiri_pair){{own, partner(own)}});
        weiri_pair seen = weiri_load_once_128(&places->place[i]);
        if (seen.word[0] == 0 || seen.word[1] != partner(seen.word[0]))
            return "torn";
    }
    weiri_add_relaxed_64(&places->won, won);
    return NULL;
}

Test(atomic, a_place_written_once_is_seen_whole_and_won_once)
{
    static struct places places;
    pthread_t thread[THREADS];
    void *wrong;

    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, i == 0 ? read_all : claim_all, &places), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &wrong);
        cr_assert_null(wrong);
    }
    cr_assert_eq(weiri_load_relaxed_64(&places.won), PLACES);
}
