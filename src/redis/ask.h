/*
 * Questions asked of one server, or of several at once: written at once, answered in order.
 *
 * A script that the server has lost (restart, SCRIPT FLUSH) is a refusal to carry out: those commands, and they alone,
 * are sent again in their order, the first one whole, which loads it; in a third round all whole, which cannot be
 * answered so. Nothing else is ever sent again here: a command that was answered is done, one whose answer was lost may
 * be. What the node of a cluster refused since another has the slot is left to who knows the others (cluster.h).
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
    WEIRI_REDIS_PENDING,   /* not carried out so far */
    WEIRI_REDIS_DONE,      /* answered */
    WEIRI_REDIS_DENIED,    /* surely not carried out, and not to be sent again */
    WEIRI_REDIS_LOST,      /* sent, but not answered: may have been carried out */
    WEIRI_REDIS_ELSEWHERE, /* not carried out: another node of the cluster must be asked */
    WEIRI_REDIS_FOR_ONCE   /* the same, for this once and after ASKING */
};

struct weiri_redis_node;

typedef struct weiri_redis_job {
    weiri_redis_question question;
    weiri_redis_subject subject;
    weir_decision decision; /* where DONE */
    enum weiri_redis_fate fate;
    size_t end;        /* of its command, in what is written */
    uint64_t sent;     /* ns, CLOCK_MONOTONIC: before it was */
    uint64_t answered; /* after it was */
    /* In a cluster: */
    unsigned slot;
    bool asking;                   /* ASKING goes before it */
    struct weiri_redis_node *node; /* asked */
    struct weiri_redis_node *next; /* where to go, if anywhere */
} weiri_redis_job;

extern const char weiri_redis_asking_command[];

/* Takes the answer to a job's command: its fate becomes another, or stays PENDING: to be sent again whole. *place is
 * filled where it is ELSEWHERE or FOR_ONCE, which only a node of a cluster makes it.
 * False: the server did not do what it was asked, *why tells. */
bool weiri_redis_job_answer(const weiri_redis_rules *rules, const weiri_redis_server *server, weiri_redis_job *job,
                            const redisReply *reply, weiri_redis_place *place, weiri_redis_text *why);

/* What happened on the way. */
typedef struct weiri_redis_tally {
    uint64_t commands;
    uint64_t round_trips;
    uint64_t loads;      /* scripts sent whole */
    uint64_t redirected; /* jobs sent to another node */
} weiri_redis_tally;

/* What a call gives and gets, whichever servers it asks. */
typedef struct weiri_redis_inquiry {
    const weiri_redis_rules *rules;
    weiri_redis_time time;
    weiri_redis_tally tally;
    weiri_redis_text why; /* what went wrong last; "" where nothing did */
    /* Told of a job whose fate is ELSEWHERE or FOR_ONCE; NULL outside a cluster. */
    void (*redirect)(void *argument, weiri_redis_job *job, const weiri_redis_place *place);
    void *argument;
} weiri_redis_inquiry;

/* What one server is asked during a call. */
typedef struct weiri_redis_asking {
    weiri_redis_inquiry *inquiry;
    weiri_redis_server *server;
    weiri_redis_job **jobs; /* the first `count` are to be sent in this round */
    size_t count;
    size_t answered;  /* of these */
    size_t announced; /* of these: the answer to their ASKING came */
    unsigned round;
    bool had;    /* the server could be had; else nothing was sent */
    bool failed; /* it did not do what it was asked */
    bool over;
    weiri_redis_visit visit;
    weiri_redis_exchange exchange; /* of this round */
    char *bytes;
    size_t length;
    size_t room; /* at `bytes` */
} weiri_redis_asking;

/* Of `jobs`, which are PENDING and of one verb. The pointers are put in another order. */
weiri_redis_asking weiri_redis_asking_of(weiri_redis_inquiry *inquiry, weiri_redis_server *server,
                                         weiri_redis_job **jobs, size_t count);

/* Asks. Afterwards no job is PENDING, unless the server could not be had (asking->had): then all are. */
void weiri_redis_ask(weiri_redis_asking *asking);

/* Asks several servers, each once in the list, at once: all is written before any answer is waited for. */
void weiri_redis_ask_all(weiri_redis_asking *askings, size_t count);

/* The steps of both, after a visit has begun. Makes ready what is to be written in the next round; false: it is over,
 * and so is the visit. */
bool weiri_redis_asking_compose(weiri_redis_asking *asking);

/* After a round; whole: all its replies came. */
void weiri_redis_asking_settle(weiri_redis_asking *asking, bool whole, const weiri_redis_text *lost);

#endif
