/* Without weir: the same commands each time, formatted once, by hiredis. */
#include <stdio.h>
#include <stdlib.h>

#include "../measure.h"
#include "../row.h"
#include "side.h"

typedef struct line {
    redisContext *link;
    char *command;
    int length;
    unsigned replies;
    char other_line[64]; /* threads do not share a cache line */
} line;

typedef struct raw {
    line *lines;
    unsigned threads;
} raw;

static redisContext *connect_to(const bench_side *side, const struct redis_server *server)
{
    redisContext *link = side->tcp ? redisConnect("127.0.0.1", server->port) : redisConnectUnix(server->socket);
    if (!link || link->err)
        bench_fail("no connection to the server");
    return link;
}

static raw *open_lines(const bench_side *side, const struct redis_server *server, unsigned threads, unsigned replies)
{
    raw *made = bench_must(calloc(1, sizeof *made));
    made->threads = threads;
    made->lines = bench_must(calloc(threads, sizeof *made->lines));
    for (unsigned i = 0; i < threads; i++) {
        made->lines[i].link = connect_to(side, server);
        made->lines[i].replies = replies;
    }
    return made;
}

/* One more command is written each time. */
static void add(line *to, int length, char *command)
{
    if (length < 0)
        bench_fail("out of memory");
    to->command = bench_must(realloc(to->command, (size_t)(to->length + length)));
    for (int i = 0; i < length; i++)
        to->command[to->length + i] = command[i];
    to->length += length;
    redisFreeCommand(command);
}

static void *open_script(const bench_side *side, const struct redis_server *server, unsigned threads)
{
    raw *made = open_lines(side, server, threads, 1);
    redisReply *loaded = redis_server_ask(made->lines[0].link, "SCRIPT LOAD %s", "");
    for (unsigned i = 0; i < threads; i++) {
        char *command;
        int length = redisFormatCommand(&command, "EVALSHA %s 1 {bench:%u}0", loaded->str, i);
        add(&made->lines[i], length, command);
    }
    freeReplyObject(loaded);
    return made;
}

static void *open_incr(const bench_side *side, const struct redis_server *server, unsigned threads)
{
    raw *made = open_lines(side, server, threads, 2);
    for (unsigned i = 0; i < threads; i++) {
        char *command;
        int length = redisFormatCommand(&command, "INCR {bench:%u}incr", i);
        add(&made->lines[i], length, command);
        length = redisFormatCommand(&command, "EXPIRE {bench:%u}incr 60", i);
        add(&made->lines[i], length, command);
    }
    return made;
}

static unsigned ask(void *state, unsigned thread, bench_histogram *latency)
{
    line *self = &((raw *)state)->lines[thread];
    const uint64_t first = bench_ticks();
    bool good = redisAppendFormattedCommand(self->link, self->command, (size_t)self->length) == REDIS_OK;
    for (unsigned i = 0; i < self->replies && good; i++) {
        void *reply = NULL;
        good = redisGetReply(self->link, &reply) == REDIS_OK && ((redisReply *)reply)->type != REDIS_REPLY_ERROR;
        if (reply)
            freeReplyObject(reply);
    }
    if (latency)
        bench_histogram_add(latency, bench_ticks() - first);
    return good;
}

static uint64_t not_counted(void *state)
{
    (void)state;
    return 0;
}

static double not_known(void *state, unsigned thread)
{
    (void)state, (void)thread;
    return 0;
}

static void close_lines(void *state)
{
    raw *made = state;
    for (unsigned i = 0; i < made->threads; i++) {
        redisFree(made->lines[i].link);
        free(made->lines[i].command);
    }
    free(made->lines);
    free(made);
}

const bench_way bench_by_empty_script = {open_script, ask, not_counted, not_known, close_lines};
const bench_way bench_by_incr = {open_incr, ask, not_counted, not_known, close_lines};
