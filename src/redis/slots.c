/*
 * A reply has for each range of slots:
 *
 *     [first, last, [host, port, id, [name, value, ...]] of the primary, the same of each replica ...]
 *
 * The host is empty or nil where the node does not know its own address; "?" where names are to be told and it has
 * none: then its address is among the names and values, as "ip".
 */
#include "redis/slots.h"

#include <stdlib.h>
#include <string.h>

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
}

static const char *address_among(const redisReply *values)
{
    for (size_t i = 0; values->type == REDIS_REPLY_ARRAY && i + 1 < values->elements; i += 2)
        if (is_text(values->element[i]) && is_text(values->element[i + 1]) &&
            strcmp(values->element[i]->str, "ip") == 0)
            return values->element[i + 1]->str;
    return "?";
}

/* NULL: it is none. */
static const char *host_of(const redisReply *node, const char *host)
{
    const redisReply *told = node->element[0];
    const char *text = "";
    if (is_text(told))
        text = told->str;
    else if (told->type != REDIS_REPLY_NIL)
        return NULL;
    if (strcmp(text, "?") == 0 && node->elements > 3)
        text = address_among(node->element[3]);
    return *text ? text : host;
}

static bool is_node(const redisReply *node)
{
    return node->type == REDIS_REPLY_ARRAY && node->elements >= 2 && node->element[1]->type == REDIS_REPLY_INTEGER &&
           node->element[1]->integer >= 0 && node->element[1]->integer <= UINT16_MAX;
}

/* Room for one more; false: no memory, or too many. */
static bool grow(weiri_redis_slots *slots)
{
    if (slots->count < slots->room)
        return true;
    size_t room = slots->room > 0 ? slots->room * 2 : 8;
    weiri_redis_place *grown = slots->count < WEIRI_REDIS_PLACES_MAX / 2
                                   ? realloc(slots->place, room * sizeof *grown) : NULL;
    if (!grown)
        return false;
    slots->place = grown;
    slots->room = room;
    return true;
}

/* 1 + the index of the place; 0: there is nothing to connect to. False: not a node, or no memory. */
static bool enter(weiri_redis_slots *slots, const redisReply *node, const char *host, uint16_t *index)
{
    const char *name = is_node(node) ? host_of(node, host) : NULL;
    *index = 0;
    if (!name)
        return false;
    uint16_t port = (uint16_t)node->element[1]->integer;
    if (port == 0 || strcmp(name, "?") == 0 || strlen(name) >= sizeof slots->place->host)
        return true;
    size_t at = 0;
    while (at < slots->count && (slots->place[at].port != port || strcmp(slots->place[at].host, name) != 0))
        at++;
    if (at == slots->count) {
        if (!grow(slots))
            return false;
        slots->place[slots->count] = (weiri_redis_place){.port = port};
        strcpy(slots->place[slots->count++].host, name);
    }
    *index = (uint16_t)(at + 1);
    return true;
}

static bool read_range(weiri_redis_slots *slots, const redisReply *range, const char *host)
{
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    long long first = range->element[0]->integer, last = range->element[1]->integer;
    if (first < 0 || last < first || last >= WEIRI_REDIS_SLOTS)
        return false;
    for (size_t i = 2; i < range->elements; i++) {
        uint16_t index;
        if (!enter(slots, range->element[i], host, &index))
            return false;
        for (long long slot = first; i == 2 && slot <= last; slot++)
            slots->owner[slot] = index;
    }
    return true;
}

weiri_redis_slots *weiri_redis_slots_read(const redisReply *reply, const char *host)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return NULL;
    weiri_redis_slots *slots = calloc(1, sizeof *slots);
    bool right = slots != NULL;
    for (size_t i = 0; right && i < reply->elements; i++)
        right = read_range(slots, reply->element[i], host);
    if (right && slots->count > 0)
        return slots;
    weiri_redis_slots_close(slots);
    return NULL;
}

void weiri_redis_slots_close(weiri_redis_slots *slots)
{
    if (slots)
        free(slots->place);
    free(slots);
}
