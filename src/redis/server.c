/* Visits to a server: the breaker's leave, a place in the pool, a connection. */
#include "redis/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static void name_it(weiri_redis_server *server)
{
    const weiri_redis_url *url = &server->url;
    if (url->path)
        snprintf(server->name, sizeof server->name, "%s", url->path);
    else if (strchr(url->host, ':'))
        snprintf(server->name, sizeof server->name, "[%s]:%u", url->host, (unsigned)url->port);
    else
        snprintf(server->name, sizeof server->name, "%s:%u", url->host, (unsigned)url->port);
}

int weiri_redis_server_open(weiri_redis_server *server, weiri_redis_url *url, const weir_redis_options *options)
{
    *server = (weiri_redis_server){
        .url = *url,
        .connect_timeout = options->connect_timeout_ns,
        .command_timeout = options->command_timeout_ns,
        .breaker = weiri_redis_breaker_of(options->breaker_failures, options->backoff_min_ns, options->backoff_max_ns),
    };
    *url = (weiri_redis_url){0};
    name_it(server);
    if (getrandom(&server->random, sizeof server->random, GRND_NONBLOCK) < 0)
        server->random = weiri_redis_now() ^ (uintptr_t)server;
    int error = weiri_redis_pool_open(&server->pool, options->connections);
    if (error) {
        weiri_redis_url_close(&server->url);
        return error;
    }
    pthread_mutex_init(&server->lock, NULL);
    return 0;
}

void weiri_redis_server_close(weiri_redis_server *server)
{
    weiri_redis_pool_close(&server->pool);
    pthread_mutex_destroy(&server->lock);
    weiri_redis_url_close(&server->url);
}

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(weiri_redis_server *server)
{
    uint64_t mixed = server->random += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t weiri_redis_server_admit(weiri_redis_server *server)
{
    pthread_mutex_lock(&server->lock);
    uint64_t admitted = weiri_redis_breaker_admit(&server->breaker, weiri_redis_now());
    pthread_mutex_unlock(&server->lock);
    return admitted;
}

void weiri_redis_server_report(weiri_redis_server *server, uint64_t admitted, bool failed)
{
    pthread_mutex_lock(&server->lock);
    if (failed) {
        server->failures++;
        weiri_redis_breaker_failed(&server->breaker, admitted, weiri_redis_now(), next_random(server));
    } else {
        weiri_redis_breaker_succeeded(&server->breaker, admitted);
    }
    pthread_mutex_unlock(&server->lock);
}

void weiri_redis_server_abandon(weiri_redis_server *server, uint64_t admitted)
{
    pthread_mutex_lock(&server->lock);
    weiri_redis_breaker_abandoned(&server->breaker, admitted);
    pthread_mutex_unlock(&server->lock);
}

void weiri_redis_server_connected(weiri_redis_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->connects++;
    pthread_mutex_unlock(&server->lock);
}

/* Leave to ask; once more for whoever has waited for a connection, since failures of those who had one may have opened
 * the breaker meanwhile. */
static bool admitted(weiri_redis_server *server, weiri_redis_visit *visit)
{
    pthread_mutex_lock(&server->lock);
    if (!weiri_redis_breaker_holds(&server->breaker, visit->admitted))
        visit->admitted = weiri_redis_breaker_admit(&server->breaker, weiri_redis_now());
    visit->probes = weiri_redis_breaker_probes(&server->breaker, visit->admitted);
    pthread_mutex_unlock(&server->lock);
    return visit->admitted != 0;
}

weiri_redis_time weiri_redis_server_time(const weiri_redis_server *server)
{
    return (weiri_redis_time){weiri_redis_now() + server->command_timeout, server->connect_timeout};
}

bool weiri_redis_visit_enter(weiri_redis_server *server, weiri_redis_visit *visit, uint64_t deadline,
                             weiri_redis_text *why)
{
    visit->admitted = 0;
    if (!admitted(server, visit))
        return false;
    if (!weiri_redis_pool_borrow(&server->pool, &visit->link, deadline)) {
        weiri_redis_say(why, "all %u connections were in use", (unsigned)server->pool.places);
        weiri_redis_server_abandon(server, visit->admitted);
        return false;
    }
    if (!admitted(server, visit)) {
        weiri_redis_pool_return(&server->pool, &visit->link);
        return false;
    }
    if (visit->probes) {
        /* What was connected before the breaker opened may be as dead as what made it open, though it looks alive: a
         * host that was replaced, a network that forgot. One after the other would fail, where the server is back. */
        weiri_redis_link_close(&visit->link);
        weiri_redis_pool_drain(&server->pool);
    }
    return true;
}

bool weiri_redis_visit_connect(weiri_redis_server *server, weiri_redis_visit *visit, weiri_redis_time *time,
                               weiri_redis_text *why)
{
    if (weiri_redis_link_is_open(&visit->link))
        return true;
    if (time->connecting == 0) {
        weiri_redis_say(why, "no time was left to connect");
        weiri_redis_visit_abandon(server, visit);
        return false;
    }
    uint64_t timeout = time->connecting < server->connect_timeout ? time->connecting : server->connect_timeout;
    uint64_t begun = weiri_redis_now();
    bool done = weiri_redis_link_open(&visit->link, &server->url, timeout, why);
    uint64_t took = weiri_redis_now() - begun;
    time->deadline += took;
    time->connecting -= took < time->connecting ? took : time->connecting;
    if (done)
        weiri_redis_server_connected(server);
    else
        weiri_redis_visit_end(server, visit, true);
    return done;
}

void weiri_redis_visit_end(weiri_redis_server *server, weiri_redis_visit *visit, bool failed)
{
    if (failed)
        weiri_redis_link_close(&visit->link);
    /* Before the return: who gets the place next is to know. */
    weiri_redis_server_report(server, visit->admitted, failed);
    weiri_redis_pool_return(&server->pool, &visit->link);
}

void weiri_redis_visit_abandon(weiri_redis_server *server, weiri_redis_visit *visit)
{
    weiri_redis_server_abandon(server, visit->admitted);
    weiri_redis_pool_return(&server->pool, &visit->link);
}

uint64_t weiri_redis_server_wait(weiri_redis_server *server)
{
    pthread_mutex_lock(&server->lock);
    uint64_t wait = weiri_redis_breaker_wait(&server->breaker, weiri_redis_now());
    pthread_mutex_unlock(&server->lock);
    return wait;
}

bool weiri_redis_server_is_doubtful(weiri_redis_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool doubtful = server->breaker.failures > 0 || weiri_redis_breaker_is_open(&server->breaker);
    pthread_mutex_unlock(&server->lock);
    return doubtful;
}
