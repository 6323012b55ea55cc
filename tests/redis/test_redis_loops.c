/*
 * What weir_redis_loop promises, asked of every adapter. Sockets are pairs, so that a test knows what is ready.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "loops.h"

/* A watch or a timer under test, and what it was told. */
struct probe {
    weir_redis_loop *loop;
    void *watch;
    void *timer;
    int fd[2]; /* ours, and the other side's */
    unsigned told;
    unsigned events; /* all that were told */
    struct probe *ends; /* whose watch and timer a call of this one ends; may be itself */
};

static void end_what_is_there(struct probe *probe)
{
    if (probe->watch != NULL)
        probe->loop->unwatch(probe->watch);
    if (probe->timer != NULL)
        probe->loop->untimer(probe->timer);
    probe->watch = NULL;
    probe->timer = NULL;
}

static void told(struct probe *probe, unsigned events)
{
    probe->told++;
    probe->events |= events;
    if (probe->ends != NULL)
        end_what_is_there(probe->ends);
}

static void ready(void *argument, unsigned events)
{
    told(argument, events);
}

static void fire(void *argument)
{
    told(argument, 0);
}

static struct probe watching(weir_redis_loop *loop)
{
    struct probe probe = {.loop = loop};

    CHECK_EQUAL(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, probe.fd));
    return probe;
}

static void watch(struct probe *probe, unsigned events)
{
    probe->watch = probe->loop->watch(probe->loop->loop, probe->fd[0], ready, probe);
    CHECK(probe->watch != NULL);
    probe->loop->want(probe->watch, events);
}

static void time_it(struct probe *probe, uint64_t after_ns)
{
    probe->timer = probe->loop->timer(probe->loop->loop, fire, probe);
    CHECK(probe->timer != NULL);
    probe->loop->arm(probe->timer, after_ns);
}

static void done(struct probe *probe)
{
    end_what_is_there(probe);
    close(probe->fd[0]);
    close(probe->fd[1]);
}

static void write_to(struct probe *probe)
{
    CHECK_EQUAL(1, write(probe->fd[1], "x", 1));
}

/* Turns until a timer of `ms` has fired: by then all that was ready before has been told. */
static void turn_past(const struct loop_kind *kind, void *host, weir_redis_loop *loop, unsigned ms)
{
    struct probe end = {.loop = loop};

    time_it(&end, ms * WEIR_MILLISECOND);
    while (end.told == 0)
        kind->turn(host, 1);
    end_what_is_there(&end);
}

/* ---- The table ---- */

typedef void loop_test(const struct loop_kind *kind, void *host, weir_redis_loop *loop);

static void a_watch_is_told_nothing_before_it_wants(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe probe = watching(loop);

    write_to(&probe);
    watch(&probe, 0);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(0, probe.told);
    done(&probe);
}

static void readable_is_told_when_bytes_are_there(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe probe = watching(loop);

    watch(&probe, WEIR_REDIS_READABLE);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(0, probe.told);
    write_to(&probe);
    kind->turn(host, 1);
    CHECK_EQUAL(1, probe.told);
    CHECK_EQUAL(WEIR_REDIS_READABLE, probe.events);
    kind->turn(host, 1); /* as long as they are there */
    CHECK_EQUAL(2, probe.told);
    done(&probe);
}

static void writable_is_told_when_there_is_room(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    static const char bytes[4096];
    struct probe probe = watching(loop);

    while (write(probe.fd[0], bytes, sizeof bytes) > 0)
        ;
    watch(&probe, WEIR_REDIS_WRITABLE);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(0, probe.told);
    char taken[4096];
    while (read(probe.fd[1], taken, sizeof taken) > 0)
        ;
    kind->turn(host, 1);
    CHECK_EQUAL(1, probe.told);
    CHECK_EQUAL(WEIR_REDIS_WRITABLE, probe.events);
    done(&probe);
}

static void both_are_told_and_what_is_no_longer_wanted_is_not(const struct loop_kind *kind, void *host,
                                                              weir_redis_loop *loop)
{
    struct probe probe = watching(loop);

    write_to(&probe);
    watch(&probe, WEIR_REDIS_READABLE | WEIR_REDIS_WRITABLE);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(WEIR_REDIS_READABLE | WEIR_REDIS_WRITABLE, probe.events);
    loop->want(probe.watch, WEIR_REDIS_WRITABLE);
    probe.events = 0;
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(WEIR_REDIS_WRITABLE, probe.events);
    loop->want(probe.watch, 0);
    unsigned before = probe.told;
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(before, probe.told);
    done(&probe);
}

static void a_closed_other_side_is_told_as_readable(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe probe = watching(loop);

    watch(&probe, WEIR_REDIS_READABLE);
    shutdown(probe.fd[1], SHUT_RDWR);
    kind->turn(host, 1);
    CHECK_EQUAL(1, probe.told);
    CHECK_EQUAL(WEIR_REDIS_READABLE, probe.events);
    loop->want(probe.watch, 0); /* and no more, where nothing is wanted */
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(1, probe.told);
    done(&probe);
}

static void two_watches_are_told_in_one_turn_and_apart(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe one = watching(loop), two = watching(loop);

    watch(&one, WEIR_REDIS_READABLE);
    watch(&two, WEIR_REDIS_READABLE);
    write_to(&two);
    kind->turn(host, 1);
    CHECK_EQUAL(0, one.told);
    CHECK_EQUAL(1, two.told);
    write_to(&one);
    kind->turn(host, 1);
    CHECK_EQUAL(1, one.told);
    CHECK_EQUAL(2, two.told);
    done(&one);
    done(&two);
}

static void a_watch_may_end_itself_when_told(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe probe = watching(loop);

    probe.ends = &probe;
    write_to(&probe);
    watch(&probe, WEIR_REDIS_READABLE | WEIR_REDIS_WRITABLE);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(1, probe.told);
    done(&probe);
}

static void a_watch_that_another_ends_is_not_told_what_was_at_hand(const struct loop_kind *kind, void *host,
                                                                   weir_redis_loop *loop)
{
    struct probe one = watching(loop), two = watching(loop);

    one.ends = &two;
    two.ends = &one;
    write_to(&one);
    write_to(&two);
    watch(&one, WEIR_REDIS_READABLE);
    watch(&two, WEIR_REDIS_READABLE);
    kind->turn(host, 1);
    CHECK_EQUAL(1, one.told + two.told);
    struct probe *ended = one.told > 0 ? &two : &one, *left = one.told > 0 ? &one : &two;
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(0, ended->told);
    CHECK(left->told >= 2);
    done(&one);
    done(&two);
}

static void a_descriptor_is_watched_anew_in_the_place_of_an_ended_one(const struct loop_kind *kind, void *host,
                                                                      weir_redis_loop *loop)
{
    struct probe old = watching(loop);

    watch(&old, WEIR_REDIS_READABLE);
    write_to(&old);
    end_what_is_there(&old);
    close(old.fd[0]);
    close(old.fd[1]);
    struct probe young = watching(loop);
    CHECK_EQUAL(old.fd[0], young.fd[0]);
    watch(&young, WEIR_REDIS_READABLE);
    turn_past(kind, host, loop, 2);
    CHECK_EQUAL(0, old.told + young.told);
    write_to(&young);
    kind->turn(host, 1);
    CHECK_EQUAL(1, young.told);
    done(&young);
}

static void a_timer_fires_once(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe probe = {.loop = loop};

    time_it(&probe, 0);
    turn_past(kind, host, loop, 20);
    CHECK_EQUAL(1, probe.told);
    end_what_is_there(&probe);
}

static void a_timer_armed_again_counts_from_then(const struct loop_kind *kind, void *host, weir_redis_loop *loop)
{
    struct probe late = {.loop = loop}, soon = {.loop = loop};

    time_it(&late, WEIR_MILLISECOND);
    time_it(&soon, WEIR_HOUR);
    loop->arm(late.timer, WEIR_HOUR);
    loop->arm(soon.timer, WEIR_MILLISECOND);
    turn_past(kind, host, loop, 20);
    CHECK_EQUAL(0, late.told);
    CHECK_EQUAL(1, soon.told);
    loop->arm(soon.timer, WEIR_MILLISECOND); /* after it has fired, too */
    turn_past(kind, host, loop, 20);
    CHECK_EQUAL(2, soon.told);
    end_what_is_there(&late);
    end_what_is_there(&soon);
}

static void a_timer_stops_and_the_farthest_ones_do_not_fire(const struct loop_kind *kind, void *host,
                                                            weir_redis_loop *loop)
{
    struct probe stopped = {.loop = loop}, far = {.loop = loop};

    time_it(&stopped, WEIR_MILLISECOND);
    time_it(&far, UINT64_MAX - 1);
    loop->arm(stopped.timer, UINT64_MAX);
    turn_past(kind, host, loop, 20);
    CHECK_EQUAL(0, stopped.told + far.told);
    end_what_is_there(&stopped);
    end_what_is_there(&far);
}

static void a_timer_may_end_itself_or_another_when_it_fires(const struct loop_kind *kind, void *host,
                                                            weir_redis_loop *loop)
{
    struct probe self = {.loop = loop}, one = {.loop = loop}, two = {.loop = loop};

    self.ends = &self;
    one.ends = &two;
    two.ends = &one;
    time_it(&self, 0);
    time_it(&one, 0);
    time_it(&two, 0);
    turn_past(kind, host, loop, 20);
    CHECK_EQUAL(1, self.told);
    CHECK_EQUAL(1, one.told + two.told);
    end_what_is_there(&one);
    end_what_is_there(&two);
}

#define ROW(name) {#name, name}

static const struct {
    const char *name;
    loop_test *test;
} rows[] = {
    ROW(a_watch_is_told_nothing_before_it_wants),
    ROW(readable_is_told_when_bytes_are_there),
    ROW(writable_is_told_when_there_is_room),
    ROW(both_are_told_and_what_is_no_longer_wanted_is_not),
    ROW(a_closed_other_side_is_told_as_readable),
    ROW(two_watches_are_told_in_one_turn_and_apart),
    ROW(a_watch_may_end_itself_when_told),
    ROW(a_watch_that_another_ends_is_not_told_what_was_at_hand),
    ROW(a_descriptor_is_watched_anew_in_the_place_of_an_ended_one),
    ROW(a_timer_fires_once),
    ROW(a_timer_armed_again_counts_from_then),
    ROW(a_timer_stops_and_the_farthest_ones_do_not_fire),
    ROW(a_timer_may_end_itself_or_another_when_it_fires),
};

int main(void)
{
    loop_kinds_tell_missing();
    for (size_t i = 0; i < loop_kind_count; i++) {
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            unsigned long failed = checks_failed;
            weir_redis_loop loop;
            void *host = loop_kinds[i].open(&loop);
            rows[j].test(&loop_kinds[i], host, &loop);
            loop_kinds[i].close(host);
            if (checks_failed > failed)
                printf("%s: %s\n", loop_kinds[i].name, rows[j].name);
        }
    }
    return checks_end();
}
