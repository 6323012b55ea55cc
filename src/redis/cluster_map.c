/* Fetching the slot map. */
#include <stdlib.h>
#include <string.h>

#include "redis/cluster.h"

/* So many nodes are asked in one fetch; the next one begins at others. */
enum { TRIES = 5 };

const char weiri_redis_map_command[] = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

static void swap(weiri_redis_node **left, weiri_redis_node **right)
{
    weiri_redis_node *node = *left;
    *left = *right;
    *right = node;
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

/* Who is to be asked first comes to the front. */
static void prefer(weiri_redis_fetch *fetch, const weiri_redis_node *first, uint64_t turn)
{
    size_t at = turn % fetch->count;
    for (size_t i = 0; first && i < fetch->count; i++)
        if (fetch->nodes[i] == first)
            at = i;
    swap(&fetch->nodes[0], &fetch->nodes[at]);
}

bool weiri_redis_fetch_begin(weiri_redis_fetch *fetch, weiri_redis_cluster *cluster, const weiri_redis_node *first)
{
    uint64_t turn;
    if (!claim(cluster, &turn))
        return false;
    *fetch = (weiri_redis_fetch){.cluster = cluster};
    fetch->nodes = weiri_redis_cluster_nodes(cluster, &fetch->count);
    if (fetch->nodes)
        prefer(fetch, first, turn);
    return true;
}

/* Those that did not fail last first; who was asked is moved to the front. */
weiri_redis_node *weiri_redis_fetch_next(weiri_redis_fetch *fetch)
{
    size_t next = fetch->asked;
    if (fetch->installed || fetch->asked == TRIES || fetch->asked == fetch->count)
        return NULL;
    while (next < fetch->count && weiri_redis_server_is_doubtful(fetch->nodes[next]->server))
        next++;
    if (next < fetch->count)
        swap(&fetch->nodes[next], &fetch->nodes[fetch->asked]);
    return fetch->nodes[fetch->asked++];
}

void weiri_redis_fetch_take(weiri_redis_fetch *fetch, const weiri_redis_server *server, const redisReply *reply,
                            weiri_redis_text *why)
{
    weiri_redis_slots *slots = weiri_redis_slots_read(reply, server->url.host ? server->url.host : "localhost");
    fetch->answered = true;
    fetch->installed = slots && weiri_redis_cluster_install(fetch->cluster, slots);
    if (!fetch->installed)
        weiri_redis_say(why, "CLUSTER SLOTS: %.240s (%s)",
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "no slot map", server->name);
    weiri_redis_slots_close(slots);
}

void weiri_redis_fetch_end(weiri_redis_fetch *fetch)
{
    end_fetch(fetch->cluster, fetch->installed);
    for (size_t i = 0; i < fetch->count; i++)
        weiri_redis_node_leave(fetch->cluster, fetch->nodes[i]);
    free(fetch->nodes);
    fetch->nodes = NULL;
    fetch->count = 0;
}

/* ---- Fetching in the caller's thread ---- */

typedef struct asked {
    weiri_redis_fetch fetch;
    weiri_redis_inquiry *inquiry;
    weiri_redis_server *server;
} asked;

static void take_reply(void *argument, redisReply *reply)
{
    asked *run = argument;
    weiri_redis_fetch_take(&run->fetch, run->server, reply, &run->inquiry->why);
}

static void ask_one(asked *run, weiri_redis_server *server)
{
    weiri_redis_inquiry *inquiry = run->inquiry;
    weiri_redis_visit visit;
    weiri_redis_text why = {.text = ""};
    run->server = server;
    if (weiri_redis_visit_begin(server, &visit, &inquiry->time, &why)) {
        weiri_redis_exchange exchange = {.bytes = weiri_redis_map_command, .length = strlen(weiri_redis_map_command),
                                         .replies = 1, .reply = take_reply, .argument = run,
                                         .deadline = inquiry->time.deadline, .timeout = server->command_timeout,
                                         .longest = WEIRI_REDIS_MAP_LONGEST};
        bool whole = weiri_redis_link_exchange(&visit.link, &exchange, &why);
        weiri_redis_visit_end(server, &visit, !whole);
        inquiry->tally.round_trips++;
    }
    if (why.text[0])
        weiri_redis_say(&inquiry->why, "%.300s (%s)", why.text, server->name);
}

bool weiri_redis_cluster_refresh(weiri_redis_cluster *cluster, weiri_redis_inquiry *inquiry, weiri_redis_node *first)
{
    asked run = {.inquiry = inquiry};
    weiri_redis_node *node;
    if (weiri_redis_now() >= inquiry->time.deadline || !weiri_redis_fetch_begin(&run.fetch, cluster, first))
        return true;
    while (weiri_redis_now() < inquiry->time.deadline && (node = weiri_redis_fetch_next(&run.fetch)))
        ask_one(&run, node->server);
    weiri_redis_fetch_end(&run.fetch);
    return run.fetch.answered;
}
