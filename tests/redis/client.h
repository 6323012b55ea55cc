/*
 * What the tests of the client share: limiters over a test's server, calls on numbered keys, and texts compared.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_CLIENT_H
#define WEIR_TESTS_REDIS_CLIENT_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <weir/redis.h>

#include "check.h"
#include "server.h"

/* So much in a day, exactly. */
static inline weir_rule log_rule(uint64_t limit)
{
    return (weir_rule){
        .limit = limit, .window_ns = WEIR_DAY, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST, .name = "log"};
}

/* Options for a server, patient: 10 s for all that may take time, so that a slow machine changes no answer. */
static inline weir_redis_options client_options(const char *url)
{
    weir_redis_options options = weir_redis_options_default();
    options.url = url;
    options.connect_timeout_ns = 10 * WEIR_SECOND;
    options.command_timeout_ns = 10 * WEIR_SECOND;
    return options;
}

/* Opens, or ends the process. */
static inline weir_redis *client_open(weir_redis_options *options, uint64_t limit)
{
    weir_rule rule = log_rule(limit);
    weir_redis *limiter;
    char error[256] = "";
    options->error = error;
    options->error_size = sizeof error;
    int result = weir_redis_open(&limiter, &rule, 1, options);
    if (result != 0) {
        printf("weir_redis_open: %d, %s\n", result, error);
        exit(1);
    }
    options->error = NULL;
    return limiter;
}

static inline int client_take(weir_redis *limiter, const char *key, uint64_t cost, weir_decision *decision)
{
    weir_request request = weir_request_for(key, strlen(key));
    request.cost = cost;
    return weir_redis_take(limiter, &request, WEIR_NOW, decision);
}

static inline int client_reset(weir_redis *limiter, const char *key)
{
    weir_request request = weir_request_for(key, strlen(key));
    return weir_redis_reset(limiter, &request, WEIR_NOW);
}

/* Whole decisions: a take's, and a peek's. */
static inline weir_decision client_taken(weir_redis *limiter, const char *key, uint64_t cost)
{
    weir_decision decision = {.verdict = -1};
    CHECK(client_take(limiter, key, cost, &decision) == decision.verdict);
    return decision;
}

static inline weir_decision client_peeked(weir_redis *limiter, const char *key, uint64_t cost)
{
    weir_decision decision = {.verdict = -1};
    weir_request request = weir_request_for(key, strlen(key));
    request.cost = cost;
    CHECK(weir_redis_peek(limiter, &request, WEIR_NOW, &decision) == decision.verdict);
    return decision;
}

static inline weir_redis_statistics client_stats(const weir_redis *limiter)
{
    weir_redis_statistics statistics = {.struct_size = sizeof statistics};
    CHECK_EQUAL(0, weir_redis_stats(limiter, &statistics));
    return statistics;
}

static inline int is_text(const char *wanted, const char *got)
{
    if (strcmp(wanted, got) != 0)
        printf("  wanted: %s\n  got:    %s\n", wanted, got);
    return strcmp(wanted, got) == 0;
}

/* Is the last error "WHAT (WHERE)"? */
static inline int is_error(const weir_redis *limiter, const char *what, const char *where)
{
    char wanted[512], got[512];
    snprintf(wanted, sizeof wanted, "%s (%s)", what, where);
    return weir_redis_error(limiter, got, sizeof got) == strlen(got) && is_text(wanted, got);
}

/* How many descriptors this process has. */
static inline unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

#endif
