/*
 * weir/redis_epoll.h: weir_redis_loop on an epoll descriptor of its own, for loops written by hand. Header only.
 *
 *     weir_redis_epoll epoll;
 *     weir_redis_loop loop;
 *     weir_redis_epoll_open(&epoll);
 *     weir_redis_epoll_fill(&epoll, &loop);
 *     weir_redis_async_open(&async, limiter, &loop);
 *     ... watch epoll.fd for reading, whatever the loop is made of; when it is readable:
 *     weir_redis_epoll_dispatch(&epoll, 0);
 *
 * The descriptor is readable whenever something is to be done. So is it for timers: each is a timerfd in it, so that
 * the loop has no time-outs to work out, and none to forget. That costs a descriptor a timer; a connection has one.
 *
 * All functions: by the loop's thread. Errors are negative errno values.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_REDIS_EPOLL_H
#define WEIR_REDIS_EPOLL_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <weir/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WEIR_REDIS_EPOLL_EVENTS = 16,
    WEIR_REDIS_EPOLL_MONOTONIC = 1 /* CLOCK_MONOTONIC, which C without POSIX does not name */
};

typedef struct weir_redis_epoll {
    int fd;
    int count;                                         /* events at hand, while they are told */
    struct epoll_event event[WEIR_REDIS_EPOLL_EVENTS]; /* data.ptr NULL: its watch has ended since */
} weir_redis_epoll;

/* A descriptor that is watched; a timer's is its own. Private to this header, as all that follows but for _open,
 * _close, _fill and _dispatch. */
typedef struct weir_redis_epoll_watch {
    weir_redis_epoll *epoll;
    int fd;
    int is_timer;
    unsigned wanted; /* enum weir_redis_events */
    void (*ready)(void *argument, unsigned events);
    void (*fire)(void *argument);
    void *argument;
} weir_redis_epoll_watch;

/* EPOLLONESHOT in place of no events: the kernel would tell of errors and a hang-up again and again. */
static inline int weir_redis_epoll_control(weir_redis_epoll_watch *watch, int operation)
{
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    if ((watch->wanted & WEIR_REDIS_READABLE) != 0)
        event.events |= (uint32_t)EPOLLIN;
    if ((watch->wanted & WEIR_REDIS_WRITABLE) != 0)
        event.events |= (uint32_t)EPOLLOUT;
    if (watch->wanted == 0)
        event.events = (uint32_t)EPOLLONESHOT;
    event.data.ptr = watch;
    return epoll_ctl(watch->epoll->fd, operation, watch->fd, &event);
}

static inline weir_redis_epoll_watch *weir_redis_epoll_new(weir_redis_epoll *epoll, int fd, unsigned wanted,
                                                           void *argument)
{
    weir_redis_epoll_watch *watch = (weir_redis_epoll_watch *)calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->epoll = epoll;
    watch->fd = fd;
    watch->wanted = wanted;
    watch->argument = argument;
    if (weir_redis_epoll_control(watch, EPOLL_CTL_ADD) == 0)
        return watch;
    free(watch);
    return NULL;
}

static inline void *weir_redis_epoll_watch_fd(void *loop, int fd, void (*ready)(void *argument, unsigned events),
                                              void *argument)
{
    weir_redis_epoll_watch *watch = weir_redis_epoll_new((weir_redis_epoll *)loop, fd, 0, argument);
    if (watch != NULL)
        watch->ready = ready;
    return watch;
}

static inline void weir_redis_epoll_want(void *wanting, unsigned events)
{
    weir_redis_epoll_watch *watch = (weir_redis_epoll_watch *)wanting;
    watch->wanted = events;
    (void)weir_redis_epoll_control(watch, EPOLL_CTL_MOD); /* cannot fail: it was added */
}

/* Events of it that are at hand and not yet told are not told any more. */
static inline void weir_redis_epoll_end(void *ending)
{
    weir_redis_epoll_watch *watch = (weir_redis_epoll_watch *)ending;
    for (int i = 0; i < watch->epoll->count; i++)
        if (watch->epoll->event[i].data.ptr == watch)
            watch->epoll->event[i].data.ptr = NULL;
    (void)epoll_ctl(watch->epoll->fd, EPOLL_CTL_DEL, watch->fd, NULL);
    if (watch->is_timer)
        close(watch->fd);
    free(watch);
}

static inline void *weir_redis_epoll_timer(void *loop, void (*fire)(void *argument), void *argument)
{
    int fd = timerfd_create(WEIR_REDIS_EPOLL_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    weir_redis_epoll_watch *watch =
        weir_redis_epoll_new((weir_redis_epoll *)loop, fd, WEIR_REDIS_READABLE, argument);
    if (watch == NULL) {
        close(fd);
        return NULL;
    }
    watch->is_timer = 1;
    watch->fire = fire;
    return watch;
}

static inline void weir_redis_epoll_arm(void *timer, uint64_t after_ns)
{
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    if (after_ns != UINT64_MAX) {
        uint64_t wait = after_ns > 0 ? after_ns : 1; /* 0 would stop it */
        when.it_value.tv_sec = (time_t)(wait / 1000000000);
        when.it_value.tv_nsec = (long)(wait % 1000000000);
    }
    (void)timerfd_settime(((weir_redis_epoll_watch *)timer)->fd, 0, &when, NULL);
}

static inline void weir_redis_epoll_tell(weir_redis_epoll_watch *watch, uint32_t happened)
{
    unsigned events = 0;
    uint64_t fired;
    if (watch->is_timer) {
        if (read(watch->fd, &fired, sizeof fired) == (ssize_t)sizeof fired) /* else armed anew since */
            watch->fire(watch->argument);
        return;
    }
    if ((happened & (uint32_t)(EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
        events |= WEIR_REDIS_READABLE;
    if ((happened & (uint32_t)(EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
        events |= WEIR_REDIS_WRITABLE;
    events &= watch->wanted;
    if (events != 0)
        watch->ready(watch->argument, events);
}

/* Returns 0 or what went wrong: -EMFILE, ... */
static inline int weir_redis_epoll_open(weir_redis_epoll *epoll)
{
    memset(epoll, 0, sizeof *epoll);
    epoll->fd = epoll_create1(EPOLL_CLOEXEC);
    return epoll->fd < 0 ? -errno : 0;
}

/* After every weir_redis_async_close on it. */
static inline void weir_redis_epoll_close(weir_redis_epoll *epoll)
{
    close(epoll->fd);
}

static inline void weir_redis_epoll_fill(weir_redis_epoll *epoll, weir_redis_loop *loop)
{
    memset(loop, 0, sizeof *loop);
    loop->loop = epoll;
    loop->watch = weir_redis_epoll_watch_fd;
    loop->want = weir_redis_epoll_want;
    loop->unwatch = weir_redis_epoll_end;
    loop->timer = weir_redis_epoll_timer;
    loop->arm = weir_redis_epoll_arm;
    loop->untimer = weir_redis_epoll_end;
}

/* Waits for up to timeout_ms (0: not at all; -1: without end) and calls what is ready. Not from inside such a call.
 * Returns how many events there were, or what went wrong: -EINTR. */
static inline int weir_redis_epoll_dispatch(weir_redis_epoll *epoll, int timeout_ms)
{
    int count = epoll_wait(epoll->fd, epoll->event, WEIR_REDIS_EPOLL_EVENTS, timeout_ms);
    if (count < 0)
        return -errno;
    epoll->count = count;
    for (int i = 0; i < count; i++) {
        weir_redis_epoll_watch *watch = (weir_redis_epoll_watch *)epoll->event[i].data.ptr;
        if (watch != NULL)
            weir_redis_epoll_tell(watch, epoll->event[i].events);
    }
    epoll->count = 0;
    return count;
}

#ifdef __cplusplus
}
#endif

#endif
