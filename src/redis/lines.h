/*
 * An event loop's connections to a cluster: one for each node that the loop has asked, made when it is first asked.
 * Used by the loop's thread alone; nodes and map are shared with all threads (cluster.h).
 *
 *     a call ──▶ the map is being fetched, and there is none ──▶ unrouted ──▶ its slot's node, or the policy
 *            └─▶ its slot's node
 *     MOVED, ASK: to the node that was named, at most WEIRI_REDIS_HOPS times, within the call's own time (its limit)
 *
 * CLUSTER SLOTS is a call like others, without anybody to be answered, on the connection of the node that is asked: so
 * the loop waits for nothing. A node that cannot be had is left to the policy at once, and the map is doubted.
 *
 * A connection uses its node (cluster.h), so that none is closed under it. Where a new map names a node no more, its
 * connection is closed once no call is on it, at the next call or event of the loop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_LINES_H
#define WEIRI_REDIS_LINES_H

#include "redis/line.h"

typedef struct weiri_redis_lines {
    weir_redis *limiter;
    weir_redis_loop loop;
    weiri_redis_line *first; /* those without a node wait for one */
    uint64_t map;            /* by which connections were last looked through */
    bool closing;
    bool fetching;
    weiri_redis_fetch fetch;
    uint64_t fetch_end;         /* after that, no further node is asked */
    weiri_redis_calls unrouted; /* in the order of their limits */
    void *timer;                /* runs while there are such, to the first one's limit */
} weiri_redis_lines;

/* Returns 0 or -ENOMEM. */
int weiri_redis_lines_open(weiri_redis_lines *lines, weir_redis *limiter, const weir_redis_loop *loop);

/* Settles and answers all calls, and closes. */
void weiri_redis_lines_close(weiri_redis_lines *lines);

/* False: it cannot be asked, and is the caller's as before. */
bool weiri_redis_lines_ask(weiri_redis_lines *lines, weiri_redis_call *call);

/* The connection's settled calls: sends on those that go on elsewhere; adds those that are over by it. */
void weiri_redis_lines_sort_out(weiri_redis_lines *lines, weiri_redis_line *line);

#endif
