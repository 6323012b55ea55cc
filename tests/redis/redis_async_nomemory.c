/*
 * Every allocation of the client for event loops fails once, in a scene that connects, greets, asks, and asks again
 * whole: each call is answered once or was told -ENOMEM, and the next ones get through. The linker leads the library's
 * calls here (--wrap).
 */
#include <stdlib.h>

#include "nodes.h"
#include "turning.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned long left; /* the one that brings it to 0 fails; 0: none does */

static bool fails(void)
{
    return left > 0 && --left == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static redisContext *own;

static void ask_some(struct turning *turning)
{
    for (int i = 0; i < 5; i++) {
        int verdict = turning_take(turning, "k", WEIR_NOW);
        CHECK(verdict == -EINPROGRESS || verdict == -ENOMEM || turning->last.flags == WEIR_REDIS_UNREACHED);
    }
    turn_out(turning);
    CHECK_EQUAL(0, turning->unknown);
}

/* Whether all went well, with the n-th allocation failing. */
static void play(const struct loop_kind *kind, weir_redis *limiter, unsigned long n)
{
    struct turning turning = {.kind = kind};
    turning.host = kind->open(&turning.loop);
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    left = n;
    int error = weir_redis_async_open(&turning.async, limiter, &turning.loop);
    if (error != 0) {
        left = 0;
        CHECK_EQUAL(-ENOMEM, error);
        CHECK(turning.async == NULL);
        kind->close(turning.host);
        return;
    }
    ask_some(&turning);
    ask_some(&turning);
    if (n > 0 && left == 0) {
        size_t before = turning.accepted;
        ask_some(&turning);
        CHECK_EQUAL(before + 5, turning.accepted);
    }
    turning_close(&turning);
}

/* A call without memory was given leave to try a server that is left alone: it hands that on. */
static void the_breakers_leave_is_not_lost(const struct loop_kind *kind)
{
    weir_redis_options options = client_options("unix:///nowhere/redis.sock");
    struct turning turning;
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(0, turning_take(&turning, "k", WEIR_NOW));
    left = 1;
    CHECK_EQUAL(-ENOMEM, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(0, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(2, client_stats(limiter).failures); /* tried anew */
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- a cluster ---- */

static struct nodes nodes;

enum { KEYS = 12 };

static void ask_all(struct turning *turning)
{
    char key[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        int verdict = turning_take(turning, key, WEIR_NOW);
        CHECK(verdict == -EINPROGRESS || verdict == -ENOMEM || turning->last.flags == WEIR_REDIS_UNREACHED);
    }
    turn_out(turning);
    CHECK_EQUAL(0, turning->unknown);
}

/* The map is fetched, and three nodes are asked, by a limiter that knows of none. Returns whether all went well. */
static bool play_cluster(const struct loop_kind *kind, unsigned long n)
{
    weir_redis_options options = client_options(nodes.url[0]);
    struct turning turning = {.kind = kind};
    options.cluster = 1;
    options.breaker_failures = UINT32_MAX;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    weir_redis *limiter = client_open(&options, 1000000);
    turning.host = kind->open(&turning.loop);
    left = n;
    int error = weir_redis_async_open(&turning.async, limiter, &turning.loop);
    if (error == 0) {
        ask_all(&turning);
        bool failed = left == 0;
        left = 0;
        size_t before = turning.accepted;
        ask_all(&turning);
        CHECK_EQUAL(before + KEYS, turning.accepted);
        turning_close(&turning);
        CHECK_EQUAL(0, weir_redis_close(limiter));
        return !failed;
    }
    left = 0;
    CHECK_EQUAL(-ENOMEM, error);
    kind->close(turning.host);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    return false;
}

static void each_allocation_in_a_cluster_may_fail(const struct loop_kind *kind)
{
    unsigned long n = 1;
    while (!play_cluster(kind, n))
        n++;
    printf("%s, cluster: %lu allocations failed, one at a time\n", kind->name, n - 1);
    CHECK(n > 40);
}

int main(void)
{
    struct redis_server server;
    char url[160];
    NEEDS_REDIS();
    loop_kinds_tell_missing();
    nodes_start(&nodes, 3, 0, NULL);
    redis_server_start(&server, (const char *const[]){"--requirepass", "secret", NULL});
    own = redis_server_connect(&server);
    REDIS_SERVER_TELL(own, "AUTH secret");
    snprintf(url, sizeof url, "unix://:secret@%s?db=1", server.socket);
    weir_redis_options options = client_options(url);
    options.breaker_failures = UINT32_MAX;
    weir_redis *limiter = client_open(&options, 1000000);
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long n = 0;
        do {
            play(kind, limiter, ++n);
        } while (left == 0);
        left = 0;
        printf("%s: %lu allocations failed, one at a time\n", kind->name, n - 1);
        CHECK(n > 20);
        the_breakers_leave_is_not_lost(kind);
        each_allocation_in_a_cluster_may_fail(kind);
    }
    CHECK_EQUAL(0, weir_redis_close(limiter));
    redisFree(own);
    redis_server_stop(&server);
    nodes_stop(&nodes);
    return checks_end();
}
