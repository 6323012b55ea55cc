/* The blocking client and a cluster whose slots move under load, and whose nodes freeze and die. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "cluster.h"

/* ---- slots that move ---- */

static long long maps_asked(void)
{
    long long sum = 0;
    for (unsigned i = 0; i < nodes.primaries; i++)
        sum += nodes_maps_asked(&nodes, i);
    return sum;
}

enum { MOVING = 16, ALLOWED = 100 };

struct load {
    weir_redis *limiter;
    char keys[MOVING][KEY_SIZE];
    atomic_uint accepted[MOVING];
    atomic_uint calls, flagged;
    atomic_bool enough;
};

/* Each key in turn, at one moment, for so long as it is told to. */
static void *take_on(void *argument)
{
    struct load *load = argument;
    for (unsigned i = 0; !atomic_load(&load->enough); i = (i + 1) % MOVING) {
        weir_request request = weir_request_for(load->keys[i], strlen(load->keys[i]));
        weir_decision decision;
        atomic_fetch_add(&load->accepted[i], weir_redis_take(load->limiter, &request, WEIR_HOUR, &decision) == 1);
        atomic_fetch_add(&load->flagged, decision.flags != 0);
        atomic_fetch_add(&load->calls, 1);
    }
    return NULL;
}

static void await_calls(struct load *load, unsigned more)
{
    unsigned until = atomic_load(&load->calls) + more;
    while (atomic_load(&load->calls) < until)
        sched_yield();
}

static void a_slot_is_moved_while_its_keys_are_decided_and_exactly_the_limit_is_accepted(void)
{
    static struct load load;
    pthread_t threads[THREADS];
    unsigned slot = slot_of("k0"), from = nodes_of_slot(&nodes, slot), to = (from + 1) % 3;
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.given_time = 1;
    load.limiter = client_open(&options, ALLOWED);
    find_keys(load.keys, MOVING, &slot, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_on, &load);
    await_calls(&load, MOVING * ALLOWED / 4);
    nodes_begin_move(&nodes, slot, from, to);
    for (int i = 0; i < MOVING / 2; i++) {
        (void)nodes_move_some(&nodes, slot, from, to, 1);
        await_calls(&load, 50);
    }
    weir_redis_statistics before = client_stats(load.limiter);
    CHECK(before.redirected > 0); /* by ASK: the slot is not the other's yet */
    CHECK_EQUAL(1, before.slot_maps);
    while (nodes_move_some(&nodes, slot, from, to, 1) > 0)
        await_calls(&load, 10);
    nodes_end_move(&nodes, slot, to);
    await_calls(&load, 2 * MOVING * ALLOWED);
    atomic_store(&load.enough, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MOVING; i++)
        CHECK_EQUAL(ALLOWED, atomic_load(&load.accepted[i]));
    CHECK_EQUAL(0, atomic_load(&load.flagged));
    CHECK_EQUAL(0, client_stats(load.limiter).failures);
    CHECK(client_stats(load.limiter).slot_maps >= 2);
    printf("  %u calls, %ju of them sent on, %ju slot maps\n", atomic_load(&load.calls),
           (uintmax_t)client_stats(load.limiter).redirected, (uintmax_t)client_stats(load.limiter).slot_maps);
    move_slot(slot, to, from);
    CHECK_EQUAL(0, weir_redis_close(load.limiter));
}

/* Returns how many Redis accepted. */
static void *take_some(void *argument)
{
    uintptr_t accepted = 0;
    for (int i = 0; i < 50; i++) {
        weir_decision decision;
        accepted += client_take(argument, "k0", 1, &decision) == 1 && decision.flags == 0;
    }
    return (void *)accepted;
}

static void a_slot_that_moved_for_good_is_followed_and_the_map_fetched_once(void)
{
    pthread_t threads[THREADS];
    unsigned slot = slot_of("k0"), from = nodes_of_slot(&nodes, slot), to = (from + 2) % 3;
    weir_redis *limiter = opened(1000000);
    CHECK_EQUAL(0, client_taken(limiter, "k0", 1).flags);
    move_slot(slot, from, to);
    long long asked = maps_asked();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_some, limiter);
    for (int i = 0; i < THREADS; i++) {
        void *accepted;
        pthread_join(threads[i], &accepted);
        CHECK_EQUAL(50, (uintptr_t)accepted);
    }
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK(statistics.redirected >= 1 && statistics.redirected <= THREADS);
    CHECK_EQUAL(2, statistics.slot_maps);
    CHECK_EQUAL(1, maps_asked() - asked);
    /* No charge was lost or doubled. */
    CHECK_EQUAL(1000000 - 1 - THREADS * 50, client_peeked(limiter, "k0", 1).remaining);
    CHECK_EQUAL(statistics.redirected, client_stats(limiter).redirected);
    CHECK_EQUAL(0, statistics.failures);
    move_slot(slot, to, from);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Of several keys of one limit some are here, some there: Redis asks to try again, and the policy answers meanwhile. */
static void several_rules_of_a_key_that_is_half_moved_are_left_to_the_policy(void)
{
    weir_rule rules[2] = {log_rule(10), log_rule(10)};
    weir_redis_options options = cluster_options(nodes.url[0]);
    unsigned slot = slot_of("k0"), from = nodes_of_slot(&nodes, slot), to = (from + 1) % 3;
    weir_request request = weir_request_for("k0", 2);
    weir_decision decision;
    weir_redis *limiter;
    char error[256];
    rules[1].window_ns /= 2;
    CHECK_EQUAL(0, weir_redis_open(&limiter, rules, 2, &options));
    CHECK_EQUAL(1, weir_redis_take(limiter, &request, WEIR_NOW, &decision));
    nodes_begin_move(&nodes, slot, from, to);
    CHECK_EQUAL(1, nodes_move_some(&nodes, slot, from, to, 1));
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(0, weir_redis_take(limiter, &request, WEIR_NOW, &decision));
        CHECK_EQUAL(WEIR_REDIS_UNREACHED, decision.flags);
    }
    CHECK(weir_redis_error(limiter, error, sizeof error) > 8 && strncmp(error, "TRYAGAIN ", 9) == 0);
    CHECK_EQUAL(0, client_stats(limiter).failures); /* it is not the node that fails */
    CHECK_EQUAL(1, nodes_move_some(&nodes, slot, from, to, 1));
    nodes_end_move(&nodes, slot, to);
    CHECK_EQUAL(1, weir_redis_take(limiter, &request, WEIR_NOW, &decision));
    CHECK_EQUAL(8, decision.remaining);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    move_slot(slot, to, from);
}

static void a_slot_that_nobody_serves_is_left_to_the_policy_until_somebody_does(void)
{
    unsigned slot = slot_of("k0"), owner = nodes_of_slot(&nodes, slot);
    char error[256];
    weir_redis *limiter = opened(1000000);
    CHECK_EQUAL(0, client_taken(limiter, "k0", 1).flags);
    REDIS_SERVER_TELL(nodes.link[owner], "CLUSTER DELSLOTS %u", slot);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, "k0", 1).flags);
        CHECK_EQUAL(2 + i, client_stats(limiter).slot_maps); /* it may have gone to another */
    }
    (void)weir_redis_error(limiter, error, sizeof error);
    CHECK(strstr(error, "CLUSTERDOWN Hash slot not served") == error);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    REDIS_SERVER_TELL(nodes.link[owner], "CLUSTER ADDSLOTS %u", slot);
    CHECK_EQUAL(0, client_taken(limiter, "k0", 1).flags);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- nodes that fail ---- */

static void a_frozen_node_alone_is_left_alone(void)
{
    enum { EACH = 5, COUNT = 3 * EACH };
    char keys[COUNT][KEY_SIZE];
    weir_request requests[COUNT];
    weir_decision decisions[COUNT];
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.command_timeout_ns = WEIR_SECOND; /* what the others have */
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    weir_redis *limiter = client_open(&options, 1000);
    for (unsigned i = 0; i < COUNT; i++) {
        find_keys(keys + i / EACH * EACH, EACH, NULL, i / EACH);
        requests[i] = weir_request_for(keys[i], strlen(keys[i]));
    }
    CHECK_EQUAL(COUNT, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, NULL));
    redis_server_freeze(&nodes.server[1]);
    for (int round = 0; round < 3; round++) {
        unsigned wanted = WEIR_REDIS_UNREACHED | (round == 0 ? WEIR_REDIS_UNKNOWN : 0);
        CHECK_EQUAL(COUNT - EACH, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, decisions));
        for (unsigned i = 0; i < COUNT; i++)
            CHECK_EQUAL(i / EACH == 1 ? wanted : 0, decisions[i].flags);
        CHECK(round == 0 || decisions[EACH].retry_after_ns > WEIR_HOUR); /* when that node is asked again */
    }
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(1, client_stats(limiter).breaker_open);
    redis_server_thaw(&nodes.server[1]);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

struct stream {
    weir_redis *limiter;
    char key[KEY_SIZE];
    atomic_ulong by_redis, by_policy, refused;
};

static atomic_bool enough;

static void *take_from_one_node(void *argument)
{
    struct stream *stream = argument;
    weir_request request = weir_request_for(stream->key, strlen(stream->key));
    while (!atomic_load(&enough)) {
        weir_decision decision;
        atomic_fetch_add(&stream->refused, weir_redis_take(stream->limiter, &request, WEIR_NOW, &decision) != 1);
        atomic_fetch_add(decision.flags == 0 ? &stream->by_redis : &stream->by_policy, 1);
    }
    return NULL;
}

static void await_more(atomic_ulong *count)
{
    unsigned long until = atomic_load(count) + 50;
    while (atomic_load(count) < until)
        sched_yield();
}

/* The URL's node, too: it is one of many. */
static void a_killed_node_s_keys_recover_with_its_replica_and_others_never_notice(void)
{
    static struct stream streams[3];
    char (*found)[KEY_SIZE] = calloc(1, KEY_SIZE);
    pthread_t threads[3];
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.when_unreached = WEIR_UNREACHED_ADMIT;
    options.backoff_min_ns = WEIR_MILLISECOND;
    options.backoff_max_ns = 5 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 1000000000);
    for (unsigned i = 0; i < 3; i++) {
        find_keys(found, 1, NULL, i);
        memcpy(streams[i].key, found, KEY_SIZE);
        streams[i].limiter = limiter;
        pthread_create(&threads[i], NULL, take_from_one_node, &streams[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        await_more(&streams[i].by_redis);
    redis_server_kill(&nodes.server[0]);
    await_more(&streams[0].by_policy);
    REDIS_SERVER_TELL(nodes.link[3], "CLUSTER FAILOVER TAKEOVER");
    await_more(&streams[0].by_redis);
    for (unsigned i = 1; i < 3; i++)
        await_more(&streams[i].by_redis);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQUAL(0, atomic_load(&streams[i].refused));
    }
    CHECK_EQUAL(0, atomic_load(&streams[1].by_policy));
    CHECK_EQUAL(0, atomic_load(&streams[2].by_policy));
    CHECK_EQUAL(0, client_taken(limiter, streams[0].key, 1).flags);
    printf("  killed: by Redis %lu, by policy %lu; others %lu and %lu; %ju slot maps\n",
           atomic_load(&streams[0].by_redis), atomic_load(&streams[0].by_policy), atomic_load(&streams[1].by_redis),
           atomic_load(&streams[2].by_redis), (uintmax_t)client_stats(limiter).slot_maps);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    free(found);
}

int main(void)
{
    NEEDS_REDIS();
    start_nodes();
    a_slot_is_moved_while_its_keys_are_decided_and_exactly_the_limit_is_accepted();
    a_slot_that_moved_for_good_is_followed_and_the_map_fetched_once();
    several_rules_of_a_key_that_is_half_moved_are_left_to_the_policy();
    a_slot_that_nobody_serves_is_left_to_the_policy_until_somebody_does();
    a_frozen_node_alone_is_left_alone();
    a_killed_node_s_keys_recover_with_its_replica_and_others_never_notice();
    nodes_stop(&nodes);
    return checks_end();
}
