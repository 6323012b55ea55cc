/* AUTH and SELECT, and what the server says to them. */
#include "redis/greeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weiri_redis_greeted(void *argument, redisReply *reply)
{
    weiri_redis_greeting *greeting = argument;
    const char *name = greeting->name[greeting->answered++];
    bool is_ok = reply->type == REDIS_REPLY_STATUS;
    if (is_ok || greeting->refused)
        return;
    greeting->refused = true;
    weiri_redis_say(greeting->why, "%s: %s", name,
                    reply->type == REDIS_REPLY_ERROR ? reply->str : "garbled reply: not a status");
}

/* Adds one command to what is sent. */
static bool add(weiri_redis_greeting *greeting, char **bytes, size_t *length, const char *name, int count,
                const char *const *words)
{
    char *command = NULL;
    int added = redisFormatCommandArgv(&command, count, (const char **)words, NULL);
    char *grown = added < 0 ? NULL : realloc(*bytes, *length + (size_t)added);
    if (grown) {
        memcpy(grown + *length, command, (size_t)added);
        *bytes = grown;
        *length += (size_t)added;
        greeting->name[greeting->count++] = name;
    }
    if (command)
        redisFreeCommand(command);
    return grown != NULL;
}

bool weiri_redis_greeting_compose(weiri_redis_greeting *greeting, const weiri_redis_url *url, char **bytes,
                                  size_t *length)
{
    char database[16];
    snprintf(database, sizeof database, "%u", url->database);
    const char *auth[] = {"AUTH", url->user ? url->user : url->password, url->password};
    const char *choose[] = {"SELECT", database};
    if (url->password && !add(greeting, bytes, length, "AUTH", url->user ? 3 : 2, auth))
        return false;
    return url->database == 0 || add(greeting, bytes, length, "SELECT", 2, choose);
}
