/* Replies as answers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "redis/command.h"

#define NUMBER_MAX (INT64_C(1) << 53)

/*
 * Errors that come before anything was written: Redis's own, before the script or at its first write. All keys are read
 * before the first is written, so a key of another type (WRONGTYPE) is met in time too.
 */
static const char *const harmless[] = {
    "READONLY ", "LOADING ", "OOM ", "NOPERM ", "NOAUTH ", "WRONGPASS ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ",
    "MISCONF ", "NOREPLICAS ", "BUSY ", "CROSSSLOT ", "WRONGTYPE ", "DENIED ", "ERR max number of clients",
    "ERR unknown command",
};

static bool begins(const redisReply *reply, const char *word)
{
    return strncmp(reply->str, word, strlen(word)) == 0;
}

/* "MOVED 3999 127.0.0.1:6381"; the host may be empty, or hold colons of its own. */
static bool read_place(const char *text, weiri_redis_place *place)
{
    char *end;
    unsigned long slot = strtoul(text, &end, 10);
    const char *colon = strrchr(end, ':');
    if (end == text || *end != ' ' || !colon || slot > 16383)
        return false;
    const char *host = end + 1;
    size_t length = (size_t)(colon - host);
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (length >= sizeof place->host || end == colon + 1 || *end != '\0' || port < 1 || port > UINT16_MAX)
        return false;
    *place = (weiri_redis_place){.slot = (unsigned)slot, .port = (uint16_t)port};
    memcpy(place->host, host, length);
    return true;
}

static enum weiri_redis_outcome read_error(const redisReply *reply, weiri_redis_place *place)
{
    if (begins(reply, "NOSCRIPT "))
        return WEIRI_REDIS_NOSCRIPT;
    if (begins(reply, "MOVED "))
        return read_place(reply->str + strlen("MOVED "), place) ? WEIRI_REDIS_MOVED : WEIRI_REDIS_REFUSED;
    if (begins(reply, "ASK "))
        return read_place(reply->str + strlen("ASK "), place) ? WEIRI_REDIS_ASK : WEIRI_REDIS_REFUSED;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (begins(reply, harmless[i]))
            return WEIRI_REDIS_REFUSED;
    return WEIRI_REDIS_GARBLED;
}

/* What the scripts return: verdict, rule, remaining, retry (-1: never), release; in us. */
enum { VERDICT, RULE, REMAINING, RETRY, RELEASE, FIELDS };

static bool read_fields(const redisReply *reply, int64_t field[FIELDS])
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != FIELDS)
        return false;
    for (size_t i = 0; i < FIELDS; i++) {
        const redisReply *element = reply->element[i];
        if (element->type != REDIS_REPLY_INTEGER || element->integer < -1 || element->integer > NUMBER_MAX)
            return false;
        field[i] = element->integer;
    }
    return true;
}

/* One that a script of ours can have written: a refusal waits, an acceptance does not. */
static bool makes_sense(const weiri_redis_rules *rules, const int64_t field[FIELDS])
{
    bool waits = field[RETRY] != 0;
    return (field[VERDICT] == 0 || field[VERDICT] == 1) && waits == (field[VERDICT] == 0) && field[RULE] >= 0 &&
           field[RULE] < rules->count && field[REMAINING] >= 0 && field[RELEASE] >= 0;
}

enum weiri_redis_outcome weiri_redis_answer(const weiri_redis_rules *rules, const weiri_redis_question *question,
                                            const redisReply *reply, weir_decision *decision,
                                            weiri_redis_place *place)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return read_error(reply, place);
    if (question->verb == WEIRI_REDIS_RESET)
        return reply->type == REDIS_REPLY_INTEGER && reply->integer == 1 ? WEIRI_REDIS_ANSWERED : WEIRI_REDIS_GARBLED;
    int64_t field[FIELDS];
    if (!read_fields(reply, field) || !makes_sense(rules, field))
        return WEIRI_REDIS_GARBLED;
    *decision = (weir_decision){ /* 2^53 us are below 2^63 ns */
        .verdict = (int32_t)field[VERDICT],
        .rule = (uint32_t)field[RULE],
        .limit = question->limits.limit[field[RULE]],
        .remaining = (uint64_t)field[REMAINING],
        .retry_after_ns = field[RETRY] < 0 ? WEIR_NEVER : (uint64_t)field[RETRY] * WEIR_MICROSECOND,
        .release_after_ns = (uint64_t)field[RELEASE] * WEIR_MICROSECOND,
    };
    return WEIRI_REDIS_ANSWERED;
}
