/*
 * Questions asked of one server: written at once, answered in order.
 *
 * A script that the server has lost (restart, SCRIPT FLUSH) is a refusal to carry out: those commands, and they alone,
 * are sent again in their order, the first one whole, which loads it; in a third round all whole, which cannot be
 * answered so. Nothing else is ever sent again: a command that was answered is done, one whose answer was lost may be.
 *
 * What holds for one key that comes twice in a pipeline: both are charged once, in the order of the pipeline. Only
 * where somebody else loads the script between the two, a later one is carried out before an earlier one, as if it had
 * been another client's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_ASK_H
#define WEIRI_REDIS_ASK_H

#include "redis/command.h"
#include "redis/remembered.h"
#include "redis/server.h"

enum weiri_redis_fate {
    WEIRI_REDIS_PENDING, /* not carried out so far */
    WEIRI_REDIS_DONE,    /* answered */
    WEIRI_REDIS_DENIED,  /* surely not carried out, and not to be sent again */
    WEIRI_REDIS_LOST     /* sent, but not answered: may have been carried out */
};

typedef struct weiri_redis_job {
    weiri_redis_question question;
    weiri_redis_subject subject;
    weir_decision decision; /* where DONE */
    enum weiri_redis_fate fate;
    size_t end;        /* of its command, in what is written */
    uint64_t sent;     /* ns, CLOCK_MONOTONIC: before it was */
    uint64_t answered; /* after it was */
} weiri_redis_job;

/* Takes the answer to a job's command: its fate becomes DONE, DENIED or LOST, or stays PENDING: to be sent again whole.
 * False: the server did not do what it was asked, *why tells. */
bool weiri_redis_job_reply(const weiri_redis_rules *rules, const weiri_redis_server *server, weiri_redis_job *job,
                           const redisReply *reply, weiri_redis_text *why);

/* What happened on the way. */
typedef struct weiri_redis_tally {
    uint64_t commands;
    uint64_t round_trips;
    uint64_t loads; /* scripts sent whole */
} weiri_redis_tally;

/*
 * Asks all `jobs`, which are PENDING and of one verb; afterwards none is. The pointers are put in another order.
 *   deadline  moved by the time that connecting takes
 *   why       text of the last thing that went wrong, "" where nothing did
 */
void weiri_redis_ask(const weiri_redis_rules *rules, weiri_redis_server *server, weiri_redis_job **jobs, size_t count,
                     uint64_t *deadline, weiri_redis_tally *tally, weiri_redis_text *why);

#endif
