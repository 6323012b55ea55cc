/*
 * An event loop's connection to a server, and the calls on it. Used by the loop's thread alone.
 *
 *               dial               connected              greeted
 *     CLOSED ─────────▶ CONNECTING ─────────▶ GREETING ─────────▶ READY
 *        ▲               │  ▲   │                │                  │
 *        │               └──┘   │                │                  │ lost, late, of no use
 *        │           next address                │                  │
 *        └──────────────────────┴────────────────┴──────────────────┘
 *
 * A call is in one of four queues:
 *
 *     waiting ──▶ sent ──▶ settled         waiting: for the connection, or for the end of this turn of the loop
 *                 │  ▲                     sent: written, or about to be, in the order of the answers to come
 *                 ▼  │                     again: its script was not there. Nothing is written until all that was
 *                again                            sent is answered; then these first: so they keep their order
 *
 * settled: what becomes of it is known. These are answered last in each event, when everything else is as it should
 * be, since an answer may ask anew.
 *
 * hiredis's reader is used, and not its asynchronous context: that one aborts the process at an answer nobody asked
 * for, writes without regard to SIGPIPE, and does not tell what was written when a connection ended
 * (docs/decisions/0005-connections-of-our-own-for-event-loops.md).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_LINE_H
#define WEIRI_REDIS_LINE_H

#include "redis/calls.h"
#include "redis/dial.h"
#include "redis/greeting.h"

enum weiri_redis_line_state { WEIRI_REDIS_CLOSED, WEIRI_REDIS_CONNECTING, WEIRI_REDIS_GREETING, WEIRI_REDIS_READY };

struct weiri_redis_lines;

typedef struct weiri_redis_line {
    weir_redis *limiter;
    weiri_redis_server *server;
    struct weiri_redis_lines *lines; /* what it is one of, in a cluster; else NULL, and so are the next two */
    struct weiri_redis_line *next;
    weiri_redis_node *node; /* used; NULL: it has none, and neither a server */
    weir_redis_loop loop;
    enum weiri_redis_line_state state;
    bool proved; /* something was answered on this connection */
    bool spoilt; /* the server does not do what it is asked: nothing more is written */

    weiri_redis_calls waiting, sent, again, settled;
    uint64_t soonest; /* no call is late before */
    size_t askings;   /* sent, and not answered */
    bool map_awaited; /* CLUSTER SLOTS was sent, and not answered */

    weiri_redis_link link; /* while CONNECTING, its fd alone */
    char *out;             /* what is to be written; exchange.length of `room` bytes */
    size_t room;
    size_t before;         /* bytes written before those at `out` */
    weiri_redis_exchange exchange;
    weiri_redis_greeting greeting;
    weiri_redis_tally tally; /* of the event that is handled, with what went wrong in it */
    weiri_redis_text why;

    void *watch; /* NULL: none */
    unsigned wanted;
    void *timer;
    uint64_t alarm; /* when the timer fires; UINT64_MAX: it does not */

    uint64_t dial_deadline;
    uint64_t address_deadline;  /* of the address that is tried */
    struct addrinfo *addresses; /* all, while CONNECTING; to be freed, unless it is `local` */
    struct addrinfo *address;   /* the next to be tried */
    struct addrinfo local;
    struct sockaddr_un path;
} weiri_redis_line;

/* Returns 0 or -ENOMEM. No connection is made. */
int weiri_redis_line_open(weiri_redis_line *line, weir_redis *limiter, weiri_redis_server *server,
                          const weir_redis_loop *loop);

/* Settles and answers all calls, and closes. */
void weiri_redis_line_close(weiri_redis_line *line);

/* The call waits from now on. False: it does not, since no connection can be made (line->why tells). */
bool weiri_redis_line_ask(weiri_redis_line *line, weiri_redis_call *call);

/* That was false: told like a call that failed on a connection, and counted. */
void weiri_redis_line_refuse(weiri_redis_line *line, uint64_t admitted);

/* Closes the socket; the calls stay where they are. */
void weiri_redis_line_hang_up(weiri_redis_line *line);

/* No call is on it that is not settled. */
static inline bool weiri_redis_line_is_idle(const weiri_redis_line *line)
{
    return !line->waiting.first && !line->sent.first && !line->again.first;
}

/* ---- Between the files of a line ---- */

/* Begins to connect. False: line->why tells, and the line is CLOSED. */
bool weiri_redis_line_dial(weiri_redis_line *line);

/* The socket that connects is ready, or the server has greeted. False: line->why tells. */
bool weiri_redis_line_connected(weiri_redis_line *line);
bool weiri_redis_line_greeted(weiri_redis_line *line);

/* The address that is tried has failed: tries the next. False: line->why tells. */
bool weiri_redis_line_pass_over(weiri_redis_line *line, int error);

/* Are there calls whose commands may be written now? */
static inline bool weiri_redis_line_has_calls(const weiri_redis_line *line)
{
    if (line->state != WEIRI_REDIS_READY || line->spoilt)
        return false;
    return line->again.first ? !line->sent.first : line->waiting.first != NULL;
}

/* Tells the loop what is waited for: events, and a time. */
void weiri_redis_line_want(weiri_redis_line *line);

/* The callback of line->watch. */
void weiri_redis_line_ready(void *line, unsigned events);

/* Writes what is to be written; takes what has come. False: line->why tells, and the connection is of no more use. */
bool weiri_redis_line_write(weiri_redis_line *line);
bool weiri_redis_line_read(weiri_redis_line *line);

#endif
