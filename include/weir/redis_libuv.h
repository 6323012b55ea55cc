/*
 * weir/redis_libuv.h: weir_redis_loop on a loop of libuv 1. Header only; the program links libuv.
 *
 *     weir_redis_loop loop;
 *     weir_redis_libuv_fill(uv_default_loop(), &loop);
 *     weir_redis_async_open(&async, limiter, &loop);
 *
 * Until weir_redis_async_close, the client keeps uv_run going. libuv closes handles in a later turn: after that close,
 * the loop must run on (uv_run returns when they are closed) before uv_loop_close; their memory is freed then.
 *
 * All functions: by the loop's thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_REDIS_LIBUV_H
#define WEIR_REDIS_LIBUV_H

#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <weir/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Private to this header, as all that follows but for _fill. The handle's data leads back to these. */
typedef struct weir_redis_libuv_watch {
    uv_poll_t handle;
    void (*ready)(void *argument, unsigned events);
    void *argument;
} weir_redis_libuv_watch;

typedef struct weir_redis_libuv_alarm {
    uv_timer_t handle;
    void (*fire)(void *argument);
    void *argument;
} weir_redis_libuv_alarm;

static inline void weir_redis_libuv_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* An error is for who reads or writes to find. */
static inline void weir_redis_libuv_ready(uv_poll_t *handle, int status, int happened)
{
    weir_redis_libuv_watch *watch = (weir_redis_libuv_watch *)handle->data;
    unsigned events = 0;
    if (status < 0 || (happened & UV_READABLE) != 0)
        events |= WEIR_REDIS_READABLE;
    if (status < 0 || (happened & UV_WRITABLE) != 0)
        events |= WEIR_REDIS_WRITABLE;
    watch->ready(watch->argument, events);
}

static inline void *weir_redis_libuv_watch_fd(void *loop, int fd, void (*ready)(void *argument, unsigned events),
                                              void *argument)
{
    weir_redis_libuv_watch *watch = (weir_redis_libuv_watch *)calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    if (uv_poll_init((uv_loop_t *)loop, &watch->handle, fd) != 0) {
        free(watch);
        return NULL;
    }
    watch->handle.data = watch;
    watch->ready = ready;
    watch->argument = argument;
    return watch;
}

static inline void weir_redis_libuv_want(void *wanting, unsigned events)
{
    weir_redis_libuv_watch *watch = (weir_redis_libuv_watch *)wanting;
    int wanted = 0;
    if ((events & WEIR_REDIS_READABLE) != 0)
        wanted |= UV_READABLE;
    if ((events & WEIR_REDIS_WRITABLE) != 0)
        wanted |= UV_WRITABLE;
    if (wanted != 0)
        (void)uv_poll_start(&watch->handle, wanted, weir_redis_libuv_ready);
    else
        (void)uv_poll_stop(&watch->handle);
}

/* After the stop, the descriptor may be closed. */
static inline void weir_redis_libuv_unwatch(void *ending)
{
    weir_redis_libuv_watch *watch = (weir_redis_libuv_watch *)ending;
    (void)uv_poll_stop(&watch->handle);
    uv_close((uv_handle_t *)&watch->handle, weir_redis_libuv_closed);
}

static inline void weir_redis_libuv_fire(uv_timer_t *handle)
{
    weir_redis_libuv_alarm *timer = (weir_redis_libuv_alarm *)handle->data;
    timer->fire(timer->argument);
}

static inline void *weir_redis_libuv_timer(void *loop, void (*fire)(void *argument), void *argument)
{
    weir_redis_libuv_alarm *timer = (weir_redis_libuv_alarm *)calloc(1, sizeof *timer);
    if (timer == NULL)
        return NULL;
    (void)uv_timer_init((uv_loop_t *)loop, &timer->handle); /* cannot fail */
    timer->handle.data = timer;
    timer->fire = fire;
    timer->argument = argument;
    return timer;
}

/* libuv counts whole milliseconds from the last one that it has seen begin: one more, so that it is never early. */
static inline void weir_redis_libuv_arm(void *arming, uint64_t after_ns)
{
    weir_redis_libuv_alarm *timer = (weir_redis_libuv_alarm *)arming;
    if (after_ns == UINT64_MAX) {
        (void)uv_timer_stop(&timer->handle);
        return;
    }
    uv_update_time(timer->handle.loop);
    (void)uv_timer_start(&timer->handle, weir_redis_libuv_fire, after_ns == 0 ? 0 : (after_ns - 1) / 1000000 + 2, 0);
}

static inline void weir_redis_libuv_untimer(void *ending)
{
    weir_redis_libuv_alarm *timer = (weir_redis_libuv_alarm *)ending;
    (void)uv_timer_stop(&timer->handle);
    uv_close((uv_handle_t *)&timer->handle, weir_redis_libuv_closed);
}

static inline void weir_redis_libuv_fill(uv_loop_t *uv, weir_redis_loop *loop)
{
    memset(loop, 0, sizeof *loop);
    loop->loop = uv;
    loop->watch = weir_redis_libuv_watch_fd;
    loop->want = weir_redis_libuv_want;
    loop->unwatch = weir_redis_libuv_unwatch;
    loop->timer = weir_redis_libuv_timer;
    loop->arm = weir_redis_libuv_arm;
    loop->untimer = weir_redis_libuv_untimer;
}

#ifdef __cplusplus
}
#endif

#endif
