/*
 * A limiter over Redis, as its files see it. Written by open; what changes afterwards has its own lock.
 *
 * Locks, none of which is held while another thread or the server is waited for: the limits' (rules), one of the
 * remembered refusals', the servers' and their pools', the cluster's, and `lock` here. The first may be taken inside
 * the second, a server's inside the cluster's; else none inside another. `setting` is held during a
 * weir_redis_set_limits, around the first two.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_CLIENT_H
#define WEIRI_REDIS_CLIENT_H

#include "redis/cluster.h"
#include "redis/policy.h"

struct weir_redis {
    weiri_redis_rules rules;
    weiri_redis_policy policy;
    weiri_redis_remembered remembered;
    weiri_redis_server server;    /* the URL's */
    weiri_redis_cluster *cluster; /* NULL: it alone is asked */
    bool by_cost; /* some rule has WEIR_PER_COST */
    pthread_mutex_t setting;
    pthread_mutex_t lock; /* guards what follows */
    weiri_redis_tally tally;
    uint64_t unreached;
    uint64_t unknown;
    weiri_redis_text error;
};

/* How a call ended that Redis did not answer, for the statistics. */
typedef struct weiri_redis_losses {
    uint64_t unreached;
    uint64_t unknown;
} weiri_redis_losses;

/* A job for a request that is in range. */
void weiri_redis_job_begin(weir_redis *limiter, weiri_redis_job *job, enum weiri_redis_verb verb,
                           const weir_request *request, uint64_t now);

/* Does a remembered refusal answer it? Then job->decision is the answer; without `whole`, its verdict alone counts. */
bool weiri_redis_job_recall(weir_redis *limiter, weiri_redis_job *job, bool whole);

/* After asking: remembers what Redis said, or lets the policy decide. job->decision is the answer. */
void weiri_redis_job_end(weir_redis *limiter, weiri_redis_job *job, weiri_redis_losses *losses);

/* Asks `jobs`, which are PENDING and of one verb, and counts; afterwards each is DONE, DENIED or LOST. The pointers are
 * put in another order. *time: what is left of it. */
void weiri_redis_jobs_ask(weir_redis *limiter, weiri_redis_job **jobs, size_t count, weiri_redis_time *time);

/* Adds to the statistics what happened on the way; a text that is not "" becomes the last error. */
void weiri_redis_count(weir_redis *limiter, const weiri_redis_tally *tally, const weiri_redis_text *why);
void weiri_redis_count_losses(weir_redis *limiter, const weiri_redis_losses *losses);

#endif
