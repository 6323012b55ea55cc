/* CLUSTER SLOTS, as text on the wire, becomes a map, and what is none of its kind does not; nodes that maps name. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "redis/cluster.h"

/* The map that a text makes, or NULL. */
static weiri_redis_slots *read_text(const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    CHECK(redisReaderFeed(reader, text, strlen(text)) == REDIS_OK);
    CHECK(redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL);
    weiri_redis_slots *slots = weiri_redis_slots_read(reply, "answered");
    freeReplyObject(reply);
    redisReaderFree(reader);
    return slots;
}

static int is_place(const weiri_redis_slots *slots, unsigned slot, const char *host, uint16_t port)
{
    const weiri_redis_place *place = slots->owner[slot] ? &slots->place[slots->owner[slot] - 1] : NULL;
    return place && strcmp(place->host, host) == 0 && place->port == port;
}

#define RANGE(first, last, nodes)  "*" #nodes "\r\n:" #first "\r\n:" #last "\r\n"
#define NODE(length, host, port)   "*3\r\n$" #length "\r\n" host "\r\n:" #port "\r\n$2\r\nid\r\n"
#define NIL_NODE(port)             "*3\r\n$-1\r\n:" #port "\r\n$2\r\nid\r\n"

static void ranges_name_their_primary_and_replicas_are_known(void)
{
    weiri_redis_slots *slots = read_text("*3\r\n" RANGE(0, 99, 4) NODE(2, "h1", 1) NODE(2, "h2", 2)
                                             RANGE(200, 16383, 3) NODE(3, "::1", 3)
                                                 RANGE(100, 100, 3) NODE(2, "h1", 1));
    CHECK(slots != NULL);
    CHECK_EQUAL(3, slots->count); /* each place once */
    CHECK(is_place(slots, 0, "h1", 1) && is_place(slots, 99, "h1", 1) && is_place(slots, 100, "h1", 1));
    CHECK(is_place(slots, 200, "::1", 3) && is_place(slots, 16383, "::1", 3));
    CHECK_EQUAL(0, slots->owner[101]);
    CHECK_EQUAL(0, slots->owner[199]);
    weiri_redis_slots_close(slots);
}

static void a_missing_host_is_the_one_that_answered(void)
{
    weiri_redis_slots *slots = read_text("*2\r\n" RANGE(0, 1, 3) NIL_NODE(7) RANGE(2, 3, 3) NODE(0, "", 8));
    CHECK(slots != NULL);
    CHECK(is_place(slots, 1, "answered", 7));
    CHECK(is_place(slots, 2, "answered", 8));
    weiri_redis_slots_close(slots);
}

static void a_node_without_its_name_is_reached_by_its_address_or_not_at_all(void)
{
    weiri_redis_slots *slots = read_text("*3\r\n" RANGE(0, 1, 3) "*4\r\n$1\r\n?\r\n:7\r\n$2\r\nid\r\n"
                                         "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n" RANGE(2, 3, 3) NODE(1, "?", 8)
                                             RANGE(4, 5, 3) NODE(1, "h", 0));
    CHECK(slots != NULL);
    CHECK(is_place(slots, 0, "10.0.0.1", 7));
    CHECK_EQUAL(0, slots->owner[2]);
    CHECK_EQUAL(0, slots->owner[4]);
    CHECK_EQUAL(1, slots->count);
    weiri_redis_slots_close(slots);
}

static void what_is_no_slot_map_is_refused(void)
{
    static const char *const wrong[] = {
        "*0\r\n",
        "+OK\r\n",
        "-ERR This instance has cluster support disabled\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n" RANGE(0, 16384, 3) NODE(1, "h", 1),
        "*1\r\n" RANGE(-1, 5, 3) NODE(1, "h", 1),
        "*1\r\n" RANGE(6, 5, 3) NODE(1, "h", 1),
        "*1\r\n" RANGE(0, 5, 3) NODE(1, "h", 65536),
        "*1\r\n" RANGE(0, 5, 3) "*1\r\n$1\r\nh\r\n",
        "*1\r\n" RANGE(0, 5, 3) "*2\r\n:5\r\n:5\r\n",
        "*1\r\n" RANGE(0, 5, 3) "*2\r\n$1\r\nh\r\n$1\r\n5\r\n",
        "*1\r\n" RANGE(0, 5, 3) "$1\r\nh\r\n",
        "*1\r\n*3\r\n$1\r\n0\r\n:1\r\n" NODE(1, "h", 1),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weiri_redis_slots *slots = read_text(wrong[i]);
        if (slots)
            printf("taken for a map: %s\n", wrong[i]);
        CHECK(slots == NULL);
    }
}

/* ---- nodes that the maps name ---- */

static unsigned count_nodes(weiri_redis_cluster *cluster)
{
    size_t count;
    weiri_redis_node **nodes = weiri_redis_cluster_nodes(cluster, &count);
    for (size_t i = 0; i < count; i++)
        weiri_redis_node_leave(cluster, nodes[i]);
    free(nodes);
    return (unsigned)count;
}

static void install(weiri_redis_cluster *cluster, const char *text)
{
    weiri_redis_slots *slots = read_text(text);
    CHECK(slots != NULL && weiri_redis_cluster_install(cluster, slots));
    weiri_redis_slots_close(slots);
}

static void a_node_that_vanished_from_the_map_stays_until_nobody_uses_it(void)
{
    weir_redis_options options = weir_redis_options_default();
    const weiri_redis_place place = {.slot = 9, .host = "h5", .port = 5};
    weiri_redis_server seed;
    weiri_redis_url url;
    CHECK_EQUAL(0, weiri_redis_url_open(&url, "redis://u:p@h0:7", NULL, 0));
    CHECK_EQUAL(0, weiri_redis_server_open(&seed, &url, &options));
    weiri_redis_cluster *cluster = weiri_redis_cluster_open(&seed, &options);
    weiri_redis_node *node = weiri_redis_node_of_slot(cluster, 0);
    CHECK(node->server == &seed); /* nobody else is known */
    weiri_redis_node_leave(cluster, node);

    install(cluster, "*2\r\n" RANGE(0, 9, 3) NODE(2, "h1", 1) RANGE(10, 19, 4) NODE(2, "h0", 7) NODE(2, "h2", 2));
    CHECK_EQUAL(3, count_nodes(cluster)); /* h0 is the URL's */
    node = weiri_redis_node_of_slot(cluster, 10);
    CHECK(node->server == &seed);
    weiri_redis_node_leave(cluster, node);
    node = weiri_redis_node_of_slot(cluster, 9);
    CHECK(strcmp(node->server->name, "h1:1") == 0 && strcmp(node->server->url.user, "u") == 0 &&
          strcmp(node->server->url.password, "p") == 0);

    install(cluster, "*1\r\n" RANGE(0, 9, 3) NODE(3, "::1", 3));
    CHECK_EQUAL(3, count_nodes(cluster)); /* h0, ::1 and h1, which is in use */
    weiri_redis_node *other = weiri_redis_node_named(cluster, node, &place, false);
    CHECK_EQUAL(4, count_nodes(cluster)); /* named by ASK: the slot stays where it was */
    weiri_redis_node_leave(cluster, other);
    weiri_redis_node_leave(cluster, node);
    CHECK_EQUAL(3, count_nodes(cluster)); /* h5 stays until the next map */
    node = weiri_redis_node_of_slot(cluster, 9);
    CHECK(strcmp(node->server->name, "[::1]:3") == 0);
    other = weiri_redis_node_named(cluster, node, &place, true);
    weiri_redis_node_leave(cluster, node);
    node = weiri_redis_node_of_slot(cluster, 9);
    CHECK(node == other);
    weiri_redis_node_leave(cluster, node);
    weiri_redis_node_leave(cluster, other);
    install(cluster, "*1\r\n" RANGE(0, 9, 3) NODE(2, "h0", 7));
    CHECK_EQUAL(1, count_nodes(cluster));
    weiri_redis_cluster_close(cluster);
    weiri_redis_server_close(&seed);
}

int main(void)
{
    a_node_that_vanished_from_the_map_stays_until_nobody_uses_it();
    ranges_name_their_primary_and_replicas_are_known();
    a_missing_host_is_the_one_that_answered();
    a_node_without_its_name_is_reached_by_its_address_or_not_at_all();
    what_is_no_slot_map_is_refused();
    return checks_end();
}
