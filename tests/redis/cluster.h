/*
 * What the tests of the cluster's client share: three nodes and a replica of the first, keys by slot or node, options.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_CLUSTER_H
#define WEIR_TESTS_REDIS_CLUSTER_H

#include "client.h"
#include "nodes.h"
#include "redis/command.h"

enum { THREADS = 4, KEY_SIZE = 16 };

static struct nodes nodes;

static inline void start_nodes(void)
{
    nodes_start(&nodes, 3, 1, (const char *const[]){"--cluster-node-timeout", "60000", NULL});
}

/* Of the keys of log_rule under the default prefix. */
static inline unsigned slot_of(const char *key)
{
    static weiri_redis_rules rules;
    weir_rule rule = log_rule(1);
    weir_redis_options options = weir_redis_options_default();
    if (!rules.prefix)
        CHECK_EQUAL(0, weiri_redis_rules_open(&rules, &rule, 1, &options));
    return weiri_redis_slot(&rules, key, strlen(key));
}

/* The first keys "k<number>" of one slot or, slot NULL, of one node. */
static inline void find_keys(char (*keys)[KEY_SIZE], unsigned count, const unsigned *slot, unsigned node)
{
    unsigned found = 0;
    for (unsigned number = 0; found < count; number++) {
        snprintf(keys[found], KEY_SIZE, "k%u", number);
        unsigned its = slot_of(keys[found]);
        found += slot ? its == *slot : nodes_of_slot(&nodes, its) == node;
    }
}

/* Begins with empty nodes. Decides at once where it can. */
static inline weir_redis_options cluster_options(const char *url)
{
    weir_redis_options options = client_options(url);
    for (unsigned i = 0; i < nodes.primaries; i++)
        if (nodes.server[i].pid != 0)
            REDIS_SERVER_TELL(nodes.link[i], "FLUSHALL");
    options.cluster = 1;
    options.remember_keys = 0;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    return options;
}

static inline weir_redis *opened(uint64_t limit)
{
    weir_redis_options options = cluster_options(nodes.url[0]);
    return client_open(&options, limit);
}

static inline void move_slot(unsigned slot, unsigned from, unsigned to)
{
    nodes_begin_move(&nodes, slot, from, to);
    while (nodes_move_some(&nodes, slot, from, to, 100) > 0)
        continue;
    nodes_end_move(&nodes, slot, to);
}

#endif
