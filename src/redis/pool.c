/* Lending connections. */
#include "redis/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <weir/types.h>

int weiri_redis_pool_open(weiri_redis_pool *pool, uint32_t places)
{
    *pool = (weiri_redis_pool){.places = places, .end = &pool->first};
    pool->idle = calloc(places, sizeof *pool->idle);
    if (!pool->idle)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&pool->monotonic);
    pthread_condattr_setclock(&pool->monotonic, CLOCK_MONOTONIC);
    return 0;
}

void weiri_redis_pool_close(weiri_redis_pool *pool)
{
    if (!pool->idle)
        return;
    weiri_redis_pool_drain(pool);
    pthread_condattr_destroy(&pool->monotonic);
    pthread_mutex_destroy(&pool->lock);
    free(pool->idle);
    pool->idle = NULL;
}

static void leave_queue(weiri_redis_pool *pool, const weiri_redis_waiter *waiter)
{
    weiri_redis_waiter **at = &pool->first;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    if (!waiter->next)
        pool->end = at;
}

/* Waits for a place that is handed over, with the link it had. */
static bool wait_for_place(weiri_redis_pool *pool, weiri_redis_link *link, uint64_t deadline)
{
    struct timespec until = {(time_t)(deadline / WEIR_SECOND), (long)(deadline % WEIR_SECOND)};
    weiri_redis_waiter waiter = {.link = {.fd = -1}};
    int late = 0;
    pthread_cond_init(&waiter.returned, &pool->monotonic);
    *pool->end = &waiter;
    pool->end = &waiter.next;
    while (!waiter.served && !late)
        late = pthread_cond_timedwait(&waiter.returned, &pool->lock, &until);
    if (!waiter.served)
        leave_queue(pool, &waiter);
    pthread_cond_destroy(&waiter.returned);
    *link = waiter.link;
    return waiter.served;
}

bool weiri_redis_pool_borrow(weiri_redis_pool *pool, weiri_redis_link *link, uint64_t deadline)
{
    *link = (weiri_redis_link){.fd = -1};
    pthread_mutex_lock(&pool->lock);
    bool there = pool->lent < pool->places;
    if (there) {
        pool->lent++;
        if (pool->count > 0)
            *link = pool->idle[--pool->count];
    } else {
        there = wait_for_place(pool, link, deadline);
    }
    pthread_mutex_unlock(&pool->lock);
    if (there && !weiri_redis_link_is_quiet(link))
        weiri_redis_link_close(link);
    return there;
}

void weiri_redis_pool_drain(weiri_redis_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->count > 0)
        weiri_redis_link_close(&pool->idle[--pool->count]);
    pthread_mutex_unlock(&pool->lock);
}

static void serve_first(weiri_redis_pool *pool, const weiri_redis_link *link)
{
    weiri_redis_waiter *waiter = pool->first;
    pool->first = waiter->next;
    if (!pool->first)
        pool->end = &pool->first;
    waiter->link = *link;
    waiter->served = true;
    pthread_cond_signal(&waiter->returned);
}

void weiri_redis_pool_return(weiri_redis_pool *pool, weiri_redis_link *link)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->first) {
        serve_first(pool, link);
    } else {
        pool->lent--;
        if (weiri_redis_link_is_open(link))
            pool->idle[pool->count++] = *link;
    }
    pthread_mutex_unlock(&pool->lock);
}
