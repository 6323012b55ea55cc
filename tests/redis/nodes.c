/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 16384, PATIENCE_MS = 60000, ARGUMENTS = 8 };

static void pause_or_give_up(unsigned *waited, const char *what)
{
    if (++*waited > PATIENCE_MS) {
        fprintf(stderr, "cluster: %s\n", what);
        exit(1);
    }
    nanosleep(&(struct timespec){0, 1000000}, NULL); /* nodes tell one another, and nobody else */
}

static int says(redisContext *link, const char *command, const char *text)
{
    redisReply *reply = redis_server_ask(link, command);
    int found = strstr(reply->str, text) != NULL;
    freeReplyObject(reply);
    return found;
}

static void start_one(struct nodes *nodes, unsigned i, const char *const *more)
{
    const char *words[4 + ARGUMENTS + 1] = {"--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"};
    size_t count = 4;
    for (size_t j = 0; more && more[j] && j < ARGUMENTS; j++)
        words[count++] = more[j];
    redis_server_start(&nodes->server[i], words);
    nodes->link[i] = redis_server_connect(&nodes->server[i]);
    snprintf(nodes->url[i], sizeof nodes->url[i], "redis://127.0.0.1:%u", nodes->server[i].port);
    redisReply *reply = redis_server_ask(nodes->link[i], "CLUSTER MYID");
    snprintf(nodes->id[i], sizeof nodes->id[i], "%s", reply->str);
    freeReplyObject(reply);
    REDIS_SERVER_TELL(nodes->link[i], "CLUSTER SET-CONFIG-EPOCH %u", i + 1);
    if (i < nodes->primaries)
        REDIS_SERVER_TELL(nodes->link[i], "CLUSTER ADDSLOTSRANGE %u %u", i * SLOTS / nodes->primaries,
                          (i + 1) * SLOTS / nodes->primaries - 1);
}

/* Do all know all, and the slots of all? */
static int agree(struct nodes *nodes)
{
    char known[48];
    snprintf(known, sizeof known, "cluster_known_nodes:%u", nodes->count);
    for (unsigned i = 0; i < nodes->count; i++)
        if (!says(nodes->link[i], "CLUSTER INFO", "cluster_state:ok") ||
            !says(nodes->link[i], "CLUSTER INFO", "cluster_slots_assigned:16384") ||
            !says(nodes->link[i], "CLUSTER INFO", known) || says(nodes->link[i], "CLUSTER NODES", "handshake"))
            return 0;
    return 1;
}

void nodes_start(struct nodes *nodes, unsigned primaries, unsigned replicas, const char *const *more)
{
    unsigned waited = 0;
    memset(nodes, 0, sizeof *nodes);
    nodes->primaries = primaries;
    nodes->count = primaries + replicas;
    for (unsigned i = 0; i < nodes->count; i++)
        start_one(nodes, i, more);
    for (unsigned i = 1; i < nodes->count; i++)
        REDIS_SERVER_TELL(nodes->link[0], "CLUSTER MEET 127.0.0.1 %u", nodes->server[i].port);
    while (!agree(nodes))
        pause_or_give_up(&waited, "its nodes do not find one another");
    for (unsigned i = primaries; i < nodes->count; i++) {
        REDIS_SERVER_TELL(nodes->link[i], "CLUSTER REPLICATE %s", nodes->id[0]);
        while (!says(nodes->link[i], "INFO replication", "master_link_status:up"))
            pause_or_give_up(&waited, "a replica does not find its primary");
    }
}

void nodes_stop(struct nodes *nodes)
{
    for (unsigned i = 0; i < nodes->count; i++) {
        redisFree(nodes->link[i]);
        redis_server_stop(&nodes->server[i]);
    }
}

unsigned nodes_of_slot(const struct nodes *nodes, unsigned slot)
{
    unsigned node = 0;
    while (slot >= (node + 1) * SLOTS / nodes->primaries)
        node++;
    return node;
}

void nodes_begin_move(struct nodes *nodes, unsigned slot, unsigned from, unsigned to)
{
    REDIS_SERVER_TELL(nodes->link[to], "CLUSTER SETSLOT %u IMPORTING %s", slot, nodes->id[from]);
    REDIS_SERVER_TELL(nodes->link[from], "CLUSTER SETSLOT %u MIGRATING %s", slot, nodes->id[to]);
}

unsigned nodes_move_some(struct nodes *nodes, unsigned slot, unsigned from, unsigned to, unsigned count)
{
    redisReply *keys = redis_server_ask(nodes->link[from], "CLUSTER GETKEYSINSLOT %u %u", slot, count);
    unsigned moved = (unsigned)keys->elements;
    for (unsigned i = 0; i < moved; i++)
        REDIS_SERVER_TELL(nodes->link[from], "MIGRATE 127.0.0.1 %u %b 0 10000", nodes->server[to].port,
                          keys->element[i]->str, keys->element[i]->len);
    freeReplyObject(keys);
    return moved;
}

/* The port of the slot's owner, as a node sees it; 0: it has none. */
static unsigned owner_seen(redisContext *link, unsigned slot)
{
    redisReply *reply = redis_server_ask(link, "CLUSTER SLOTS");
    long long port = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        redisReply *const *range = reply->element[i]->element;
        if (range[0]->integer <= slot && slot <= range[1]->integer)
            port = range[2]->element[1]->integer;
    }
    freeReplyObject(reply);
    return (unsigned)port;
}

void nodes_end_move(struct nodes *nodes, unsigned slot, unsigned to)
{
    unsigned waited = 0;
    REDIS_SERVER_TELL(nodes->link[to], "CLUSTER SETSLOT %u NODE %s", slot, nodes->id[to]);
    for (unsigned i = 0; i < nodes->primaries; i++)
        if (i != to)
            REDIS_SERVER_TELL(nodes->link[i], "CLUSTER SETSLOT %u NODE %s", slot, nodes->id[to]);
    for (unsigned i = nodes->primaries; i < nodes->count; i++)
        while (owner_seen(nodes->link[i], slot) != nodes->server[to].port)
            pause_or_give_up(&waited, "a replica does not learn whose a slot is");
}

static int all_hosts_are(redisContext *link, const char *host)
{
    redisReply *reply = redis_server_ask(link, "CLUSTER SLOTS");
    int all = 1;
    for (size_t i = 0; i < reply->elements; i++)
        all &= strcmp(reply->element[i]->element[2]->element[0]->str, host) == 0;
    freeReplyObject(reply);
    return all;
}

void nodes_await_hosts(struct nodes *nodes, const char *host)
{
    unsigned waited = 0;
    for (unsigned i = 0; i < nodes->count; i++)
        while (!all_hosts_are(nodes->link[i], host))
            pause_or_give_up(&waited, "a node does not learn how others are called");
}

long long nodes_maps_asked(struct nodes *nodes, unsigned node)
{
    redisReply *reply = redis_server_ask(nodes->link[node], "INFO commandstats");
    const char *name = "cmdstat_cluster|slots:calls=";
    const char *found = strstr(reply->str, name);
    long long asked = found ? strtoll(found + strlen(name), NULL, 10) : 0;
    freeReplyObject(reply);
    return asked;
}
