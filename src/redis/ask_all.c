/* Several servers at once: all are written to before an answer is waited for, each is left as soon as it is done. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <weir/types.h>

#include "redis/ask.h"

/* Places first, in the order of the list: see weiri_redis_visit_enter. */
static void enter(weiri_redis_asking *asking)
{
    weiri_redis_inquiry *inquiry = asking->inquiry;
    weiri_redis_text why = {.text = ""};
    asking->had = weiri_redis_visit_enter(asking->server, &asking->visit, inquiry->time.deadline, &why);
    asking->over = !asking->had;
    if (why.text[0])
        weiri_redis_say(&inquiry->why, "%.300s (%s)", why.text, asking->server->name);
}

static void connect_to(weiri_redis_asking *asking)
{
    weiri_redis_inquiry *inquiry = asking->inquiry;
    weiri_redis_text why = {.text = ""};
    asking->had = weiri_redis_visit_connect(asking->server, &asking->visit, &inquiry->time, &why);
    asking->over = !asking->had;
    if (!asking->had)
        weiri_redis_say(&inquiry->why, "%.300s (%s)", why.text, asking->server->name);
}

/* Then connections: one that cannot be made uses up what all have for it, so those of servers that failed last come
 * last. */
static void connect_all(weiri_redis_asking *askings, size_t count)
{
    for (int doubtful = 0; doubtful < 2; doubtful++)
        for (size_t i = 0; i < count; i++)
            if (!askings[i].over && weiri_redis_server_is_doubtful(askings[i].server) == doubtful)
                connect_to(&askings[i]);
}

/* The end of a round, and the beginning of the next. */
static void next_round(weiri_redis_asking *asking, bool whole, weiri_redis_text *why);

static void write_some(weiri_redis_asking *asking)
{
    weiri_redis_text why;
    if (!weiri_redis_link_send(&asking->visit.link, &asking->exchange, &why))
        next_round(asking, false, &why);
}

static void next_round(weiri_redis_asking *asking, bool whole, weiri_redis_text *why)
{
    weiri_redis_asking_settle(asking, whole, why);
    if (weiri_redis_asking_compose(asking))
        write_some(asking);
}

static void read_some(weiri_redis_asking *asking)
{
    weiri_redis_text why;
    weiri_redis_exchange *exchange = &asking->exchange;
    if (!weiri_redis_link_receive(&asking->visit.link, exchange, &why))
        next_round(asking, false, &why);
    else if (exchange->received == exchange->replies)
        next_round(asking, weiri_redis_link_is_at_end(&asking->visit.link, &why), &why);
}

/* Fills `ready` for those that are not over; returns how many those are. */
static size_t gather(const weiri_redis_asking *askings, size_t count, struct pollfd *ready)
{
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        const weiri_redis_exchange *exchange = &askings[i].exchange;
        short writing = exchange->sent < exchange->length ? POLLOUT : 0;
        ready[i] = (struct pollfd){.fd = askings[i].over ? -1 : askings[i].visit.link.fd,
                                   .events = (short)(POLLIN | writing)};
        waiting += !askings[i].over;
    }
    return waiting;
}

/* Until something can be read or written. False: the deadline has passed. */
static bool wait_for(struct pollfd *ready, size_t count, uint64_t deadline)
{
    uint64_t now = weiri_redis_now();
    uint64_t left = now < deadline ? deadline - now : 0;
    struct timespec wait = {(time_t)(left / WEIR_SECOND), (long)(left % WEIR_SECOND)};
    int got = left == 0 ? 0 : ppoll(ready, count, &wait, NULL);
    for (size_t i = 0; got < 0 && i < count; i++)
        ready[i].revents = 0;
    return got > 0 || (got < 0 && errno == EINTR);
}

static void give_up(weiri_redis_asking *asking)
{
    weiri_redis_text why;
    next_round(asking, weiri_redis_link_end_late(&asking->visit.link, &asking->exchange, &why), &why);
}

static void turn(weiri_redis_asking *askings, size_t count, struct pollfd *ready)
{
    bool in_time = wait_for(ready, count, askings[0].inquiry->time.deadline);
    for (size_t i = 0; i < count; i++) {
        weiri_redis_asking *asking = &askings[i];
        if (!asking->over && !in_time)
            give_up(asking);
        if (!asking->over && (ready[i].revents & POLLOUT))
            write_some(asking);
        if (!asking->over && (ready[i].revents & ~POLLOUT))
            read_some(asking);
    }
}

static void ask_at_once(weiri_redis_asking *askings, size_t count, struct pollfd *ready)
{
    for (size_t i = 0; i < count; i++)
        enter(&askings[i]);
    connect_all(askings, count);
    for (size_t i = 0; i < count; i++)
        if (!askings[i].over && weiri_redis_asking_compose(&askings[i]))
            write_some(&askings[i]);
    while (gather(askings, count, ready) > 0)
        turn(askings, count, ready);
}

void weiri_redis_ask_all(weiri_redis_asking *askings, size_t count)
{
    struct pollfd *ready = count > 1 ? calloc(count, sizeof *ready) : NULL;
    if (ready)
        ask_at_once(askings, count, ready);
    else /* one, or no memory: one after the other */
        for (size_t i = 0; i < count; i++)
            weiri_redis_ask(&askings[i]);
    free(ready);
}
