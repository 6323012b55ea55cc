/* The blocking client against a server that works: decisions, batches, lost scripts, limits, what is counted. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "client.h"

static struct redis_server server;
static redisContext *own; /* a connection of the test's */

static weir_redis *opened(uint64_t limit)
{
    weir_redis_options options = client_options(server.url);
    options.remember_keys = 0;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    return client_open(&options, limit);
}

struct bad {
    const char *error;
    void (*change)(weir_redis_options *options);
};

#define BAD(name, text, assignment)                     \
    static void name(weir_redis_options *options)       \
    {                                                   \
        options->assignment;                            \
    }                                                   \
    static const char text_of_##name[] = text;

BAD(no_url, "options: url: NULL", url = NULL)
BAD(bad_url, "options: url: character 1: must begin with redis:// or unix://", url = "127.0.0.1")
BAD(no_prefix, "options: prefix: NULL", prefix = NULL)
BAD(no_connection, "options: connections: 0 is outside 1 ... 65536", connections = 0)
BAD(no_connect, "options: connect_timeout_ns: 0 is outside 1 ... 86400000000000 (a day)", connect_timeout_ns = 0)
BAD(no_command, "options: command_timeout_ns: 0 is outside 1 ... 86400000000000 (a day)", command_timeout_ns = 0)
BAD(no_policy, "options: when_unreached: 3 is no enum weir_when_unreached", when_unreached = 3)
BAD(no_share, "options: fallback_permille: 0 is outside 1 ... 1000", fallback_permille = 0)
BAD(big_share, "options: fallback_permille: 1001 is outside 1 ... 1000", fallback_permille = 1001)
BAD(no_failures, "options: breaker_failures: must be at least 1", breaker_failures = 0)
BAD(bad_time, "options: given_time: 2 is neither 0 nor 1", given_time = 2)
BAD(no_pause, "options: backoff_min_ns: 0 is outside 1 ... 86400000000000 (a day)", backoff_min_ns = 0)
BAD(less_pause, "options: backoff_max_ns: 1 is outside 100000000 ... 86400000000000 (a day)", backoff_max_ns = 1)
BAD(long_memory, "options: remember_ns: 86400000000001 is outside 0 ... 86400000000000 (a day)",
    remember_ns = WEIR_DAY + 1)
BAD(many_keys, "options: remember_keys: 4294967297 is outside 0 ... 2^32", remember_keys = (UINT64_C(1) << 32) + 1)
BAD(no_plans, "options: plan_limits: NULL, but there are 2 plans", plans = 2)
BAD(reserved0, "options: reserved fields, and those beyond this library's 192 bytes, must be 0", reserved0 = 1)
BAD(reserved7, "options: reserved fields, and those beyond this library's 192 bytes, must be 0", reserved[7] = 1)

static const struct bad bads[] = {
    {text_of_no_url, no_url},           {text_of_bad_url, bad_url},         {text_of_no_prefix, no_prefix},
    {text_of_no_connect, no_connect},   {text_of_no_command, no_command},   {text_of_no_connection, no_connection},
    {text_of_no_policy, no_policy},     {text_of_no_share, no_share},       {text_of_big_share, big_share},
    {text_of_no_failures, no_failures}, {text_of_bad_time, bad_time},       {text_of_no_pause, no_pause},
    {text_of_less_pause, less_pause},   {text_of_long_memory, long_memory}, {text_of_many_keys, many_keys},
    {text_of_no_plans, no_plans},       {text_of_reserved0, reserved0},     {text_of_reserved7, reserved7},
};

static void an_option_out_of_range_is_told_by_name(void)
{
    weir_rule rule = log_rule(1);
    weir_redis *limiter = (weir_redis *)&rule;
    char error[256];
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        weir_redis_options options = weir_redis_options_default();
        options.error = error;
        options.error_size = sizeof error;
        bads[i].change(&options);
        CHECK_EQUAL(-EINVAL, weir_redis_open(&limiter, &rule, 1, &options));
        CHECK(limiter == NULL);
        CHECK(is_text(bads[i].error, error));
    }
    weir_redis_options none = {0};
    CHECK_EQUAL(-EINVAL, weir_redis_open(&limiter, &rule, 1, &none));
    CHECK_EQUAL(-EINVAL, weir_redis_open(&limiter, &rule, 0, NULL));
    CHECK_EQUAL(0, weir_redis_close(NULL));
}

static void opening_connects_to_nothing_and_one_connection_serves_one_caller(void)
{
    char text[8] = "text";
    weir_redis *limiter = opened(3);
    CHECK_EQUAL(0, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_error(limiter, text, sizeof text));
    CHECK(is_text("", text));
    for (uint64_t i = 0; i < 3; i++) {
        weir_decision decision = client_taken(limiter, "k", 1);
        CHECK_EQUAL(1, decision.verdict);
        CHECK_EQUAL(2 - i, decision.remaining);
        CHECK_EQUAL(3, decision.limit);
        CHECK_EQUAL(0, decision.flags);
    }
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(0, decision.flags);
    CHECK(decision.retry_after_ns > WEIR_DAY - WEIR_HOUR && decision.retry_after_ns <= WEIR_DAY);
    CHECK_EQUAL(WEIR_NEVER, client_taken(limiter, "k", 4).retry_after_ns);
    CHECK_EQUAL(1, client_peeked(limiter, "other", 3).verdict);
    CHECK_EQUAL(3, client_peeked(limiter, "other", 3).remaining);
    CHECK_EQUAL(0, client_reset(limiter, "k"));
    CHECK_EQUAL(2, client_taken(limiter, "k", 1).remaining);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(1, statistics.connects);
    CHECK_EQUAL(2, statistics.scripts_loaded); /* a reset has its own */
    CHECK_EQUAL(11, statistics.commands);      /* nine, and two sent again */
    CHECK_EQUAL(11, statistics.round_trips);
    CHECK_EQUAL(0, statistics.failures + statistics.unreached + statistics.unknown + statistics.breaker_open);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_request_out_of_range_asks_nothing(void)
{
    weir_redis *limiter = opened(3);
    weir_request request = weir_request_for("k", 1);
    CHECK_EQUAL(-EINVAL, weir_redis_take(limiter, &request, 5, NULL)); /* this limiter has the server's time */
    CHECK_EQUAL(-EINVAL, weir_redis_take_batch(limiter, &request, 1, 5, NULL, NULL));
    request.plan = 1;
    CHECK_EQUAL(-EINVAL, weir_redis_take(limiter, &request, WEIR_NOW, NULL));
    CHECK_EQUAL(-EINVAL, weir_redis_peek(limiter, &request, WEIR_NOW, NULL));
    CHECK_EQUAL(-EINVAL, weir_redis_reset(limiter, &request, WEIR_NOW));
    request = (weir_request){.key = "k", .key_len = WEIR_KEY_MAX + 1, .cost = 1};
    CHECK_EQUAL(-EINVAL, weir_redis_take(limiter, &request, WEIR_NOW, NULL));
    CHECK_EQUAL(0, client_stats(limiter).commands + client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_batch_is_one_round_trip_and_a_bad_request_stops_nothing(void)
{
    enum { COUNT = 6 };
    weir_request requests[COUNT];
    weir_decision decisions[COUNT];
    int verdicts[COUNT];
    static const int wanted[COUNT] = {1, 1, -EINVAL, 0, 1, 1};
    static const uint64_t costs[COUNT] = {2, 2, 1, 2, 1, 5};
    weir_redis *limiter = opened(5);
    for (int i = 0; i < COUNT; i++) {
        requests[i] = weir_request_for(i == 5 ? "b" : "a", 1);
        requests[i].cost = costs[i];
    }
    requests[2].flags = 1;
    CHECK_EQUAL(1, client_taken(limiter, "c", 1).verdict); /* loads the script */
    weir_redis_statistics before = client_stats(limiter);
    CHECK_EQUAL(4, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, verdicts, decisions));
    weir_redis_statistics after = client_stats(limiter);
    CHECK_EQUAL(1, after.round_trips - before.round_trips);
    CHECK_EQUAL(5, after.commands - before.commands);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(wanted[i], verdicts[i]);
        CHECK_EQUAL(wanted[i], decisions[i].verdict);
    }
    CHECK_EQUAL(3, decisions[0].remaining);
    CHECK_EQUAL(1, decisions[1].remaining);
    CHECK_EQUAL(1, decisions[3].remaining);
    CHECK_EQUAL(0, decisions[4].remaining);
    CHECK_EQUAL(0, weir_redis_take_batch(limiter, requests, 0, WEIR_NOW, NULL, NULL));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_batch_beyond_a_thousand_is_decided_in_order(void)
{
    enum { COUNT = 2500, LIMIT = 1500 };
    static weir_request requests[COUNT];
    static int verdicts[COUNT];
    unsigned in_order = 0;
    weir_redis *limiter = opened(LIMIT);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for("a", 1);
    CHECK_EQUAL(LIMIT, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, verdicts, NULL));
    for (int i = 0; i < COUNT; i++)
        in_order += verdicts[i] == (i < LIMIT);
    CHECK_EQUAL(COUNT, in_order);
    CHECK_EQUAL(4, client_stats(limiter).round_trips); /* 1024, 1024 and 452; the first had lost its script */
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* The fault "NOSCRIPT after restart". */
static void a_script_that_was_flushed_is_loaded_again_once_and_charges_once(void)
{
    weir_redis *limiter = opened(2);
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(1, decision.verdict);
    CHECK_EQUAL(1, decision.remaining);
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(1, decision.verdict);
    CHECK_EQUAL(0, decision.remaining);
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(0, decision.remaining);
    CHECK_EQUAL(3, client_stats(limiter).scripts_loaded);
    CHECK_EQUAL(6, client_stats(limiter).commands);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_batch_whose_script_was_flushed_is_sent_again_in_order(void)
{
    enum { COUNT = 100, LIMIT = 37 };
    weir_request requests[COUNT];
    int verdicts[COUNT];
    weir_redis *limiter = opened(LIMIT);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for("k", 1);
    CHECK_EQUAL(LIMIT, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, verdicts, NULL));
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(i < LIMIT, verdicts[i]);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(2, statistics.round_trips);
    CHECK_EQUAL(2 * COUNT, statistics.commands);
    CHECK_EQUAL(1, statistics.scripts_loaded);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static atomic_bool flushing;

static void *flush_on(void *argument)
{
    redisContext *link = redis_server_connect(argument);
    while (atomic_load(&flushing))
        REDIS_SERVER_TELL(link, "SCRIPT FLUSH");
    redisFree(link);
    return NULL;
}

static void scripts_flushed_all_the_time_charge_every_request_once(void)
{
    enum { COUNT = 300, ROUNDS = 100, LIMIT = 1000000 };
    static weir_request requests[COUNT];
    pthread_t flusher;
    int64_t accepted = 0;
    weir_redis *limiter = opened(LIMIT);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for("k", 1);
    atomic_store(&flushing, true);
    pthread_create(&flusher, NULL, flush_on, &server);
    for (int i = 0; i < ROUNDS; i++)
        accepted += weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, NULL);
    atomic_store(&flushing, false);
    pthread_join(flusher, NULL);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(COUNT * ROUNDS, accepted);
    CHECK_EQUAL(LIMIT - COUNT * ROUNDS, client_peeked(limiter, "k", 1).remaining);
    CHECK(statistics.scripts_loaded > 1);
    CHECK_EQUAL(0, statistics.unreached + statistics.failures);
    printf("  %ju scripts sent whole, %ju commands for %d decisions\n", (uintmax_t)statistics.scripts_loaded,
           (uintmax_t)statistics.commands, COUNT * ROUNDS);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void limits_that_were_set_hold_at_once_and_bad_ones_change_nothing(void)
{
    const uint64_t two = 2, none = 0, much = UINT64_C(1) << 32;
    weir_redis *limiter = opened(5);
    CHECK_EQUAL(0, client_taken(limiter, "k", 5).remaining);
    CHECK_EQUAL(-EINVAL, weir_redis_set_limits(limiter, 1, &two, 1));
    CHECK_EQUAL(-EINVAL, weir_redis_set_limits(limiter, 0, &two, 2));
    CHECK_EQUAL(-EINVAL, weir_redis_set_limits(limiter, 0, &none, 1));
    CHECK_EQUAL(-EINVAL, weir_redis_set_limits(limiter, 0, &much, 1));
    CHECK_EQUAL(5, client_taken(limiter, "k", 1).limit);
    CHECK_EQUAL(0, weir_redis_set_limits(limiter, 0, &two, 1));
    CHECK_EQUAL(2, client_taken(limiter, "k", 1).limit);
    CHECK_EQUAL(0, client_taken(limiter, "l", 2).remaining);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void *take_much(void *argument)
{
    unsigned accepted = 0;
    for (int i = 0; i < 200; i++)
        accepted += client_take(argument, "k", 1, NULL) == 1;
    return (void *)(uintptr_t)accepted;
}

static void threads_share_so_many_connections_and_close_leaves_none(void)
{
    enum { THREADS = 8, CONNECTIONS = 3, LIMIT = 1000 };
    pthread_t threads[THREADS];
    uintptr_t accepted = 0;
    unsigned before = descriptors();
    weir_redis_options options = client_options(server.url);
    options.connections = CONNECTIONS;
    options.remember_keys = 0;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, LIMIT);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_much, limiter);
    for (int i = 0; i < THREADS; i++) {
        void *got;
        pthread_join(threads[i], &got);
        accepted += (uintptr_t)got;
    }
    CHECK_EQUAL(LIMIT, accepted);
    CHECK(client_stats(limiter).connects >= 1 && client_stats(limiter).connects <= CONNECTIONS);
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    CHECK_EQUAL(before, descriptors());
}

enum { TAKE, TAKE_BATCH, RESET, KINDS_OF_CALLS };

struct cancelled {
    weir_redis *limiter;
    int kind;
    int64_t result;
};

static void *call_though_cancelled(void *argument)
{
    struct cancelled *of = argument;
    weir_request request = weir_request_for("k", 1);
    pthread_cancel(pthread_self());
    if (of->kind == TAKE)
        of->result = weir_redis_take(of->limiter, &request, WEIR_NOW, NULL);
    else if (of->kind == TAKE_BATCH)
        of->result = weir_redis_take_batch(of->limiter, &request, 1, WEIR_NOW, NULL, NULL);
    else
        of->result = weir_redis_reset(of->limiter, &request, WEIR_NOW);
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_is_cancelled_finishes_its_call_and_keeps_no_connection(void)
{
    static const int64_t results[KINDS_OF_CALLS] = {[TAKE] = 1, [TAKE_BATCH] = 1, [RESET] = 0};
    weir_redis_options options = client_options(server.url);
    options.connections = 1;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, 3);
    for (int kind = 0; kind < KINDS_OF_CALLS; kind++) {
        struct cancelled of = {.limiter = limiter, .kind = kind, .result = -1};
        pthread_t thread;
        void *got;
        CHECK_EQUAL(0, pthread_create(&thread, NULL, call_though_cancelled, &of));
        CHECK_EQUAL(0, pthread_join(thread, &got));
        CHECK(got == PTHREAD_CANCELED);
        CHECK_EQUAL(results[kind], of.result);
    }
    CHECK_EQUAL(2, client_taken(limiter, "k", 1).remaining); /* the reset came last */
    CHECK_EQUAL(1, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_database_and_a_port_are_where_the_url_says(void)
{
    char url[128];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/5", (unsigned)server.port);
    weir_redis_options options = client_options(url);
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, 3);
    CHECK_EQUAL(1, client_taken(limiter, "k", 1).verdict);
    CHECK_EQUAL(0, redis_server_number(own, "DBSIZE"));
    REDIS_SERVER_TELL(own, "SELECT 5");
    CHECK_EQUAL(1, redis_server_number(own, "DBSIZE"));
    REDIS_SERVER_TELL(own, "SELECT 0");
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void statistics_of_another_size_are_filled_as_far_as_they_go(void)
{
    struct {
        weir_redis_statistics known;
        uint64_t more;
    } longer = {.known.struct_size = sizeof longer, .more = 7};
    weir_redis_statistics shorter = {.struct_size = offsetof(weir_redis_statistics, reserved) - 1};
    weir_redis *limiter = opened(3);
    CHECK_EQUAL(-EINVAL, weir_redis_stats(limiter, &shorter));
    CHECK_EQUAL(0, weir_redis_stats(limiter, &longer.known));
    CHECK_EQUAL(0, longer.more);
    CHECK_EQUAL(sizeof longer, longer.known.struct_size);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

int main(void)
{
    NEEDS_REDIS();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    an_option_out_of_range_is_told_by_name();
    opening_connects_to_nothing_and_one_connection_serves_one_caller();
    a_request_out_of_range_asks_nothing();
    a_batch_is_one_round_trip_and_a_bad_request_stops_nothing();
    a_batch_beyond_a_thousand_is_decided_in_order();
    a_script_that_was_flushed_is_loaded_again_once_and_charges_once();
    a_batch_whose_script_was_flushed_is_sent_again_in_order();
    scripts_flushed_all_the_time_charge_every_request_once();
    limits_that_were_set_hold_at_once_and_bad_ones_change_nothing();
    threads_share_so_many_connections_and_close_leaves_none();
    a_thread_that_is_cancelled_finishes_its_call_and_keeps_no_connection();
    a_database_and_a_port_are_where_the_url_says();
    statistics_of_another_size_are_filled_as_far_as_they_go();
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
