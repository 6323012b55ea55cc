/* Nodes, and who has which slot. */
#include "redis/cluster.h"

#include <stdlib.h>
#include <string.h>

weiri_redis_cluster *weiri_redis_cluster_open(weiri_redis_server *seed, const weir_redis_options *options)
{
    weiri_redis_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return NULL;
    cluster->options = *options;
    cluster->options.url = cluster->options.prefix = NULL;
    cluster->options.plan_limits = NULL;
    cluster->options.error = NULL;
    cluster->seed = (weiri_redis_node){.server = seed, .listed = true};
    cluster->doubted = true;
    seed->in_cluster = true;
    pthread_mutex_init(&cluster->lock, NULL);
    return cluster;
}

static void free_nodes(weiri_redis_node *node)
{
    while (node) {
        weiri_redis_node *next = node->next;
        weiri_redis_server_close(&node->own);
        free(node);
        node = next;
    }
}

void weiri_redis_cluster_close(weiri_redis_cluster *cluster)
{
    if (!cluster)
        return;
    free_nodes(cluster->seed.next);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

/* What an empty host means: a socket's server is on this machine. */
static const char *host_of(const weiri_redis_server *server)
{
    return server->url.host ? server->url.host : "localhost";
}

/* ---- under the lock ---- */

static weiri_redis_node *make_node(weiri_redis_cluster *cluster, const char *host, uint16_t port)
{
    weiri_redis_url url;
    weiri_redis_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    if (weiri_redis_url_beside(&url, &cluster->seed.server->url, host, port) != 0 ||
        weiri_redis_server_open(&node->own, &url, &cluster->options) != 0) {
        free(node);
        return NULL;
    }
    node->own.in_cluster = true;
    node->server = &node->own;
    node->number = ++cluster->numbers;
    node->next = cluster->seed.next;
    cluster->seed.next = node;
    return node;
}

/* Listed from now on. NULL: no memory. */
static weiri_redis_node *node_at(weiri_redis_cluster *cluster, const char *host, uint16_t port)
{
    weiri_redis_node *node = &cluster->seed;
    while (node && !(node->server->url.host && node->server->url.port == port &&
                     strcmp(node->server->url.host, host) == 0))
        node = node->next;
    if (!node)
        node = make_node(cluster, host, port);
    if (node)
        node->listed = true;
    return node;
}

static weiri_redis_node *owner_of(weiri_redis_cluster *cluster, unsigned slot)
{
    weiri_redis_node *node = cluster->owner[slot] ? cluster->owner[slot] : &cluster->seed;
    node->users++;
    return node;
}

/* Takes those off the list that nobody uses and no map names, and returns them. */
static weiri_redis_node *take_vanished(weiri_redis_cluster *cluster)
{
    weiri_redis_node *vanished = NULL;
    for (weiri_redis_node **at = &cluster->seed.next; *at;) {
        weiri_redis_node *node = *at;
        if (node->listed || node->users > 0) {
            at = &node->next;
            continue;
        }
        *at = node->next;
        node->next = vanished;
        vanished = node;
        cluster->connects += node->own.connects; /* nobody else has it any more */
        cluster->failures += node->own.failures;
    }
    return vanished;
}

/* ---- */

weiri_redis_node *weiri_redis_node_of_slot(weiri_redis_cluster *cluster, unsigned slot)
{
    pthread_mutex_lock(&cluster->lock);
    weiri_redis_node *node = owner_of(cluster, slot);
    pthread_mutex_unlock(&cluster->lock);
    return node;
}

weiri_redis_node *weiri_redis_node_named(weiri_redis_cluster *cluster, const weiri_redis_node *from,
                                         const weiri_redis_place *place, bool moved)
{
    const char *host = place->host[0] && strcmp(place->host, "?") != 0 ? place->host : host_of(from->server);
    pthread_mutex_lock(&cluster->lock);
    weiri_redis_node *node = node_at(cluster, host, place->port);
    if (node) {
        node->users++;
        if (moved)
            cluster->owner[place->slot] = node;
    }
    pthread_mutex_unlock(&cluster->lock);
    return node;
}

void weiri_redis_node_leave(weiri_redis_cluster *cluster, weiri_redis_node *node)
{
    weiri_redis_node *vanished = NULL;
    if (!node)
        return;
    pthread_mutex_lock(&cluster->lock);
    if (--node->users == 0 && !node->listed)
        vanished = take_vanished(cluster);
    pthread_mutex_unlock(&cluster->lock);
    free_nodes(vanished);
}

void weiri_redis_node_keep(weiri_redis_cluster *cluster, weiri_redis_node *node)
{
    pthread_mutex_lock(&cluster->lock);
    node->users++;
    pthread_mutex_unlock(&cluster->lock);
}

bool weiri_redis_node_is_listed(weiri_redis_cluster *cluster, const weiri_redis_node *node)
{
    pthread_mutex_lock(&cluster->lock);
    bool listed = node->listed;
    pthread_mutex_unlock(&cluster->lock);
    return listed;
}

uint64_t weiri_redis_cluster_route(weiri_redis_cluster *cluster, weiri_redis_job **jobs, size_t count)
{
    pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < count; i++)
        if (!jobs[i]->node)
            jobs[i]->node = owner_of(cluster, jobs[i]->slot);
    uint64_t map = cluster->maps;
    pthread_mutex_unlock(&cluster->lock);
    return map;
}

uint64_t weiri_redis_cluster_map(weiri_redis_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    uint64_t map = cluster->maps;
    pthread_mutex_unlock(&cluster->lock);
    return map;
}

weiri_redis_node **weiri_redis_cluster_nodes(weiri_redis_cluster *cluster, size_t *count)
{
    size_t all = 0, next = 0;
    pthread_mutex_lock(&cluster->lock);
    for (weiri_redis_node *node = &cluster->seed; node; node = node->next)
        all++;
    weiri_redis_node **nodes = calloc(all, sizeof(weiri_redis_node *));
    for (weiri_redis_node *node = &cluster->seed; nodes && node; node = node->next) {
        node->users++;
        nodes[next++] = node;
    }
    pthread_mutex_unlock(&cluster->lock);
    *count = next;
    return nodes;
}

/* The nodes of all places are made first: then nothing can fail. */
static bool make_nodes(weiri_redis_cluster *cluster, const weiri_redis_slots *slots, weiri_redis_node **nodes)
{
    for (size_t i = 0; i < slots->count; i++) {
        nodes[i] = node_at(cluster, slots->place[i].host, slots->place[i].port);
        if (!nodes[i])
            return false;
    }
    return true;
}

static void replace(weiri_redis_cluster *cluster, const weiri_redis_slots *slots, weiri_redis_node **nodes)
{
    for (weiri_redis_node *node = cluster->seed.next; node; node = node->next)
        node->listed = false;
    for (size_t i = 0; i < slots->count; i++)
        nodes[i]->listed = true;
    for (unsigned slot = 0; slot < WEIRI_REDIS_SLOTS; slot++)
        cluster->owner[slot] = slots->owner[slot] > 0 ? nodes[slots->owner[slot] - 1] : NULL;
    cluster->maps++;
}

bool weiri_redis_cluster_install(weiri_redis_cluster *cluster, const weiri_redis_slots *slots)
{
    weiri_redis_node **nodes = calloc(slots->count, sizeof(weiri_redis_node *));
    if (!nodes)
        return false;
    pthread_mutex_lock(&cluster->lock);
    bool made = make_nodes(cluster, slots, nodes);
    if (made)
        replace(cluster, slots, nodes);
    weiri_redis_node *vanished = take_vanished(cluster);
    pthread_mutex_unlock(&cluster->lock);
    free_nodes(vanished);
    free(nodes);
    return made;
}

uint64_t weiri_redis_cluster_wait(weiri_redis_cluster *cluster, unsigned slot)
{
    weiri_redis_node *node = weiri_redis_node_of_slot(cluster, slot);
    uint64_t wait = weiri_redis_server_wait(node->server);
    weiri_redis_node_leave(cluster, node);
    return wait;
}

void weiri_redis_cluster_stats(weiri_redis_cluster *cluster, weir_redis_statistics *all)
{
    pthread_mutex_lock(&cluster->lock);
    all->connects = cluster->connects;
    all->failures = cluster->failures;
    all->slot_maps = cluster->maps;
    for (weiri_redis_node *node = &cluster->seed; node; node = node->next) {
        pthread_mutex_lock(&node->server->lock);
        all->connects += node->server->connects;
        all->failures += node->server->failures;
        all->breaker_open |= weiri_redis_breaker_is_open(&node->server->breaker);
        pthread_mutex_unlock(&node->server->lock);
    }
    pthread_mutex_unlock(&cluster->lock);
}
