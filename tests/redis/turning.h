/*
 * A loop with a client on it, and what its calls were answered. Header only: its checks are those of the test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_TURNING_H
#define WEIR_TESTS_REDIS_TURNING_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "client.h"
#include "loops.h"

struct turning {
    const struct loop_kind *kind;
    void *host;
    weir_redis_loop loop;
    weir_redis_async *async;
    bool taking; /* inside weir_redis_async_take */
    bool closed;
    size_t asked;
    size_t at_once;  /* answered without waiting */
    size_t under_way; /* not answered so far */
    size_t accepted, refused, unreached, fallback, unknown, remembered;
    weir_decision last;
};

static inline void turning_count(struct turning *turning, int verdict, const weir_decision *decision)
{
    turning->accepted += verdict == 1;
    turning->refused += verdict == 0;
    turning->unreached += (decision->flags & WEIR_REDIS_UNREACHED) != 0;
    turning->fallback += (decision->flags & WEIR_REDIS_FALLBACK) != 0;
    turning->unknown += (decision->flags & WEIR_REDIS_UNKNOWN) != 0;
    turning->remembered += (decision->flags & WEIR_REDIS_REMEMBERED) != 0;
    turning->last = *decision;
}

/* A call under way: answered once, not before the call returned, not after the close. */
static inline void turning_answer(void *argument, int verdict, const weir_decision *decision)
{
    struct turning *turning = argument;

    CHECK(!turning->taking);
    CHECK(!turning->closed);
    CHECK(turning->under_way > 0);
    CHECK_EQUAL(decision->verdict, verdict);
    turning->under_way--;
    turning_count(turning, verdict, decision);
}

static inline int turning_ask(struct turning *turning, const weir_request *request, uint64_t now)
{
    weir_decision decision;

    turning->taking = true;
    int verdict = weir_redis_async_take(turning->async, request, now, &decision, turning_answer, turning);
    turning->taking = false;
    if (verdict == -EINPROGRESS) {
        turning->asked++;
        turning->under_way++;
    } else if (verdict >= 0) {
        turning->asked++;
        turning->at_once++;
        CHECK_EQUAL(decision.verdict, verdict);
        turning_count(turning, verdict, &decision);
    }
    return verdict;
}

static inline int turning_take(struct turning *turning, const char *key, uint64_t now)
{
    weir_request request = weir_request_for(key, strlen(key));

    return turning_ask(turning, &request, now);
}

static inline void turn(struct turning *turning)
{
    turning->kind->turn(turning->host, 1);
}

/* Until all that is under way is answered. */
static inline void turn_out(struct turning *turning)
{
    while (turning->under_way > 0)
        turn(turning);
}

static inline void turning_fired(void *argument)
{
    *(bool *)argument = true;
}

/* For so long; answers come in meanwhile. */
static inline void turn_for(struct turning *turning, uint64_t ns)
{
    bool fired = false;
    void *timer = turning->loop.timer(turning->loop.loop, turning_fired, &fired);

    turning->loop.arm(timer, ns);
    while (!fired)
        turn(turning);
    turning->loop.untimer(timer);
}

/* The same after a delay of the host's own: libuv runs timers, and then waits for events, of which there may be none. */
static inline void turn_out_late(struct turning *turning)
{
    while (turning->under_way > 0)
        turn_for(turning, WEIR_MILLISECOND);
}

static inline struct turning *turning_open(struct turning *turning, const struct loop_kind *kind, weir_redis *limiter)
{
    *turning = (struct turning){.kind = kind};
    turning->host = kind->open(&turning->loop);
    CHECK_EQUAL(0, weir_redis_async_open(&turning->async, limiter, &turning->loop));
    return turning;
}

/* Everything that was asked is answered by then. */
static inline void turning_close(struct turning *turning)
{
    weir_redis_async_close(turning->async);
    turning->closed = true;
    CHECK_EQUAL(0, turning->under_way);
    CHECK_EQUAL(turning->asked, turning->accepted + turning->refused);
    turning->kind->close(turning->host);
}

/* Leaves a server alone after one failure, for so long that it is not asked again in a test. */
static inline weir_redis_options touchy(const char *url)
{
    weir_redis_options options = client_options(url);
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    return options;
}

/* Never leaves it alone, and remembers nothing. */
static inline weir_redis_options untiring(const char *url)
{
    weir_redis_options options = client_options(url);
    options.breaker_failures = UINT32_MAX;
    options.remember_ns = 0;
    return options;
}

#endif
