/*
 * Many at once: processes that share one key, and threads while the server is killed and comes back. Both count what
 * was accepted, which must be what the limit says and what Redis holds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum { PROCESSES = 8, THREADS = 4, CALLS = 100, LIMIT = 1000, CROWD = 8, ENOUGH = 50 };

static struct redis_server server;
static redisContext *own;

/* ---- processes ---- */

static atomic_uint *accepted; /* shared by all processes */
static weir_redis *shared;

static void *take_at_one_moment(void *argument)
{
    weir_request request = weir_request_for("k", 1);
    for (int i = 0; i < CALLS; i++) {
        weir_decision decision;
        int verdict = weir_redis_take(shared, &request, WEIR_HOUR, &decision);
        if (verdict < 0 || decision.flags != 0)
            _exit(2);
        atomic_fetch_add(accepted, (unsigned)verdict);
    }
    return argument;
}

/* In a process of its own, whose status says whether all went well. */
static void be_one_process(void)
{
    pthread_t threads[THREADS];
    weir_redis_options options = client_options(server.url);
    options.given_time = 1;
    shared = client_open(&options, LIMIT);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_at_one_moment, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(weir_redis_close(shared) == 0 && checks_failed == 0 ? 0 : 1);
}

/* Guarantee B over processes: the time stands still, so that exactly the limit is accepted. */
static void of_many_processes_and_threads_exactly_the_limit_is_accepted(void)
{
    pid_t children[PROCESSES];
    accepted = mmap(NULL, sizeof *accepted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(accepted != MAP_FAILED);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            be_one_process();
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK_EQUAL(0, status);
    }
    CHECK_EQUAL(LIMIT, atomic_load(accepted));
    munmap(accepted, sizeof *accepted);
}

/* ---- a server that is killed under load ---- */

static atomic_bool enough;
static atomic_ulong by_redis[CROWD], by_policy[CROWD], unknown[CROWD], wrong;

static void *take_on(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    weir_request request = weir_request_for("k", 1);
    while (!atomic_load(&enough)) {
        weir_decision decision;
        int verdict = weir_redis_take(shared, &request, WEIR_NOW, &decision);
        unsigned uncertain = decision.flags & WEIR_REDIS_UNKNOWN;
        if (verdict != 1 || (decision.flags & ~(unsigned)(WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN)))
            atomic_fetch_add(&wrong, 1);
        atomic_fetch_add(uncertain ? &unknown[self] : decision.flags ? &by_policy[self] : &by_redis[self], 1);
    }
    return NULL;
}

static unsigned long sum(atomic_ulong *counts)
{
    unsigned long all = 0;
    for (int i = 0; i < CROWD; i++)
        all += atomic_load(&counts[i]);
    return all;
}

/* Until each thread has had so many more such answers. */
static void await_more(atomic_ulong *counts)
{
    unsigned long before[CROWD];
    for (int i = 0; i < CROWD; i++)
        before[i] = atomic_load(&counts[i]);
    for (int i = 0; i < CROWD; i++)
        while (atomic_load(&counts[i]) < before[i] + ENOUGH)
            sched_yield();
}

static void killed_and_restarted_under_load_it_is_lost_and_found(void)
{
    enum { ROUNDS = 3, MUCH = 1000000000 };
    pthread_t threads[CROWD];
    weir_redis_options options = client_options(server.url);
    options.when_unreached = WEIR_UNREACHED_ADMIT;
    options.backoff_min_ns = WEIR_MILLISECOND;
    options.backoff_max_ns = 5 * WEIR_MILLISECOND;
    shared = client_open(&options, MUCH);
    redisFree(own);
    for (uintptr_t i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, take_on, (void *)i);
    unsigned long since = 0, uncertain = 0;
    for (int round = 0; round < ROUNDS; round++) {
        await_more(by_redis);
        redis_server_kill(&server);
        await_more(by_policy);
        since = sum(by_redis); /* all of these are lost with the server's memory */
        uncertain = sum(unknown);
        redis_server_restart(&server);
        await_more(by_redis);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    own = redis_server_connect(&server);
    since = sum(by_redis) - since;
    uncertain = sum(unknown) - uncertain;
    uint64_t charged = MUCH - client_peeked(shared, "k", 1).remaining;
    CHECK_EQUAL(0, atomic_load(&wrong));
    CHECK(charged >= since && charged <= since + uncertain);
    CHECK_EQUAL(sum(by_policy) + sum(unknown), client_stats(shared).unreached);
    CHECK_EQUAL(sum(unknown), client_stats(shared).unknown);
    printf("  by Redis %lu, by policy %lu, unknown %lu; after the last restart %lu accepted, %ju charged\n",
           sum(by_redis), sum(by_policy), sum(unknown), since, (uintmax_t)charged);
    CHECK_EQUAL(0, weir_redis_close(shared));
}

int main(void)
{
    NEEDS_REDIS();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    of_many_processes_and_threads_exactly_the_limit_is_accepted();
    killed_and_restarted_under_load_it_is_lost_and_found();
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
