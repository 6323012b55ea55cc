/* The client for event loops and a real server that is killed, frozen, demoted or closes connections: on every loop. */
#include "turning.h"

static struct redis_server server;
static redisContext *own;

/* Comes back at once, so that a test need not wait. */
static weir_redis_options eager(const char *url)
{
    weir_redis_options options = client_options(url);
    options.remember_ns = 0;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    return options;
}

/* Takes until Redis itself decides. */
static void recover(struct turning *turning)
{
    do {
        turning_take(turning, "recovered", WEIR_NOW);
        turn_out(turning);
    } while (turning->last.flags != 0);
}

/* Keeps calls under way, whatever becomes of them, until `counter` has grown by so many. */
static void load_until(struct turning *turning, const size_t *counter, size_t more)
{
    size_t wanted = *counter + more;
    while (*counter < wanted) {
        for (int i = 0; i < 64 && turning->under_way < 64; i++)
            turning_take(turning, "k", WEIR_NOW);
        if (turning->under_way > 0)
            turn(turning);
    }
}

static void a_server_that_is_killed_under_load_is_found_again_after_its_restart(const struct loop_kind *kind)
{
    weir_redis_options options = eager(server.url);
    struct turning turning;
    options.when_unreached = WEIR_UNREACHED_REFUSE;
    weir_redis *limiter = client_open(&options, 1000000);
    turning_open(&turning, kind, limiter);
    for (int i = 0; i < 3; i++) {
        load_until(&turning, &turning.accepted, 500);
        size_t refused = turning.refused, unreached = turning.unreached, unknown = turning.unknown;
        redisFree(own);
        redis_server_kill(&server);
        load_until(&turning, &turning.unreached, 500);
        CHECK_EQUAL(turning.refused - refused, turning.unreached - unreached); /* by the policy alone */
        CHECK(turning.unknown - unknown <= 64);
        redis_server_restart(&server);
        own = redis_server_connect(&server);
        load_until(&turning, &turning.accepted, 500);
    }
    turn_out(&turning);
    CHECK_EQUAL(0, client_stats(limiter).breaker_open);
    CHECK_EQUAL(turning.unreached, client_stats(limiter).unreached);
    CHECK_EQUAL(turning.unknown, client_stats(limiter).unknown);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Keys so long that the sockets cannot hold all commands: what was not written to its end is known not to be done. */
static void what_a_frozen_server_was_not_sent_is_known_to_be_undone(const struct loop_kind *kind)
{
    enum { CALLS = 200, KEY = 60000 };
    static char key[KEY];
    weir_redis_options options = eager(server.url);
    struct turning turning;
    options.command_timeout_ns = 300 * WEIR_MILLISECOND;
    options.breaker_failures = UINT32_MAX;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, 1000000);
    turning_open(&turning, kind, limiter);
    recover(&turning);
    uint64_t failures = client_stats(limiter).failures;
    redis_server_freeze(&server);
    for (int i = 0; i < CALLS; i++) {
        snprintf(key, sizeof key, "key %d", i);
        weir_request request = weir_request_for(key, sizeof key);
        CHECK_EQUAL(-EINPROGRESS, turning_ask(&turning, &request, WEIR_NOW));
    }
    turn_out(&turning);
    CHECK_EQUAL(CALLS, turning.unreached);
    CHECK(turning.unknown > 0 && turning.unknown < CALLS);
    CHECK(is_error(limiter, "no answer within 300 ms", server.socket));
    CHECK_EQUAL(failures + 1, client_stats(limiter).failures);
    redis_server_thaw(&server);
    recover(&turning);
    size_t done = (size_t)redis_server_number(own, "DBSIZE") - 1;
    CHECK(done > 0 && done <= turning.unknown);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* What the frozen server says afterwards, of the key with nothing left, is not told of the key with all left. */
static void a_thawed_servers_late_answers_are_told_to_nobody(const struct loop_kind *kind)
{
    weir_redis_options options = eager(server.url);
    weir_request request = weir_request_for("emptied", 7);
    struct turning turning;
    options.command_timeout_ns = 300 * WEIR_MILLISECOND;
    options.breaker_failures = UINT32_MAX;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, 100);
    turning_open(&turning, kind, limiter);
    recover(&turning);
    redis_server_freeze(&server);
    request.cost = 100;
    CHECK_EQUAL(-EINPROGRESS, turning_ask(&turning, &request, WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN, turning.last.flags);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "full", WEIR_NOW)); /* connects to the frozen server, and waits */
    turn_for(&turning, WEIR_MILLISECOND);
    redis_server_thaw(&server);
    turn_out(&turning);
    for (int i = 0; i < 20; i++) {
        turning_take(&turning, "full", WEIR_NOW);
        turn_out(&turning);
        CHECK_EQUAL(100, turning.last.limit);
        CHECK(turning.last.flags != 0 || turning.last.remaining >= 78);
    }
    CHECK_EQUAL(0, turning.last.flags);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_connection_that_is_closed_at_rest_costs_no_decision(const struct loop_kind *kind)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 1000);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    recover(&turning);
    for (int i = 0; i < 10; i++) {
        REDIS_SERVER_TELL(own, "CLIENT KILL TYPE normal SKIPME yes");
        if (i % 2 == 0)
            turn(&turning); /* seen at rest; else, when it is to be used */
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
        turn_out(&turning);
        CHECK_EQUAL(0, turning.last.flags);
    }
    CHECK_EQUAL(0, client_stats(limiter).failures);
    CHECK_EQUAL(11, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_error(limiter, NULL, 0));
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_replica_does_not_decide_and_a_promoted_one_does(const struct loop_kind *kind)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 1000000);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    recover(&turning);
    REDIS_SERVER_TELL(own, "REPLICAOF 127.0.0.1 1");
    for (int i = 0; i < 5; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(5, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    CHECK_EQUAL(1, client_stats(limiter).failures); /* that came together */
    char text[256];
    weir_redis_error(limiter, text, sizeof text);
    CHECK(strncmp(text, "READONLY You can't write against a read only replica.", 53) == 0);
    REDIS_SERVER_TELL(own, "REPLICAOF NO ONE");
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(0, turning.last.flags);
    CHECK(client_stats(limiter).connects >= 2); /* who answers READONLY is dialled again */
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void expect_refused(const struct loop_kind *kind, const char *url, const char *what)
{
    weir_redis_options options = eager(url);
    weir_redis *limiter = client_open(&options, 5);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning.last.flags);
    CHECK(is_error(limiter, what, server.socket));
    CHECK_EQUAL(0, client_stats(limiter).connects);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void passwords_and_databases_that_are_wrong_are_told(const struct loop_kind *kind)
{
    char url[160];
    snprintf(url, sizeof url, "unix://nobody:wrong@%s", server.socket);
    expect_refused(kind, url, "AUTH: WRONGPASS invalid username-password pair or user is disabled.");
    snprintf(url, sizeof url, "unix://%s?db=9999", server.socket);
    expect_refused(kind, url, "SELECT: ERR DB index is out of range");
}

int main(void)
{
    NEEDS_REDIS();
    loop_kinds_tell_missing();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        a_server_that_is_killed_under_load_is_found_again_after_its_restart(kind);
        what_a_frozen_server_was_not_sent_is_known_to_be_undone(kind);
        a_thawed_servers_late_answers_are_told_to_nobody(kind);
        a_connection_that_is_closed_at_rest_costs_no_decision(kind);
        a_replica_does_not_decide_and_a_promoted_one_does(kind);
        passwords_and_databases_that_are_wrong_are_told(kind);
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
