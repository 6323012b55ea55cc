/* How a connection comes to be: name, addresses, connect, and the greeting (AUTH, SELECT). */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weir/types.h>

#include "redis/dial.h"
#include "redis/greeting.h"

void weiri_redis_say_connect(weiri_redis_text *why, int error)
{
    char buffer[96];
    weiri_redis_say(why, "connect: %s", strerror_r(error, buffer, sizeof buffer));
}

/* Waits until a connect that has begun is done. 0, or an errno value. One that is done by the deadline counts, whenever
 * this caller gets to see it. */
static int finish(int fd, uint64_t deadline)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    for (;;) {
        uint64_t now = weiri_redis_now();
        uint64_t left = now < deadline ? deadline - now : 0;
        struct timespec wait = {(time_t)(left / WEIR_SECOND), (long)(left % WEIR_SECOND)};
        int count = ppoll(&ready, 1, &wait, NULL);
        if (count == 0)
            return ETIMEDOUT;
        if (count > 0)
            return weiri_redis_connect_result(fd);
        if (errno != EINTR)
            return errno;
    }
}

int weiri_redis_connect_begin(int *fd, const struct sockaddr *address, socklen_t size)
{
    int on = 1;
    *fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    if (address->sa_family != AF_UNIX)
        setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int error = connect(*fd, address, size) == 0 ? 0 : errno;
    if (error == EINTR)
        return EINPROGRESS;
    if (error && error != EINPROGRESS)
        close(*fd);
    return error;
}

int weiri_redis_connect_result(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool weiri_redis_connect_is_done(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return poll(&ready, 1, 0) > 0;
}

/* A connected socket in *fd. 0, or an errno value. */
static int connect_to(int *fd, const struct sockaddr *address, socklen_t size, uint64_t deadline)
{
    int error = weiri_redis_connect_begin(fd, address, size);
    if (error != EINPROGRESS)
        return error;
    error = finish(*fd, deadline);
    if (error)
        close(*fd);
    return error;
}

struct sockaddr_un weiri_redis_unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strnlen(path, sizeof address.sun_path - 1));
    return address;
}

static int connect_unix(int *fd, const char *path, uint64_t deadline)
{
    const struct sockaddr_un address = weiri_redis_unix_address(path);
    return connect_to(fd, (const struct sockaddr *)&address, sizeof address, deadline);
}

struct addrinfo *weiri_redis_lookup(const weiri_redis_url *url, weiri_redis_text *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses;
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)url->port);
    int unknown = getaddrinfo(url->host, port, &hints, &addresses);
    if (!unknown)
        return addresses;
    weiri_redis_say(why, "host: %s", gai_strerror(unknown));
    return NULL;
}

/* Tries one address after the other. Each has its part of the time that is left: one that does not answer, like an IPv6
 * address where only IPv4 is routed, would else take that of all others, every time. */
static int connect_to_any(int *fd, const struct addrinfo *addresses, uint64_t deadline)
{
    unsigned left = 0;
    int error = ETIMEDOUT;
    for (const struct addrinfo *at = addresses; at; at = at->ai_next)
        left++;
    for (const struct addrinfo *at = addresses; at && error; at = at->ai_next) {
        uint64_t now = weiri_redis_now();
        uint64_t part = now < deadline ? (deadline - now) / left-- : 0;
        error = connect_to(fd, at->ai_addr, at->ai_addrlen, now + part);
    }
    return error;
}

/* Time that the lookup took is not taken from `timeout`. */
static bool connect_tcp(int *fd, const weiri_redis_url *url, uint64_t timeout, uint64_t *deadline,
                        weiri_redis_text *why)
{
    struct addrinfo *addresses = weiri_redis_lookup(url, why);
    *deadline = weiri_redis_now() + timeout;
    if (!addresses)
        return false;
    int error = connect_to_any(fd, addresses, *deadline);
    freeaddrinfo(addresses);
    if (error)
        weiri_redis_say_connect(why, error);
    return error == 0;
}

static bool greet(weiri_redis_link *link, const weiri_redis_url *url, uint64_t timeout, uint64_t deadline,
                  weiri_redis_text *why)
{
    weiri_redis_greeting greeting = {.why = why};
    char *bytes = NULL;
    size_t length = 0;
    bool done = weiri_redis_greeting_compose(&greeting, url, &bytes, &length);
    if (!done)
        weiri_redis_say(why, "no memory for a connection");
    if (done && greeting.count > 0) {
        weiri_redis_exchange exchange = {.bytes = bytes,
                                         .length = length,
                                         .replies = greeting.count,
                                         .reply = weiri_redis_greeted,
                                         .argument = &greeting,
                                         .deadline = deadline,
                                         .timeout = timeout};
        weiri_redis_text lost;
        done = weiri_redis_link_exchange(link, &exchange, &lost);
        if (!done && !greeting.refused)
            *why = lost;
        done = done && !greeting.refused;
    }
    free(bytes);
    return done;
}

bool weiri_redis_link_open(weiri_redis_link *link, const weiri_redis_url *url, uint64_t timeout, weiri_redis_text *why)
{
    uint64_t deadline = weiri_redis_now() + timeout;
    *link = (weiri_redis_link){.fd = -1};
    if (url->path) {
        int error = connect_unix(&link->fd, url->path, deadline);
        if (error) {
            weiri_redis_say_connect(why, error);
            return false;
        }
    } else if (!connect_tcp(&link->fd, url, timeout, &deadline, why)) {
        return false;
    }
    link->reader = weiri_redis_reader_open();
    if (!link->reader) {
        close(link->fd);
        weiri_redis_say(why, "no memory for a connection");
        return false;
    }
    if (greet(link, url, timeout, deadline, why))
        return true;
    weiri_redis_link_close(link);
    return false;
}
