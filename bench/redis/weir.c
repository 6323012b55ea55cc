/* The blocking client of libweir-redis. */
#include <stdlib.h>

#include "../measure.h"
#include "../row.h"
#include "side.h"

enum { BATCH_MAX = 1024 };

static void *open_limiter(const bench_side *side, const struct redis_server *server, unsigned threads)
{
    bench_limiter *made = bench_must(calloc(1, sizeof *made));
    bench_limiter_open(made, side, server, threads);
    return made;
}

static unsigned ask_one(const bench_limiter *at, unsigned thread)
{
    const weir_request request = bench_limiter_request(at, thread);
    weir_decision decision;
    const int verdict = weir_redis_take(at->limiter, &request, WEIR_NOW, &decision);
    return bench_limiter_right(at, verdict, &decision);
}

static unsigned ask_batch(const bench_limiter *at, unsigned thread)
{
    const unsigned count = at->side->batch;
    weir_request requests[BATCH_MAX];
    for (unsigned i = 0; i < count; i++)
        requests[i] = bench_limiter_request(at, thread);
    return weir_redis_take_batch(at->limiter, requests, count, WEIR_NOW, NULL, NULL) == count ? count : 0;
}

static unsigned ask(void *state, unsigned thread, bench_histogram *latency)
{
    const bench_limiter *at = state;
    const uint64_t first = bench_ticks();
    const unsigned asked = at->side->batch == 1 ? ask_one(at, thread) : ask_batch(at, thread);
    if (latency)
        bench_histogram_add(latency, bench_ticks() - first);
    return asked;
}

static uint64_t trips(void *state)
{
    return bench_limiter_trips(state);
}

static double used(void *state, unsigned thread)
{
    return bench_limiter_used(state, thread);
}

static void close_limiter(void *state)
{
    bench_limiter_close(state);
    free(state);
}

const bench_way bench_by_weir = {open_limiter, ask, trips, used, close_limiter};
