/* The client for event loops and a cluster of three nodes, whose slots move and whose nodes freeze and die. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "cluster.h"
#include "turning.h"

static void take_all(struct turning *turning, char (*keys)[KEY_SIZE], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        turning_take(turning, keys[i], WEIR_NOW);
    turn_out(turning);
}

/* Loads the scripts wherever they are not. */
static void load_scripts(void)
{
    char keys[1][KEY_SIZE];
    weir_redis *limiter = opened(5);
    for (unsigned i = 0; i < nodes.primaries; i++) {
        find_keys(keys, 1, NULL, i);
        CHECK_EQUAL(1, client_take(limiter, keys[0], 1, NULL));
    }
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void keys_of_all_slots_are_answered_as_by_the_blocking_client(const struct loop_kind *kind)
{
    enum { KEYS = 1500, LIMIT = 3 };
    static char keys[KEYS][KEY_SIZE];
    unsigned owned[NODES] = {0};
    struct turning turning;
    load_scripts();
    weir_redis *limiter = opened(LIMIT), *blocking = opened(LIMIT);
    turning_open(&turning, kind, limiter);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(keys[i], KEY_SIZE, "k%u", i);
        owned[nodes_of_slot(&nodes, slot_of(keys[i]))]++;
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, keys[i], WEIR_NOW)); /* the first ones wait for the map */
        if (turning.under_way == 100)
            turn_out(&turning);
    }
    turn_out(&turning);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(KEYS, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    CHECK_EQUAL(KEYS, statistics.commands);
    CHECK_EQUAL(0, statistics.redirected);
    CHECK_EQUAL(0, statistics.scripts_loaded);
    CHECK_EQUAL(1, statistics.slot_maps);
    CHECK_EQUAL(3, statistics.connects);
    CHECK_EQUAL(0, statistics.failures);
    for (unsigned i = 0; i < nodes.primaries; i++)
        CHECK_EQUAL(owned[i], redis_server_number(nodes.link[i], "DBSIZE"));
    for (unsigned i = 0; i < KEYS; i += 7)
        for (unsigned round = 0; round < LIMIT; round++) { /* in turns: 1 is left, 0, and the last is refused */
            weir_decision told;
            if (round % 2 == 0)
                told = client_taken(blocking, keys[i], 1);
            else {
                turning_take(&turning, keys[i], WEIR_NOW);
                turn_out(&turning);
                told = turning.last;
            }
            CHECK_EQUAL(0, told.flags);
            CHECK_EQUAL(round < LIMIT - 1, told.verdict);
            CHECK_EQUAL(round == 0, told.remaining);
        }
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(blocking));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* All keys of a slot that has moved, sent by the old map: each is answered by MOVED, and then nobody any more. */
static void a_slot_that_moved_is_followed_and_the_map_fetched_once(const struct loop_kind *kind)
{
    enum { KEYS = 20, LIMIT = 100 };
    char keys[KEYS][KEY_SIZE];
    unsigned slot = slot_of("k0"), from = nodes_of_slot(&nodes, slot), to = (from + 2) % 3;
    struct turning turning;
    load_scripts();
    weir_redis *limiter = opened(LIMIT);
    turning_open(&turning, kind, limiter);
    find_keys(keys, KEYS, &slot, 0);
    take_all(&turning, keys, KEYS);
    CHECK_EQUAL(1 + (from != 0), client_stats(limiter).connects); /* and the URL's, for the map */
    move_slot(slot, from, to);
    long long asked = nodes_maps_asked(&nodes, to);
    take_all(&turning, keys, KEYS);
    while (client_stats(limiter).slot_maps < 2) /* its answer may be the last */
        turn(&turning);
    CHECK_EQUAL(KEYS, client_stats(limiter).redirected);
    CHECK_EQUAL(3 * KEYS, client_stats(limiter).commands);
    CHECK_EQUAL(2, client_stats(limiter).slot_maps);
    CHECK_EQUAL(1, nodes_maps_asked(&nodes, to) - asked); /* the one that was named, and it alone */
    take_all(&turning, keys, KEYS);
    CHECK_EQUAL(KEYS, client_stats(limiter).redirected);
    CHECK_EQUAL(4 * KEYS, client_stats(limiter).commands);
    CHECK_EQUAL(0, client_stats(limiter).scripts_loaded); /* that it was asked elsewhere is no NOSCRIPT */
    CHECK_EQUAL(3 * KEYS, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    for (unsigned i = 0; i < KEYS; i++)
        CHECK_EQUAL(LIMIT - 3, client_peeked(limiter, keys[i], 1).remaining); /* no charge was lost or doubled */
    CHECK_EQUAL(0, client_stats(limiter).failures);
    turning_close(&turning);
    move_slot(slot, to, from);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Half of the keys are there, half here; the scripts are nowhere. */
static void a_slot_on_its_way_is_asked_there_for_what_is_not_here(const struct loop_kind *kind)
{
    enum { KEYS = 20, LIMIT = 100 };
    char keys[KEYS][KEY_SIZE];
    unsigned slot = slot_of("k1"), from = nodes_of_slot(&nodes, slot), to = (from + 1) % 3;
    struct turning turning;
    weir_redis *limiter = opened(LIMIT);
    turning_open(&turning, kind, limiter);
    find_keys(keys, KEYS, &slot, 0);
    take_all(&turning, keys, KEYS);
    nodes_begin_move(&nodes, slot, from, to);
    CHECK_EQUAL(KEYS / 2, nodes_move_some(&nodes, slot, from, to, KEYS / 2));
    for (unsigned i = 0; i < 3; i++)
        REDIS_SERVER_TELL(nodes.link[i], "SCRIPT FLUSH");
    take_all(&turning, keys, KEYS);
    take_all(&turning, keys, KEYS);
    CHECK_EQUAL(2 * KEYS / 2, client_stats(limiter).redirected);
    CHECK_EQUAL(1, client_stats(limiter).slot_maps); /* ASK tells nothing against it */
    CHECK_EQUAL(3 * KEYS, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    while (nodes_move_some(&nodes, slot, from, to, 100) > 0)
        continue;
    nodes_end_move(&nodes, slot, to);
    for (unsigned i = 0; i < KEYS; i++)
        CHECK_EQUAL(LIMIT - 3, client_peeked(limiter, keys[i], 1).remaining);
    turning_close(&turning);
    move_slot(slot, to, from);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- many loops, and threads that block ---- */

enum { MOVING = 8, ALLOWED = 100 };

struct load {
    const struct loop_kind *kind; /* NULL: it blocks */
    weir_redis *limiter;
    char (*keys)[KEY_SIZE];
    size_t accepted, unreached, under_way;
    bool failed; /* told by the main thread, which alone may check */
};

static atomic_uint calls;
static atomic_bool enough;

static void block(struct load *load)
{
    for (unsigned i = 0; !atomic_load(&enough); i++) {
        weir_request request = weir_request_for(load->keys[i % MOVING], strlen(load->keys[i % MOVING]));
        weir_decision decision;
        load->accepted += weir_redis_take(load->limiter, &request, WEIR_HOUR, &decision) == 1;
        load->unreached += decision.flags != 0;
        atomic_fetch_add(&calls, 1);
    }
}

static void count_answer(void *argument, int verdict, const weir_decision *decision)
{
    struct load *load = argument;
    load->accepted += verdict == 1;
    load->unreached += decision->flags != 0;
    load->under_way--;
}

static void turn_some(struct load *load)
{
    weir_redis_loop loop;
    weir_redis_async *async;
    void *host = load->kind->open(&loop);
    load->failed = weir_redis_async_open(&async, load->limiter, &loop) != 0;
    for (unsigned i = 0; !load->failed && (!atomic_load(&enough) || load->under_way > 0); i++) {
        weir_request request = weir_request_for(load->keys[i % MOVING], strlen(load->keys[i % MOVING]));
        if (load->under_way < 16 && !atomic_load(&enough)) {
            load->under_way++;
            load->failed |= weir_redis_async_take(async, &request, WEIR_HOUR, NULL, count_answer, load) != -EINPROGRESS;
            atomic_fetch_add(&calls, 1);
        } else {
            load->kind->turn(host, 1);
        }
    }
    weir_redis_async_close(async);
    load->kind->close(host);
}

static void *take_on(void *argument)
{
    struct load *load = argument;
    if (load->kind)
        turn_some(load);
    else
        block(load);
    return NULL;
}

static void await_calls(unsigned more)
{
    unsigned until = atomic_load(&calls) + more;
    while (atomic_load(&calls) < until)
        sched_yield();
}

static void loops_and_threads_accept_exactly_the_limit_while_a_slot_moves(const struct loop_kind *kind)
{
    char keys[MOVING][KEY_SIZE];
    pthread_t threads[3];
    struct load loads[3];
    unsigned slot = slot_of("k0"), from = nodes_of_slot(&nodes, slot), to = (from + 1) % 3;
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.given_time = 1;
    weir_redis *limiter = client_open(&options, ALLOWED);
    find_keys(keys, MOVING, &slot, 0);
    atomic_store(&enough, false);
    for (int i = 0; i < 3; i++) {
        loads[i] = (struct load){.kind = i < 2 ? kind : NULL, .limiter = limiter, .keys = keys};
        pthread_create(&threads[i], NULL, take_on, &loads[i]);
    }
    await_calls(MOVING * ALLOWED / 4);
    nodes_begin_move(&nodes, slot, from, to);
    while (nodes_move_some(&nodes, slot, from, to, 1) > 0)
        await_calls(20);
    nodes_end_move(&nodes, slot, to);
    await_calls(2 * MOVING * ALLOWED);
    atomic_store(&enough, true);
    size_t accepted = 0, unreached = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!loads[i].failed);
        accepted += loads[i].accepted;
        unreached += loads[i].unreached;
    }
    CHECK_EQUAL(MOVING * ALLOWED, accepted);
    CHECK_EQUAL(0, unreached);
    CHECK(client_stats(limiter).redirected > 0);
    CHECK(client_stats(limiter).slot_maps >= 2);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    move_slot(slot, to, from);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- nodes that fail, and the end ---- */

static weir_redis_options leaving_alone(void)
{
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.command_timeout_ns = WEIR_SECOND; /* what the others have */
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    return options;
}

/* Calls for all nodes are under way together: those of the frozen one fail, and nobody else's. */
static void a_frozen_node_alone_is_left_alone(const struct loop_kind *kind)
{
    enum { EACH = 5 };
    char keys[3][EACH][KEY_SIZE];
    struct turning turning[3];
    weir_redis_options options = leaving_alone();
    weir_redis *limiter = client_open(&options, 1000);
    turning_open(&turning[0], kind, limiter);
    turning[1] = turning[2] = turning[0]; /* counts of their own, one client */
    for (unsigned i = 0; i < 3; i++) {
        find_keys(keys[i], EACH, NULL, i);
        take_all(&turning[i], keys[i], EACH);
    }
    redis_server_freeze(&nodes.server[1]);
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned j = 0; j < 3; j++)
            CHECK_EQUAL(-EINPROGRESS, turning_take(&turning[j], keys[j][i], WEIR_NOW));
    for (unsigned i = 0; i < 3; i++)
        turn_out(&turning[i]);
    CHECK_EQUAL(EACH, turning[1].unknown);
    CHECK_EQUAL(0, turning_take(&turning[1], keys[1][0], WEIR_NOW));
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning[1].last.flags);
    CHECK(turning[1].last.retry_after_ns > WEIR_HOUR);
    take_all(&turning[0], keys[0], EACH);
    take_all(&turning[2], keys[2], EACH);
    CHECK_EQUAL(0, turning[0].unreached + turning[2].unreached);
    CHECK_EQUAL(3 * EACH, turning[0].accepted);
    CHECK_EQUAL(3 * EACH, turning[2].accepted);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(1, client_stats(limiter).breaker_open);
    redis_server_thaw(&nodes.server[1]);
    turning[0].asked += turning[1].asked + turning[2].asked;
    turning[0].accepted += turning[1].accepted + turning[2].accepted;
    turning[0].refused += turning[1].refused + turning[2].refused;
    turning_close(&turning[0]);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Waiting for the map, and sent: the first was surely not done. The fetch that ended so keeps nobody else from his. */
static void a_close_answers_what_is_under_way(const struct loop_kind *kind)
{
    struct turning turning;
    weir_redis_options options = cluster_options(nodes.url[1]);
    weir_redis *limiter = client_open(&options, 5);
    redis_server_freeze(&nodes.server[1]);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k0", WEIR_NOW));
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k1", WEIR_NOW));
    turning_close(&turning);
    CHECK_EQUAL(2, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    CHECK_EQUAL(0, client_stats(limiter).slot_maps);
    redis_server_thaw(&nodes.server[1]);
    turning_open(&turning, kind, limiter);
    char keys[1][KEY_SIZE];
    find_keys(keys, 1, NULL, 2);
    take_all(&turning, keys, 1);
    CHECK_EQUAL(0, turning.unreached);
    CHECK_EQUAL(1, client_stats(limiter).slot_maps);
    redis_server_freeze(&nodes.server[2]);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, keys[0], WEIR_NOW));
    turn(&turning); /* it is written */
    turning_close(&turning);
    CHECK_EQUAL(1, turning.unknown);
    redis_server_thaw(&nodes.server[2]);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Takes keys of all nodes, always some under way, until the counter has grown by so many. */
static void load_until(struct turning *turning, char (*keys)[KEY_SIZE], const size_t *counter)
{
    for (size_t wanted = *counter + 50; *counter < wanted;) {
        for (unsigned i = 0; i < 3; i++)
            for (int more = 0; more < 8 && turning[i].under_way < 8; more++)
                turning_take(&turning[i], keys[i], WEIR_NOW);
        turning->kind->turn(turning->host, turning[0].under_way + turning[1].under_way + turning[2].under_way > 0);
    }
}

/* The URL's node, too: it is one of many. Once: the nodes are not as they were. */
static void a_killed_node_s_keys_recover_with_its_replica_and_others_never_notice(const struct loop_kind *kind)
{
    char keys[3][KEY_SIZE];
    struct turning turning[3];
    weir_redis_options options = cluster_options(nodes.url[0]);
    options.when_unreached = WEIR_UNREACHED_ADMIT;
    options.backoff_min_ns = WEIR_MILLISECOND;
    options.backoff_max_ns = 5 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 1000000000);
    turning_open(&turning[0], kind, limiter);
    turning[1] = turning[2] = turning[0];
    for (unsigned i = 0; i < 3; i++) {
        find_keys(keys + i, 1, NULL, i);
        load_until(turning, keys, &turning[0].accepted);
    }
    redis_server_kill(&nodes.server[0]);
    load_until(turning, keys, &turning[0].unreached);
    REDIS_SERVER_TELL(nodes.link[3], "CLUSTER FAILOVER TAKEOVER");
    size_t before;
    do { /* until Redis itself decides all */
        before = turning[0].unreached;
        load_until(turning, keys, &turning[0].accepted);
    } while (turning[0].unreached > before);
    for (unsigned i = 0; i < 3; i++) {
        turn_out(&turning[i]);
        CHECK_EQUAL(0, turning[i].refused);
    }
    CHECK_EQUAL(0, turning[1].unreached);
    CHECK_EQUAL(0, turning[2].unreached);
    printf("  killed: %zu by policy; others %zu and %zu by Redis; %ju slot maps\n", turning[0].unreached,
           turning[1].accepted, turning[2].accepted, (uintmax_t)client_stats(limiter).slot_maps);
    turning[0].asked = turning[0].accepted;
    turning_close(&turning[0]);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

int main(void)
{
    NEEDS_REDIS();
    loop_kinds_tell_missing();
    start_nodes();
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        keys_of_all_slots_are_answered_as_by_the_blocking_client(kind);
        a_slot_that_moved_is_followed_and_the_map_fetched_once(kind);
        a_slot_on_its_way_is_asked_there_for_what_is_not_here(kind);
        loops_and_threads_accept_exactly_the_limit_while_a_slot_moves(kind);
        a_frozen_node_alone_is_left_alone(kind);
        a_close_answers_what_is_under_way(kind);
        if (kind == loop_kinds + loop_kind_count - 1)
            a_killed_node_s_keys_recover_with_its_replica_and_others_never_notice(kind);
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    nodes_stop(&nodes);
    return checks_end();
}
