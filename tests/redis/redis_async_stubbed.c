/* The client for event loops and servers that answer wrongly, late, half or not at all: on every loop. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/link.h"
#include "stub.h"
#include "turning.h"

#define ACCEPTED "*5\r\n:1\r\n:0\r\n:1\r\n:0\r\n:5\r\n"
#define REFUSED  "*5\r\n:0\r\n:0\r\n:0\r\n:7\r\n:7\r\n"
#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"

static struct stub stub;

/* One call that fails so, at once or later; then the breaker, and nothing more is sent. */
static void expect_failure(const struct loop_kind *kind, weir_redis_options options, unsigned flags, const char *what,
                           const char *where)
{
    weir_redis *limiter = client_open(&options, 5);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    turning_take(&turning, "k", WEIR_NOW);
    turn_out(&turning);
    CHECK_EQUAL(1, turning.refused);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | flags, turning.last.flags);
    CHECK_EQUAL(5, turning.last.limit);
    CHECK(is_error(limiter, what, where));
    weir_redis_statistics before = client_stats(limiter);
    CHECK_EQUAL(1, before.failures);
    CHECK_EQUAL(1, before.breaker_open);
    CHECK_EQUAL(0, turning_take(&turning, "k", WEIR_NOW));
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning.last.flags);
    CHECK(turning.last.retry_after_ns > WEIR_DAY / 2 - WEIR_HOUR && turning.last.retry_after_ns <= WEIR_DAY);
    weir_redis_statistics after = client_stats(limiter);
    CHECK_EQUAL(before.commands, after.commands);
    CHECK_EQUAL(before.failures, after.failures);
    CHECK_EQUAL(2, after.unreached);
    CHECK_EQUAL(flags == WEIR_REDIS_UNKNOWN, after.unknown);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* The linker leads the library here (--wrap): hosts of two addresses, of which the first refuses, or never answers. */
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list);

static uint16_t silent_port;

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list)
{
    char nowhere[8];
    bool silent = strcmp(host, "silent.address") == 0;
    if (!silent && strcmp(host, "two.addresses") != 0)
        return __real_getaddrinfo(host, port, hints, list);
    snprintf(nowhere, sizeof nowhere, "%u", (unsigned)(silent ? silent_port : stub_nobody()));
    int error = __real_getaddrinfo("127.0.0.1", nowhere, hints, list);
    return error ? error : __real_getaddrinfo("127.0.0.1", port, hints, &(*list)->ai_next);
}

static void nobody_listens(const struct loop_kind *kind)
{
    char url[64], name[64];
    unsigned port = stub_nobody();
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", port);
    snprintf(name, sizeof name, "127.0.0.1:%u", port);
    expect_failure(kind, touchy(url), 0, "connect: Connection refused", name);
    expect_failure(kind, touchy("unix:///nowhere/redis.sock"), 0, "connect: No such file or directory",
                   "/nowhere/redis.sock");
    expect_failure(kind, touchy("redis://nowhere.invalid:1"), 0, "host: Name or service not known",
                   "nowhere.invalid:1");
}

static void a_connection_is_never_accepted(const struct loop_kind *kind)
{
    char url[64], name[64];
    struct stub_deaf deaf;
    stub_deaf_open(&deaf);
    unsigned port = deaf.port;
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", port);
    snprintf(name, sizeof name, "127.0.0.1:%u", port);
    weir_redis_options options = touchy(url);
    options.connect_timeout_ns = 50 * WEIR_MILLISECOND;
    expect_failure(kind, options, 0, "connect: Connection timed out", name);
    stub_deaf_close(&deaf);
}

static void accept_all(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED);
}

static void the_next_address_is_tried(const struct loop_kind *kind, const char *host)
{
    char url[64];
    stub_start(&stub, accept_all);
    snprintf(url, sizeof url, "redis://%s:%u", host, (unsigned)stub.port);
    weir_redis_options options = touchy(url);
    options.connect_timeout_ns = WEIR_SECOND;
    weir_redis *limiter = client_open(&options, 5);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(0, turning.last.flags);
    CHECK_EQUAL(1, client_stats(limiter).connects);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

static void an_address_that_refuses_or_does_not_answer_leaves_time_for_the_next(const struct loop_kind *kind)
{
    the_next_address_is_tried(kind, "two.addresses");
    struct stub_deaf deaf;
    stub_deaf_open(&deaf);
    silent_port = deaf.port;
    the_next_address_is_tried(kind, "silent.address");
    stub_deaf_close(&deaf);
}

/* Greets when the test lets it. */
static void greet_and_accept(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    if (!stub_read(stub_, fd))
        return;
    stub_await(stub_, 1);
    stub_send(fd, "+OK\r\n");
    atomic_store(&stub_->stage, 2);
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED);
}

/* The host's own delay, while a connection is made, or greeted: longer than that may take. False: this machine was too
 * slow to get so far in time. */
static bool goes_on_after_a_delay(const struct loop_kind *kind, bool greets)
{
    struct turning turning;
    stub_start(&stub, greets ? greet_and_accept : accept_all);
    char url[80];
    snprintf(url, sizeof url, "%s%s", stub.url, greets ? "/1" : "");
    weir_redis_options options = touchy(url);
    options.connect_timeout_ns = 100 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    uint64_t begun = weiri_redis_now();
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    while (greets && turning.under_way > 0 && atomic_load(&stub.commands) == 0)
        turn_for(&turning, WEIR_MICROSECOND);
    if (greets && turning.under_way > 0) {
        atomic_store(&stub.stage, 1);
        stub_await(&stub, 2);
    }
    bool in_time = weiri_redis_now() - begun < 100 * WEIR_MILLISECOND;
    usleep(110 * 1000);
    turn_out_late(&turning);
    if (in_time) {
        CHECK_EQUAL(0, turning.last.flags);
        CHECK_EQUAL(1, turning.accepted);
        CHECK_EQUAL(1, client_stats(limiter).connects);
        CHECK_EQUAL(0, client_stats(limiter).failures);
    }
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
    return in_time;
}

static void a_late_loop_finds_its_connection_made(const struct loop_kind *kind)
{
    for (int greets = 0; greets < 2; greets++) {
        int tries = 0;
        while (tries < 10 && !goes_on_after_a_delay(kind, greets))
            tries++;
        CHECK(tries < 10);
    }
}

/* Time was over before the loop came to write: nothing is written then, and the server is not blamed. */
static void what_a_late_loop_had_no_time_to_ask_is_not_asked(const struct loop_kind *kind)
{
    struct turning turning;
    stub_start(&stub, accept_all);
    weir_redis_options options = touchy(stub.url);
    options.command_timeout_ns = WEIR_SECOND;
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    for (int i = 0; i < 20 && turning.accepted == 0; i++) { /* connected; on a busy machine it may take more than one */
        turning_take(&turning, "k", WEIR_NOW);
        turn_out(&turning);
    }
    CHECK_EQUAL(1, turning.accepted);
    weir_redis_statistics before = client_stats(limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    usleep(1010 * 1000);
    turn_out_late(&turning);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning.last.flags);
    CHECK(is_error(limiter, "no time was left to ask", stub.name));
    CHECK_EQUAL(before.commands, client_stats(limiter).commands);
    CHECK_EQUAL(before.failures, client_stats(limiter).failures);
    CHECK_EQUAL(before.connects, client_stats(limiter).connects);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

static void say_nothing(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        ;
}

static void a_silent_server_costs_a_timeout_and_then_nothing(const struct loop_kind *kind)
{
    stub_start(&stub, say_nothing);
    weir_redis_options options = touchy(stub.url);
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    expect_failure(kind, options, WEIR_REDIS_UNKNOWN, "no answer within 200 ms", stub.name);
    stub_await_commands(&stub, 1);
    stub_stop(&stub);
    CHECK_EQUAL(1, atomic_load(&stub.commands));
    stub_start(&stub, say_nothing); /* silent at AUTH: nothing of ours was sent */
    char url[96];
    snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%u", (unsigned)stub.port);
    options = touchy(url);
    options.connect_timeout_ns = 50 * WEIR_MILLISECOND;
    expect_failure(kind, options, 0, "no answer within 50 ms", stub.name);
    stub_stop(&stub);
}

static void each_call_has_its_time(const struct loop_kind *kind)
{
    stub_start(&stub, say_nothing);
    weir_redis_options options = untiring(stub.url);
    struct turning turning;
    options.command_timeout_ns = 100 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    for (unsigned i = 1; i <= 5; i++) {
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
        turn_out(&turning);
        CHECK_EQUAL(i, turning.unknown);
    }
    CHECK_EQUAL(5, client_stats(limiter).connects); /* none is used again after it was late */
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* Ten calls that are under way together fail together: one failure. The policy decides each. */
static void what_is_under_way_fails_once_and_the_policy_decides_each(const struct loop_kind *kind)
{
    stub_start(&stub, say_nothing);
    weir_redis_options options = touchy(stub.url);
    struct turning turning;
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    options.when_unreached = WEIR_UNREACHED_FALLBACK;
    options.fallback_permille = 500;
    weir_redis *limiter = client_open(&options, 6);
    turning_open(&turning, kind, limiter);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(3, turning.accepted);
    CHECK_EQUAL(7, turning.refused);
    CHECK_EQUAL(10, turning.unreached);
    CHECK_EQUAL(10, turning.fallback);
    CHECK_EQUAL(10, turning.unknown);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(1, client_stats(limiter).round_trips);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* What the stub says to every command, and whether it goes away then. */
static const char *words;
static bool goes;

static void say_words(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd)) {
        stub_send(fd, words);
        if (goes)
            return;
    }
}

static void expect_after(const struct loop_kind *kind, const char *said, bool and_goes, unsigned flags,
                         const char *what)
{
    words = said;
    goes = and_goes;
    stub_start(&stub, say_words);
    expect_failure(kind, touchy(stub.url), flags, what, stub.name);
    stub_stop(&stub);
    CHECK_EQUAL(1, atomic_load(&stub.commands));
}

static void answers_that_are_none(const struct loop_kind *kind)
{
    static const char ended[] = "connection lost: closed by the server before it had answered";
    static const char not_ours[] = "garbled reply: not what the script returns";
    const unsigned unknown = WEIR_REDIS_UNKNOWN;
    expect_after(kind, "*5\r\n:1\r\n:0", true, unknown, ended);
    expect_after(kind, "", true, unknown, ended);
    expect_after(kind, "HTTP/1.1 400\r\n", false, unknown,
                 "garbled reply: Protocol error, got \"H\" as reply type byte");
    expect_after(kind, "+OK\r\n", false, unknown, not_ours);
    expect_after(kind, "-ERR something new\r\n", false, unknown, "ERR something new");
    expect_after(kind, "-LOADING Redis is loading the dataset in memory\r\n", false, 0,
                 "LOADING Redis is loading the dataset in memory");
    expect_after(kind, "-MOVED 3999 127.0.0.1:6381\r\n", false, 0,
                 "MOVED 3999 127.0.0.1:6381: it is a node of a cluster, set options.cluster");
    expect_after(kind, "-ERR max number of clients reached\r\n", true, 0, "ERR max number of clients reached");
}

static void flood(struct stub *stub_, int fd, unsigned number)
{
    static char much[200001];
    (void)number;
    memset(much, 'x', sizeof much - 1);
    if (stub_read(stub_, fd)) {
        stub_send(fd, "$90000000\r\n");
        stub_send(fd, much);
        while (stub_read(stub_, fd))
            ;
    }
}

static void a_reply_without_end_is_not_taken_into_memory(const struct loop_kind *kind)
{
    stub_start(&stub, flood);
    expect_failure(kind, touchy(stub.url), WEIR_REDIS_UNKNOWN, "garbled reply: it does not end within 65536 bytes",
                   stub.name);
    stub_stop(&stub);
}

/* Answers each question, and says more. */
static void say_too_much(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED REFUSED);
}

static void what_nobody_asked_for_answers_nothing(const struct loop_kind *kind)
{
    stub_start(&stub, say_too_much);
    weir_redis_options options = untiring(stub.url);
    weir_redis *limiter = client_open(&options, 5);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
        turn_out(&turning);
    }
    CHECK_EQUAL(5, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    CHECK_EQUAL(5, client_stats(limiter).connects);
    CHECK(is_error(limiter, "garbled reply: more came than was asked for", stub.name));
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* The first question is answered when the second one has been asked, on another connection. */
static void answer_late(struct stub *stub_, int fd, unsigned number)
{
    if (!stub_read(stub_, fd))
        return;
    if (number == 0) {
        stub_await(stub_, 1);
        stub_send(fd, REFUSED);
        atomic_store(&stub_->stage, 2);
    } else {
        atomic_store(&stub_->stage, 1);
        stub_await(stub_, 2);
        stub_send(fd, ACCEPTED);
    }
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED);
}

static void a_late_reply_answers_no_later_question(const struct loop_kind *kind)
{
    stub_start(&stub, answer_late);
    weir_redis_options options = untiring(stub.url);
    options.command_timeout_ns = WEIR_SECOND / 2; /* waited for once */
    weir_redis *limiter = client_open(&options, 5);
    struct turning turning;
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    turn_out(&turning);
    CHECK_EQUAL(1, turning.unknown);
    for (int i = 0; i < 20 && turning.accepted < 3; i++) { /* on a busy machine more may come too late */
        CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
        turn_out(&turning);
        CHECK_EQUAL(turning.last.flags == 0, turning.last.verdict);
    }
    CHECK_EQUAL(3, turning.accepted);
    CHECK_EQUAL(1 + turning.unknown, client_stats(limiter).connects);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* A server that never knows a script is not asked for ever. */
static void a_script_that_never_arrives_is_given_up(const struct loop_kind *kind)
{
    words = NOSCRIPT;
    goes = false;
    stub_start(&stub, say_words);
    expect_failure(kind, touchy(stub.url), 0, "NOSCRIPT for a script that was sent whole", stub.name);
    stub_stop(&stub);
    CHECK_EQUAL(3, atomic_load(&stub.commands));
}

int main(void)
{
    loop_kinds_tell_missing();
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        nobody_listens(kind);
        a_connection_is_never_accepted(kind);
        a_late_loop_finds_its_connection_made(kind);
        what_a_late_loop_had_no_time_to_ask_is_not_asked(kind);
        a_silent_server_costs_a_timeout_and_then_nothing(kind);
        what_is_under_way_fails_once_and_the_policy_decides_each(kind);
        answers_that_are_none(kind);
        each_call_has_its_time(kind);
        an_address_that_refuses_or_does_not_answer_leaves_time_for_the_next(kind);
        a_reply_without_end_is_not_taken_into_memory(kind);
        what_nobody_asked_for_answers_nothing(kind);
        a_late_reply_answers_no_later_question(kind);
        a_script_that_never_arrives_is_given_up(kind);
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    return checks_end();
}
