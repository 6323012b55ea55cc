/* Writing and reading on a connection, under a deadline. */
#include "redis/link.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <weir/types.h>

/* More than this for one reply is none of ours: a script's answer has some hundred bytes, an error some thousand. */
enum { REPLY_MAX = 65536, READ_SIZE = 16384 };

/* The longest array of ours is a cluster's map, which has a range for each slot at most. */
enum { ELEMENTS_MAX = 16384 };

#if HIREDIS_MAJOR > 0
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* hiredis makes room for an array as soon as it is announced, and walks through all of it when it is freed:
 * "*2147483647" would cost 16 GB and seconds. */
struct bounds {
    redisReplyObjectFunctions functions; /* hiredis's own, but for that of arrays */
    void *(*array)(const redisReadTask *task, element_count count);
    bool exceeded;
};

static void *bounded_array(const redisReadTask *task, element_count count)
{
    struct bounds *bounds = task->privdata;
    if (count <= ELEMENTS_MAX)
        return bounds->array(task, count);
    bounds->exceeded = true;
    return NULL;
}

redisReader *weiri_redis_reader_open(void)
{
    struct bounds *bounds = calloc(1, sizeof *bounds);
    redisReader *reader = bounds ? redisReaderCreate() : NULL;
    if (!reader) {
        free(bounds);
        return NULL;
    }
    bounds->functions = *reader->fn;
    bounds->array = reader->fn->createArray;
    bounds->functions.createArray = bounded_array;
    reader->fn = &bounds->functions;
    reader->privdata = bounds;
    return reader;
}

static void close_reader(redisReader *reader)
{
    struct bounds *bounds = reader->privdata;
    redisReaderFree(reader);
    free(bounds);
}

void weiri_redis_say(weiri_redis_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->text, sizeof text->text, format, arguments);
    va_end(arguments);
}

uint64_t weiri_redis_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
}

void weiri_redis_link_close(weiri_redis_link *link)
{
    if (!link->reader)
        return;
    close_reader(link->reader);
    close(link->fd);
    link->reader = NULL;
    link->fd = -1;
}

bool weiri_redis_link_is_quiet(const weiri_redis_link *link)
{
    char byte;
    if (!link->reader)
        return false;
    ssize_t got = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool fail_by(int error, weiri_redis_text *why)
{
    char buffer[96];
    weiri_redis_say(why, "connection lost: %s", strerror_r(error, buffer, sizeof buffer));
    return false;
}

static bool fail_to_read(const redisReader *reader, weiri_redis_text *why)
{
    const struct bounds *bounds = reader->privdata;
    if (bounds->exceeded)
        weiri_redis_say(why, "garbled reply: an array of more than %d", ELEMENTS_MAX);
    else
        weiri_redis_say(why, "garbled reply: %s", reader->errstr);
    return false;
}

/* Hands over the replies that are whole. */
static bool take_replies(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    while (exchange->received < exchange->replies) {
        void *reply = NULL;
        if (redisReaderGetReply(link->reader, &reply) != REDIS_OK)
            return fail_to_read(link->reader, why);
        if (!reply)
            break;
        exchange->received++;
        exchange->reply(exchange->argument, reply);
        freeReplyObject(reply);
    }
    size_t longest = exchange->longest > 0 ? exchange->longest : REPLY_MAX;
    if (exchange->arrived > (exchange->received + 1) * longest) {
        weiri_redis_say(why, "garbled reply: it does not end within %zu bytes", longest);
        return false;
    }
    return true;
}

bool weiri_redis_link_receive(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    char buffer[READ_SIZE];
    ssize_t got = recv(link->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got < 0)
        return fail_by(errno, why);
    if (got == 0) {
        weiri_redis_say(why, "connection lost: closed by the server before it had answered");
        return false;
    }
    exchange->arrived += (size_t)got;
    if (redisReaderFeed(link->reader, buffer, (size_t)got) != REDIS_OK) {
        weiri_redis_say(why, "no memory for a reply");
        return false;
    }
    return take_replies(link, exchange, why);
}

size_t weiri_redis_link_reads(const weiri_redis_link *link)
{
    int bytes = 0;
    return ioctl(link->fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes / READ_SIZE + 1 : 1;
}

/* Takes all that is there. What the server has answered by now counts: those commands' fate is known. */
static bool hear_out(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    bool received = true;
    for (size_t reads = weiri_redis_link_reads(link); received && reads > 0; reads--)
        received = weiri_redis_link_receive(link, exchange, why);
    return received;
}

/* Nothing more can be sent. */
static bool fail_to_send(const weiri_redis_link *link, weiri_redis_exchange *exchange, int error,
                         weiri_redis_text *why)
{
    weiri_redis_text end;
    (void)hear_out(link, exchange, &end);
    return fail_by(error, why);
}

bool weiri_redis_link_send(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    while (exchange->sent < exchange->length) {
        ssize_t sent = send(link->fd, exchange->bytes + exchange->sent, exchange->length - exchange->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            exchange->sent += (size_t)sent;
        else if (errno == EAGAIN)
            return true;
        else if (errno != EINTR)
            return fail_to_send(link, exchange, errno, why);
    }
    return true;
}

bool weiri_redis_link_is_at_end(const weiri_redis_link *link, weiri_redis_text *why)
{
    if (link->reader->pos == link->reader->len)
        return true;
    weiri_redis_say(why, "garbled reply: more came than was asked for");
    return false;
}

bool weiri_redis_link_end_late(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    if (!hear_out(link, exchange, why))
        return false;
    if (exchange->received == exchange->replies)
        return weiri_redis_link_is_at_end(link, why);
    weiri_redis_say(why, "no answer within %.15g ms", (double)exchange->timeout / (double)WEIR_MILLISECOND);
    return false;
}

/* Waits until the socket is ready for what is left to do. False: the deadline has passed. */
static bool wait_ready(const weiri_redis_link *link, const weiri_redis_exchange *exchange)
{
    short writing = exchange->sent < exchange->length ? POLLOUT : 0;
    struct pollfd ready = {.fd = link->fd, .events = (short)(POLLIN | writing)};
    for (;;) {
        uint64_t now = weiri_redis_now();
        uint64_t left = now < exchange->deadline ? exchange->deadline - now : 0;
        struct timespec wait = {(time_t)(left / WEIR_SECOND), (long)(left % WEIR_SECOND)};
        int count = left == 0 ? 0 : ppoll(&ready, 1, &wait, NULL);
        if (count > 0)
            return true;
        if (count == 0 || errno != EINTR)
            return false;
    }
}

static bool exchange_all(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    while (exchange->received < exchange->replies) {
        if (!weiri_redis_link_send(link, exchange, why))
            return false;
        if (!wait_ready(link, exchange))
            return weiri_redis_link_end_late(link, exchange, why);
        if (!weiri_redis_link_receive(link, exchange, why))
            return false;
    }
    return weiri_redis_link_is_at_end(link, why);
}

bool weiri_redis_link_exchange(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why)
{
    exchange->sent = 0;
    exchange->received = 0;
    exchange->arrived = 0;
    return exchange_all(link, exchange, why);
}
