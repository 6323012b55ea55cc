/* Lending connections. */
#include "redis/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <weir/types.h>

int weiri_redis_pool_open(weiri_redis_pool *pool, uint32_t places)
{
    pthread_condattr_t monotonic;
    *pool = (weiri_redis_pool){.places = places};
    pool->idle = calloc(places, sizeof *pool->idle);
    if (!pool->idle)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->returned, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return 0;
}

void weiri_redis_pool_close(weiri_redis_pool *pool)
{
    if (!pool->idle)
        return;
    weiri_redis_pool_drain(pool);
    pthread_cond_destroy(&pool->returned);
    pthread_mutex_destroy(&pool->lock);
    free(pool->idle);
    pool->idle = NULL;
}

bool weiri_redis_pool_borrow(weiri_redis_pool *pool, weiri_redis_link *link, uint64_t deadline)
{
    struct timespec until = {(time_t)(deadline / WEIR_SECOND), (long)(deadline % WEIR_SECOND)};
    int late = 0;
    *link = (weiri_redis_link){.fd = -1};
    pthread_mutex_lock(&pool->lock);
    while (pool->lent == pool->places && !late)
        late = pthread_cond_timedwait(&pool->returned, &pool->lock, &until);
    bool there = pool->lent < pool->places;
    if (there) {
        pool->lent++;
        if (pool->count > 0)
            *link = pool->idle[--pool->count];
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

void weiri_redis_pool_return(weiri_redis_pool *pool, weiri_redis_link *link)
{
    pthread_mutex_lock(&pool->lock);
    pool->lent--;
    if (weiri_redis_link_is_open(link))
        pool->idle[pool->count++] = *link;
    pthread_cond_signal(&pool->returned);
    pthread_mutex_unlock(&pool->lock);
}
