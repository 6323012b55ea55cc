/*
 * Redis Cluster: which node has which slot, a server (connections and breaker) for each node, and questions that follow
 * their slots.
 *
 * A question goes to the primary that the map names for its slot. What is then done:
 *   MOVED            the named node becomes the slot's, the question follows at once, and the map is doubted
 *   ASK              the question follows for this once, after ASKING
 *   not to be had    (no connection, or its breaker is open: nothing was sent) the map is doubted; where a new one
 *                    names another node, the question goes there
 *   all else         the answer, or the policy's: TRYAGAIN and CLUSTERDOWN are not waited out, and what was sent and
 *                    not answered is never sent again. What is no answer makes the map doubted too
 * At most WEIRI_REDIS_HOPS times is a question sent on, all within the call's one time.
 *
 * A doubted map is fetched again by one caller, at the end of its call or where it cannot go on without, at most once
 * in backoff_min_ns, from nodes that did not fail last before others. Where no map tells, the URL's server is asked:
 * so nobody waits for another thread's fetch, and what may not read the map gets on.
 *
 * Threads. `lock` guards every field of the cluster, and of a node `next`, `users` and `listed`; server, number and
 * own stay as they were made. It is held for memory work only (a new map: some 50 us), never while somebody or the
 * network is waited for; a server's lock may be taken inside. So a map is replaced at one moment, and each question
 * is routed wholly before or wholly after it. What it was routed by may be old by the time it arrives: then the node
 * answers MOVED, since Redis itself guards each slot; an old map costs a redirection, never a wrong decision.
 *   1. Who uses a node has counted itself in `users`, under the lock, where it found the node in the map or the list.
 *      An event loop's connection uses its node for as long as it has it (lines.h): it lets go of one that a new map
 *      does not name, at its loop's next event.
 *   2. A node is taken off map and list and freed in one section under the lock, only where users is 0 and no map
 *      names it (`listed`), by who made the last of both true: the new map, or the last user. So none is freed in
 *      use, none is found afterwards, and none stays.
 *   3. Doubt is counted against the map that a question was routed by: threads that meet MOVED by an older one, or
 *      while a fetch is under way, ask for none. A fetch that brought an old view is found out by the next MOVED.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_CLUSTER_H
#define WEIRI_REDIS_CLUSTER_H

#include "redis/ask.h"
#include "redis/slots.h"

enum { WEIRI_REDIS_HOPS = 5 };

typedef struct weiri_redis_node {
    weiri_redis_server *server; /* `own`; of the seed: the limiter's */
    uint64_t number;            /* the order in which several are entered */
    struct weiri_redis_node *next;
    uint64_t users;
    bool listed; /* by the map, by a redirection since, or for good: the seed */
    weiri_redis_server own;
} weiri_redis_node;

typedef struct weiri_redis_cluster {
    pthread_mutex_t lock;
    weir_redis_options options; /* for servers to come; its pointers are NULL */
    weiri_redis_node seed;      /* the URL's; first in the list */
    weiri_redis_node *owner[WEIRI_REDIS_SLOTS]; /* NULL: unknown, the seed is asked */
    uint64_t numbers;    /* nodes made */
    uint64_t maps;       /* installed */
    uint64_t fetches;    /* begun */
    uint64_t next_fetch; /* not before */
    bool doubted;
    bool fetching;
    uint64_t connects; /* of nodes that are gone */
    uint64_t failures;
} weiri_redis_cluster;

/* NULL: no memory. `seed` stays the caller's, and must outlive it. */
weiri_redis_cluster *weiri_redis_cluster_open(weiri_redis_server *seed, const weir_redis_options *options);
/* No question is under way. NULL does nothing. */
void weiri_redis_cluster_close(weiri_redis_cluster *cluster);

/* Asks `jobs`, which are PENDING and of one verb; afterwards each is DONE, DENIED or LOST. The pointers, into one
 * array, are put in another order. */
void weiri_redis_cluster_ask(weiri_redis_cluster *cluster, weiri_redis_inquiry *inquiry, weiri_redis_job **jobs,
                             size_t count);

/* How long the node that has the slot is left alone; 0: it is not. */
uint64_t weiri_redis_cluster_wait(weiri_redis_cluster *cluster, unsigned slot);

/* Adds up connects, failures, breaker_open and slot_maps. */
void weiri_redis_cluster_stats(weiri_redis_cluster *cluster, weir_redis_statistics *all);

/* ---- for its own files ---- */

/* Nodes that are used: found, counted in; each to be left once. */
weiri_redis_node *weiri_redis_node_of_slot(weiri_redis_cluster *cluster, unsigned slot);
/* The place that `from` answered with; moved: the slot is its from now on. NULL: no memory. */
weiri_redis_node *weiri_redis_node_named(weiri_redis_cluster *cluster, const weiri_redis_node *from,
                                         const weiri_redis_place *place, bool moved);
void weiri_redis_node_leave(weiri_redis_cluster *cluster, weiri_redis_node *node); /* NULL does nothing */
/* One more use of a node that is used. */
void weiri_redis_node_keep(weiri_redis_cluster *cluster, weiri_redis_node *node);
/* Does a map or a redirection name it? */
bool weiri_redis_node_is_listed(weiri_redis_cluster *cluster, const weiri_redis_node *node);

/* Finds the nodes of all jobs at one moment; returns the number of the map that told. */
uint64_t weiri_redis_cluster_route(weiri_redis_cluster *cluster, weiri_redis_job **jobs, size_t count);

/* The number of the map, 0: there is none so far. */
uint64_t weiri_redis_cluster_map(weiri_redis_cluster *cluster);

/* All nodes, used, to be freed with free(); NULL: no memory. */
weiri_redis_node **weiri_redis_cluster_nodes(weiri_redis_cluster *cluster, size_t *count);

/* False: no memory, and the map is as it was. */
bool weiri_redis_cluster_install(weiri_redis_cluster *cluster, const weiri_redis_slots *slots);

/* The map with this number was seen to be wrong. */
void weiri_redis_cluster_doubt(weiri_redis_cluster *cluster, uint64_t map);

/* Fetches the map, if it is doubted, it is time and nobody else does; `first`: whom to ask first, or NULL. False: it
 * would have, and no node answered. */
bool weiri_redis_cluster_refresh(weiri_redis_cluster *cluster, weiri_redis_inquiry *inquiry, weiri_redis_node *first);

/* ---- a fetch in steps, for who waits elsewhere ---- */

typedef struct weiri_redis_fetch {
    weiri_redis_cluster *cluster;
    weiri_redis_node **nodes; /* used; NULL: no memory */
    size_t count;
    size_t asked;
    bool installed;
    bool answered; /* by some node */
} weiri_redis_fetch;

extern const char weiri_redis_map_command[];

/* A map of many ranges is long: three nodes each, some 400 bytes. */
enum { WEIRI_REDIS_MAP_LONGEST = 64 << 20 };

/* False: the map is not doubted, or it is not time, or another fetches. True: _end must follow. */
bool weiri_redis_fetch_begin(weiri_redis_fetch *fetch, weiri_redis_cluster *cluster, const weiri_redis_node *first);
/* Whom to ask next; NULL: nobody, the map is here or enough were asked. */
weiri_redis_node *weiri_redis_fetch_next(weiri_redis_fetch *fetch);
/* What `server` answered. */
void weiri_redis_fetch_take(weiri_redis_fetch *fetch, const weiri_redis_server *server, const redisReply *reply,
                            weiri_redis_text *why);
void weiri_redis_fetch_end(weiri_redis_fetch *fetch);

#endif
