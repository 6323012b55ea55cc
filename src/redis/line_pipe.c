/* What is written on an event loop's connection, and what comes back. */
#include <stdlib.h>
#include <string.h>

#include "redis/line.h"

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

static bool append(weiri_redis_line *line, weiri_redis_call *call, bool whole)
{
    size_t length = 0;
    char *command = weiri_redis_command(&line->limiter->rules, &call->job.question, whole, &length);
    bool done = command && (line->room - line->exchange.length >= length || make_room(line, length));
    if (done) {
        memcpy(line->out + line->exchange.length, command, length);
        line->exchange.length += length;
        call->job.end = line->before + line->exchange.length;
        call->rounds++;
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
        if (append(line, call, whole)) {
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
    line->exchange.replies = greeting ? line->greeting.count - line->greeting.answered : line->sent.count;
    line->exchange.received = 0;
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

static void take_reply(void *argument, redisReply *reply)
{
    weiri_redis_line *line = argument;
    weiri_redis_call *call = weiri_redis_calls_take(&line->sent);
    bool done = weiri_redis_job_reply(&line->limiter->rules, line->server, &call->job, reply, &line->why);
    call->job.answered = weiri_redis_now();
    line->proved = true;
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
