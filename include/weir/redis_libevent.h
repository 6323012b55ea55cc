/*
 * weir/redis_libevent.h: weir_redis_loop on an event base of libevent 2. Header only; the program links libevent_core.
 *
 *     weir_redis_loop loop;
 *     weir_redis_libevent_fill(base, &loop);
 *     weir_redis_async_open(&async, limiter, &loop);
 *
 * weir_redis_async_close comes before event_base_free. All functions: by the loop's thread. Timers may be some
 * milliseconds early, where libevent's clock is coarse; the client looks at its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_REDIS_LIBEVENT_H
#define WEIR_REDIS_LIBEVENT_H

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <weir/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Private to this header, as all that follows but for _fill. Two events, since what one waits for cannot be changed. */
typedef struct weir_redis_libevent_watch {
    struct event *readable;
    struct event *writable;
    void (*ready)(void *argument, unsigned events);
    void *argument;
} weir_redis_libevent_watch;

typedef struct weir_redis_libevent_alarm {
    struct event_base *base;
    struct event *event;
    void (*fire)(void *argument);
    void *argument;
} weir_redis_libevent_alarm;

static inline void weir_redis_libevent_ready(evutil_socket_t fd, short happened, void *argument)
{
    weir_redis_libevent_watch *watch = (weir_redis_libevent_watch *)argument;
    (void)fd;
    watch->ready(watch->argument, (happened & EV_READ) != 0 ? WEIR_REDIS_READABLE : WEIR_REDIS_WRITABLE);
}

/* Events that libevent has at hand for these are not told any more. */
static inline void weir_redis_libevent_unwatch(void *ending)
{
    weir_redis_libevent_watch *watch = (weir_redis_libevent_watch *)ending;
    if (watch->readable != NULL)
        event_free(watch->readable);
    if (watch->writable != NULL)
        event_free(watch->writable);
    free(watch);
}

static inline void *weir_redis_libevent_watch_fd(void *loop, int fd, void (*ready)(void *argument, unsigned events),
                                                 void *argument)
{
    weir_redis_libevent_watch *watch = (weir_redis_libevent_watch *)calloc(1, sizeof *watch);
    struct event_base *base = (struct event_base *)loop;
    if (watch == NULL)
        return NULL;
    watch->ready = ready;
    watch->argument = argument;
    watch->readable = event_new(base, fd, EV_READ | EV_PERSIST, weir_redis_libevent_ready, watch);
    watch->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, weir_redis_libevent_ready, watch);
    if (watch->readable != NULL && watch->writable != NULL)
        return watch;
    weir_redis_libevent_unwatch(watch);
    return NULL;
}

static inline void weir_redis_libevent_want(void *wanting, unsigned events)
{
    weir_redis_libevent_watch *watch = (weir_redis_libevent_watch *)wanting;
    if ((events & WEIR_REDIS_READABLE) != 0)
        (void)event_add(watch->readable, NULL);
    else
        (void)event_del(watch->readable);
    if ((events & WEIR_REDIS_WRITABLE) != 0)
        (void)event_add(watch->writable, NULL);
    else
        (void)event_del(watch->writable);
}

static inline void weir_redis_libevent_fire(evutil_socket_t fd, short happened, void *argument)
{
    weir_redis_libevent_alarm *timer = (weir_redis_libevent_alarm *)argument;
    (void)fd;
    (void)happened;
    timer->fire(timer->argument);
}

static inline void *weir_redis_libevent_timer(void *loop, void (*fire)(void *argument), void *argument)
{
    weir_redis_libevent_alarm *timer = (weir_redis_libevent_alarm *)calloc(1, sizeof *timer);
    if (timer == NULL)
        return NULL;
    timer->base = (struct event_base *)loop;
    timer->fire = fire;
    timer->argument = argument;
    timer->event = event_new(timer->base, -1, 0, weir_redis_libevent_fire, timer);
    if (timer->event != NULL)
        return timer;
    free(timer);
    return NULL;
}

/* Inside its callbacks libevent's time stands still: or a timer would begin when they did. */
static inline void weir_redis_libevent_arm(void *arming, uint64_t after_ns)
{
    weir_redis_libevent_alarm *timer = (weir_redis_libevent_alarm *)arming;
    struct timeval wait;
    (void)event_del(timer->event);
    if (after_ns == UINT64_MAX)
        return;
    memset(&wait, 0, sizeof wait);
    wait.tv_sec = (time_t)(after_ns / 1000000000);
    wait.tv_usec = (suseconds_t)(after_ns % 1000000000 / 1000);
    (void)event_base_update_cache_time(timer->base);
    (void)event_add(timer->event, &wait);
}

static inline void weir_redis_libevent_untimer(void *ending)
{
    weir_redis_libevent_alarm *timer = (weir_redis_libevent_alarm *)ending;
    event_free(timer->event);
    free(timer);
}

static inline void weir_redis_libevent_fill(struct event_base *base, weir_redis_loop *loop)
{
    memset(loop, 0, sizeof *loop);
    loop->loop = base;
    loop->watch = weir_redis_libevent_watch_fd;
    loop->want = weir_redis_libevent_want;
    loop->unwatch = weir_redis_libevent_unwatch;
    loop->timer = weir_redis_libevent_timer;
    loop->arm = weir_redis_libevent_arm;
    loop->untimer = weir_redis_libevent_untimer;
}

#ifdef __cplusplus
}
#endif

#endif
