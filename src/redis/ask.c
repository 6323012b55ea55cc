/* Rounds of a pipeline. */
#include "redis/ask.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 3 };

/* One call of weiri_redis_ask. */
typedef struct asking {
    const weiri_redis_rules *rules;
    weiri_redis_server *server;
    weiri_redis_job **jobs; /* the first `count` are to be sent in this round */
    size_t count;
    size_t answered; /* of these */
    bool failed;     /* the server did not do what it was asked */
    weiri_redis_tally *tally;
    weiri_redis_text *why;
    char *bytes;
    size_t length;
    size_t room; /* at `bytes` */
} asking;

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* An error for an answer, in words. */
static void say_reply(const weiri_redis_server *server, const redisReply *reply, weiri_redis_text *why)
{
    if (reply->type != REDIS_REPLY_ERROR)
        weiri_redis_say(why, "garbled reply: not what the script returns (%s)", server->name);
    else if (starts_with(reply->str, "MOVED ") || starts_with(reply->str, "ASK ") ||
             starts_with(reply->str, "CLUSTERDOWN"))
        weiri_redis_say(why, "%.240s: it is a node of a cluster, set options.cluster (%s)", reply->str, server->name);
    else
        weiri_redis_say(why, "%.300s (%s)", reply->str, server->name);
}

bool weiri_redis_job_reply(const weiri_redis_rules *rules, const weiri_redis_server *server, weiri_redis_job *job,
                           const redisReply *reply, weiri_redis_text *why)
{
    weiri_redis_place place;
    switch (weiri_redis_answer(rules, &job->question, reply, &job->decision, &place)) {
    case WEIRI_REDIS_ANSWERED:
        job->fate = WEIRI_REDIS_DONE;
        return true;
    case WEIRI_REDIS_NOSCRIPT:
        return true;
    case WEIRI_REDIS_MOVED:
    case WEIRI_REDIS_ASK:
    case WEIRI_REDIS_REFUSED:
        job->fate = WEIRI_REDIS_DENIED;
        break;
    case WEIRI_REDIS_GARBLED:
        job->fate = WEIRI_REDIS_LOST;
        break;
    }
    say_reply(server, reply, why);
    return false;
}

/* The next answer. */
static void take_reply(void *argument, redisReply *reply)
{
    asking *run = argument;
    weiri_redis_job *job = run->jobs[run->answered++];
    if (!weiri_redis_job_reply(run->rules, run->server, job, reply, run->why))
        run->failed = true;
}

static void deny_all(const asking *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->jobs[i]->fate == WEIRI_REDIS_PENDING)
            run->jobs[i]->fate = WEIRI_REDIS_DENIED;
}

/* Makes room for so many bytes more, twice as much as before at least: many commands are copied a few times in all. */
static bool make_room(asking *run, size_t length)
{
    size_t room = run->length + length > 2 * run->room ? run->length + length : 2 * run->room;
    if (run->length + length <= run->room)
        return true;
    char *grown = realloc(run->bytes, room);
    if (!grown)
        return false;
    run->bytes = grown;
    run->room = room;
    return true;
}

/* Adds a job's command to what will be written. */
static bool append(asking *run, weiri_redis_job *job, bool whole)
{
    size_t length = 0;
    char *command = weiri_redis_command(run->rules, &job->question, whole, &length);
    bool added = command && make_room(run, length);
    if (added) {
        memcpy(run->bytes + run->length, command, length);
        run->length += length;
        job->end = run->length;
        run->tally->loads += whole;
    }
    free(command);
    return added;
}

/* Writes the commands of a round; false: no memory, nothing is to be sent. */
static bool compose(asking *run, unsigned round)
{
    run->length = 0;
    run->answered = 0;
    for (size_t i = 0; i < run->count; i++) {
        if (append(run, run->jobs[i], round > 1 || (round == 1 && i == 0)))
            continue;
        weiri_redis_say(run->why, "no memory for a command (%s)", run->server->name);
        return false;
    }
    return true;
}

/* What a connection that was lost leaves behind. A command that was not written to its end cannot have been carried
 * out: the server waits for the rest, and then finds the connection closed. */
static void settle_lost(const asking *run, const weiri_redis_exchange *exchange)
{
    for (size_t i = exchange->received; i < run->count; i++)
        run->jobs[i]->fate = run->jobs[i]->end <= exchange->sent ? WEIRI_REDIS_LOST : WEIRI_REDIS_DENIED;
}

static void send_round(asking *run, weiri_redis_visit *visit)
{
    weiri_redis_exchange exchange = {.bytes = run->bytes,
                                     .length = run->length,
                                     .replies = run->count,
                                     .reply = take_reply,
                                     .argument = run,
                                     .deadline = visit->deadline,
                                     .timeout = run->server->command_timeout};
    weiri_redis_text lost;
    uint64_t sent = weiri_redis_now();
    bool whole = weiri_redis_link_exchange(&visit->link, &exchange, &lost);
    uint64_t answered = weiri_redis_now();
    for (size_t i = 0; i < run->count; i++) {
        run->jobs[i]->sent = sent;
        run->jobs[i]->answered = answered;
    }
    run->tally->commands += run->count;
    run->tally->round_trips++;
    if (whole)
        return;
    settle_lost(run, &exchange);
    run->failed = true;
    weiri_redis_say(run->why, "%.300s (%s)", lost.text, run->server->name);
}

/* Leaves those that are to be sent again at the front, in their order. */
static void keep_pending(asking *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->count; i++)
        if (run->jobs[i]->fate == WEIRI_REDIS_PENDING)
            run->jobs[kept++] = run->jobs[i];
    run->count = kept;
}

/* Is another round to be sent? After a failure the connection is of no more use. */
static bool may_send(asking *run, const weiri_redis_visit *visit, unsigned round)
{
    if (run->failed || run->count == 0)
        return false;
    if (round == ROUNDS_MAX) {
        weiri_redis_say(run->why, "NOSCRIPT for a script that was sent whole (%s)", run->server->name);
        run->failed = true;
    } else if (weiri_redis_now() >= visit->deadline) {
        weiri_redis_say(run->why, "no time was left to ask (%s)", run->server->name);
        return false;
    }
    return round < ROUNDS_MAX && compose(run, round);
}

static void visit_rounds(asking *run, weiri_redis_visit *visit)
{
    unsigned round = 0;
    for (; may_send(run, visit, round); round++) {
        send_round(run, visit);
        keep_pending(run);
    }
    deny_all(run);
    if (round > 0)
        weiri_redis_visit_end(run->server, visit, run->failed);
    else
        weiri_redis_visit_abandon(run->server, visit);
}

void weiri_redis_ask(const weiri_redis_rules *rules, weiri_redis_server *server, weiri_redis_job **jobs, size_t count,
                     uint64_t *deadline, weiri_redis_tally *tally, weiri_redis_text *why)
{
    asking run = {.rules = rules, .server = server, .jobs = jobs, .count = count, .tally = tally, .why = why};
    weiri_redis_visit visit;
    weiri_redis_text refused = {.text = ""};
    why->text[0] = '\0';
    if (!weiri_redis_visit_begin(server, &visit, *deadline, &refused)) {
        deny_all(&run);
        if (refused.text[0])
            weiri_redis_say(why, "%.300s (%s)", refused.text, server->name);
        return;
    }
    *deadline = visit.deadline;
    visit_rounds(&run, &visit);
    free(run.bytes);
}
