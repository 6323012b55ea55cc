/* SPDX-License-Identifier: MIT */
#include "loops.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/redis_epoll.h>

#ifdef WITH_LIBUV
#include <weir/redis_libuv.h>
#endif
#ifdef WITH_LIBEVENT
#include <weir/redis_libevent.h>
#endif

static void *must(void *pointer, const char *what)
{
    if (pointer == NULL) {
        fprintf(stderr, "no %s\n", what);
        exit(1);
    }
    return pointer;
}

/* ---- epoll, as a host has it: its descriptor among others, here of poll ---- */

static void *open_epoll(weir_redis_loop *loop)
{
    weir_redis_epoll *epoll = must(malloc(sizeof *epoll), "memory");

    if (weir_redis_epoll_open(epoll) != 0)
        must(NULL, "epoll");
    weir_redis_epoll_fill(epoll, loop);
    return epoll;
}

static void turn_epoll(void *host, int wait)
{
    weir_redis_epoll *epoll = host;
    struct pollfd ready = {.fd = epoll->fd, .events = POLLIN};

    if (poll(&ready, 1, wait ? -1 : 0) == 1)
        (void)weir_redis_epoll_dispatch(epoll, 0);
}

static void close_epoll(void *host)
{
    weir_redis_epoll_close(host);
    free(host);
}

/* ---- libuv ---- */

#ifdef WITH_LIBUV
static void *open_libuv(weir_redis_loop *loop)
{
    uv_loop_t *uv = must(malloc(sizeof *uv), "memory");

    if (uv_loop_init(uv) != 0)
        must(NULL, "libuv");
    weir_redis_libuv_fill(uv, loop);
    return uv;
}

static void turn_libuv(void *host, int wait)
{
    uv_run(host, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

static void close_libuv(void *host)
{
    uv_run(host, UV_RUN_DEFAULT);
    if (uv_loop_close(host) != 0)
        must(NULL, "end of libuv's handles");
    free(host);
}
#endif

/* ---- libevent ---- */

#ifdef WITH_LIBEVENT
static void *open_libevent(weir_redis_loop *loop)
{
    struct event_base *base = must(event_base_new(), "libevent");

    weir_redis_libevent_fill(base, loop);
    return base;
}

static void turn_libevent(void *host, int wait)
{
    event_base_loop(host, EVLOOP_ONCE | (wait ? 0 : EVLOOP_NONBLOCK));
}

static void close_libevent(void *host)
{
    event_base_free(host);
}
#endif

const struct loop_kind loop_kinds[] = {
    {"epoll", open_epoll, turn_epoll, close_epoll},
#ifdef WITH_LIBUV
    {"libuv", open_libuv, turn_libuv, close_libuv},
#endif
#ifdef WITH_LIBEVENT
    {"libevent", open_libevent, turn_libevent, close_libevent},
#endif
};
const size_t loop_kind_count = sizeof loop_kinds / sizeof *loop_kinds;

void loop_kinds_tell_missing(void)
{
#ifndef WITH_LIBUV
    puts("skipped for libuv: it is not installed");
#endif
#ifndef WITH_LIBEVENT
    puts("skipped for libevent: it is not installed");
#endif
}
