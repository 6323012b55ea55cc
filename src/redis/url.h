/*
 * Where a server is, from text: redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path[?db=n].
 * Pure but for one allocation, which holds the decoded strings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_URL_H
#define WEIRI_REDIS_URL_H

#include <stddef.h>
#include <stdint.h>

typedef struct weiri_redis_url {
    const char *host;     /* NULL: a unix socket */
    const char *path;     /* NULL: TCP */
    const char *user;     /* NULL: none is named */
    const char *password; /* NULL: no AUTH */
    unsigned database;
    uint16_t port;
    char *store;
} weiri_redis_url;

/* Returns 0, -EINVAL (`error`, where not NULL, tells what is wrong and at which character, from 1) or -ENOMEM. */
int weiri_redis_url_open(weiri_redis_url *url, const char *text, char *error, size_t error_size);

/* Another place, with the same user and password. Returns 0 or -ENOMEM. */
int weiri_redis_url_beside(weiri_redis_url *url, const weiri_redis_url *like, const char *host, uint16_t port);
void weiri_redis_url_close(weiri_redis_url *url);

#endif
