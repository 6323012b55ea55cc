/*
 * A question as the bytes of a command, and an answer as a decision. Pure: no connection, no clock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_COMMAND_H
#define WEIRI_REDIS_COMMAND_H

#include <hiredis/hiredis.h>

#include "redis/rules.h"

enum weiri_redis_verb { WEIRI_REDIS_TAKE, WEIRI_REDIS_PEEK, WEIRI_REDIS_RESET };

typedef struct weiri_redis_question {
    enum weiri_redis_verb verb;
    const weir_request *request;
    uint64_t now; /* as the caller gave it */
    weiri_redis_limits limits;
} weiri_redis_question;

/* 0, or -EINVAL where a request or `now` is not in range (as weir_redis_take). */
int weiri_redis_question_check(const weiri_redis_rules *rules, const weir_request *request, uint64_t now);

/* The cluster slot of a key, 0 ... 16383: the same for all names that a script is given for it. */
unsigned weiri_redis_slot(const weiri_redis_rules *rules, const void *key, size_t key_len);

/*
 * The command in Redis's protocol, to be freed with free(); NULL: no memory. `whole`: EVAL with the script's text,
 * which also loads it; else EVALSHA.
 */
char *weiri_redis_command(const weiri_redis_rules *rules, const weiri_redis_question *question, bool whole,
                          size_t *length);

/* What became of a command. */
enum weiri_redis_outcome {
    WEIRI_REDIS_ANSWERED, /* *decision is filled (for a reset: nothing to fill) */
    WEIRI_REDIS_NOSCRIPT, /* not carried out: send it whole */
    WEIRI_REDIS_MOVED,    /* not carried out: the slot is elsewhere for good; *place is filled */
    WEIRI_REDIS_ASK,      /* not carried out: elsewhere for this once, after ASKING */
    WEIRI_REDIS_REFUSED,  /* an error that says that nothing was written: READONLY, LOADING, OOM, NOPERM, NOAUTH, ... */
    WEIRI_REDIS_GARBLED   /* another error, or not what the script returns: its fate is unknown */
};

typedef struct weiri_redis_place {
    unsigned slot;
    char host[256]; /* empty: the host that answered */
    uint16_t port;
} weiri_redis_place;

enum weiri_redis_outcome weiri_redis_answer(const weiri_redis_rules *rules, const weiri_redis_question *question,
                                            const redisReply *reply, weir_decision *decision,
                                            weiri_redis_place *place);

#endif
