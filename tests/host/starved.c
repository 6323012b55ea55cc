/*
 * Guarantee H: lack of memory aborts nothing, not even in a thread's first call, in which liburcu maps room for more
 * threads and ends the process where it gets none. Without a byte left to map, threads decide as options.when_full says
 * and are told so; what decides nothing is -ENOMEM. When there is memory again, all of them work. So does weir_open
 * where the first one found no memory for its fork handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <dlfcn.h>
#include <sys/resource.h>

enum { THREADS = 40, LIMIT = 5 }; /* more than liburcu has room for at first */

static weir *limiters[4];
static pthread_barrier_t turn;

/* ---- the first weir_open ---- */

static bool refuse_handlers;

typedef void handler(void);
int __register_atfork(handler *before, handler *parent, handler *child, void *object);

/* In the place of the C library's, which pthread_atfork calls. */
int __register_atfork(handler *before, handler *parent, handler *child, void *object)
{
    typeof(&__register_atfork) library = (typeof(library))dlsym(RTLD_NEXT, "__register_atfork");
    return refuse_handlers ? ENOMEM : library(before, parent, child, object);
}

static void want_no_open(void)
{
    rule_set set = rule_set_of(KIND_COUNTER, LIMIT, WEIR_HOUR);
    weir *limiter;
    refuse_handlers = true;
    want_equal("-weir_open", ENOMEM, (uint64_t)-weir_open(&limiter, set.rules, set.count, NULL));
    want_equal("the limiter", 0, (uintptr_t)limiter);
    refuse_handlers = false;
}

/* ---- a thread's first call ---- */

static void want_unrecorded(weir *limiter, int verdict)
{
    test_key key = key_number(7);
    weir_request request = request_for(&key, 1), three[] = {request, request, request};
    weir_decision decision, decisions[3];
    int verdicts[3];
    uint64_t visited = 0;
    three[1].plan = 1; /* there is none */
    weir_prefetch(limiter, &request);
    want_equal("verdict alone", (uint64_t)verdict, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
    want_equal("verdict", (uint64_t)verdict, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, &decision));
    want_equal("verdict told", (uint64_t)verdict, (uint64_t)decision.verdict);
    want_equal("flags", WEIR_NO_MEMORY, decision.flags);
    want_equal("retry", 0, decision.retry_after_ns);
    want_equal("peeked", (uint64_t)verdict, (uint64_t)weir_peek(limiter, &request, WEIR_SECOND, &decision));
    want_equal("batch", 2 * (uint64_t)verdict,
               (uint64_t)weir_take_batch(limiter, three, 3, WEIR_SECOND, verdicts, decisions));
    want_equal("flags in the batch", WEIR_NO_MEMORY, decisions[0].flags & decisions[2].flags);
    want_equal("-verdict of a bad one in the batch", EINVAL, (uint64_t)-verdicts[1]);
    want_equal("-weir_reset", ENOMEM, (uint64_t)-weir_reset(limiter, &request));
    want_equal("-weir_sweep", ENOMEM, (uint64_t)-weir_sweep(limiter, WEIR_SECOND, 0));
    want_equal("-weir_each", ENOMEM, (uint64_t)-weir_each(limiter, WEIR_SECOND, NULL, &visited));
}

static void want_recorded(weir *limiter, uint64_t number)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    for (unsigned i = 0; i < LIMIT; i++)
        want_equal("verdict with memory", 1, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
    want_equal("verdict when used up", 0, (uint64_t)weir_take(limiter, &request, WEIR_SECOND, NULL));
}

static void *call_first(void *number)
{
    pthread_barrier_wait(&turn); /* all threads are there */
    pthread_barrier_wait(&turn); /* no memory is */
    for (unsigned i = 0; i < 4; i++)
        want_unrecorded(limiters[i], i % 2);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn); /* it is again */
    for (unsigned i = 0; i < 4; i++)
        want_recorded(limiters[i], 100 + (uintptr_t)number);
    return NULL;
}

static void open_all(void)
{
    for (unsigned i = 0; i < 4; i++) {
        weir_options options = weir_options_manual();
        rule_set set = rule_set_of(i < 2 ? KIND_COUNTER : KIND_LOG, LIMIT, WEIR_HOUR);
        options.when_full = i % 2 ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE;
        limiters[i] = opened(&set, &options);
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    struct rlimit room;
    if (TEST_TSAN || TEST_ASAN) {
        printf("starved: skipped: a sanitizer ends the process where it gets no memory\n");
        return TEST_SKIPPED;
    }
    alarm(60);
    want_no_open();
    open_all();
    pthread_barrier_init(&turn, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = thread_started(call_first, (void *)i);
    pthread_barrier_wait(&turn);
    getrlimit(RLIMIT_AS, &room);
    want_done("setrlimit", setrlimit(RLIMIT_AS, &(struct rlimit){4096, room.rlim_max}));
    want_unrecorded(limiters[0], 0);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    want_done("setrlimit", setrlimit(RLIMIT_AS, &room));
    pthread_barrier_wait(&turn);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 4; i++)
        want_done("weir_close", weir_close(limiters[i]));
    printf("starved: %d threads\n", THREADS);
    return 0;
}
