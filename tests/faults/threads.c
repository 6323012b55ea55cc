/*
 * Faults that other limiters have had with threads, callbacks and reclamation. Nothing here depends on how the threads
 * interleave: what is asserted holds for each order.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <urcu-bp.h>

#include "../support/rows.h"

#define S       WEIR_SECOND
#define THREADS 16
#define CALLS   1000
#define ENDLESS UINT64_MAX

struct crowd {
    weir *limiter;
    uint64_t cost;
    pthread_barrier_t start;
    _Atomic uint64_t accepted;
};

static void *hammer(void *argument)
{
    struct crowd *crowd = argument;
    weir_request request = weir_request_for("key", 3);
    uint64_t accepted = 0;

    request.cost = crowd->cost;
    pthread_barrier_wait(&crowd->start);
    for (int i = 0; i < CALLS; i++) {
        weir_decision decision;

        /* Half with the whole answer, half with the verdict alone. */
        accepted += weir_take(crowd->limiter, &request, 5 * S, i % 2 == 0 ? &decision : NULL) == 1;
    }
    atomic_fetch_add(&crowd->accepted, accepted);
    return NULL;
}

static void crowd_takes(weir_rule rule, uint64_t cost, uint64_t accepted, uint64_t remaining)
{
    struct crowd crowd = {.cost = cost};
    pthread_t threads[THREADS];
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;

    crowd.limiter = manual_limiter(&rule, 1, ENDLESS, NULL);
    cr_assert_not_null(crowd.limiter);
    pthread_barrier_init(&crowd.start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, hammer, &crowd), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(crowd.accepted, accepted);
    cr_assert_eq(weir_peek(crowd.limiter, &request, 5 * S, &decision), remaining > 0);
    cr_assert_eq(decision.remaining, remaining);
    pthread_barrier_destroy(&crowd.start);
    cr_assert_eq(weir_close(crowd.limiter), 0);
}

Test(threads, sixteen_threads_on_a_log_take_the_limit_and_no_more)
{
    crowd_takes(log_rule(100, 10 * S), 1, 100, 0);
    crowd_takes(log_rule(100, 10 * S), 7, 14, 2);
}

Test(threads, sixteen_threads_on_a_counter_take_the_limit_and_no_more)
{
    crowd_takes(counter_rule(100, 10 * S), 1, 100, 0);
    crowd_takes(counter_rule(100, 10 * S), 7, 14, 2);
}

Test(threads, sixteen_threads_on_a_counter_in_a_node_take_the_limit_and_no_more)
{
    const uint64_t limit = UINT64_C(1) << 40;

    crowd_takes(counter_rule(limit, 10 * S), limit / 100, 100, limit % 100);
}

Test(threads, sixteen_threads_on_buckets_take_the_limit_and_no_more)
{
    crowd_takes(buckets_rule(100, 10 * S, 10), 1, 100, 0);
    crowd_takes(buckets_rule(100, 10 * S, 10), 7, 14, 2);
}

static void *one_call(void *argument)
{
    weir_request request = weir_request_for(&argument, 1);
    weir *limiter = argument;

    return weir_take(limiter, &request, 0, NULL) >= 0 ? limiter : NULL;
}

Test(threads, a_thousand_threads_that_register_nowhere_come_and_go)
{
    const weir_rule rules[] = {counter_rule(10, S), log_rule(10, S)};

    for (size_t r = 0; r < 2; r++) {
        weir *limiter = manual_limiter(&rules[r], 1, 0, NULL);

        for (int i = 0; i < 1000; i += 4) {
            pthread_t threads[4];
            void *result;

            for (int k = 0; k < 4; k++)
                cr_assert_eq(pthread_create(&threads[k], NULL, one_call, limiter), 0);
            for (int k = 0; k < 4; k++) {
                pthread_join(threads[k], &result);
                cr_assert_eq(result, limiter);
            }
        }
        /* Were one of them still registered as a reader, this would never return. */
        cr_assert_eq(weir_sweep(limiter, 100 * S, 0), 1);
        cr_assert_eq(weir_reclaim(limiter), 0);
        cr_assert_eq(weir_close(limiter), 0);
    }
}

struct visitor {
    weir *limiter;
    int visits;
};

static int call_everything(void *argument, const weir_key *key)
{
    struct visitor *visitor = argument;
    weir_statistics statistics = {.struct_size = sizeof statistics};
    weir_request request = weir_request_for("fresh", 5);
    const uint64_t limit = 10;

    cr_assert_eq(weir_take(visitor->limiter, &request, 5, NULL) >= 0, 1);
    request = (weir_request){.identity = &key->identity, .cost = 1};
    cr_assert_eq(weir_peek(visitor->limiter, &request, 5, NULL) >= 0, 1);
    cr_assert_eq(weir_take(visitor->limiter, &request, 5, NULL) >= 0, 1);
    cr_assert_eq(weir_sweep(visitor->limiter, 5, 0), 1);
    cr_assert_eq(weir_set_limits(visitor->limiter, 0, &limit, 1), 0);
    cr_assert_eq(weir_stats(visitor->limiter, &statistics), 0);
    /* Waits for a grace period: it would hang, were the walk a read section. */
    if (visitor->visits++ == 0)
        cr_assert_eq(weir_reclaim(visitor->limiter), 0);
    return 0;
}

Test(threads, the_callback_of_a_walk_may_sweep_reclaim_and_take)
{
    const weir_rule rules[] = {counter_rule(10, 10), log_rule(10, 10), buckets_rule(10, 10, 2)};

    for (size_t r = 0; r < 3; r++) {
        weir *limiter = manual_limiter(&rules[r], 1, 0, NULL);
        struct visitor visitor = {.limiter = limiter};

        for (uint64_t i = 0; i < 50; i++) {
            weir_request request = weir_request_for(&i, sizeof i);

            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        }
        cr_assert_eq(weir_each(limiter, 5, call_everything, &visitor), 0);
        /* The fifty exactly once, the one that came meanwhile at most once. */
        cr_assert(visitor.visits == 50 || visitor.visits == 51, "%d visits", visitor.visits);
        cr_assert_eq(weir_close(limiter), 0);
    }
}

static int sweep_all(void *argument, const weir_key *key)
{
    struct visitor *visitor = argument;

    (void)key;
    visitor->visits++;
    return weir_sweep(visitor->limiter, 1000, 0) == 1 ? 0 : -1;
}

Test(threads, a_sweep_of_every_key_under_a_walk_ends_both_well)
{
    weir_rule rule = log_rule(10, 10);
    weir *limiter = manual_limiter(&rule, 1, 0, NULL);
    struct visitor visitor = {.limiter = limiter};
    weir_statistics statistics = {.struct_size = sizeof statistics};

    for (uint64_t i = 0; i < 50; i++) {
        weir_request request = weir_request_for(&i, sizeof i);

        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
    }
    cr_assert_eq(weir_each(limiter, 5, sweep_all, &visitor), 0);
    cr_assert(visitor.visits >= 1 && visitor.visits <= 50, "%d visits", visitor.visits);
    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    cr_assert_eq(statistics.keys, 0);
    cr_assert_eq(weir_close(limiter), 0);
}

Test(threads, waiting_for_a_grace_period_inside_a_reader_is_an_error_and_everything_else_works)
{
    weir_rule rule = log_rule(1, 10);
    weir *limiter = manual_limiter(&rule, 1, 0, NULL);
    static const struct row inside[] = {TAKES(0, 1, 0), REFUSES(1, 1, 0, 9), SWEEPS(10), TAKES(10, 1, 0)};
    static const struct row after[] = {REFUSES(11, 1, 0, 9)};
    const char *wrong;

    urcu_bp_read_lock();
    wrong = rows_wrong(limiter, ROWS(inside));
    cr_assert_null(wrong, "%s", wrong);
    cr_assert_eq(weir_reclaim(limiter), -EDEADLK);
    cr_assert_eq(weir_close(limiter), -EDEADLK);
    urcu_bp_read_unlock();
    wrong = rows_wrong(limiter, ROWS(after));
    cr_assert_null(wrong, "%s", wrong);
    cr_assert_eq(weir_reclaim(limiter), 0);
    cr_assert_eq(weir_close(limiter), 0);
}
