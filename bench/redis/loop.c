/* The client for event loops: each thread has a loop, with so many calls under way at any time. */
#include <stdlib.h>
#include <weir/redis_epoll.h>

#include "../measure.h"
#include "../row.h"
#include "side.h"

enum { IN_FLIGHT_MAX = 1024 };

struct by_loop;

/* A thread's own. Answers come in the order of the calls, so that the starts are a ring. */
typedef struct own {
    struct by_loop *of;
    weir_redis_epoll epoll;
    weir_redis_async *async;
    bench_histogram *latency;
    uint64_t start[IN_FLIGHT_MAX];
    uint64_t asked, answered, wrong;
} own;

typedef struct by_loop {
    bench_limiter limiter;
    own *threads;
    unsigned count;
} by_loop;

static void answered(void *argument, int verdict, const weir_decision *decision)
{
    own *self = argument;
    if (self->latency)
        bench_histogram_add(self->latency, bench_ticks() - self->start[self->answered % IN_FLIGHT_MAX]);
    self->answered++;
    self->wrong += !bench_limiter_right(&self->of->limiter, verdict, decision);
}

static void ask_one(own *self, unsigned thread)
{
    const weir_request request = bench_limiter_request(&self->of->limiter, thread);
    self->start[self->asked % IN_FLIGHT_MAX] = bench_ticks();
    self->asked++;
    if (weir_redis_async_take(self->async, &request, WEIR_NOW, NULL, answered, self) != -EINPROGRESS)
        bench_fail("a call was answered at once, where Redis must be asked");
}

static void turn(own *self)
{
    if (weir_redis_epoll_dispatch(&self->epoll, -1) < 0)
        bench_fail("epoll_wait");
}

static unsigned ask(void *state, unsigned thread, bench_histogram *latency)
{
    own *self = &((by_loop *)state)->threads[thread];
    const uint64_t before = self->answered, wrong = self->wrong;
    self->latency = latency;
    while (latency && self->asked - self->answered < self->of->limiter.side->in_flight)
        ask_one(self, thread);
    while (latency ? self->answered == before : self->answered < self->asked)
        turn(self);
    return self->wrong == wrong ? (unsigned)(self->answered - before) : 0;
}

static void *open_loops(const bench_side *side, const struct redis_server *server, unsigned threads)
{
    by_loop *made = bench_must(calloc(1, sizeof *made));
    bench_limiter_open(&made->limiter, side, server, threads);
    made->threads = bench_must(calloc(threads, sizeof *made->threads));
    made->count = threads;
    for (unsigned i = 0; i < threads; i++) {
        own *self = &made->threads[i];
        weir_redis_loop loop;
        self->of = made;
        if (weir_redis_epoll_open(&self->epoll) != 0)
            bench_fail("epoll_create1");
        weir_redis_epoll_fill(&self->epoll, &loop);
        if (weir_redis_async_open(&self->async, made->limiter.limiter, &loop) != 0)
            bench_fail("weir_redis_async_open");
    }
    return made;
}

static uint64_t trips(void *state)
{
    return bench_limiter_trips(&((by_loop *)state)->limiter);
}

static double used(void *state, unsigned thread)
{
    return bench_limiter_used(&((by_loop *)state)->limiter, thread);
}

static void close_loops(void *state)
{
    by_loop *made = state;
    for (unsigned i = 0; i < made->count; i++) {
        weir_redis_async_close(made->threads[i].async);
        weir_redis_epoll_close(&made->threads[i].epoll);
    }
    bench_limiter_close(&made->limiter);
    free(made->threads);
    free(made);
}

const bench_way bench_by_loop = {open_loops, ask, trips, used, close_loops};
