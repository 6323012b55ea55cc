/* Opening and closing, limits, statistics and the last error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/client.h"
#include "redis/options.h"

static int open_server(weir_redis *limiter, const weir_redis_options *options)
{
    weiri_redis_url url;
    int error = weiri_redis_url_open(&url, options->url, options->error, options->error_size);
    if (!error && options->cluster && url.database != 0) {
        weiri_redis_url_close(&url);
        return weiri_redis_wrong(options, "options: url: a cluster has no database but 0");
    }
    if (!error)
        error = weiri_redis_server_open(&limiter->server, &url, options);
    if (error || !options->cluster)
        return error;
    limiter->cluster = weiri_redis_cluster_open(&limiter->server, options);
    if (!limiter->cluster)
        weiri_redis_server_close(&limiter->server);
    return limiter->cluster ? 0 : -ENOMEM;
}

static void close_server(weir_redis *limiter)
{
    weiri_redis_cluster_close(limiter->cluster);
    weiri_redis_server_close(&limiter->server);
}

/* What refusals cannot be remembered by, a given time, is no clock of ours. */
static uint64_t remember_for(const weir_redis_options *options)
{
    return options->given_time ? 0 : options->remember_ns;
}

static int open_parts(weir_redis *limiter, const weir_rule *rules, size_t count, const weir_redis_options *options)
{
    int error = weiri_redis_rules_open(&limiter->rules, rules, count, options);
    if (error)
        return error;
    error = open_server(limiter, options);
    if (error)
        goto close_rules;
    error = weiri_redis_remembered_open(&limiter->remembered, options->remember_keys, remember_for(options));
    if (error)
        goto close_server;
    error = weiri_redis_policy_open(&limiter->policy, rules, count, options);
    if (error)
        goto close_remembered;
    return 0;
close_remembered:
    (void)weiri_redis_remembered_close(&limiter->remembered);
close_server:
    close_server(limiter);
close_rules:
    weiri_redis_rules_close(&limiter->rules);
    return error;
}

int weir_redis_open(weir_redis **limiter, const weir_rule *rules, size_t rule_count, const weir_redis_options *options)
{
    weir_redis_options checked;
    *limiter = NULL;
    int error = weiri_redis_options_check(options, &checked);
    if (error)
        return error;
    weir_redis *made = calloc(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    error = open_parts(made, rules, rule_count, &checked);
    if (error) {
        free(made);
        return error;
    }
    for (uint32_t i = 0; i < made->rules.count; i++)
        made->by_cost |= made->rules.rule[i].meter == WEIR_PER_COST;
    pthread_mutex_init(&made->setting, NULL);
    pthread_mutex_init(&made->lock, NULL);
    *limiter = made;
    return 0;
}

int weir_redis_close(weir_redis *limiter)
{
    if (!limiter)
        return 0;
    /* Inside a read section of liburcu-bp the first of these fails, and nothing is closed; else neither fails. */
    int error = weiri_redis_policy_close(&limiter->policy);
    if (!error)
        error = weiri_redis_remembered_close(&limiter->remembered);
    if (error)
        return error;
    close_server(limiter);
    weiri_redis_rules_close(&limiter->rules);
    pthread_mutex_destroy(&limiter->lock);
    pthread_mutex_destroy(&limiter->setting);
    free(limiter);
    return 0;
}

static bool limits_in_range(const weiri_redis_rules *rules, uint32_t plan, const uint64_t *limits, size_t count)
{
    if (plan >= rules->plans || count != rules->count || !limits)
        return false;
    for (size_t i = 0; i < count; i++)
        if (limits[i] < 1 || limits[i] > (rules->rule[i].algorithm == WEIR_LOG ? UINT32_MAX : WEIRI_REDIS_LIMIT_MAX))
            return false;
    return true;
}

/* The local limiter first: once it has them, nothing can fail. Refusals that would be taken for the next version's, 256
 * after their own, go before there is one that asks for them. */
static int set_both(weir_redis *limiter, uint32_t plan, const uint64_t *limits, size_t count)
{
    int error = weiri_redis_policy_set_limits(&limiter->policy, plan, limits, count);
    if (error)
        return error;
    if ((uint8_t)(weiri_redis_limits_version(&limiter->rules) + 1) == 0)
        weiri_redis_forget_all(&limiter->remembered);
    return weiri_redis_limits_set(&limiter->rules, plan, limits, count);
}

int weir_redis_set_limits(weir_redis *limiter, uint32_t plan, const uint64_t *limits, size_t count)
{
    if (!limits_in_range(&limiter->rules, plan, limits, count))
        return -EINVAL;
    pthread_mutex_lock(&limiter->setting);
    int error = set_both(limiter, plan, limits, count);
    pthread_mutex_unlock(&limiter->setting);
    return error;
}

static void gather_server(weiri_redis_server *server, weir_redis_statistics *all)
{
    pthread_mutex_lock(&server->lock);
    all->connects = server->connects;
    all->failures = server->failures;
    all->breaker_open = weiri_redis_breaker_is_open(&server->breaker);
    pthread_mutex_unlock(&server->lock);
}

static void gather(weir_redis *limiter, weir_redis_statistics *all)
{
    pthread_mutex_lock(&limiter->lock);
    all->commands = limiter->tally.commands;
    all->round_trips = limiter->tally.round_trips;
    all->scripts_loaded = limiter->tally.loads;
    all->redirected = limiter->tally.redirected;
    all->unreached = limiter->unreached;
    all->unknown = limiter->unknown;
    pthread_mutex_unlock(&limiter->lock);
    if (limiter->cluster)
        weiri_redis_cluster_stats(limiter->cluster, all);
    else
        gather_server(&limiter->server, all);
    all->remembered = weiri_redis_told(&limiter->remembered);
}

int weir_redis_stats(const weir_redis *limiter, weir_redis_statistics *statistics)
{
    size_t size = statistics->struct_size;
    weir_redis_statistics all = {.struct_size = size};
    if (size < offsetof(weir_redis_statistics, reserved))
        return -EINVAL;
    gather((weir_redis *)(uintptr_t)limiter, &all); /* const for the caller: only locks are taken */
    memcpy(statistics, &all, size < sizeof all ? size : sizeof all);
    if (size > sizeof all)
        memset((char *)statistics + sizeof all, 0, size - sizeof all);
    return 0;
}

size_t weir_redis_error(const weir_redis *limiter, char *text, size_t size)
{
    weir_redis *held = (weir_redis *)(uintptr_t)limiter;
    pthread_mutex_lock(&held->lock);
    weiri_redis_text error = held->error;
    pthread_mutex_unlock(&held->lock);
    if (size > 0)
        snprintf(text, size, "%s", error.text);
    return strlen(error.text);
}
