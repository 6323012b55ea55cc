/* The client for event loops and nodes that answer as no real ones can be made to: endlessly elsewhere, late, never. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redis/client.h"
#include "stub.h"
#include "turning.h"

enum { STUBS = 3, KEY_SIZE = 16 };

#define ACCEPTED "*5\r\n:1\r\n:0\r\n:4\r\n:0\r\n:0\r\n"

static struct stub stubs[STUBS];
static char maps[2][1024]; /* a third of the slots each; half of them for each of two */
static char moved[128];
static weir_redis *limiter;
static struct turning turning;

static void draw_map(char *map, unsigned owners)
{
    size_t length = (size_t)sprintf(map, "*%u\r\n", owners);
    for (unsigned i = 0; i < owners; i++)
        length += (size_t)sprintf(map + length, "*3\r\n:%u\r\n:%u\r\n*2\r\n$-1\r\n:%u\r\n", i * 16384 / owners,
                                  (i + 1) * 16384 / owners - 1, stubs[i].port);
}

/* The first key that the stub has, by the first map. */
static const char *key_of(unsigned node)
{
    static char key[KEY_SIZE];
    unsigned number = 0;
    do
        snprintf(key, sizeof key, "k%u", number++);
    while (weiri_redis_slot(&limiter->rules, key, strlen(key)) * STUBS / 16384 != node);
    return key;
}

/* One map is fetched, and no other. */
static weir_redis_options patient(void)
{
    weir_redis_options options = client_options("");
    options.cluster = 1;
    options.remember_keys = 0;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    return options;
}

static void start(const struct loop_kind *kind, stub_serve *serve, weir_redis_options options)
{
    for (unsigned i = 0; i < STUBS; i++)
        stub_start(&stubs[i], serve);
    draw_map(maps[0], STUBS);
    draw_map(maps[1], STUBS - 1);
    options.url = stubs[0].url;
    limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
}

static void stop(void)
{
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    for (unsigned i = 0; i < STUBS; i++)
        stub_stop(&stubs[i]);
}

static unsigned flags_of(const char *key)
{
    turning_take(&turning, key, WEIR_NOW);
    turn_out(&turning);
    return turning.last.flags;
}

/* The first question of the first connection to the first stub is for the map. */
static bool read_question(struct stub *stub, int fd, unsigned number, bool first)
{
    if (!stub_read(stub, fd))
        return false;
    if (stub != &stubs[0] || number > 0 || !first)
        return true;
    stub_send(fd, maps[0]);
    return stub_read(stub, fd);
}

/* ---- redirections ---- */

static void answer_moved(struct stub *stub, int fd, unsigned number)
{
    for (bool first = true; read_question(stub, fd, number, first); first = false)
        stub_send(fd, moved);
}

static void expect_end(const struct loop_kind *kind, const char *format, unsigned named)
{
    char where[128], error[256];
    start(kind, answer_moved, patient());
    snprintf(moved, sizeof moved, format, stubs[named].port);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, flags_of(key_of(0)));
    CHECK_EQUAL(6, client_stats(limiter).commands);
    CHECK_EQUAL(5, client_stats(limiter).redirected);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    snprintf(where, sizeof where, "sent on 5 times, the last time by %s", stubs[named].name);
    (void)weir_redis_error(limiter, error, sizeof error);
    CHECK(is_text(where, error));
    stop();
}

static void endless_redirections_end(const struct loop_kind *kind)
{
    expect_end(kind, "-MOVED 1 :%u\r\n", 0); /* no host: the one that answers */
    expect_end(kind, "-MOVED 1 127.0.0.1:%u\r\n", 1);
    expect_end(kind, "-ASK 1 :%u\r\n", 1);
    CHECK_EQUAL(1 + 1, atomic_load(&stubs[0].commands)); /* the map; and asked */
    CHECK_EQUAL(5 * 2, atomic_load(&stubs[1].commands)); /* ASKING before each */
}

static void a_node_that_is_named_and_cannot_be_had_is_told(const struct loop_kind *kind)
{
    char name[64];
    uint16_t nobody = stub_nobody();
    start(kind, answer_moved, patient());
    snprintf(moved, sizeof moved, "-ASK 1 127.0.0.1:%u\r\n", nobody);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, flags_of(key_of(0)));
    CHECK_EQUAL(1, client_stats(limiter).redirected);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    snprintf(name, sizeof name, "127.0.0.1:%u", nobody);
    CHECK(is_error(limiter, "connect: Connection refused", name));
    stop();
}

static void accept_elsewhere(struct stub *stub, int fd, unsigned number)
{
    for (bool first = true; read_question(stub, fd, number, first); first = false)
        stub_send(fd, stub == &stubs[0] ? moved : ACCEPTED);
}

/* Only the first map is fetched here. */
static void a_slot_that_moved_is_known_before_a_new_map_comes(const struct loop_kind *kind)
{
    start(kind, accept_elsewhere, patient());
    snprintf(moved, sizeof moved, "-MOVED %u 127.0.0.1:%u\r\n",
             weiri_redis_slot(&limiter->rules, key_of(0), strlen(key_of(0))), stubs[1].port);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(0, flags_of(key_of(0)));
    CHECK_EQUAL(1, client_stats(limiter).redirected);
    CHECK_EQUAL(1 + 3, client_stats(limiter).commands);
    CHECK_EQUAL(1, client_stats(limiter).slot_maps);
    stop();
}

static void answer_moved_slowly(struct stub *stub, int fd, unsigned number)
{
    for (bool first = true; read_question(stub, fd, number, first); first = false) {
        nanosleep(&(struct timespec){0, 60 * 1000000}, NULL);
        stub_send(fd, moved);
    }
}

/* Each answer comes in time for itself: 60 of 100 ms. All six of them are more than a call has. */
static void a_call_that_is_sent_on_has_no_more_time_than_others(const struct loop_kind *kind)
{
    weir_redis_options options = patient();
    options.command_timeout_ns = options.connect_timeout_ns = 100 * WEIR_MILLISECOND;
    start(kind, answer_moved_slowly, options);
    snprintf(moved, sizeof moved, "-MOVED 1 127.0.0.1:%u\r\n", stubs[1].port);
    CHECK(flags_of(key_of(0)) & WEIR_REDIS_UNREACHED);
    CHECK(client_stats(limiter).redirected < 5);
    stop();
}

static unsigned never;

/* The first sends to the second, that to where nobody accepts; each takes 300 of 500 ms. */
static void send_on_slowly(struct stub *stub, int fd, unsigned number)
{
    char text[128];
    snprintf(text, sizeof text, "-ASK 1 127.0.0.1:%u\r\n", stub == &stubs[0] ? stubs[1].port : never);
    for (bool first = true; read_question(stub, fd, number, first); first = false) {
        if (stub == &stubs[1] && !stub_read(stub, fd)) /* after ASKING */
            return;
        nanosleep(&(struct timespec){0, 300 * 1000000}, NULL);
        stub_send(fd, stub == &stubs[1] ? "+OK\r\n" : "");
        stub_send(fd, text);
    }
}

/* 600 ms are gone when it waits for a connection that may take 500, of 1000 in all. False: this machine was too slow
 * for an answer after 300 ms within 500, or for an end of the call before that of the connection's time. */
static bool ends_before_its_connection(const struct loop_kind *kind)
{
    char name[64];
    weir_redis_options options = patient();
    options.command_timeout_ns = options.connect_timeout_ns = 500 * WEIR_MILLISECOND;
    start(kind, send_on_slowly, options);
    uint64_t begun = weiri_redis_now();
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, flags_of(key_of(0)) & ~(unsigned)WEIR_REDIS_UNKNOWN);
    bool in_time = client_stats(limiter).redirected == 2 && weiri_redis_now() - begun < 1100 * WEIR_MILLISECOND;
    if (in_time) {
        snprintf(name, sizeof name, "127.0.0.1:%u", never);
        CHECK_EQUAL(0, turning.unknown);
        CHECK_EQUAL(0, client_stats(limiter).failures);
        CHECK(is_error(limiter, "no time was left to ask", name));
    }
    stop();
    return in_time;
}

static void a_connection_that_takes_longer_than_a_call_has_does_not_fail_by_it(const struct loop_kind *kind)
{
    struct stub_deaf deaf;
    stub_deaf_open(&deaf);
    never = deaf.port;
    bool seen = false;
    for (int i = 0; i < 10 && !seen; i++)
        seen = ends_before_its_connection(kind);
    CHECK(seen);
    stub_deaf_close(&deaf);
}

/* ---- the map ---- */

static void say_nothing(struct stub *stub, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub, fd))
        continue;
}

static void calls_wait_for_a_map_within_their_time_and_are_surely_not_done(const struct loop_kind *kind)
{
    weir_redis_options options = patient();
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    start(kind, say_nothing, options);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, key_of(1), WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(3, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    CHECK_EQUAL(0, client_stats(limiter).commands);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK(is_error(limiter, "no answer within 200 ms", stubs[0].name));
    stub_await_commands(&stubs[0], 1);
    stop();
    CHECK_EQUAL(1, atomic_load(&stubs[0].commands));
}

static void answer_as_no_cluster(struct stub *stub, int fd, unsigned number)
{
    (void)number;
    for (bool first = true; stub_read(stub, fd); first = false)
        stub_send(fd, first ? "-ERR This instance has cluster support disabled\r\n" : ACCEPTED);
}

static void a_server_of_no_cluster_has_all_slots(const struct loop_kind *kind)
{
    start(kind, answer_as_no_cluster, patient());
    for (unsigned i = 0; i < STUBS; i++)
        CHECK_EQUAL(0, flags_of(key_of(i)));
    CHECK_EQUAL(STUBS, client_stats(limiter).commands);
    CHECK(is_error(limiter, "CLUSTER SLOTS: ERR This instance has cluster support disabled", stubs[0].name));
    stop();
}

static void nobody_is_there(const struct loop_kind *kind)
{
    char url[64];
    weir_redis_options options = patient();
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", stub_nobody());
    options.url = url;
    limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, flags_of("k"));
    CHECK_EQUAL(1, client_stats(limiter).failures); /* the map's fetch was one, and nothing was asked after it */
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* The first one tells two maps: at once, and after the third has said MOVED. */
static void lose_the_third(struct stub *stub, int fd, unsigned number)
{
    (void)number;
    for (unsigned i = 0; stub_read(stub, fd); i++) {
        if (stub == &stubs[0] && (i == 0 || i == 2))
            stub_send(fd, maps[i / 2]);
        else
            stub_send(fd, stub == &stubs[2] ? moved : ACCEPTED);
    }
    atomic_store(&stub->stage, 1); /* the client has closed it */
}

static size_t nodes_known(void)
{
    size_t count;
    weiri_redis_node **nodes = weiri_redis_cluster_nodes(limiter->cluster, &count);
    for (size_t i = 0; i < count; i++)
        weiri_redis_node_leave(limiter->cluster, nodes[i]);
    free(nodes);
    return count;
}

static void a_node_that_a_new_map_does_not_name_is_left(const struct loop_kind *kind)
{
    weir_redis_options options = patient();
    options.backoff_min_ns = options.backoff_max_ns = 1;
    start(kind, lose_the_third, options);
    snprintf(moved, sizeof moved, "-MOVED %u 127.0.0.1:%u\r\n",
             weiri_redis_slot(&limiter->rules, key_of(2), strlen(key_of(2))), stubs[0].port);
    CHECK_EQUAL(0, flags_of(key_of(1)));
    CHECK_EQUAL(STUBS, nodes_known());
    CHECK_EQUAL(0, flags_of(key_of(2)));
    while (client_stats(limiter).slot_maps < 2)
        turn(&turning);
    CHECK_EQUAL(STUBS - 1, nodes_known());
    if (nodes_known() == STUBS - 1)
        stub_await(&stubs[2], 1);
    CHECK_EQUAL(1, client_stats(limiter).redirected);
    CHECK_EQUAL(3, client_stats(limiter).connects);
    CHECK_EQUAL(0, flags_of(key_of(2)));
    CHECK_EQUAL(3, client_stats(limiter).connects);
    stop();
}

int main(void)
{
    loop_kinds_tell_missing();
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        endless_redirections_end(kind);
        a_node_that_is_named_and_cannot_be_had_is_told(kind);
        a_slot_that_moved_is_known_before_a_new_map_comes(kind);
        a_call_that_is_sent_on_has_no_more_time_than_others(kind);
        a_connection_that_takes_longer_than_a_call_has_does_not_fail_by_it(kind);
        calls_wait_for_a_map_within_their_time_and_are_surely_not_done(kind);
        a_server_of_no_cluster_has_all_slots(kind);
        nobody_is_there(kind);
        a_node_that_a_new_map_does_not_name_is_left(kind);
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    return checks_end();
}
