/* Places for connections, lent and waited for. No connection is made. */
#include <sched.h>
#include <stdatomic.h>
#include <weir/types.h>

#include "check.h"
#include "redis/pool.h"

enum { THREADS = 4 };

static weiri_redis_pool pool;
static unsigned served; /* so many had the place so far; its holder's alone */
static atomic_uint gone; /* so many gave up */

struct visitor {
    pthread_t thread;
    uint64_t deadline;
    bool had_it;
    unsigned position;
};

static uint64_t later(void)
{
    return weiri_redis_now() + 10 * WEIR_SECOND;
}

static void *visit(void *argument)
{
    struct visitor *visitor = argument;
    weiri_redis_link link;
    visitor->had_it = weiri_redis_pool_borrow(&pool, &link, visitor->deadline);
    if (visitor->had_it) {
        visitor->position = served++;
        weiri_redis_pool_return(&pool, &link);
    } else {
        atomic_fetch_add(&gone, 1);
    }
    return NULL;
}

static unsigned waiting(void)
{
    unsigned count = 0;
    pthread_mutex_lock(&pool.lock);
    for (const weiri_redis_waiter *at = pool.first; at; at = at->next)
        count++;
    pthread_mutex_unlock(&pool.lock);
    return count;
}

/* Starts one, and returns when it waits. */
static void send(struct visitor *visitor, uint64_t deadline)
{
    unsigned before = waiting() + atomic_load(&gone);
    *visitor = (struct visitor){.deadline = deadline};
    CHECK_EQUAL(0, pthread_create(&visitor->thread, NULL, visit, visitor));
    while (waiting() + atomic_load(&gone) <= before)
        sched_yield();
}

static void begin(weiri_redis_link *link)
{
    served = 0;
    CHECK_EQUAL(0, weiri_redis_pool_open(&pool, 1));
    CHECK(weiri_redis_pool_borrow(&pool, link, later()));
}

static void those_who_wait_are_served_in_order_and_before_who_comes_again(void)
{
    struct visitor visitors[THREADS];
    weiri_redis_link link;
    begin(&link);
    for (int i = 0; i < THREADS; i++)
        send(&visitors[i], later());
    weiri_redis_pool_return(&pool, &link);
    CHECK(weiri_redis_pool_borrow(&pool, &link, later()));
    CHECK_EQUAL(THREADS, served);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(visitors[i].thread, NULL);
        CHECK(visitors[i].had_it);
        CHECK_EQUAL(i, visitors[i].position);
    }
    weiri_redis_pool_return(&pool, &link);
    CHECK_EQUAL(0, pool.lent);
    weiri_redis_pool_close(&pool);
}

static void who_is_late_leaves_its_place_in_the_line(void)
{
    struct visitor visitors[THREADS];
    weiri_redis_link link;
    for (int late = 0; late < THREADS; late++) {
        begin(&link);
        for (int i = 0; i < THREADS; i++)
            send(&visitors[i], i == late ? weiri_redis_now() + 20 * WEIR_MILLISECOND : later());
        pthread_join(visitors[late].thread, NULL);
        CHECK(!visitors[late].had_it);
        weiri_redis_pool_return(&pool, &link);
        CHECK(weiri_redis_pool_borrow(&pool, &link, later()));
        CHECK_EQUAL(THREADS - 1, served);
        weiri_redis_pool_return(&pool, &link);
        for (int i = 0; i < THREADS; i++)
            if (i != late)
                pthread_join(visitors[i].thread, NULL);
        CHECK_EQUAL(0, pool.lent);
        weiri_redis_pool_close(&pool);
    }
}

static void a_deadline_that_has_passed_takes_what_is_free_and_waits_for_nothing(void)
{
    weiri_redis_link link, other;
    begin(&link);
    CHECK(!weiri_redis_pool_borrow(&pool, &other, 1));
    CHECK_EQUAL(1, pool.lent);
    weiri_redis_pool_return(&pool, &link);
    CHECK(weiri_redis_pool_borrow(&pool, &link, 1));
    weiri_redis_pool_return(&pool, &link);
    weiri_redis_pool_close(&pool);
}

int main(void)
{
    those_who_wait_are_served_in_order_and_before_who_comes_again();
    who_is_late_leaves_its_place_in_the_line();
    a_deadline_that_has_passed_takes_what_is_free_and_waits_for_nothing();
    return checks_end();
}
