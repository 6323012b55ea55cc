/* What the ways of weir have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../row.h"
#include "side.h"

weir_request bench_limiter_request(const bench_limiter *at, unsigned thread)
{
    return weir_request_for(at->keys[thread], strlen(at->keys[thread]));
}

/* Calls that are to be refused find their limit used up. */
static void use_up(const bench_limiter *at, unsigned thread)
{
    const weir_request request = bench_limiter_request(at, thread);
    weir_decision decision;
    for (uint64_t i = 0; i <= at->side->rule.limit; i++)
        if (weir_redis_take(at->limiter, &request, WEIR_NOW, &decision) < 0 || decision.flags & WEIR_REDIS_UNREACHED)
            bench_fail("the server does not answer");
}

void bench_limiter_open(bench_limiter *made, const bench_side *side, const struct redis_server *server,
                        unsigned threads)
{
    weir_redis_options options = weir_redis_options_default();
    static unsigned times; /* keys of their own each time */
    char url[160];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", (unsigned)server->port);
    options.url = side->tcp ? url : server->url;
    options.connections = threads;
    options.connect_timeout_ns = options.command_timeout_ns = 10 * WEIR_SECOND;
    options.remember_ns = side->remember_ns;
    if (weir_redis_open(&made->limiter, &side->rule, 1, &options) != 0)
        bench_fail("weir_redis_open");
    made->side = side;
    made->keys = bench_must(calloc(threads, sizeof *made->keys));
    times++;
    for (unsigned i = 0; i < threads; i++) {
        snprintf(made->keys[i], sizeof made->keys[i], "user-%u-%u", times, i);
        if (strcmp(side->calls, "refused") == 0)
            use_up(made, i);
    }
}

bool bench_limiter_right(const bench_limiter *at, int verdict, const weir_decision *decision)
{
    return verdict == (strcmp(at->side->calls, "accepted") == 0) && (decision->flags & WEIR_REDIS_UNREACHED) == 0;
}

uint64_t bench_limiter_trips(const bench_limiter *at)
{
    weir_redis_statistics statistics = {.struct_size = sizeof statistics};
    weir_redis_stats(at->limiter, &statistics);
    return statistics.round_trips;
}

double bench_limiter_used(const bench_limiter *at, unsigned thread)
{
    const weir_request request = bench_limiter_request(at, thread);
    weir_decision decision;
    if (weir_redis_peek(at->limiter, &request, WEIR_NOW, &decision) < 0)
        bench_fail("weir_redis_peek");
    return (double)(decision.limit - decision.remaining);
}

void bench_limiter_close(bench_limiter *made)
{
    weir_redis_close(made->limiter);
    free(made->keys);
}
