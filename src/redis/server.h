/*
 * A server: where it is, its connections, and whether it is being left alone. A limiter has one; in a cluster, one for
 * each node.
 *
 * `lock` guards the breaker and what follows it; it is held for a few instructions, with no other lock taken inside.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_SERVER_H
#define WEIRI_REDIS_SERVER_H

#include <weir/redis.h>

#include "redis/breaker.h"
#include "redis/pool.h"

typedef struct weiri_redis_server {
    weiri_redis_url url;
    char name[272]; /* 127.0.0.1:6379 or a path; for error texts */
    uint64_t connect_timeout;
    uint64_t command_timeout;
    weiri_redis_pool pool;
    pthread_mutex_t lock;
    weiri_redis_breaker breaker;
    uint64_t random; /* state of a splitmix64, for the breaker's jitter */
    uint64_t connects;
    uint64_t failures;
} weiri_redis_server;

/* `url` is the server's from now on, also where this fails. Returns 0 or -ENOMEM. */
int weiri_redis_server_open(weiri_redis_server *server, weiri_redis_url *url, const weir_redis_options *options);
void weiri_redis_server_close(weiri_redis_server *server);

/* A caller's leave to use a server, and a connection to it. */
typedef struct weiri_redis_visit {
    weiri_redis_link link;
    uint64_t admitted;
    uint64_t deadline; /* of the commands: the time that connecting took is not in it */
} weiri_redis_visit;

/*
 * False: the server is left alone (*why is not touched), or cannot be had (*why tells, and a failure to connect is
 * counted). True: exactly one _end or _abandon must follow.
 */
bool weiri_redis_visit_begin(weiri_redis_server *server, weiri_redis_visit *visit, uint64_t deadline,
                             weiri_redis_text *why);

/* failed: the server did not do what it was asked. Its connection is closed then: who comes next finds whoever has the
 * address by that time. */
void weiri_redis_visit_end(weiri_redis_server *server, weiri_redis_visit *visit, bool failed);

/* Nothing was asked. */
void weiri_redis_visit_abandon(weiri_redis_server *server, weiri_redis_visit *visit);

/* The parts of a visit, for who has connections of its own. Leave to ask: 0 or the number to report with, once. */
uint64_t weiri_redis_server_admit(weiri_redis_server *server);
void weiri_redis_server_report(weiri_redis_server *server, uint64_t admitted, bool failed);
void weiri_redis_server_abandon(weiri_redis_server *server, uint64_t admitted); /* nothing was asked */
void weiri_redis_server_connected(weiri_redis_server *server);                  /* counts it */

/* How long it is left alone from now on; 0: it is not. */
uint64_t weiri_redis_server_wait(weiri_redis_server *server);

#endif
