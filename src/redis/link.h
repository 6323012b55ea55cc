/*
 * One connection to a server: a socket that never blocks, hiredis's reader for what comes in, and deadlines of our own.
 * A deadline is a time, not a wait since the last byte: a server that sends one byte after the other does not move it.
 * What has come when it passes counts. Sockets are closed by exec, and sending raises no SIGPIPE. Not thread-safe: one
 * caller at a time has a link.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_LINK_H
#define WEIRI_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "redis/url.h"

typedef struct weiri_redis_link {
    redisReader *reader; /* NULL: closed */
    int fd;
} weiri_redis_link;

/* What went wrong, in words. */
typedef struct weiri_redis_text {
    char text[384];
} weiri_redis_text;

void __attribute__((format(printf, 2, 3))) weiri_redis_say(weiri_redis_text *text, const char *format, ...);

/* ns, CLOCK_MONOTONIC; what deadlines are on. */
uint64_t weiri_redis_now(void);

/*
 * Connects, and sends AUTH and SELECT where the URL has a password and a database. A name is looked up first, which
 * `timeout` (ns) does not bound; each of its addresses is tried, for its part of the time. False: *why tells.
 */
bool weiri_redis_link_open(weiri_redis_link *link, const weiri_redis_url *url, uint64_t timeout, weiri_redis_text *why);

/* A reader that takes no array of more elements than a reply of ours may have. NULL: no memory. */
redisReader *weiri_redis_reader_open(void);

/* Closed is as it was. */
void weiri_redis_link_close(weiri_redis_link *link);

static inline bool weiri_redis_link_is_open(const weiri_redis_link *link)
{
    return link->reader != NULL;
}

/* Is it as it should be between two exchanges: open, and nothing to be read? Else the server has closed it, or has sent
 * what nobody asked for; in both cases it is of no use. */
bool weiri_redis_link_is_quiet(const weiri_redis_link *link);

/* Bytes to send and replies to wait for. */
typedef struct weiri_redis_exchange {
    const char *bytes;
    size_t length;
    size_t replies; /* how many are to come */
    void (*reply)(void *argument, redisReply *reply); /* called for each, in order; keeps nothing of it */
    void *argument;
    uint64_t deadline;
    uint64_t timeout; /* what the deadline was made of, for the error text */
    size_t longest;   /* bytes that one reply may have; 0: what an answer or an error may */
    size_t sent;      /* out: so many bytes may have reached the server */
    size_t received;  /* out: so many replies came */
    size_t arrived;   /* out: so many bytes came */
} weiri_redis_exchange;

/* The two halves of an exchange, for who waits elsewhere. Sends what the socket takes; reads what is there, once, and
 * hands over the replies that are whole. False: *why tells, and the link must be closed. */
bool weiri_redis_link_send(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why);
bool weiri_redis_link_receive(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why);

/* So many calls of _receive take what is there now, and little more, however fast the server goes on: 1 where that is
 * nothing, or the end. */
size_t weiri_redis_link_reads(const weiri_redis_link *link);

/* After the last reply: nothing else may have come. */
bool weiri_redis_link_is_at_end(const weiri_redis_link *link, weiri_redis_text *why);

/* The deadline has passed: takes what has come, for it may be the caller who is late, stopped or kept from running.
 * True: that was all; else as below. */
bool weiri_redis_link_end_late(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why);

/* True: all replies came, and nothing else. False: *why tells, and the link must be closed: what came later on it would
 * answer another question. Reads while it writes, so that no length of a pipeline makes the two sides wait for each
 * other. */
bool weiri_redis_link_exchange(const weiri_redis_link *link, weiri_redis_exchange *exchange, weiri_redis_text *why);

#endif
