/*
 * What is said first on a connection: AUTH and SELECT, where the URL has a password and a database. Pure.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_GREETING_H
#define WEIRI_REDIS_GREETING_H

#include "redis/link.h"

typedef struct weiri_redis_greeting {
    const char *name[2]; /* of the commands, in order */
    unsigned count;
    unsigned answered;
    bool refused; /* *why tells */
    weiri_redis_text *why;
} weiri_redis_greeting;

/* The bytes to send, to be freed whatever is returned; none where greeting->count is 0. False: no memory. */
bool weiri_redis_greeting_compose(weiri_redis_greeting *greeting, const weiri_redis_url *url, char **bytes,
                                  size_t *length);

/* Takes the next answer; as an exchange calls it. */
void weiri_redis_greeted(void *argument, redisReply *reply);

#endif
