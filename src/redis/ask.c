/* Rounds of a pipeline. */
#include "redis/ask.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 3 };

const char weiri_redis_asking_command[] = "*1\r\n$6\r\nASKING\r\n";

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* An error for an answer, in words. */
static void say_reply(const weiri_redis_server *server, const redisReply *reply, weiri_redis_text *why)
{
    if (reply->type != REDIS_REPLY_ERROR)
        weiri_redis_say(why, "garbled reply: not what the script returns (%s)", server->name);
    else if (!server->in_cluster && (starts_with(reply->str, "MOVED ") || starts_with(reply->str, "ASK ") ||
                                     starts_with(reply->str, "CLUSTERDOWN")))
        weiri_redis_say(why, "%.240s: it is a node of a cluster, set options.cluster (%s)", reply->str, server->name);
    else
        weiri_redis_say(why, "%.300s (%s)", reply->str, server->name);
}

/* Errors that tell of one slot, or of the cluster, and nothing of the node. */
static bool spares_the_node(const weiri_redis_server *server, const redisReply *reply)
{
    return server->in_cluster && (starts_with(reply->str, "TRYAGAIN") || starts_with(reply->str, "CLUSTERDOWN"));
}

bool weiri_redis_job_answer(const weiri_redis_rules *rules, const weiri_redis_server *server, weiri_redis_job *job,
                            const redisReply *reply, weiri_redis_place *place, weiri_redis_text *why)
{
    enum weiri_redis_outcome outcome = weiri_redis_answer(rules, &job->question, reply, &job->decision, place);
    bool moved = outcome == WEIRI_REDIS_MOVED || outcome == WEIRI_REDIS_ASK;
    if (outcome == WEIRI_REDIS_ANSWERED)
        job->fate = WEIRI_REDIS_DONE;
    else if (moved && server->in_cluster)
        job->fate = outcome == WEIRI_REDIS_ASK ? WEIRI_REDIS_FOR_ONCE : WEIRI_REDIS_ELSEWHERE;
    else if (outcome != WEIRI_REDIS_NOSCRIPT) {
        job->fate = outcome == WEIRI_REDIS_GARBLED ? WEIRI_REDIS_LOST : WEIRI_REDIS_DENIED;
        say_reply(server, reply, why);
        return outcome == WEIRI_REDIS_REFUSED && spares_the_node(server, reply);
    }
    return true;
}

/* The next answer. What ASKING is answered is of no interest: without it, the command is answered by MOVED. */
static void take_reply(void *argument, redisReply *reply)
{
    weiri_redis_asking *asking = argument;
    weiri_redis_inquiry *inquiry = asking->inquiry;
    weiri_redis_job *job = asking->jobs[asking->answered];
    weiri_redis_place place;
    if (job->asking && asking->announced == asking->answered) {
        asking->announced++;
        return;
    }
    asking->announced = ++asking->answered;
    if (!weiri_redis_job_answer(inquiry->rules, asking->server, job, reply, &place, &inquiry->why))
        asking->failed = true;
    if (job->fate == WEIRI_REDIS_ELSEWHERE || job->fate == WEIRI_REDIS_FOR_ONCE)
        inquiry->redirect(inquiry->argument, job, &place);
}

static void deny_all(const weiri_redis_asking *asking)
{
    for (size_t i = 0; i < asking->count; i++)
        if (asking->jobs[i]->fate == WEIRI_REDIS_PENDING)
            asking->jobs[i]->fate = WEIRI_REDIS_DENIED;
}

/* Makes room for so many bytes more, twice as much as before at least: many commands are copied a few times in all. */
static bool make_room(weiri_redis_asking *asking, size_t length)
{
    size_t needed = asking->length + length, room = needed > 2 * asking->room ? needed : 2 * asking->room;
    if (needed <= asking->room)
        return true;
    char *grown = realloc(asking->bytes, room);
    if (!grown)
        return false;
    asking->bytes = grown;
    asking->room = room;
    return true;
}

static void append_bytes(weiri_redis_asking *asking, const char *bytes, size_t length)
{
    memcpy(asking->bytes + asking->length, bytes, length);
    asking->length += length;
}

/* Adds a job's command to what will be written. */
static bool append(weiri_redis_asking *asking, weiri_redis_job *job, bool whole)
{
    size_t length = 0;
    char *command = weiri_redis_command(asking->inquiry->rules, &job->question, whole, &length);
    size_t before = job->asking ? sizeof weiri_redis_asking_command - 1 : 0;
    bool done = command && make_room(asking, before + length);
    if (done) {
        append_bytes(asking, weiri_redis_asking_command, before);
        append_bytes(asking, command, length);
        job->end = asking->length;
        asking->exchange.replies += 1 + job->asking;
        asking->inquiry->tally.loads += whole;
    }
    free(command);
    return done;
}

/* Writes the commands of a round; false: no memory, nothing is to be sent. */
static bool compose(weiri_redis_asking *asking)
{
    weiri_redis_inquiry *inquiry = asking->inquiry;
    asking->length = 0;
    asking->answered = asking->announced = 0;
    asking->exchange = (weiri_redis_exchange){.reply = take_reply, .argument = asking};
    for (size_t i = 0; i < asking->count; i++) {
        if (append(asking, asking->jobs[i], asking->round > 1 || (asking->round == 1 && i == 0)))
            continue;
        weiri_redis_say(&inquiry->why, "no memory for a command (%s)", asking->server->name);
        return false;
    }
    asking->exchange.bytes = asking->bytes;
    asking->exchange.length = asking->length;
    asking->exchange.deadline = inquiry->time.deadline;
    asking->exchange.timeout = asking->server->command_timeout;
    return true;
}

/* What a connection that was lost leaves behind. A command that was not written to its end cannot have been carried
 * out: the server waits for the rest, and then finds the connection closed. */
static void settle_lost(const weiri_redis_asking *asking)
{
    for (size_t i = asking->answered; i < asking->count; i++)
        asking->jobs[i]->fate = asking->jobs[i]->end <= asking->exchange.sent ? WEIRI_REDIS_LOST : WEIRI_REDIS_DENIED;
}

/* Brings those that are to be sent again to the front, in their order. */
static void keep_pending(weiri_redis_asking *asking)
{
    size_t kept = 0;
    for (size_t i = 0; i < asking->count; i++) {
        weiri_redis_job *job = asking->jobs[i];
        if (job->fate != WEIRI_REDIS_PENDING)
            continue;
        asking->jobs[i] = asking->jobs[kept];
        asking->jobs[kept++] = job;
    }
    asking->count = kept;
}

void weiri_redis_asking_settle(weiri_redis_asking *asking, bool whole, const weiri_redis_text *lost)
{
    uint64_t answered = weiri_redis_now();
    for (size_t i = 0; i < asking->count; i++)
        asking->jobs[i]->answered = answered;
    asking->inquiry->tally.commands += asking->count;
    asking->inquiry->tally.round_trips++;
    asking->round++;
    if (!whole) {
        settle_lost(asking);
        asking->failed = true;
        weiri_redis_say(&asking->inquiry->why, "%.300s (%s)", lost->text, asking->server->name);
    }
    keep_pending(asking);
}

/* Is another round to be sent? After a failure the connection is of no more use. */
static bool may_send(weiri_redis_asking *asking)
{
    weiri_redis_inquiry *inquiry = asking->inquiry;
    if (asking->failed || asking->count == 0)
        return false;
    if (asking->round == ROUNDS_MAX) {
        weiri_redis_say(&inquiry->why, "NOSCRIPT for a script that was sent whole (%s)", asking->server->name);
        asking->failed = true;
    } else if (weiri_redis_now() >= inquiry->time.deadline) {
        weiri_redis_say(&inquiry->why, "no time was left to ask (%s)", asking->server->name);
        return false;
    }
    return asking->round < ROUNDS_MAX && compose(asking);
}

bool weiri_redis_asking_compose(weiri_redis_asking *asking)
{
    if (may_send(asking)) {
        uint64_t sent = weiri_redis_now();
        for (size_t i = 0; i < asking->count; i++)
            asking->jobs[i]->sent = sent;
        return true;
    }
    deny_all(asking);
    if (asking->round > 0)
        weiri_redis_visit_end(asking->server, &asking->visit, asking->failed);
    else
        weiri_redis_visit_abandon(asking->server, &asking->visit);
    free(asking->bytes);
    asking->bytes = NULL;
    asking->over = true;
    return false;
}

weiri_redis_asking weiri_redis_asking_of(weiri_redis_inquiry *inquiry, weiri_redis_server *server,
                                         weiri_redis_job **jobs, size_t count)
{
    return (weiri_redis_asking){.inquiry = inquiry, .server = server, .jobs = jobs, .count = count};
}

void weiri_redis_ask(weiri_redis_asking *asking)
{
    weiri_redis_inquiry *inquiry = asking->inquiry;
    weiri_redis_text why = {.text = ""};
    asking->had = weiri_redis_visit_begin(asking->server, &asking->visit, &inquiry->time, &why);
    if (!asking->had) {
        if (why.text[0])
            weiri_redis_say(&inquiry->why, "%.300s (%s)", why.text, asking->server->name);
        return;
    }
    while (weiri_redis_asking_compose(asking)) {
        bool whole = weiri_redis_link_exchange(&asking->visit.link, &asking->exchange, &why);
        weiri_redis_asking_settle(asking, whole, &why);
    }
}
