/* Fetching the slot map. */
#include <stdlib.h>

#include "redis/cluster.h"

/* So many nodes are asked in one fetch; the next one begins at others. */
enum { TRIES = 5 };

/* A map of many ranges is long: three nodes each, some 400 bytes. */
enum { LONGEST = 64 << 20 };

static const char command[] = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

typedef struct fetch {
    weiri_redis_cluster *cluster;
    weiri_redis_inquiry *inquiry;
    weiri_redis_server *server; /* that is asked */
    bool installed;
    bool answered; /* by some node */
} fetch;

static void take_reply(void *argument, redisReply *reply)
{
    fetch *run = argument;
    const char *host = run->server->url.host ? run->server->url.host : "localhost";
    weiri_redis_slots *slots = weiri_redis_slots_read(reply, host);
    run->answered = true;
    run->installed = slots && weiri_redis_cluster_install(run->cluster, slots);
    if (!run->installed)
        weiri_redis_say(&run->inquiry->why, "CLUSTER SLOTS: %.240s (%s)",
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "no slot map", run->server->name);
    weiri_redis_slots_close(slots);
}

static void ask_one(fetch *run, weiri_redis_server *server)
{
    weiri_redis_inquiry *inquiry = run->inquiry;
    weiri_redis_visit visit;
    weiri_redis_text why = {.text = ""};
    run->server = server;
    if (weiri_redis_visit_begin(server, &visit, &inquiry->time, &why)) {
        weiri_redis_exchange exchange = {.bytes = command, .length = sizeof command - 1, .replies = 1,
                                         .reply = take_reply, .argument = run, .deadline = inquiry->time.deadline,
                                         .timeout = server->command_timeout, .longest = LONGEST};
        bool whole = weiri_redis_link_exchange(&visit.link, &exchange, &why);
        weiri_redis_visit_end(server, &visit, !whole);
        inquiry->tally.round_trips++;
    }
    if (why.text[0])
        weiri_redis_say(&inquiry->why, "%.300s (%s)", why.text, server->name);
}

static void swap(weiri_redis_node **left, weiri_redis_node **right)
{
    weiri_redis_node *node = *left;
    *left = *right;
    *right = node;
}

/* Those that did not fail last first, each time from another on; who was asked is moved to the front. */
static void ask_some(fetch *run, weiri_redis_node **nodes, size_t count, uint64_t turn)
{
    size_t asked = 0;
    swap(&nodes[0], &nodes[turn % count]);
    for (int doubtful = 0; doubtful < 2; doubtful++)
        for (size_t i = asked; i < count; i++) {
            if (run->installed || asked == TRIES || weiri_redis_now() >= run->inquiry->time.deadline)
                return;
            if (weiri_redis_server_is_doubtful(nodes[i]->server) != doubtful)
                continue;
            swap(&nodes[i], &nodes[asked]);
            ask_one(run, nodes[asked++]->server);
        }
}

/* Is it this caller that fetches? Then *turn is the fetch's number. */
static bool claim(weiri_redis_cluster *cluster, uint64_t *turn)
{
    pthread_mutex_lock(&cluster->lock);
    bool due = cluster->doubted && !cluster->fetching;
    uint64_t now = due ? weiri_redis_now() : 0;
    due = due && now >= cluster->next_fetch;
    if (due) {
        cluster->fetching = true;
        cluster->doubted = false;
        cluster->next_fetch = now + cluster->options.backoff_min_ns;
        *turn = cluster->fetches++;
    }
    pthread_mutex_unlock(&cluster->lock);
    return due;
}

static void end_fetch(weiri_redis_cluster *cluster, bool installed)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->fetching = false;
    cluster->doubted |= !installed;
    pthread_mutex_unlock(&cluster->lock);
}

void weiri_redis_cluster_doubt(weiri_redis_cluster *cluster, uint64_t map)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->doubted |= map == cluster->maps && !cluster->fetching;
    pthread_mutex_unlock(&cluster->lock);
}

bool weiri_redis_cluster_refresh(weiri_redis_cluster *cluster, weiri_redis_inquiry *inquiry, weiri_redis_node *first)
{
    fetch run = {.cluster = cluster, .inquiry = inquiry};
    uint64_t turn;
    size_t count;
    if (weiri_redis_now() >= inquiry->time.deadline || !claim(cluster, &turn))
        return true;
    weiri_redis_node **nodes = weiri_redis_cluster_nodes(cluster, &count);
    if (first && !weiri_redis_server_is_doubtful(first->server))
        ask_one(&run, first->server);
    if (nodes && !run.installed)
        ask_some(&run, nodes, count, turn);
    end_fetch(cluster, run.installed);
    for (size_t i = 0; i < count; i++)
        weiri_redis_node_leave(cluster, nodes[i]);
    free(nodes);
    return run.answered;
}
