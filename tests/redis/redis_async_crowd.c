/* Threads with a loop each, beside threads that block, on one limiter: exactly the limit is accepted. */
#include <pthread.h>

#include "turning.h"

enum { LOOPS = 4, BLOCKING = 4, CALLS = 1000, LIMIT = 3000, UNDER_WAY = 100 };

static weir_redis *limiter;

struct worker {
    pthread_t thread;
    const struct loop_kind *kind;
    size_t accepted;
    size_t flagged;
    size_t lost; /* not answered, or answered twice */
};

struct looped {
    struct worker *worker;
    size_t under_way;
    size_t answered;
};

static void answered(void *argument, int verdict, const weir_decision *decision)
{
    struct looped *looped = argument;
    looped->under_way--;
    looped->answered++;
    looped->worker->accepted += verdict == 1;
    looped->worker->flagged += decision->flags != 0;
}

static void *run_loop(void *argument)
{
    struct worker *worker = argument;
    struct looped looped = {.worker = worker};
    weir_request request = weir_request_for("k", 1);
    weir_redis_loop loop;
    weir_redis_async *async;
    void *host = worker->kind->open(&loop);
    size_t asked = 0;
    if (weir_redis_async_open(&async, limiter, &loop) != 0)
        return NULL;
    while (looped.answered < CALLS) {
        for (; asked < CALLS && looped.under_way < UNDER_WAY; asked++, looped.under_way++)
            if (weir_redis_async_take(async, &request, WEIR_SECOND, NULL, answered, &looped) != -EINPROGRESS)
                worker->lost++;
        worker->kind->turn(host, 1);
    }
    weir_redis_async_close(async);
    worker->kind->close(host);
    worker->lost += looped.under_way + (looped.answered - CALLS);
    return NULL;
}

static void *run_blocking(void *argument)
{
    struct worker *worker = argument;
    weir_request request = weir_request_for("k", 1);
    weir_decision decision;
    for (size_t i = 0; i < CALLS; i++) {
        worker->accepted += weir_redis_take(limiter, &request, WEIR_SECOND, &decision) == 1;
        worker->flagged += decision.flags != 0;
    }
    return NULL;
}

static void exactly_the_limit_is_accepted(const char *url)
{
    struct worker workers[LOOPS + BLOCKING] = {0};
    weir_redis_options options = client_options(url);
    size_t accepted = 0, flagged = 0, lost = 0;
    options.given_time = 1;
    options.command_timeout_ns = 60 * WEIR_SECOND;
    limiter = client_open(&options, LIMIT);
    for (size_t i = 0; i < LOOPS + BLOCKING; i++) {
        workers[i].kind = &loop_kinds[i % loop_kind_count];
        CHECK_EQUAL(0, pthread_create(&workers[i].thread, NULL, i < LOOPS ? run_loop : run_blocking, &workers[i]));
    }
    for (size_t i = 0; i < LOOPS + BLOCKING; i++) {
        pthread_join(workers[i].thread, NULL);
        accepted += workers[i].accepted;
        flagged += workers[i].flagged;
        lost += workers[i].lost;
    }
    CHECK_EQUAL(LIMIT, accepted);
    CHECK_EQUAL(0, flagged);
    CHECK_EQUAL(0, lost);
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

int main(void)
{
    struct redis_server server;
    NEEDS_REDIS();
    loop_kinds_tell_missing();
    redis_server_start(&server, NULL);
    exactly_the_limit_is_accepted(server.url);
    redis_server_stop(&server);
    return checks_end();
}
