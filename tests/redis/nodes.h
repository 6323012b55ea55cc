/*
 * A Redis Cluster of a test's own, of servers as server.h starts them: primaries that share the slots evenly, and
 * replicas of the first one. What cannot be done ends the process with a word why.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_NODES_H
#define WEIR_TESTS_REDIS_NODES_H

#include "server.h"

#define NODES 4

struct nodes {
    unsigned primaries;
    unsigned count;
    struct redis_server server[NODES];
    redisContext *link[NODES]; /* the test's own */
    char id[NODES][41];
    char url[NODES][64]; /* redis://127.0.0.1:port */
};

/* Starts them, and waits until each thinks that all is well. `more` as for redis_server_start, at most 8. */
void nodes_start(struct nodes *nodes, unsigned primaries, unsigned replicas, const char *const *more);
void nodes_stop(struct nodes *nodes);

/* The index of the primary that had the slot at the start. */
unsigned nodes_of_slot(const struct nodes *nodes, unsigned slot);

/* A slot on its way: ASK from now on, for what `from` does not hold. */
void nodes_begin_move(struct nodes *nodes, unsigned slot, unsigned from, unsigned to);
/* Moves a few of its keys; 0: none was left. */
unsigned nodes_move_some(struct nodes *nodes, unsigned slot, unsigned from, unsigned to, unsigned count);
/* It is the other's from now on, and all know it. */
void nodes_end_move(struct nodes *nodes, unsigned slot, unsigned to);

/* Waits until all tell of all primaries by this host. */
void nodes_await_hosts(struct nodes *nodes, const char *host);

/* How often a node was sent CLUSTER SLOTS. */
long long nodes_maps_asked(struct nodes *nodes, unsigned node);

#endif
