/*
 * The connections to one server: at most a number of them, made by who needs one, the last used first. A caller has a
 * place while it asks; who finds none waits for one, until its deadline. Places are handed to those who wait in the
 * order they came: a caller that returns its place and comes again at once would else take it from them, until they are
 * late.
 *
 * One mutex guards all fields, and who waits; a link that is lent out is its holder's alone. Nothing is waited for
 * under it but the waiter's condition.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_POOL_H
#define WEIRI_REDIS_POOL_H

#include <pthread.h>

#include "redis/link.h"

/* On its caller's stack. */
typedef struct weiri_redis_waiter {
    struct weiri_redis_waiter *next;
    pthread_cond_t returned;
    weiri_redis_link link;
    bool served; /* `link` is its own, and the place */
} weiri_redis_waiter;

typedef struct weiri_redis_pool {
    pthread_mutex_t lock;
    pthread_condattr_t monotonic;
    weiri_redis_waiter *first, **end; /* of those who wait: none unless all places are lent */
    weiri_redis_link *idle; /* those at rest: `count`, the last used at the end; room for `places` */
    uint32_t count;
    uint32_t lent;
    uint32_t places;
} weiri_redis_pool;

/* Returns 0 or -ENOMEM. */
int weiri_redis_pool_open(weiri_redis_pool *pool, uint32_t places);
/* None is lent. */
void weiri_redis_pool_close(weiri_redis_pool *pool);

/* A link, quiet or closed: then the caller opens it. False: none came back until `deadline`. */
bool weiri_redis_pool_borrow(weiri_redis_pool *pool, weiri_redis_link *link, uint64_t deadline);

/* Closes those at rest. */
void weiri_redis_pool_drain(weiri_redis_pool *pool);

/* A closed one makes room. */
void weiri_redis_pool_return(weiri_redis_pool *pool, weiri_redis_link *link);

#endif
