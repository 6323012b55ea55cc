/*
 * Steps of connecting that wait for nothing but getaddrinfo. Errors are errno values; 0: done.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_DIAL_H
#define WEIRI_REDIS_DIAL_H

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "redis/link.h"

/* To be freed with freeaddrinfo. NULL: *why tells. */
struct addrinfo *weiri_redis_lookup(const weiri_redis_url *url, weiri_redis_text *why);

struct sockaddr_un weiri_redis_unix_address(const char *path);

/* A socket in *fd that never blocks; EINPROGRESS: when it is writable, _result tells. Another error: there is none. */
int weiri_redis_connect_begin(int *fd, const struct sockaddr *address, socklen_t size);
int weiri_redis_connect_result(int fd);

/* Is it writable? */
bool weiri_redis_connect_is_done(int fd);

void weiri_redis_say_connect(weiri_redis_text *why, int error);

#endif
