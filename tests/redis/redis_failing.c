/* A real server that refuses, is frozen, killed, restarted or demoted: the error's text, and recovery by itself. */
#include <errno.h>
#include <sched.h>

#include "client.h"
#include "stub.h"

static struct redis_server server;
static redisContext *own;

/* Comes back at once, so that a test need not wait. */
static weir_redis_options eager(const char *url)
{
    weir_redis_options options = client_options(url);
    options.remember_keys = 0;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    return options;
}

/* Takes until Redis itself decides. */
static weir_decision recovered(weir_redis *limiter)
{
    weir_decision decision;
    do {
        decision = client_taken(limiter, "k", 1);
    } while (decision.flags != 0);
    return decision;
}

static void expect_unreached(weir_redis *limiter, unsigned flags)
{
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | flags, decision.flags);
}

/* The text begins so, and ends with the server's place. */
static int begins_error(const weir_redis *limiter, const char *what)
{
    char got[512], end[160];
    size_t length = weir_redis_error(limiter, got, sizeof got);
    snprintf(end, sizeof end, " (%s)", server.socket);
    int right = strncmp(got, what, strlen(what)) == 0 && length > strlen(end) &&
                strcmp(got + length - strlen(end), end) == 0;
    if (!right)
        printf("  wanted: %s ...%s\n  got:    %s\n", what, end, got);
    return right;
}

static void a_replica_does_not_decide_and_a_promoted_one_does(void)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 1000000);
    CHECK_EQUAL(0, recovered(limiter).flags);
    REDIS_SERVER_TELL(own, "REPLICAOF 127.0.0.1 1");
    expect_unreached(limiter, 0);
    CHECK(begins_error(limiter, "READONLY You can't write against a read only replica."));
    CHECK_EQUAL(0, client_stats(limiter).unknown);
    REDIS_SERVER_TELL(own, "REPLICAOF NO ONE");
    CHECK_EQUAL(1, recovered(limiter).verdict);
    CHECK_EQUAL(0, client_stats(limiter).breaker_open);
    CHECK(client_stats(limiter).connects >= 2); /* who answers READONLY is dialled again */
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void without_memory_redis_refuses_and_recovers(void)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 1000000);
    CHECK_EQUAL(0, recovered(limiter).flags);
    REDIS_SERVER_TELL(own, "CONFIG SET maxmemory 1");
    expect_unreached(limiter, 0);
    CHECK(begins_error(limiter, "OOM command not allowed when used memory > 'maxmemory'."));
    REDIS_SERVER_TELL(own, "CONFIG SET maxmemory 0");
    CHECK_EQUAL(1, recovered(limiter).verdict);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void passwords_and_permissions_are_told(void)
{
    char url[160];
    REDIS_SERVER_TELL(own, "ACL SETUSER able on >p%%40ss ~* +@all");
    REDIS_SERVER_TELL(own, "ACL SETUSER unable on >pass ~* +@all -evalsha -eval");
    REDIS_SERVER_TELL(own, "ACL SETUSER elsewhere on >pass ~other:* +@all");
    snprintf(url, sizeof url, "unix://able:p%%2540ss@%s", server.socket);
    weir_redis_options options = eager(url);
    weir_redis *limiter = client_open(&options, 1000000);
    CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(0, weir_redis_close(limiter));

    snprintf(url, sizeof url, "unix://able:wrong@%s", server.socket);
    limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(is_error(limiter, "AUTH: WRONGPASS invalid username-password pair or user is disabled.", server.socket));
    CHECK_EQUAL(0, client_stats(limiter).commands);
    CHECK_EQUAL(0, weir_redis_close(limiter));

    snprintf(url, sizeof url, "unix://unable:pass@%s", server.socket);
    limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(begins_error(limiter, "NOPERM this user has no permissions to run the 'evalsha' command"));
    CHECK_EQUAL(0, weir_redis_close(limiter));

    snprintf(url, sizeof url, "unix://elsewhere:pass@%s", server.socket);
    limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(begins_error(limiter, "NOPERM this user has no permissions to access one of the keys"));
    CHECK_EQUAL(0, weir_redis_close(limiter));

    REDIS_SERVER_TELL(own, "ACL SETUSER within on >pass ~* +@all -select");
    snprintf(url, sizeof url, "unix://within:pass@%s?db=1", server.socket);
    limiter = client_open(&options, 1000000);
    expect_unreached(limiter, 0);
    CHECK(begins_error(limiter, "SELECT: NOPERM this user has no permissions to run the 'select' command"));
    REDIS_SERVER_TELL(own, "ACL SETUSER within +select");
    CHECK_EQUAL(1, recovered(limiter).verdict);
    CHECK_EQUAL(0, weir_redis_close(limiter));

    snprintf(url, sizeof url, "unix://%s?db=9999", server.socket);
    limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(is_error(limiter, "SELECT: ERR DB index is out of range", server.socket));
    CHECK_EQUAL(0, weir_redis_close(limiter));

    REDIS_SERVER_TELL(own, "CONFIG SET requirepass secret");
    options.url = server.url;
    limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(is_error(limiter, "NOAUTH Authentication required.", server.socket));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    snprintf(url, sizeof url, "unix://:secret@%s", server.socket);
    options.url = url;
    limiter = client_open(&options, 1000000);
    CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    REDIS_SERVER_TELL(own, "CONFIG SET requirepass %s", "");
}

static void a_node_without_slots_is_told_to_be_of_a_cluster(void)
{
    struct redis_server node;
    char bus[8];
    snprintf(bus, sizeof bus, "%u", (unsigned)stub_free_port()); /* else 10,000 above the port, which may be none */
    const char *const arguments[] = {"--cluster-enabled", "yes", "--cluster-port", bus, NULL};
    redis_server_start(&node, arguments);
    weir_redis_options options = eager(node.url);
    weir_redis *limiter = client_open(&options, 5);
    expect_unreached(limiter, 0);
    CHECK(is_error(limiter, "CLUSTERDOWN Hash slot not served: it is a node of a cluster, set options.cluster",
                   node.socket));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    redis_server_stop(&node);
}

static void a_frozen_server_costs_a_timeout_and_what_it_was_asked_is_unknown(void)
{
    char text[128];
    weir_redis_options options = eager(server.url);
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    weir_redis *limiter = client_open(&options, 10);
    CHECK_EQUAL(0, recovered(limiter).flags);
    redis_server_freeze(&server);
    expect_unreached(limiter, WEIR_REDIS_UNKNOWN);
    for (int i = 0; i < 10; i++)
        expect_unreached(limiter, 0);
    CHECK(is_error(limiter, "no answer within 200 ms", server.socket));
    CHECK_EQUAL(1, client_stats(limiter).unknown);
    CHECK_EQUAL(11, client_stats(limiter).unreached);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    redis_server_thaw(&server);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    options = eager(server.url);
    limiter = client_open(&options, 10);
    /* Redis carries out what it reads after the thaw; so this one was charged, and never sent again. */
    uint64_t remaining = client_peeked(limiter, "k", 1).remaining;
    CHECK(remaining == 8 || remaining == 9);
    CHECK_EQUAL(0, weir_redis_error(limiter, text, sizeof text));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_server_that_was_killed_is_found_again_after_its_restart(void)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 5);
    REDIS_SERVER_TELL(own, "FLUSHALL");
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    CHECK_EQUAL(4, recovered(limiter).remaining);
    redisFree(own);
    redis_server_kill(&server);
    expect_unreached(limiter, 0); /* the connection was closed while at rest: seen before anything was sent */
    CHECK(begins_error(limiter, "connect: "));
    redis_server_restart(&server);
    own = redis_server_connect(&server);
    CHECK_EQUAL(4, recovered(limiter).remaining); /* what it held was lost */
    CHECK_EQUAL(2, client_stats(limiter).scripts_loaded);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_connection_killed_by_the_server_costs_no_decision(void)
{
    weir_redis_options options = eager(server.url);
    weir_redis *limiter = client_open(&options, 1000);
    CHECK_EQUAL(0, recovered(limiter).flags);
    for (int i = 0; i < 5; i++) {
        REDIS_SERVER_TELL(own, "CLIENT KILL TYPE normal SKIPME yes");
        CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    }
    CHECK_EQUAL(0, client_stats(limiter).failures);
    CHECK_EQUAL(6, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

int main(void)
{
    NEEDS_REDIS();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    a_replica_does_not_decide_and_a_promoted_one_does();
    without_memory_redis_refuses_and_recovers();
    passwords_and_permissions_are_told();
    a_node_without_slots_is_told_to_be_of_a_cluster();
    a_frozen_server_costs_a_timeout_and_what_it_was_asked_is_unknown();
    a_server_that_was_killed_is_found_again_after_its_restart();
    a_connection_killed_by_the_server_costs_no_decision();
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
