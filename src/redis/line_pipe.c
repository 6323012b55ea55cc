/* What is written on an event loop's connection, and what comes back. */
#include <stdlib.h>
#include <string.h>

#include "redis/lines.h"

/* A call is written three times at most: of those that came back once the first is sent whole, the third time all. */
enum { ROUNDS_MAX = 3, OUT_KEPT = 65536 };

static void settle(weiri_redis_line *line, weiri_redis_call *call, enum weiri_redis_fate fate,
                   enum weiri_redis_report report)
{
    call->job.fate = fate;
    call->report = report;
    weiri_redis_calls_add(&line->settled, call);
}

/* ---- Out ---- */

/* Room for `length` more bytes. */
static bool make_room(weiri_redis_line *line, size_t length)
{
    weiri_redis_exchange *exchange = &line->exchange;
    if (exchange->sent > 0) {
        memmove(line->out, line->out + exchange->sent, exchange->length - exchange->sent);
        line->before += exchange->sent;
        exchange->length -= exchange->sent;
        exchange->sent = 0;
    }
    if (line->room - exchange->length >= length)
        return true;
    size_t room = (exchange->length + length) * 2;
    char *grown = realloc(line->out, room);
    if (!grown)
        return false;
    line->out = grown;
    line->room = room;
    exchange->bytes = grown;
    return true;
}

static bool has_room(weiri_redis_line *line, size_t length)
{
    return line->room - line->exchange.length >= length || make_room(line, length);
}

static void append_bytes(weiri_redis_line *line, const char *bytes, size_t length)
{
    memcpy(line->out + line->exchange.length, bytes, length);
    line->exchange.length += length;
}

static bool append_map_command(weiri_redis_line *line, weiri_redis_call *call)
{
    size_t length = strlen(weiri_redis_map_command);
    if (!has_room(line, length))
        return false;
    append_bytes(line, weiri_redis_map_command, length);
    call->job.end = line->before + line->exchange.length;
    line->map_awaited = true;
    return true;
}

static bool append(weiri_redis_line *line, weiri_redis_call *call, bool whole)
{
    size_t length = 0, before = call->job.asking ? strlen(weiri_redis_asking_command) : 0;
    char *command = weiri_redis_command(&line->limiter->rules, &call->job.question, whole, &length);
    bool done = command && has_room(line, before + length);
    if (done) {
        append_bytes(line, weiri_redis_asking_command, before);
        append_bytes(line, command, length);
        call->job.end = line->before + line->exchange.length;
        call->announced = false;
        call->rounds++;
        line->askings += call->job.asking;
        line->tally.commands++;
        line->tally.loads += whole;
    }
    free(command);
    return done;
}

/* Writes the commands of all these calls. */
static void compose(weiri_redis_line *line, weiri_redis_calls *calls)
{
    uint64_t now = weiri_redis_now();
    weiri_redis_call *call;
    for (bool first = true; (call = weiri_redis_calls_take(calls)); first = false) {
        bool whole = call->rounds > 1 || (call->rounds == 1 && first);
        call->job.sent = now;
        if (call->fetches ? append_map_command(line, call) : append(line, call, whole)) {
            weiri_redis_calls_add(&line->sent, call);
        } else {
            weiri_redis_say(&line->why, "no memory for a command (%s)", line->server->name);
            settle(line, call, WEIRI_REDIS_DENIED, WEIRI_REDIS_ABANDONED);
        }
    }
}

static void take_reply(void *argument, redisReply *reply);

/* The answers that may come now; also where sending finds the connection closed, and what came before is read. */
static void expect(weiri_redis_line *line)
{
    bool greeting = line->state == WEIRI_REDIS_GREETING;
    line->exchange.replies = line->sent.count + line->askings;
    if (greeting)
        line->exchange.replies = line->greeting.count - line->greeting.answered;
    line->exchange.received = 0;
    line->exchange.longest = line->map_awaited ? WEIRI_REDIS_MAP_LONGEST : 0;
    line->exchange.reply = greeting ? weiri_redis_greeted : take_reply;
    line->exchange.argument = greeting ? (void *)&line->greeting : line;
}

static bool send_out(weiri_redis_line *line)
{
    weiri_redis_text lost;
    expect(line);
    if (!weiri_redis_link_send(&line->link, &line->exchange, &lost)) {
        weiri_redis_say(&line->why, "%.300s (%s)", lost.text, line->server->name);
        return false;
    }
    if (line->exchange.sent == line->exchange.length) {
        line->before += line->exchange.length;
        line->exchange.length = 0;
        line->exchange.sent = 0;
        if (line->room > OUT_KEPT) {
            free(line->out);
            line->out = NULL;
            line->room = 0;
        }
    }
    return true;
}

bool weiri_redis_line_write(weiri_redis_line *line)
{
    size_t before = line->sent.count;
    if (weiri_redis_line_has_calls(line)) {
        compose(line, &line->again);
        compose(line, &line->waiting);
        line->tally.round_trips += line->sent.count > before;
    }
    return line->exchange.sent == line->exchange.length || send_out(line);
}

/* ---- In ---- */

/* What ASKING is answered is of no interest: without it, the command is answered by MOVED. */
static bool answers_asking(weiri_redis_line *line)
{
    weiri_redis_call *call = line->sent.first;
    if (!call->job.asking || call->announced)
        return false;
    call->announced = true;
    line->askings--;
    return true;
}

static void take_map(weiri_redis_line *line, weiri_redis_call *call, const redisReply *reply)
{
    weiri_redis_fetch_take(&line->lines->fetch, line->server, reply, &line->why);
    line->map_awaited = false;
    settle(line, call, WEIRI_REDIS_DONE, WEIRI_REDIS_SUCCEEDED);
}

/* The job's fate. In a cluster it may be another node's: that one is used from now on. */
static bool judge(weiri_redis_line *line, weiri_redis_job *job, const redisReply *reply)
{
    weiri_redis_place place;
    bool done = weiri_redis_job_answer(&line->limiter->rules, line->server, job, reply, &place, &line->why);
    if (job->fate == WEIRI_REDIS_ELSEWHERE || job->fate == WEIRI_REDIS_FOR_ONCE)
        job->next = weiri_redis_node_named(line->limiter->cluster, line->node, &place,
                                           job->fate == WEIRI_REDIS_ELSEWHERE);
    return done;
}

static void take_reply(void *argument, redisReply *reply)
{
    weiri_redis_line *line = argument;
    line->proved = true;
    if (answers_asking(line))
        return;
    weiri_redis_call *call = weiri_redis_calls_take(&line->sent);
    if (call->fetches) {
        take_map(line, call, reply);
        return;
    }
    bool done = judge(line, &call->job, reply);
    call->job.answered = weiri_redis_now();
    if (call->job.fate == WEIRI_REDIS_PENDING && call->rounds < ROUNDS_MAX) {
        weiri_redis_calls_add(&line->again, call);
        return;
    }
    if (call->job.fate == WEIRI_REDIS_PENDING) {
        weiri_redis_say(&line->why, "NOSCRIPT for a script that was sent whole (%s)", line->server->name);
        call->job.fate = WEIRI_REDIS_DENIED;
        done = false;
    }
    line->spoilt |= !done;
    settle(line, call, call->job.fate, done ? WEIRI_REDIS_SUCCEEDED : WEIRI_REDIS_FAILED);
}

bool weiri_redis_line_read(weiri_redis_line *line)
{
    bool greeting = line->state == WEIRI_REDIS_GREETING;
    weiri_redis_text lost;
    expect(line);
    bool read = weiri_redis_link_receive(&line->link, &line->exchange, &lost);
    bool all = line->exchange.received == line->exchange.replies;
    if (line->exchange.received > 0)
        line->exchange.arrived = 0; /* of the answer that has begun to come, at most one read of it is here */
    if (read && all && line->link.reader->pos < line->link.reader->len) {
        weiri_redis_say(&lost, "garbled reply: more came than was asked for");
        line->spoilt = true;
        read = false;
    }
    if (!read)
        weiri_redis_say(&line->why, "%.300s (%s)", lost.text, line->server->name);
    return read && (!greeting || weiri_redis_line_greeted(line));
}
