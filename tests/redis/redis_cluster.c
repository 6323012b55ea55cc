/* The blocking client and a cluster of three nodes: keys over all slots, ways in, batches; and what is no cluster. */
#include <errno.h>
#include <pthread.h>

#include "cluster.h"

/* ---- keys and slots ---- */

static void a_key_goes_to_the_node_that_has_its_slot(void)
{
    enum { KEYS = 2000 };
    unsigned owned[NODES] = {0};
    char key[KEY_SIZE];
    weir_redis *limiter = opened(1);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "k%u", i);
        owned[nodes_of_slot(&nodes, slot_of(key))]++;
        CHECK_EQUAL(1, client_take(limiter, key, 1, NULL));
    }
    weir_redis_statistics statistics = client_stats(limiter);
    for (unsigned i = 0; i < nodes.primaries; i++)
        CHECK_EQUAL(owned[i], redis_server_number(nodes.link[i], "DBSIZE"));
    CHECK_EQUAL(0, statistics.redirected);
    CHECK_EQUAL(0, statistics.unreached);
    CHECK_EQUAL(1, statistics.slot_maps);
    CHECK_EQUAL(3, statistics.scripts_loaded); /* once on each node */
    CHECK_EQUAL(KEYS + 3, statistics.commands);
    CHECK_EQUAL(3, statistics.connects);
    CHECK_EQUAL(0, client_take(limiter, "k0", 1, NULL));
    CHECK_EQUAL(0, client_reset(limiter, "k0"));
    CHECK_EQUAL(1, client_peeked(limiter, "k0", 1).verdict);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void all_rules_of_a_key_are_in_one_slot_whatever_bytes_it_has(void)
{
    enum { RULES = 8, KEYS = 300 };
    weir_rule rules[RULES];
    weir_redis_options options = cluster_options(nodes.url[1]);
    weir_redis *limiter;
    for (unsigned i = 0; i < RULES; i++)
        rules[i] = (weir_rule){.limit = 1, .window_ns = WEIR_HOUR * (i + 1), .meter = WEIR_PER_REQUEST,
                               .algorithm = i % 3 == 0 ? WEIR_LOG : i % 3 == 1 ? WEIR_COUNTER : WEIR_BUCKETS,
                               .buckets = i % 3 == 2 ? 10 : 0};
    CHECK_EQUAL(0, weir_redis_open(&limiter, rules, RULES, &options));
    for (unsigned i = 0; i < KEYS; i++) {
        const char bytes[KEYS] = {(char)i, '{', (char)(i >> 4), '}', '\0', (char)(i * 7)};
        weir_request request = weir_request_for(bytes, i < 256 ? 6 : i - 256);
        weir_decision decision;
        CHECK_EQUAL(1, weir_redis_take(limiter, &request, WEIR_NOW, &decision));
        CHECK_EQUAL(0, decision.flags);
    }
    CHECK_EQUAL(0, client_stats(limiter).redirected);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_cluster_is_entered_through_any_node_and_by_socket_or_name(void)
{
    char url[64];
    const char *urls[] = {nodes.url[2], nodes.url[nodes.count - 1], nodes.server[1].url, url};
    snprintf(url, sizeof url, "redis://localhost:%u", nodes.server[0].port);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        weir_redis_options options = cluster_options(urls[i]);
        weir_redis *limiter = client_open(&options, 5);
        char key[KEY_SIZE];
        for (unsigned number = 0; number < 20; number++) {
            snprintf(key, sizeof key, "k%u", number);
            CHECK_EQUAL(0, client_taken(limiter, key, 1).flags);
        }
        CHECK_EQUAL(0, client_stats(limiter).redirected);
        CHECK_EQUAL(1, client_stats(limiter).slot_maps);
        CHECK_EQUAL(0, weir_redis_close(limiter));
    }
}

static void nodes_may_be_known_by_name(void)
{
    weir_redis_options options = cluster_options(nodes.url[0]);
    for (unsigned i = 0; i < nodes.count; i++) {
        REDIS_SERVER_TELL(nodes.link[i], "CONFIG SET cluster-announce-hostname localhost");
        REDIS_SERVER_TELL(nodes.link[i], "CONFIG SET cluster-preferred-endpoint-type hostname");
    }
    nodes_await_hosts(&nodes, "localhost");
    weir_redis *limiter = client_open(&options, 5);
    char key[KEY_SIZE];
    for (unsigned number = 0; number < 20; number++) {
        snprintf(key, sizeof key, "k%u", number);
        CHECK_EQUAL(0, client_taken(limiter, key, 1).flags);
    }
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(1 + 3, client_stats(limiter).connects); /* the URL's is not known to be one of them */
    CHECK_EQUAL(0, weir_redis_close(limiter));
    for (unsigned i = 0; i < nodes.count; i++) {
        REDIS_SERVER_TELL(nodes.link[i], "CONFIG SET cluster-announce-hostname %s", "");
        REDIS_SERVER_TELL(nodes.link[i], "CONFIG SET cluster-preferred-endpoint-type ip");
    }
    nodes_await_hosts(&nodes, "127.0.0.1");
}

/* ---- batches ---- */

static void a_batch_is_one_round_trip_for_each_node(void)
{
    enum { KEYS = 500, COUNT = 2 * KEYS };
    static char keys[KEYS][KEY_SIZE];
    static weir_request requests[COUNT];
    static int verdicts[COUNT];
    weir_redis *limiter = opened(1);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(keys[i % KEYS], KEY_SIZE, "k%u", i % KEYS);
        requests[i] = weir_request_for(keys[i % KEYS], strlen(keys[i % KEYS]));
    }
    for (unsigned i = 0; i < nodes.primaries; i++)
        REDIS_SERVER_TELL(nodes.link[i], "SCRIPT FLUSH");
    CHECK_EQUAL(KEYS, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, verdicts, NULL));
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQUAL(i < KEYS, verdicts[i]); /* in their order: the second of a key is refused */
    CHECK_EQUAL(2 * COUNT, client_stats(limiter).commands); /* all met NOSCRIPT */
    CHECK_EQUAL(1 + 2 * 3, client_stats(limiter).round_trips);
    CHECK_EQUAL(3, client_stats(limiter).scripts_loaded);
    CHECK_EQUAL(0, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, NULL));
    CHECK_EQUAL(3 * COUNT, client_stats(limiter).commands);
    CHECK_EQUAL(1 + 3 * 3, client_stats(limiter).round_trips);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* The keys of one slot have moved for good, half of another's are under way; the client knows of neither. */
static void inside_a_batch_each_command_follows_its_slot_and_is_charged_once(void)
{
    enum { EACH = 10, KEYS = 3 * EACH, LIMIT = 10 };
    char keys[KEYS][KEY_SIZE];
    weir_request requests[2 * KEYS];
    weir_decision decisions[2 * KEYS];
    unsigned gone = slot_of("k0"), going = slot_of("k1");
    unsigned from = nodes_of_slot(&nodes, gone), source = nodes_of_slot(&nodes, going);
    unsigned to = (from + 1) % 3, target = (source + 1) % 3;
    weir_redis *limiter = opened(LIMIT);
    find_keys(keys, EACH, &gone, 0);
    find_keys(keys + EACH, EACH, &going, 0);
    find_keys(keys + 2 * EACH, EACH, NULL, target);
    for (unsigned i = 0; i < 2 * KEYS; i++)
        requests[i] = weir_request_for(keys[i % KEYS], strlen(keys[i % KEYS]));
    CHECK_EQUAL(KEYS, weir_redis_take_batch(limiter, requests, KEYS, WEIR_NOW, NULL, NULL));
    move_slot(gone, from, to);
    nodes_begin_move(&nodes, going, source, target);
    CHECK_EQUAL(EACH / 2, nodes_move_some(&nodes, going, source, target, EACH / 2));
    for (unsigned i = 0; i < 3; i++)
        REDIS_SERVER_TELL(nodes.link[i], "SCRIPT FLUSH");
    CHECK_EQUAL(2 * KEYS, weir_redis_take_batch(limiter, requests, 2 * KEYS, WEIR_NOW, NULL, decisions));
    for (unsigned i = 0; i < 2 * KEYS; i++) {
        CHECK_EQUAL(0, decisions[i].flags);
        CHECK_EQUAL(LIMIT - 2 - i / KEYS, decisions[i].remaining);
    }
    CHECK_EQUAL(2 * EACH + EACH, client_stats(limiter).redirected); /* MOVED each, ASK for a half */
    CHECK_EQUAL(2, client_stats(limiter).slot_maps);
    while (nodes_move_some(&nodes, going, source, target, 100) > 0)
        continue;
    nodes_end_move(&nodes, going, target);
    move_slot(going, target, source);
    move_slot(gone, to, from);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

struct batches {
    weir_redis *limiter;
    int64_t accepted;
};

static void *take_batches(void *argument)
{
    enum { COUNT = 60, ROUNDS = 50 };
    struct batches *mine = argument;
    char keys[COUNT][KEY_SIZE];
    weir_request requests[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(keys[i], KEY_SIZE, "k%u", i);
        requests[i] = weir_request_for(keys[i], strlen(keys[i]));
    }
    for (int i = 0; i < ROUNDS; i++)
        mine->accepted += weir_redis_take_batch(mine->limiter, requests, COUNT, WEIR_NOW, NULL, NULL);
    return NULL;
}

/* Each needs the one connection of three nodes at a time, and none waits in a circle. */
static void batches_of_many_threads_share_single_connections(void)
{
    enum { LIMIT = 100, KEYS = 60 };
    pthread_t threads[THREADS];
    struct batches batches[THREADS];
    int64_t accepted = 0;
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.connections = 1;
    weir_redis *limiter = client_open(&options, LIMIT);
    for (int i = 0; i < THREADS; i++) {
        batches[i] = (struct batches){limiter, 0};
        pthread_create(&threads[i], NULL, take_batches, &batches[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        accepted += batches[i].accepted;
    }
    CHECK_EQUAL(KEYS * LIMIT, accepted);
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(3, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- what is no cluster ---- */

static void a_server_of_no_cluster_and_a_database_are_told(void)
{
    struct redis_server server;
    char url[128], error[128];
    redis_server_start(&server, NULL);
    weir_redis_options options = cluster_options(server.url);
    weir_redis *limiter = client_open(&options, 5);
    CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags); /* it has all slots, though it cannot tell */
    CHECK(is_error(limiter, "CLUSTER SLOTS: ERR This instance has cluster support disabled", server.socket));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    options.breaker_failures = 2;
    limiter = client_open(&options, 5);
    redis_server_stop(&server);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(1, client_stats(limiter).failures); /* the map's fetch was one, and nothing was asked after it */
    CHECK_EQUAL(0, weir_redis_close(limiter));

    weir_rule rule = log_rule(5);
    snprintf(url, sizeof url, "%s/1", nodes.url[0]);
    options.url = url;
    options.error = error;
    options.error_size = sizeof error;
    CHECK_EQUAL((uint64_t)-EINVAL, weir_redis_open(&limiter, &rule, 1, &options));
    CHECK(is_text("options: url: a cluster has no database but 0", error));
    options.url = nodes.url[0];
    options.cluster = 2;
    CHECK_EQUAL((uint64_t)-EINVAL, weir_redis_open(&limiter, &rule, 1, &options));
    CHECK(is_text("options: cluster: 2 is neither 0 nor 1", error));
}

int main(void)
{
    NEEDS_REDIS();
    start_nodes();
    a_key_goes_to_the_node_that_has_its_slot();
    all_rules_of_a_key_are_in_one_slot_whatever_bytes_it_has();
    a_cluster_is_entered_through_any_node_and_by_socket_or_name();
    nodes_may_be_known_by_name();
    a_batch_is_one_round_trip_for_each_node();
    inside_a_batch_each_command_follows_its_slot_and_is_charged_once();
    batches_of_many_threads_share_single_connections();
    a_server_of_no_cluster_and_a_database_are_told();
    nodes_stop(&nodes);
    return checks_end();
}
