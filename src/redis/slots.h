/*
 * The slot map of a cluster, as CLUSTER SLOTS tells it: which place serves each of the 16,384 slots. Pure.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_SLOTS_H
#define WEIRI_REDIS_SLOTS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "redis/command.h"

enum { WEIRI_REDIS_SLOTS = 16384, WEIRI_REDIS_PLACES_MAX = 65535 };

typedef struct weiri_redis_slots {
    weiri_redis_place *place; /* all that are named, replicas too; each once. `slot` is not used */
    size_t count;
    size_t room;
    uint16_t owner[WEIRI_REDIS_SLOTS]; /* 1 + the index of its primary's place; 0: nobody serves it */
} weiri_redis_slots;

/*
 * NULL: the reply is not one of CLUSTER SLOTS, tells of no slot, or there is no memory. To be freed with _close.
 *   host   that of the server which answered: what an empty or missing one means
 */
weiri_redis_slots *weiri_redis_slots_read(const redisReply *reply, const char *host);
void weiri_redis_slots_close(weiri_redis_slots *slots);

#endif
