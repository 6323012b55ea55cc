/* The client for event loops against a real server, on every loop: the same answers, order, and whose turn it is. */
#include "support/random.h"
#include "turning.h"

static struct redis_server server;
static redisContext *own;

static weir_redis *frozen_limiter(uint64_t limit)
{
    weir_redis_options options = client_options(server.url);

    REDIS_SERVER_TELL(own, "FLUSHALL");
    options.given_time = 1;
    return client_open(&options, limit);
}

/* ---- Answers ---- */

enum { STEPS = 3000, PIPE_MAX = 64 };

struct expected {
    weir_decision wanted[PIPE_MAX];
    size_t told;
};

static void told_as_expected(void *argument, int verdict, const weir_decision *decision)
{
    struct expected *expected = argument;
    const weir_decision *wanted = &expected->wanted[expected->told++];

    CHECK_EQUAL(wanted->verdict, verdict);
    CHECK_EQUAL(wanted->verdict, decision->verdict);
    CHECK_EQUAL(wanted->rule, decision->rule);
    CHECK_EQUAL(wanted->limit, decision->limit);
    CHECK_EQUAL(wanted->remaining, decision->remaining);
    CHECK_EQUAL(wanted->retry_after_ns, decision->retry_after_ns);
    CHECK_EQUAL(wanted->release_after_ns, decision->release_after_ns);
    CHECK_EQUAL(wanted->flags, decision->flags);
}

static weir_redis *open_with_prefix(const char *prefix)
{
    const weir_rule rules[] = {
        {.limit = 20, .window_ns = 50 * WEIR_MILLISECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
        {.limit = 30, .window_ns = 90 * WEIR_MILLISECOND, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST},
        {.limit = 60, .window_ns = WEIR_SECOND, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 10},
    };
    weir_redis_options options = client_options(server.url);
    weir_redis *limiter = NULL;

    options.prefix = prefix;
    options.given_time = 1;
    CHECK_EQUAL(0, weir_redis_open(&limiter, rules, 3, &options));
    return limiter;
}

/* The blocking client decides each step first; then the loop's is asked the same ones at once, some at a time. */
static void answers_equal_the_blocking_clients(const struct loop_kind *kind)
{
    static const char *const keys[] = {"a", "b", ""};
    weir_redis *blocking = open_with_prefix("blocking"), *limiter = open_with_prefix("loop");
    struct turning turning;
    random_source source = random_from(random_seed("redis_async"), 0);
    uint64_t now = 1000 * WEIR_SECOND;

    REDIS_SERVER_TELL(own, "FLUSHALL");
    turning_open(&turning, kind, limiter);
    for (size_t step = 0; step < random_scaled(STEPS);) {
        struct expected expected = {.told = 0};
        size_t count = random_between(&source, 1, PIPE_MAX);
        for (size_t i = 0; i < count; i++, step++) {
            const char *key = keys[random_below(&source, 3)];
            weir_request request = weir_request_for(key, strlen(key));
            request.cost = random_below(&source, 24);
            now += random_below(&source, 8 * WEIR_MILLISECOND);
            uint64_t told = now - random_below(&source, 3 * WEIR_MILLISECOND);
            int verdict = weir_redis_take(blocking, &request, told, &expected.wanted[i]);
            CHECK_EQUAL(expected.wanted[i].verdict, verdict);
            CHECK_EQUAL(0, expected.wanted[i].flags);
            CHECK_EQUAL(-EINPROGRESS, weir_redis_async_take(turning.async, &request, told, NULL, told_as_expected,
                                                            &expected));
        }
        while (expected.told < count)
            turn(&turning);
    }
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    CHECK_EQUAL(0, weir_redis_close(blocking));
}

static void ten_thousand_under_way_are_decided_in_two_round_trips(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(4000);
    struct turning turning;

    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    turning_open(&turning, kind, limiter);
    for (size_t i = 0; i < 10000; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_SECOND));
    turn_out(&turning);
    CHECK_EQUAL(4000, turning.accepted);
    CHECK_EQUAL(6000, turning.refused);
    CHECK_EQUAL(0, turning.unreached);
    weir_redis_statistics stats = client_stats(limiter);
    CHECK_EQUAL(20000, stats.commands); /* each once more, since the script was not there: the first of them whole */
    CHECK_EQUAL(2, stats.round_trips);
    CHECK_EQUAL(1, stats.scripts_loaded);
    CHECK_EQUAL(1, stats.connects);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* The server stands still while a pipeline, a flush and more of the pipeline arrive, and reads some of each in turn. */
static void a_flush_in_the_middle_of_a_pipeline_charges_nothing_twice(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(700);
    struct turning turning;

    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "other", WEIR_SECOND));
    turn_out(&turning);
    weir_redis_statistics before = client_stats(limiter);
    redis_server_freeze(&server);
    for (size_t i = 0; i < 500; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_SECOND));
    turn_for(&turning, WEIR_MILLISECOND);
    redisAppendCommand(own, "SCRIPT FLUSH");
    int done = 0;
    while (!done)
        CHECK_EQUAL(REDIS_OK, redisBufferWrite(own, &done));
    for (size_t i = 0; i < 500; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_SECOND));
    turn_for(&turning, WEIR_MILLISECOND);
    redis_server_thaw(&server);
    turn_out(&turning);
    void *reply = NULL;
    CHECK_EQUAL(REDIS_OK, redisGetReply(own, &reply));
    freeReplyObject(reply);
    weir_redis_statistics after = client_stats(limiter);
    CHECK_EQUAL(701, turning.accepted);
    CHECK_EQUAL(300, turning.refused);
    CHECK_EQUAL(0, turning.unreached);
    CHECK(after.commands - before.commands > 1000); /* some came back */
    CHECK_EQUAL(before.scripts_loaded + 1, after.scripts_loaded);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void keys_are_copied(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(1);
    struct turning turning;
    char key[2] = "a";

    turning_open(&turning, kind, limiter);
    turning_take(&turning, key, WEIR_SECOND);
    key[0] = 'b';
    turning_take(&turning, key, WEIR_SECOND);
    key[0] = 'c';
    turn_out(&turning);
    CHECK_EQUAL(2, turning.accepted);
    CHECK_EQUAL(2, redis_server_number(own, "DBSIZE"));
    CHECK_EQUAL(1, client_stats(limiter).round_trips);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- At once ---- */

static void what_need_not_be_asked_is_answered_at_once(const struct loop_kind *kind)
{
    weir_redis_options options = client_options(server.url);
    struct turning turning;

    REDIS_SERVER_TELL(own, "FLUSHALL");
    options.remember_ns = WEIR_DAY;
    weir_redis *limiter = client_open(&options, 1);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(1, turning.accepted);
    CHECK_EQUAL(1, turning.refused);
    weir_redis_statistics before = client_stats(limiter);
    for (size_t i = 0; i < 100; i++)
        CHECK_EQUAL(0, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(100, turning.remembered);
    CHECK_EQUAL(100, turning.at_once);
    CHECK_EQUAL(before.commands, client_stats(limiter).commands);
    weir_decision blocking = client_taken(limiter, "k", 1); /* shared with those who block */
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, blocking.flags);
    CHECK_EQUAL(before.commands, client_stats(limiter).commands);
    weir_request bad = weir_request_for("k", 1);
    bad.plan = 7;
    CHECK_EQUAL(-EINVAL, turning_ask(&turning, &bad, WEIR_NOW));
    CHECK_EQUAL(-EINVAL, turning_take(&turning, "k", 5)); /* a time, where none is given */
    bad = weir_request_for("k", 1);
    CHECK_EQUAL(-EINVAL, weir_redis_async_take(turning.async, &bad, WEIR_NOW, NULL, NULL, NULL));
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_refusal_of_a_blocking_call_is_remembered_for_the_loop(const struct loop_kind *kind)
{
    weir_redis_options options = client_options(server.url);
    struct turning turning;

    REDIS_SERVER_TELL(own, "FLUSHALL");
    options.remember_ns = WEIR_DAY;
    weir_redis *limiter = client_open(&options, 1);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(1, client_taken(limiter, "k", 1).verdict);
    CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(0, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(1, turning.remembered);
    CHECK_EQUAL(0, client_reset(limiter, "k"));
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(1, turning.accepted);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- Callbacks ---- */

struct chain {
    struct turning *turning;
    unsigned left;
};

static void ask_again(void *argument, int verdict, const weir_decision *decision)
{
    struct chain *chain = argument;
    weir_request request = weir_request_for("k", 1);

    turning_answer(chain->turning, verdict, decision);
    if (chain->left == 0)
        return;
    chain->left--;
    chain->turning->asked++;
    chain->turning->under_way++;
    CHECK_EQUAL(-EINPROGRESS,
                weir_redis_async_take(chain->turning->async, &request, WEIR_SECOND, NULL, ask_again, chain));
}

static void a_callback_may_ask_anew(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(60);
    struct turning turning;
    struct chain chain = {.turning = turning_open(&turning, kind, limiter), .left = 100};

    turning.asked = turning.under_way = 1;
    ask_again(&chain, 0, &(weir_decision){.verdict = 0});
    while (chain.left > 0 || turning.under_way > 0)
        turn(&turning);
    CHECK_EQUAL(60, turning.accepted);
    CHECK_EQUAL(41, turning.refused); /* the one that began it included */
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void ask_while_it_closes(void *argument, int verdict, const weir_decision *decision)
{
    struct turning *turning = argument;

    turning_answer(turning, verdict, decision);
    CHECK_EQUAL(0, turning_take(turning, "k", WEIR_SECOND));
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning->last.flags);
}

static void close_answers_all_that_is_under_way_and_what_it_asks(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(10);
    weir_request request = weir_request_for("k", 1);
    struct turning turning;

    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_SECOND));
    turn_out(&turning);
    redis_server_freeze(&server);
    for (size_t i = 0; i < 1000; i++) {
        CHECK_EQUAL(-EINPROGRESS, weir_redis_async_take(turning.async, &request, WEIR_SECOND, NULL,
                                                        ask_while_it_closes, &turning));
        turning.asked++;
        turning.under_way++;
        if (i == 499)
            turn(&turning); /* some are written, some are not */
    }
    weir_redis_async_close(turning.async);
    CHECK_EQUAL(0, turning.under_way);
    CHECK_EQUAL(2000, turning.unreached);
    CHECK_EQUAL(500, turning.unknown);
    CHECK_EQUAL(2000, client_stats(limiter).unreached);
    CHECK_EQUAL(500, client_stats(limiter).unknown);
    CHECK_EQUAL(0, client_stats(limiter).failures); /* not the server's fault */
    turning.closed = true;
    kind->close(turning.host);
    redis_server_thaw(&server);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void close_before_the_first_turn_answers_too(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(10);
    struct turning turning;

    turning_open(&turning, kind, limiter);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_SECOND));
    turning_close(&turning);
    CHECK_EQUAL(3, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    turning_open(&turning, kind, limiter); /* and one that was never asked */
    turning_close(&turning);
    weir_redis_async_close(NULL);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void two_clients_share_a_loop(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(30);
    struct turning one, two;

    turning_open(&one, kind, limiter);
    two = (struct turning){.kind = kind, .host = one.host, .loop = one.loop};
    CHECK_EQUAL(0, weir_redis_async_open(&two.async, limiter, &one.loop));
    for (size_t i = 0; i < 20; i++) {
        CHECK_EQUAL(-EINPROGRESS, turning_take(&one, "k", WEIR_SECOND));
        CHECK_EQUAL(-EINPROGRESS, turning_take(&two, "k", WEIR_SECOND));
    }
    turn_out(&one);
    turn_out(&two);
    CHECK_EQUAL(30, one.accepted + two.accepted);
    CHECK_EQUAL(2, client_stats(limiter).connects);
    weir_redis_async_close(two.async);
    turning_close(&one);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_loop_that_lacks_a_function_is_refused(const struct loop_kind *kind)
{
    weir_redis *limiter = frozen_limiter(1);
    weir_redis_loop loop;
    weir_redis_async *async = (weir_redis_async *)limiter;
    void *host = kind->open(&loop);

    loop.arm = NULL;
    CHECK_EQUAL(-EINVAL, weir_redis_async_open(&async, limiter, &loop));
    CHECK(async == NULL);
    kind->close(host);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Name and address as a proxy has them: TCP, a password, a database, a name of a host. */
static void tcp_a_password_and_a_database_are_greeted(const struct loop_kind *kind)
{
    struct redis_server guarded;
    struct turning turning;
    char url[128];

    redis_server_start(&guarded, (const char *const[]){"--requirepass", "open sesame", NULL});
    snprintf(url, sizeof url, "redis://:open%%20sesame@localhost:%u/3", (unsigned)guarded.port);
    weir_redis_options options = client_options(url);
    weir_redis *limiter = client_open(&options, 2);
    turning_open(&turning, kind, limiter);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(2, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    redisContext *link = redis_server_connect(&guarded);
    REDIS_SERVER_TELL(link, "AUTH %s", "open sesame");
    CHECK_EQUAL(0, redis_server_number(link, "DBSIZE"));
    REDIS_SERVER_TELL(link, "SELECT 3");
    CHECK_EQUAL(1, redis_server_number(link, "DBSIZE"));
    redisFree(link);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    redis_server_stop(&guarded);
}

int main(void)
{
    NEEDS_REDIS();
    loop_kinds_tell_missing();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        close_before_the_first_turn_answers_too(kind); /* and libuv has what it keeps for the process */
        unsigned held = descriptors();
        answers_equal_the_blocking_clients(kind);
        ten_thousand_under_way_are_decided_in_two_round_trips(kind);
        a_flush_in_the_middle_of_a_pipeline_charges_nothing_twice(kind);
        keys_are_copied(kind);
        what_need_not_be_asked_is_answered_at_once(kind);
        a_refusal_of_a_blocking_call_is_remembered_for_the_loop(kind);
        a_callback_may_ask_anew(kind);
        close_answers_all_that_is_under_way_and_what_it_asks(kind);
        two_clients_share_a_loop(kind);
        a_loop_that_lacks_a_function_is_refused(kind);
        tcp_a_password_and_a_database_are_greeted(kind);
        CHECK_EQUAL(held, descriptors());
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
