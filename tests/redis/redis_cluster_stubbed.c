/* Nodes of a cluster that answer as no real ones can be made to: partly, all at once, by endless redirections. */
#include "client.h"
#include "redis/command.h"
#include "stub.h"

enum { STUBS = 3, KEY_SIZE = 16 };

#define ACCEPTED "*5\r\n:1\r\n:0\r\n:4\r\n:0\r\n:0\r\n"

static struct stub stubs[STUBS];
static char map[131072];   /* what the first one answers first: a third of the slots each */
static char moved[128];    /* what it answers then, in some tests */

static unsigned slot_of(const char *key)
{
    weiri_redis_rules rules;
    weir_rule rule = log_rule(1);
    weir_redis_options options = weir_redis_options_default();
    CHECK_EQUAL(0, weiri_redis_rules_open(&rules, &rule, 1, &options));
    unsigned slot = weiri_redis_slot(&rules, key, strlen(key));
    weiri_redis_rules_close(&rules);
    return slot;
}

static unsigned node_of(const char *key)
{
    return slot_of(key) / 5462;
}

/* The first that the first stub has. */
static const char *key_of(unsigned node)
{
    static char key[KEY_SIZE];
    unsigned number = 0;
    do
        snprintf(key, sizeof key, "k%u", number++);
    while (node_of(key) != node);
    return key;
}

/* The slots in so many ranges; their owners take turns, where there are more ranges than owners. */
static void draw_map(unsigned ranges)
{
    size_t length = (size_t)sprintf(map, "*%u\r\n", ranges);
    unsigned width = 16384 / ranges + 1;
    for (unsigned i = 0; i < ranges; i++) {
        unsigned last = i < ranges - 1 ? (i + 1) * width - 1 : 16383, port = stubs[i % STUBS].port;
        length += (size_t)sprintf(map + length, "*4\r\n:%u\r\n:%u\r\n*2\r\n$-1\r\n:%u\r\n*2\r\n$-1\r\n:%u\r\n",
                                  i * width, last, port, port);
    }
}

static weir_redis *started(stub_serve *serve, uint64_t timeout)
{
    for (unsigned i = 0; i < STUBS; i++)
        stub_start(&stubs[i], serve);
    draw_map(STUBS);
    weir_redis_options options = client_options(stubs[0].url);
    options.cluster = 1;
    options.remember_keys = 0;
    options.command_timeout_ns = timeout;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY; /* one map is fetched, and no other */
    return client_open(&options, 5);
}

static void stop(weir_redis *limiter)
{
    CHECK_EQUAL(0, weir_redis_close(limiter));
    for (unsigned i = 0; i < STUBS; i++)
        stub_stop(&stubs[i]);
}

/* The first question of the first connection to the first stub is for the map. */
static bool read_question(struct stub *stub, int fd, unsigned number, bool first)
{
    if (!stub_read(stub, fd))
        return false;
    if (stub != &stubs[0] || number > 0 || !first)
        return true;
    stub_send(fd, map);
    return stub_read(stub, fd);
}

/* A batch of one key of each node, and one more of the second. */
static int64_t take_batch(weir_redis *limiter, weir_decision *decisions)
{
    static char keys[STUBS + 1][KEY_SIZE];
    weir_request requests[STUBS + 1];
    for (unsigned i = 0; i <= STUBS; i++) {
        unsigned number = i < STUBS ? 0 : 1000;
        do
            snprintf(keys[i], KEY_SIZE, "k%u", number++);
        while (node_of(keys[i]) != (i < STUBS ? i : 1));
        requests[i] = weir_request_for(keys[i], strlen(keys[i]));
    }
    return weir_redis_take_batch(limiter, requests, STUBS + 1, WEIR_NOW, NULL, decisions);
}

/* ---- */

/* Answers when all have been asked. */
static void answer_together(struct stub *stub, int fd, unsigned number)
{
    if (!read_question(stub, fd, number, true) || (stub == &stubs[1] && !stub_read(stub, fd)))
        return;
    for (unsigned i = 0; i < STUBS; i++)
        while (atomic_load(&stubs[i].commands) < (i < 2 ? 2 : 1))
            stub_await(stub, 0);
    stub_send(fd, stub == &stubs[1] ? ACCEPTED ACCEPTED : ACCEPTED);
    (void)stub_read(stub, fd);
}

static void all_nodes_are_written_to_before_an_answer_is_waited_for(void)
{
    weir_redis *limiter = started(answer_together, 10 * WEIR_SECOND);
    CHECK_EQUAL(STUBS + 1, take_batch(limiter, NULL));
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(1 + STUBS, client_stats(limiter).round_trips);
    stop(limiter);
}

/* The second answers one of two and closes; the third says nothing. */
static void answer_partly(struct stub *stub, int fd, unsigned number)
{
    if (!read_question(stub, fd, number, true) || (stub == &stubs[1] && !stub_read(stub, fd)))
        return;
    if (stub != &stubs[2])
        stub_send(fd, ACCEPTED);
    if (stub != &stubs[1])
        (void)stub_read(stub, fd);
}

static void what_one_node_does_not_answer_is_unknown_and_the_others_count(void)
{
    weir_decision decisions[STUBS + 1];
    weir_redis *limiter = started(answer_partly, WEIR_SECOND);
    CHECK_EQUAL(2, take_batch(limiter, decisions));
    CHECK_EQUAL(0, decisions[0].flags);
    CHECK_EQUAL(0, decisions[1].flags);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN, decisions[2].flags);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN, decisions[3].flags);
    CHECK(is_error(limiter, "no answer within 1000 ms", stubs[2].name));
    CHECK_EQUAL(2, client_stats(limiter).failures);
    stop(limiter);
}

static void answer_moved(struct stub *stub, int fd, unsigned number)
{
    for (bool first = true; read_question(stub, fd, number, first); first = false)
        stub_send(fd, moved);
}

static void answer_all(struct stub *stub, int fd, unsigned number)
{
    for (bool first = true; read_question(stub, fd, number, first); first = false)
        stub_send(fd, ACCEPTED);
}

/* A range of every 9 slots, longer in all than an answer may be: each key is asked of its range's owner, once. */
static void a_map_of_many_ranges_is_understood(void)
{
    enum { RANGES = 1821, KEYS = 300 };
    unsigned wanted[STUBS] = {1, 0, 0}; /* the map's question */
    weir_redis *limiter = started(answer_all, 10 * WEIR_SECOND);
    draw_map(RANGES);
    for (unsigned i = 0; i < KEYS; i++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "k%u", i);
        wanted[slot_of(key) / 9 % STUBS]++;
        CHECK_EQUAL(0, client_taken(limiter, key, 1).flags);
    }
    for (unsigned i = 0; i < STUBS; i++)
        CHECK_EQUAL(wanted[i], atomic_load(&stubs[i].commands));
    CHECK_EQUAL(1, client_stats(limiter).slot_maps);
    CHECK_EQUAL(0, weir_redis_error(limiter, NULL, 0));
    stop(limiter);
}

static void endless_redirections_end(void)
{
    weir_redis *limiter = started(answer_moved, 10 * WEIR_SECOND);
    char where[128];
    snprintf(moved, sizeof moved, "-MOVED 1 :%u\r\n", stubs[0].port); /* no host: the one that answers */
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, key_of(0), 1).flags);
    CHECK_EQUAL(6, client_stats(limiter).commands);
    CHECK_EQUAL(5, client_stats(limiter).redirected);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    snprintf(where, sizeof where, "sent on 5 times, the last time by %s", stubs[0].name);
    char error[256];
    (void)weir_redis_error(limiter, error, sizeof error);
    CHECK(is_text(where, error));
    stop(limiter);
}

static void a_node_that_is_named_and_cannot_be_had_is_told(void)
{
    weir_redis *limiter = started(answer_moved, 10 * WEIR_SECOND);
    char error[256], end[64];
    uint16_t nobody = stub_nobody();
    snprintf(moved, sizeof moved, "-ASK 1 ::1:%u\r\n", nobody);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, key_of(0), 1).flags);
    CHECK_EQUAL(1, client_stats(limiter).redirected);
    size_t length = weir_redis_error(limiter, error, sizeof error);
    snprintf(end, sizeof end, " ([::1]:%u)", nobody);
    CHECK(strncmp(error, "connect: ", 9) == 0 && is_text(end, error + length - strlen(end)));
    stop(limiter);
}

int main(void)
{
    all_nodes_are_written_to_before_an_answer_is_waited_for();
    what_one_node_does_not_answer_is_unknown_and_the_others_count();
    a_map_of_many_ranges_is_understood();
    endless_redirections_end();
    a_node_that_is_named_and_cannot_be_had_is_told();
    return checks_end();
}
