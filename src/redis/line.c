/* An event loop's connection: its events, its time, its end. */
#include "redis/lines.h"

#include <errno.h>
#include <stdlib.h>

/* ---- What the loop is told ---- */

static uint64_t sooner(uint64_t time, uint64_t other)
{
    return other < time ? other : time;
}

/* Connecting has its own time, and leaves a call all that it has. */
static uint64_t end_of(const weiri_redis_line *line, const weiri_redis_call *call)
{
    return line->state == WEIRI_REDIS_READY ? call->deadline : call->limit;
}

static uint64_t soonest_of(const weiri_redis_line *line, const weiri_redis_calls *calls)
{
    uint64_t time = UINT64_MAX;
    for (const weiri_redis_call *call = calls->first; call; call = call->next)
        time = sooner(time, end_of(line, call));
    return time;
}

/* Between two looks at all calls, line->soonest gets no later: calls that were answered may have had it. */
static void look_for_soonest(weiri_redis_line *line)
{
    line->soonest = sooner(soonest_of(line, &line->sent), soonest_of(line, &line->again));
    line->soonest = sooner(soonest_of(line, &line->waiting), line->soonest);
}

/* When something may be late. */
static uint64_t deadline_of(const weiri_redis_line *line)
{
    if (line->state == WEIRI_REDIS_CLOSED)
        return UINT64_MAX;
    if (line->state == WEIRI_REDIS_CONNECTING)
        return sooner(line->address_deadline, line->soonest);
    if (line->state == WEIRI_REDIS_GREETING)
        return sooner(line->dial_deadline, line->soonest);
    return line->soonest;
}

static bool has_to_write(const weiri_redis_line *line)
{
    return line->exchange.sent < line->exchange.length || line->state == WEIRI_REDIS_CONNECTING ||
           weiri_redis_line_has_calls(line);
}

/* The timer is let run to an earlier time than is needed, and armed anew when it fires: not for every call. */
void weiri_redis_line_want(weiri_redis_line *line)
{
    uint64_t deadline = deadline_of(line);
    unsigned wanted = line->state == WEIRI_REDIS_CONNECTING ? 0 : WEIR_REDIS_READABLE;
    if (has_to_write(line))
        wanted |= WEIR_REDIS_WRITABLE;
    if (line->watch && wanted != line->wanted) {
        line->loop.want(line->watch, wanted);
        line->wanted = wanted;
    }
    if (deadline < line->alarm) {
        uint64_t now = weiri_redis_now();
        line->loop.arm(line->timer, deadline > now ? deadline - now : 0);
        line->alarm = deadline;
    }
}

/* ---- Its end ---- */

static void settle(weiri_redis_line *line, weiri_redis_call *call, enum weiri_redis_fate fate,
                   enum weiri_redis_report report)
{
    call->job.fate = fate;
    call->report = report;
    weiri_redis_calls_add(&line->settled, call);
}

static void settle_all(weiri_redis_line *line, weiri_redis_calls *calls, enum weiri_redis_fate fate,
                       enum weiri_redis_report report)
{
    weiri_redis_call *call;
    while ((call = weiri_redis_calls_take(calls)))
        settle(line, call, fate, report);
}

/* What the connection leaves behind. A command that was not written to its end cannot have been carried out: the server
 * waits for the rest, and then finds the connection closed. */
static void settle_sent(weiri_redis_line *line, enum weiri_redis_report report)
{
    size_t written = line->before + line->exchange.sent;
    weiri_redis_call *call;
    while ((call = weiri_redis_calls_take(&line->sent))) {
        call->job.fate = call->job.end <= written ? WEIRI_REDIS_LOST : WEIRI_REDIS_DENIED;
        call->report = report;
        weiri_redis_calls_add(&line->settled, call);
    }
}

static void deny_waiting(weiri_redis_line *line, enum weiri_redis_report report)
{
    settle_all(line, &line->again, WEIRI_REDIS_DENIED, report);
    settle_all(line, &line->waiting, WEIRI_REDIS_DENIED, report);
}

/* Closed, with something lost or late: nobody is kept waiting for the next try. */
static void fail(weiri_redis_line *line)
{
    settle_sent(line, WEIRI_REDIS_FAILED);
    deny_waiting(line, WEIRI_REDIS_FAILED);
    weiri_redis_line_hang_up(line);
}

/* Closed between two questions: who waits gets another connection. */
static void renew(weiri_redis_line *line)
{
    weiri_redis_calls_put_before(&line->waiting, &line->again);
    weiri_redis_line_hang_up(line);
    if (line->waiting.first && !weiri_redis_line_dial(line))
        deny_waiting(line, WEIRI_REDIS_FAILED);
    look_for_soonest(line);
}

/* A connection that has served, and on which nothing is owed, may end: a server that restarts or has too many. One that
 * ends before it has served has failed; else it might be made anew without end. */
static void lose(weiri_redis_line *line)
{
    if (line->state == WEIRI_REDIS_READY && line->proved && !line->spoilt && !line->sent.first) {
        line->why.text[0] = '\0';
        renew(line);
    } else {
        fail(line);
    }
}

/* Those that go on elsewhere are not answered here. */
static void answer(weiri_redis_line *line)
{
    weiri_redis_calls_report(line->server, &line->settled);
    if (line->lines)
        weiri_redis_lines_sort_out(line->lines, line);
    weiri_redis_calls_answer(line->limiter, &line->settled);
}

/* ---- Events ---- */

/* The last of every event: an answer may ask anew. */
static void finish(weiri_redis_line *line)
{
    weiri_redis_tally tally = line->tally;
    if (tally.commands > 0 || line->why.text[0])
        weiri_redis_count(line->limiter, &tally, &line->why);
    line->tally = (weiri_redis_tally){0};
    line->why.text[0] = '\0';
    weiri_redis_line_want(line);
    answer(line);
}

static void read_in(weiri_redis_line *line)
{
    if (!weiri_redis_line_read(line))
        lose(line);
    else if (line->spoilt && !line->sent.first)
        renew(line); /* whoever has the address by now may do it */
}

static bool is_late(const weiri_redis_line *line)
{
    return deadline_of(line) <= weiri_redis_now();
}

/* Those that have no time left, though the connection has: they were sent on, have waited for the slot map, or for a
 * loop that was late itself. */
static void deny_late(weiri_redis_line *line)
{
    uint64_t now = weiri_redis_now();
    weiri_redis_calls all = line->waiting;
    weiri_redis_call *call;
    line->waiting = (weiri_redis_calls){0};
    while ((call = weiri_redis_calls_take(&all))) {
        if (end_of(line, call) > now) {
            weiri_redis_calls_add(&line->waiting, call);
            continue;
        }
        weiri_redis_say(&line->why, "no time was left to ask (%s)", line->server->name);
        settle(line, call, WEIRI_REDIS_DENIED, WEIRI_REDIS_ABANDONED);
    }
    look_for_soonest(line);
}

/* Before the first question after a rest, the connection is looked at: what comes then, an end most likely, is not an
 * answer to it. */
static void write_out(weiri_redis_line *line)
{
    if (line->waiting.first && is_late(line))
        deny_late(line);
    bool rested = line->state == WEIRI_REDIS_READY && !line->sent.first && line->exchange.length == 0;
    if (rested && !weiri_redis_link_is_quiet(&line->link))
        lose(line);
    else if (!weiri_redis_line_write(line))
        fail(line);
}

void weiri_redis_line_ready(void *argument, unsigned events)
{
    weiri_redis_line *line = argument;
    if (line->state == WEIRI_REDIS_CONNECTING) {
        if (!weiri_redis_line_connected(line))
            fail(line);
    } else {
        if (events & WEIR_REDIS_READABLE)
            read_in(line);
        if ((events & WEIR_REDIS_WRITABLE) && line->state >= WEIRI_REDIS_GREETING)
            write_out(line);
    }
    finish(line);
}

static void say_late(weiri_redis_line *line)
{
    bool commands = line->state == WEIRI_REDIS_READY;
    uint64_t timeout = commands ? line->server->command_timeout : line->server->connect_timeout;
    weiri_redis_text text;
    if (line->state == WEIRI_REDIS_CONNECTING)
        weiri_redis_say_connect(&text, ETIMEDOUT);
    else
        weiri_redis_say(&text, "no answer within %.15g ms", (double)timeout / (double)WEIR_MILLISECOND);
    weiri_redis_say(&line->why, "%.300s (%s)", text.text, line->server->name);
}

/* Where the loop itself was late, what it waits for may be there, unseen: that comes first. */
static void catch_up(weiri_redis_line *line)
{
    while (line->state == WEIRI_REDIS_CONNECTING && is_late(line) && weiri_redis_connect_is_done(line->link.fd))
        if (!weiri_redis_line_connected(line))
            fail(line);
    if (line->state < WEIRI_REDIS_GREETING)
        return;
    for (size_t reads = weiri_redis_link_reads(&line->link); reads > 0; reads--) {
        if (line->state < WEIRI_REDIS_GREETING || !is_late(line))
            break;
        read_in(line);
        look_for_soonest(line);
    }
}

/* An address that is late may not be the last. */
static void end_late(weiri_redis_line *line)
{
    deny_late(line);
    if (!is_late(line))
        return;
    if (line->state == WEIRI_REDIS_CONNECTING && line->address) {
        if (weiri_redis_line_pass_over(line, ETIMEDOUT))
            return;
    } else {
        say_late(line);
    }
    fail(line);
}

static void look_at_time(void *argument)
{
    weiri_redis_line *line = argument;
    line->alarm = UINT64_MAX;
    look_for_soonest(line);
    catch_up(line);
    if (is_late(line))
        end_late(line);
    finish(line);
}

/* ---- Open, ask, close ---- */

int weiri_redis_line_open(weiri_redis_line *line, weir_redis *limiter, weiri_redis_server *server,
                          const weir_redis_loop *loop)
{
    *line = (weiri_redis_line){.limiter = limiter, .server = server, .loop = *loop, .link.fd = -1,
                               .alarm = UINT64_MAX, .soonest = UINT64_MAX};
    line->timer = loop->timer(loop->loop, look_at_time, line);
    return line->timer ? 0 : -ENOMEM;
}

bool weiri_redis_line_ask(weiri_redis_line *line, weiri_redis_call *call)
{
    if (line->state == WEIRI_REDIS_CLOSED && !weiri_redis_line_dial(line))
        return false;
    call->deadline = sooner(call->limit, weiri_redis_now() + line->server->command_timeout);
    line->soonest = sooner(line->soonest, end_of(line, call));
    weiri_redis_calls_add(&line->waiting, call);
    weiri_redis_line_want(line);
    return true;
}

void weiri_redis_line_refuse(weiri_redis_line *line, uint64_t admitted)
{
    const weiri_redis_tally nothing = {0};
    weiri_redis_server_report(line->server, admitted, true);
    weiri_redis_count(line->limiter, &nothing, &line->why);
    line->why.text[0] = '\0';
}

void weiri_redis_line_close(weiri_redis_line *line)
{
    settle_sent(line, WEIRI_REDIS_ABANDONED);
    deny_waiting(line, WEIRI_REDIS_ABANDONED);
    weiri_redis_line_hang_up(line);
    line->loop.untimer(line->timer);
    answer(line);
}
