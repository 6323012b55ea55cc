/*
 * Calls of an event loop: what was asked, and whom to answer. Used by the loop's thread alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_CALLS_H
#define WEIRI_REDIS_CALLS_H

#include "redis/client.h"

/* What a settled call tells the breaker. */
enum weiri_redis_report { WEIRI_REDIS_SUCCEEDED, WEIRI_REDIS_FAILED, WEIRI_REDIS_ABANDONED };

typedef struct weiri_redis_call {
    struct weiri_redis_call *next;
    weiri_redis_job job; /* job.end counts all bytes that were ever written on the connection */
    weir_request request;
    weir_redis_answer answer;
    void *argument;
    uint64_t admitted; /* the breaker's number */
    uint64_t deadline; /* ns, CLOCK_MONOTONIC; holds once there is a connection */
    uint64_t limit;    /* the end of all its time, wherever that is spent; UINT64_MAX outside a cluster */
    uint64_t map;      /* by which it was routed */
    unsigned rounds;   /* so many times it was written to the server that has it */
    unsigned hops;     /* so many times it was sent on */
    bool fetches;      /* it asks for the slot map; nobody is answered */
    bool announced;    /* its ASKING was answered */
    enum weiri_redis_report report;
    char key[];
} weiri_redis_call;

/* First in, first out. */
typedef struct weiri_redis_calls {
    weiri_redis_call *first;
    weiri_redis_call *last;
    size_t count;
} weiri_redis_calls;

/* A copy of the job, its request and key. NULL: no memory. */
weiri_redis_call *weiri_redis_call_new(const weiri_redis_job *job, weir_redis_answer answer, void *argument);

void weiri_redis_calls_add(weiri_redis_calls *calls, weiri_redis_call *call);

/* NULL: there is none. */
weiri_redis_call *weiri_redis_calls_take(weiri_redis_calls *calls);

/* All of `from`, before those that are there; afterwards `from` is empty. */
void weiri_redis_calls_put_before(weiri_redis_calls *calls, weiri_redis_calls *from);

/* Tells the server's breaker of settled calls. */
void weiri_redis_calls_report(weiri_redis_server *server, const weiri_redis_calls *calls);

/*
 * Settled calls, whose fates are known: remembers refusals, lets the policy decide, counts; then answers and frees
 * them. `calls` is empty before the first is answered. Nothing may be done afterwards that an answer
 * can have made untrue: each may have asked anew.
 */
void weiri_redis_calls_answer(weir_redis *limiter, weiri_redis_calls *calls);

#endif
