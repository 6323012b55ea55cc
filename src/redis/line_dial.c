/* How an event loop's connection comes to be. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "redis/line.h"

static void say(weiri_redis_line *line, const char *text)
{
    weiri_redis_say(&line->why, "%s (%s)", text, line->server->name);
}

static void forget_addresses(weiri_redis_line *line)
{
    if (line->addresses && line->addresses != &line->local)
        freeaddrinfo(line->addresses);
    line->addresses = NULL;
    line->address = NULL;
}

static void close_socket(weiri_redis_line *line)
{
    if (line->watch)
        line->loop.unwatch(line->watch);
    line->watch = NULL;
    line->wanted = 0;
    if (weiri_redis_link_is_open(&line->link))
        weiri_redis_link_close(&line->link);
    else if (line->link.fd >= 0)
        close(line->link.fd);
    line->link = (weiri_redis_link){.fd = -1};
}

void weiri_redis_line_hang_up(weiri_redis_line *line)
{
    close_socket(line);
    forget_addresses(line);
    free(line->out);
    line->out = NULL;
    line->room = 0;
    line->before = 0;
    line->askings = 0;
    line->map_awaited = false;
    line->exchange = (weiri_redis_exchange){0};
    line->spoilt = false;
    line->proved = false;
    line->state = WEIRI_REDIS_CLOSED;
}

/* An address has its part of the time that is left: one that does not answer would else take that of all others. */
static uint64_t part_end(const weiri_redis_line *line)
{
    unsigned left = 1;
    uint64_t now = weiri_redis_now();
    for (const struct addrinfo *at = line->address; at; at = at->ai_next)
        left++;
    return now < line->dial_deadline ? now + (line->dial_deadline - now) / left : line->dial_deadline;
}

/* Tries the next address that does not fail at once. */
static bool try_next(weiri_redis_line *line, int error)
{
    weiri_redis_text text;
    for (; line->address; line->address = line->address->ai_next) {
        error = weiri_redis_connect_begin(&line->link.fd, line->address->ai_addr, line->address->ai_addrlen);
        if (error == 0 || error == EINPROGRESS)
            break;
        line->link.fd = -1;
    }
    if (!line->address) {
        weiri_redis_say_connect(&text, error);
        say(line, text.text);
        return false;
    }
    line->address = line->address->ai_next;
    line->address_deadline = part_end(line);
    line->watch = line->loop.watch(line->loop.loop, line->link.fd, weiri_redis_line_ready, line);
    if (!line->watch)
        say(line, "no memory for a connection");
    return line->watch != NULL;
}

static bool find_addresses(weiri_redis_line *line)
{
    const weiri_redis_url *url = &line->server->url;
    weiri_redis_text text;
    if (url->path) {
        line->path = weiri_redis_unix_address(url->path);
        line->local = (struct addrinfo){.ai_addr = (struct sockaddr *)&line->path, .ai_addrlen = sizeof line->path};
        line->addresses = &line->local;
    } else {
        line->addresses = weiri_redis_lookup(url, &text);
        if (!line->addresses)
            say(line, text.text);
    }
    line->address = line->addresses;
    return line->addresses != NULL;
}

bool weiri_redis_line_dial(weiri_redis_line *line)
{
    bool found = find_addresses(line);
    line->dial_deadline = weiri_redis_now() + line->server->connect_timeout;
    line->state = WEIRI_REDIS_CONNECTING;
    if (found && try_next(line, ETIMEDOUT))
        return true;
    weiri_redis_line_hang_up(line);
    return false;
}

/* All waiting calls begin their time now, those that were sent on go on with theirs: connecting had its own. */
static bool become_ready(weiri_redis_line *line)
{
    uint64_t deadline = weiri_redis_now() + line->server->command_timeout;
    forget_addresses(line);
    line->soonest = UINT64_MAX;
    for (weiri_redis_call *call = line->waiting.first; call; call = call->next) {
        call->deadline = call->limit < deadline ? call->limit : deadline;
        line->soonest = call->deadline < line->soonest ? call->deadline : line->soonest;
    }
    free(line->out);
    line->out = NULL;
    line->exchange = (weiri_redis_exchange){0};
    line->state = WEIRI_REDIS_READY;
    weiri_redis_server_connected(line->server);
    return true;
}

static bool greet(weiri_redis_line *line)
{
    size_t length = 0;
    line->greeting = (weiri_redis_greeting){.why = &line->why};
    if (!weiri_redis_greeting_compose(&line->greeting, &line->server->url, &line->out, &length)) {
        say(line, "no memory for a connection");
        return false;
    }
    if (line->greeting.count == 0)
        return become_ready(line);
    line->exchange = (weiri_redis_exchange){.bytes = line->out, .length = length};
    line->state = WEIRI_REDIS_GREETING;
    return weiri_redis_line_write(line);
}

bool weiri_redis_line_pass_over(weiri_redis_line *line, int error)
{
    close_socket(line);
    return try_next(line, error);
}

bool weiri_redis_line_connected(weiri_redis_line *line)
{
    int error = weiri_redis_connect_result(line->link.fd);
    if (error)
        return weiri_redis_line_pass_over(line, error);
    line->link.reader = weiri_redis_reader_open();
    if (line->link.reader)
        return greet(line);
    say(line, "no memory for a connection");
    return false;
}

bool weiri_redis_line_greeted(weiri_redis_line *line)
{
    weiri_redis_text refused = line->why;
    if (line->greeting.refused)
        weiri_redis_say(&line->why, "%.300s (%s)", refused.text, line->server->name);
    return !line->greeting.refused && (line->greeting.answered < line->greeting.count || become_ready(line));
}
