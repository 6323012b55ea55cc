/*
 * common.h: what the programs of tests/threads and tests/memory share: failing in words, scale and seed, threads that
 * start together, keys and rules by number. Public API alone. Include it first.
 *
 * Exit status: 0 passed, 1 failed (with a message that says what was wanted), 77 skipped (with the reason).
 * WEIR_TEST_SCALE: percent of the work, default 100. WEIR_SEED: the seed of a run to repeat.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_COMMON_H
#define WEIR_TESTS_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <weir/weir.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#define TEST_HAS(feature) __has_feature(feature)
#else
#define TEST_HAS(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || TEST_HAS(thread_sanitizer)
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TEST_HAS(address_sanitizer)
#define TEST_ASAN 1
#else
#define TEST_ASAN 0
#endif

enum { TEST_SKIPPED = 77, THREADS_MAX = 32 };

/* ---- failing ---- */

/* Says what was wanted and got, and ends the program whatever its other threads do. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void failed(const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: FAILED: ", program_invocation_short_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

static inline void want_equal(const char *what, uint64_t wanted, uint64_t got)
{
    if (wanted != got)
        failed("%s: wanted %" PRIu64 ", got %" PRIu64, what, wanted, got);
}

static inline void want_at_most(const char *what, uint64_t bound, uint64_t got)
{
    if (got > bound)
        failed("%s: wanted at most %" PRIu64 ", got %" PRIu64, what, bound, got);
}

/* For calls that return 0 or -errno. */
static inline void want_done(const char *what, int result)
{
    if (result != 0)
        failed("%s: wanted 0, got %d (%s)", what, result, result < 0 ? strerror(-result) : "no error");
}

/* ---- scale and seed ---- */

/* `amount` in the default run; at least `least`. */
static inline uint64_t scaled(uint64_t amount, uint64_t least)
{
    const char *text = getenv("WEIR_TEST_SCALE");
    uint64_t percent = text ? strtoull(text, NULL, 10) : 100;
    uint64_t result = amount * percent / 100;
    return result < least ? least : result;
}

/* The run's seed, printed so that the run can be repeated. */
static inline uint64_t seed_of_run(void)
{
    const char *text = getenv("WEIR_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)now.tv_nsec ^ ((uint64_t)getpid() << 32);
    printf("%s: WEIR_SEED=%" PRIu64 "\n", program_invocation_short_name, seed);
    fflush(stdout);
    return seed;
}

static inline uint64_t mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(*state);
}

static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return random_next(state) % bound;
}

/* ---- threads ---- */

static inline pthread_t thread_started(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, work, argument);
    if (error)
        failed("pthread_create: %s", strerror(error));
    return thread;
}

typedef struct worker {
    void (*work)(void *shared, unsigned index);
    void *shared;
    unsigned index;
    pthread_barrier_t *start; /* NULL: goes off at once */
    pthread_t thread;
} worker;

static inline void *worker_main(void *argument)
{
    worker *self = argument;
    if (self->start)
        pthread_barrier_wait(self->start);
    self->work(self->shared, self->index);
    return NULL;
}

static inline void worker_start(worker *self)
{
    self->thread = thread_started(worker_main, self);
}

/* Runs work(shared, 0 ... count-1) in as many threads, which start together; returns when all are done. */
static inline void run_threads(unsigned count, void (*work)(void *shared, unsigned index), void *shared)
{
    worker workers[THREADS_MAX];
    pthread_barrier_t start;
    if (count > THREADS_MAX)
        failed("at most %d threads", THREADS_MAX);
    pthread_barrier_init(&start, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (worker){.work = work, .shared = shared, .index = i, .start = &start};
        worker_start(&workers[i]);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

/* ---- keys ---- */

typedef struct test_key {
    unsigned char bytes[40];
    size_t size;
} test_key;

/* The key with this number: one in four is too long to stand in the table as it is. */
static inline test_key key_number(uint64_t number)
{
    test_key key = {.size = number % 4 == 3 ? 40 : 9};
    memset(key.bytes, 'k', sizeof(key.bytes));
    memcpy(key.bytes + key.size - 8, &number, 8);
    return key;
}

static inline weir_request request_for(const test_key *key, uint64_t cost)
{
    weir_request request = weir_request_for(key->bytes, key->size);
    request.cost = cost;
    return request;
}

/* ---- rules ---- */

enum kind { KIND_LOG, KIND_LOG_COST, KIND_COUNTER, KIND_COUNTER_NODE, KIND_BUCKETS, KIND_TWO, KINDS };

typedef struct rule_set {
    const char *name;
    weir_rule rules[2];
    size_t count;
    uint64_t max_limit; /* for weir_options.max_limit */
    bool inline_state;  /* needs no node */
} rule_set;

static inline weir_rule rule_of(enum weir_algorithm algorithm, uint64_t limit, uint64_t window, enum weir_meter meter)
{
    weir_rule rule = {.limit = limit, .window_ns = window, .algorithm = algorithm, .meter = meter};
    rule.buckets = algorithm == WEIR_BUCKETS ? 6 : 0;
    return rule;
}

/* One of each way in which a key's state is kept; every rule has the same limit and window. */
static inline rule_set rule_set_of(enum kind kind, uint64_t limit, uint64_t window)
{
    rule_set set = {.count = 1};
    switch (kind) {
    case KIND_LOG:
        set.name = "log";
        set.rules[0] = rule_of(WEIR_LOG, limit, window, WEIR_PER_REQUEST);
        break;
    case KIND_LOG_COST:
        set.name = "log of costs";
        set.rules[0] = rule_of(WEIR_LOG, limit, window, WEIR_PER_COST);
        break;
    case KIND_COUNTER:
        set.name = "counter";
        set.inline_state = true;
        set.rules[0] = rule_of(WEIR_COUNTER, limit, window, WEIR_PER_COST);
        break;
    case KIND_COUNTER_NODE: /* a limit that may pass 32 bits later does not fit inline */
        set.name = "wide counter";
        set.max_limit = UINT64_C(1) << 33;
        set.rules[0] = rule_of(WEIR_COUNTER, limit, window, WEIR_PER_COST);
        break;
    case KIND_BUCKETS:
        set.name = "buckets";
        set.rules[0] = rule_of(WEIR_BUCKETS, limit, window, WEIR_PER_COST);
        break;
    case KIND_TWO:
    case KINDS:
        set.name = "log and counter";
        set.count = 2;
        set.rules[0] = rule_of(WEIR_LOG, limit, window, WEIR_PER_REQUEST);
        set.rules[1] = rule_of(WEIR_COUNTER, limit, window, WEIR_PER_COST);
        break;
    }
    return set;
}

/* Opens, or fails the program in the library's own words. */
static inline weir *opened(const rule_set *set, const weir_options *options)
{
    char text[256] = "";
    weir *limiter;
    weir_options own = *options;
    own.error = text;
    own.error_size = sizeof(text);
    if (set->max_limit)
        own.max_limit = set->max_limit;
    int error = weir_open(&limiter, set->rules, set->count, &own);
    if (error)
        failed("weir_open (%s): wanted 0, got %d: %s", set->name, error, text);
    return limiter;
}

static inline weir_statistics stats_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof(statistics)};
    want_done("weir_stats", weir_stats(limiter, &statistics));
    return statistics;
}

#endif
