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
    bool in_cluster; /* a refusal to carry out may mean another node, or this slot alone */
    uint64_t random; /* state of a splitmix64, for the breaker's jitter */
    uint64_t connects;
    uint64_t failures;
} weiri_redis_server;

/* `url` is the server's from now on, also where this fails. Returns 0 or -ENOMEM. */
int weiri_redis_server_open(weiri_redis_server *server, weiri_redis_url *url, const weir_redis_options *options);
void weiri_redis_server_close(weiri_redis_server *server);

/* The time that a call may take, whatever it is spent on: both together bound it. */
typedef struct weiri_redis_time {
    uint64_t deadline;   /* of commands; moved by what connecting took */
    uint64_t connecting; /* ns that connecting may still take */
} weiri_redis_time;

/* That of a call which begins now. */
weiri_redis_time weiri_redis_server_time(const weiri_redis_server *server);

/* A caller's leave to use a server, and a connection to it. */
typedef struct weiri_redis_visit {
    weiri_redis_link link;
    uint64_t admitted;
    bool probes; /* it is the breaker's probe */
} weiri_redis_visit;

/*
 * Leave, and a place among the connections. False: the server is left alone (*why is not touched), or no place became
 * free (*why tells). True: exactly one _connect that fails, _end or _abandon must follow. Who visits several servers at
 * once enters them in one order, the same for all threads, so that none waits for a place in a circle.
 */
bool weiri_redis_visit_enter(weiri_redis_server *server, weiri_redis_visit *visit, uint64_t deadline,
                             weiri_redis_text *why);

/* Connects, where the link that came with the place is closed. False: *why tells, the failure is counted, and the visit
 * is over. */
bool weiri_redis_visit_connect(weiri_redis_server *server, weiri_redis_visit *visit, weiri_redis_time *time,
                               weiri_redis_text *why);

static inline bool weiri_redis_visit_begin(weiri_redis_server *server, weiri_redis_visit *visit,
                                           weiri_redis_time *time, weiri_redis_text *why)
{
    return weiri_redis_visit_enter(server, visit, time->deadline, why) &&
           weiri_redis_visit_connect(server, visit, time, why);
}

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

/* Did it fail last? Or is it being left alone? */
bool weiri_redis_server_is_doubtful(weiri_redis_server *server);

/* How long it is left alone from now on; 0: it is not. */
uint64_t weiri_redis_server_wait(weiri_redis_server *server);

#endif
