/*
 * side: one way to ask Redis for decisions, of which several are measured in turn.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_REDIS_SIDE_H
#define WEIR_BENCH_REDIS_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/redis.h>

#include "../histogram.h"
#include "../../tests/redis/server.h"

typedef struct bench_side bench_side;

/* How it is asked. Each thread has a connection, and a key. */
typedef struct bench_way {
    void *(*open)(const bench_side *side, const struct redis_server *server, unsigned threads);
    /* Asks, and waits for an answer; adds to `latency` how long it took, in ticks. How many decisions that was; 0: it
     * failed. NULL: before a round, to wake up; nothing is to be under way afterwards. */
    unsigned (*ask)(void *state, unsigned thread, bench_histogram *latency);
    /* Round trips so far; 0: not counted. */
    uint64_t (*trips)(void *state);
    /* What is in the window of the thread's key; 0: not known. */
    double (*used)(void *state, unsigned thread);
    void (*close)(void *state);
} bench_way;

struct bench_side {
    const char *subject;
    const char *algorithm;
    const char *calls; /* "accepted", "refused" */
    const bench_way *way;
    bool tcp;              /* over 127.0.0.1, else the unix socket */
    weir_rule rule;        /* weir's */
    uint64_t window_calls; /* the window is as long as so many calls take; 0: as the rule says */
    unsigned batch;        /* calls in one */
    unsigned in_flight;    /* an event loop's: calls under way at any time */
    uint64_t remember_ns;
};

/* What one would write without weir, by hiredis alone. */
extern const bench_way bench_by_empty_script; /* EVALSHA of "", with a key: the floor of a round trip */
extern const bench_way bench_by_incr;         /* INCR and EXPIRE, written together: a fixed window */

/* weir_redis_take, weir_redis_take_batch. */
extern const bench_way bench_by_weir;

/* weir_redis_async_take, on an epoll loop a thread. */
extern const bench_way bench_by_loop;

/* What ways of weir have in common: a limiter, and a key for each thread. */
typedef struct bench_limiter {
    weir_redis *limiter;
    const bench_side *side;
    char (*keys)[24];
} bench_limiter;

void bench_limiter_open(bench_limiter *made, const bench_side *side, const struct redis_server *server,
                        unsigned threads);
weir_request bench_limiter_request(const bench_limiter *at, unsigned thread);
uint64_t bench_limiter_trips(const bench_limiter *at);
double bench_limiter_used(const bench_limiter *at, unsigned thread);
void bench_limiter_close(bench_limiter *made);

/* Is that what a call of this side must be answered? */
bool bench_limiter_right(const bench_limiter *at, int verdict, const weir_decision *decision);

#endif
