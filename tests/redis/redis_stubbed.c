/* Failures that a real server does not make on demand: ports where nobody answers, or answers wrongly, late or half. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "stub.h"

/* What a script returns: accepted, one left; refused, and nothing left. */
#define ACCEPTED "*5\r\n:1\r\n:0\r\n:1\r\n:0\r\n:5\r\n"
#define REFUSED  "*5\r\n:0\r\n:0\r\n:0\r\n:7\r\n:7\r\n"

static struct stub stub;

/* Leaves a server alone for so long, after one failure, that it is not asked again in this test. */
static weir_redis_options touchy(const char *url)
{
    weir_redis_options options = client_options(url);
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_DAY;
    return options;
}

/* Refused by the policy; `flags` beside UNREACHED. */
static void expect_unreached(weir_redis *limiter, unsigned flags)
{
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED | flags, decision.flags);
    CHECK(decision.retry_after_ns > 0);
    CHECK_EQUAL(5, decision.limit);
}

/* One failure: its text, then the breaker, which asks no more. */
static void expect_failure(weir_redis_options options, unsigned flags, const char *what, const char *where)
{
    weir_redis *limiter = client_open(&options, 5);
    expect_unreached(limiter, flags);
    CHECK(is_error(limiter, what, where));
    weir_redis_statistics before = client_stats(limiter);
    CHECK_EQUAL(1, before.failures);
    CHECK_EQUAL(1, before.breaker_open);
    CHECK_EQUAL(1, before.unreached);
    CHECK_EQUAL(flags == WEIR_REDIS_UNKNOWN, before.unknown);
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, decision.flags);
    CHECK(decision.retry_after_ns > WEIR_DAY / 2 - WEIR_HOUR && decision.retry_after_ns <= WEIR_DAY);
    weir_redis_statistics after = client_stats(limiter);
    CHECK_EQUAL(before.round_trips, after.round_trips);
    CHECK_EQUAL(before.connects, after.connects);
    CHECK_EQUAL(before.failures, after.failures);
    CHECK(is_error(limiter, what, where));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void nobody_listens(void)
{
    char url[64], name[64];
    unsigned port = stub_nobody();
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", port);
    snprintf(name, sizeof name, "127.0.0.1:%u", port);
    expect_failure(touchy(url), 0, "connect: Connection refused", name);
    expect_failure(touchy("unix:///nowhere/redis.sock"), 0, "connect: No such file or directory",
                   "/nowhere/redis.sock");
    expect_failure(touchy("redis://nowhere.invalid:1"), 0, "host: Name or service not known", "nowhere.invalid:1");
}

static void a_connection_is_never_accepted(void)
{
    char url[64], name[64];
    struct stub_deaf deaf;
    stub_deaf_open(&deaf);
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", (unsigned)deaf.port);
    snprintf(name, sizeof name, "127.0.0.1:%u", (unsigned)deaf.port);
    weir_redis_options options = touchy(url);
    options.connect_timeout_ns = 50 * WEIR_MILLISECOND;
    expect_failure(options, 0, "connect: Connection timed out", name);
    stub_deaf_close(&deaf);
}

static void say_nothing(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        ;
}

/* The fault "slow timeout": ten checks, of which the breaker lets three wait. */
static void a_silent_server_is_asked_until_the_breaker_opens(void)
{
    stub_start(&stub, say_nothing);
    weir_redis_options options = touchy(stub.url);
    options.breaker_failures = 3;
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < 10; i++)
        expect_unreached(limiter, i < 3 ? WEIR_REDIS_UNKNOWN : 0);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(3, statistics.round_trips);
    CHECK_EQUAL(3, statistics.connects);
    CHECK_EQUAL(3, statistics.failures);
    CHECK_EQUAL(3, statistics.unknown);
    CHECK_EQUAL(10, statistics.unreached);
    CHECK(is_error(limiter, "no answer within 200 ms", stub.name));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_await_commands(&stub, 3);
    stub_stop(&stub);
    CHECK_EQUAL(3, atomic_load(&stub.commands));
}

static void accept_all(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED);
}

/* 1 ns is over before it can be looked at; the kernel mostly makes a connection of one machine within the call. */
static void a_connection_that_is_made_counts_when_it_is_seen_late(void)
{
    stub_start(&stub, accept_all);
    weir_redis_options options = client_options(stub.url);
    options.connect_timeout_ns = 1;
    options.breaker_failures = UINT32_MAX;
    weir_redis *limiter = client_open(&options, 5);
    int tries = 0;
    while (tries < 50 && client_taken(limiter, "k", 1).flags != 0)
        tries++;
    CHECK(tries < 50);
    CHECK_EQUAL(1, client_stats(limiter).connects);
    CHECK_EQUAL(tries, client_stats(limiter).failures);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* A batch of five round trips to a server that takes connections, but never greets. */
static void a_batch_connects_no_longer_than_a_call_may(void)
{
    enum { COUNT = 5 * 1024 };
    static weir_request requests[COUNT];
    static weir_decision decisions[COUNT];
    char url[80];
    unsigned unreached = 0;
    stub_start(&stub, say_nothing);
    snprintf(url, sizeof url, "%s/1", stub.url);
    weir_redis_options options = touchy(url);
    options.breaker_failures = 1000;
    options.connect_timeout_ns = 50 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for("k", 1);
    CHECK_EQUAL(0, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, decisions));
    for (int i = 0; i < COUNT; i++)
        unreached += decisions[i].flags == WEIR_REDIS_UNREACHED;
    CHECK_EQUAL(COUNT, unreached);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    expect_unreached(limiter, 0); /* the next call has time of its own */
    CHECK_EQUAL(2, client_stats(limiter).failures);
    CHECK(is_error(limiter, "no answer within 50 ms", stub.name));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

static void a_reset_tells_whether_its_fate_is_known(void)
{
    stub_start(&stub, say_nothing);
    weir_redis_options options = touchy(stub.url);
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    CHECK_EQUAL(-ETIMEDOUT, client_reset(limiter, "k"));
    CHECK_EQUAL(-ENOTCONN, client_reset(limiter, "k"));
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

static void expect_after(const char *said, bool and_goes, unsigned flags, const char *what)
{
    words = said;
    goes = and_goes;
    stub_start(&stub, say_words);
    expect_failure(touchy(stub.url), flags, what, stub.name);
    stub_stop(&stub);
    CHECK_EQUAL(1, atomic_load(&stub.commands));
}

static void answers_that_are_none(void)
{
    const unsigned unknown = WEIR_REDIS_UNKNOWN;
    static const char not_ours[] = "garbled reply: not what the script returns";
    expect_after("*5\r\n:1\r\n:0", true, unknown, "connection lost: closed by the server before it had answered");
    expect_after("", true, unknown, "connection lost: closed by the server before it had answered");
    expect_after("*2147483647\r\n:1\r\n", true, unknown, "garbled reply: an array of more than 16384");
    expect_after("*5\r\n*5\r\n*16385\r\n", true, unknown, "garbled reply: an array of more than 16384");
    expect_after("*64\r\n:1\r\n", true, unknown, "connection lost: closed by the server before it had answered");
    expect_after("HTTP/1.1 400 Bad Request\r\n", false, unknown,
                 "garbled reply: Protocol error, got \"H\" as reply type byte");
    expect_after("+OK\r\n", false, unknown, not_ours);
    expect_after(":1\r\n", false, unknown, not_ours);
    expect_after("*4\r\n:1\r\n:0\r\n:1\r\n:0\r\n", false, unknown, not_ours);
    expect_after("*5\r\n:1\r\n:9\r\n:1\r\n:0\r\n:5\r\n", false, unknown, not_ours);
    expect_after("*5\r\n:1\r\n:0\r\n$1\r\n1\r\n:0\r\n:5\r\n", false, unknown, not_ours);
}

static void errors_that_say_that_nothing_was_done(void)
{
    static const char *const errors[] = {
        "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "DENIED Redis is running in protected mode because protected mode is enabled",
        "MISCONF Errors writing to the AOF file: No space left on device",
    };
    char said[256];
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        snprintf(said, sizeof said, "-%s\r\n", errors[i]);
        expect_after(said, false, 0, errors[i]);
    }
    expect_after("-MOVED 3999 127.0.0.1:6381\r\n", false, 0,
                 "MOVED 3999 127.0.0.1:6381: it is a node of a cluster, set options.cluster");
    expect_after("-ASK 3999 127.0.0.1:6381\r\n", false, 0,
                 "ASK 3999 127.0.0.1:6381: it is a node of a cluster, set options.cluster");
    expect_after("-ERR something new\r\n", false, WEIR_REDIS_UNKNOWN, "ERR something new");
    expect_after("-ERR max number of clients reached\r\n", true, 0, "ERR max number of clients reached");
}

/* A reply that takes a second at least, and no two bytes of which are far apart. */
static void trickle(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    if (!stub_read(stub_, fd))
        return;
    stub_send(fd, "$1000\r\n");
    for (int i = 0; i < 1000 && atomic_load(&stub_->stage) == 0; i++) {
        usleep(1000);
        stub_send(fd, "x");
    }
    stub_send(fd, "\r\n");
}

static void bytes_that_trickle_do_not_move_the_deadline(void)
{
    stub_start(&stub, trickle);
    weir_redis_options options = touchy(stub.url);
    options.command_timeout_ns = 500 * WEIR_MILLISECOND; /* so long no byte is late, however busy the machine */
    expect_failure(options, WEIR_REDIS_UNKNOWN, "no answer within 500 ms", stub.name);
    stub_stop(&stub);
}

static void flood(struct stub *stub_, int fd, unsigned number)
{
    static char much[100001];
    (void)number;
    memset(much, 'x', sizeof much - 1);
    if (stub_read(stub_, fd)) {
        stub_send(fd, "$90000000\r\n");
        stub_send(fd, much);
        while (stub_read(stub_, fd))
            ;
    }
}

static void a_reply_without_end_is_not_taken_into_memory(void)
{
    stub_start(&stub, flood);
    expect_failure(touchy(stub.url), WEIR_REDIS_UNKNOWN, "garbled reply: it does not end within 65536 bytes",
                   stub.name);
    stub_stop(&stub);
}

static void say_too_much(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED REFUSED);
}

static void a_server_that_answers_twice_is_not_believed_the_second_time(void)
{
    stub_start(&stub, say_too_much);
    weir_redis_options options = touchy(stub.url);
    options.breaker_failures = 100;
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < 5; i++)
        CHECK_EQUAL(1, client_taken(limiter, "k", 1).remaining);
    CHECK_EQUAL(0, client_stats(limiter).unreached);
    CHECK_EQUAL(5, client_stats(limiter).connects);
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

static void a_late_reply_answers_no_later_question(void)
{
    stub_start(&stub, answer_late);
    weir_redis_options options = client_options(stub.url);
    options.command_timeout_ns = WEIR_SECOND / 2; /* waited for once */
    options.breaker_failures = UINT32_MAX;
    options.connections = 1;
    weir_redis *limiter = client_open(&options, 5);
    expect_unreached(limiter, WEIR_REDIS_UNKNOWN);
    unsigned answered = 0;
    for (int i = 0; i < 20 && answered < 3; i++) { /* on a busy machine more may come too late */
        weir_decision decision = client_taken(limiter, "k", 1);
        CHECK_EQUAL(decision.flags == 0, decision.verdict);
        CHECK_EQUAL(decision.flags == 0, decision.remaining);
        answered += decision.flags == 0;
    }
    CHECK_EQUAL(3, answered);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* Reads ten commands, answers three, and is gone. */
static void answer_three(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    for (int i = 0; i < 10; i++)
        if (!stub_read(stub_, fd))
            return;
    stub_send(fd, ACCEPTED ACCEPTED REFUSED);
}

static void of_a_batch_that_is_cut_off_the_answers_count_and_the_rest_is_unknown(void)
{
    enum { COUNT = 10 };
    weir_request requests[COUNT];
    weir_decision decisions[COUNT];
    stub_start(&stub, answer_three);
    weir_redis_options options = touchy(stub.url);
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for("k", 1);
    CHECK_EQUAL(2, weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, decisions));
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(i < 2, decisions[i].verdict);
        CHECK_EQUAL(i < 3 ? 0 : WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN, decisions[i].flags);
    }
    CHECK_EQUAL(7, client_stats(limiter).unknown);
    CHECK_EQUAL(7, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

static void what_was_not_written_to_its_end_is_not_unknown_and_no_sigpipe_is_raised(void)
{
    enum { COUNT = 1000, KEY = 20000 }; /* 20 MB: more than the sockets hold, so that the end is never written */
    static weir_request requests[COUNT];
    static weir_decision decisions[COUNT];
    static char key[KEY];
    unsigned answered = 0, unknown = 0, denied = 0, changes = 0;
    struct sigaction action;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL); /* it would end the test */
    stub_start(&stub, answer_three);
    weir_redis_options options = touchy(stub.url);
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < COUNT; i++)
        requests[i] = weir_request_for(key, sizeof key);
    int64_t accepted = weir_redis_take_batch(limiter, requests, COUNT, WEIR_NOW, NULL, decisions);
    for (int i = 0; i < COUNT; i++) {
        answered += decisions[i].flags == 0;
        unknown += decisions[i].flags == (WEIR_REDIS_UNREACHED | WEIR_REDIS_UNKNOWN);
        denied += decisions[i].flags == WEIR_REDIS_UNREACHED;
        changes += i > 0 && decisions[i].flags != decisions[i - 1].flags;
    }
    CHECK(accepted <= 2 && answered <= 3); /* its answers may be lost with the connection */
    CHECK_EQUAL(COUNT, answered + unknown + denied);
    CHECK(changes <= 2); /* answered, then unknown, then not carried out */
    CHECK(denied > 0 && unknown > 0);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, decisions[COUNT - 1].flags);
    CHECK_EQUAL(unknown, client_stats(limiter).unknown);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

/* Refuses one that costs 5 for long, and goes away when it is asked the second time; then all are accepted. */
static void lose_the_second(struct stub *stub_, int fd, unsigned number)
{
    for (int i = 0; stub_read(stub_, fd); i++) {
        if (number == 0 && i == 1)
            return;
        stub_send(fd, number == 0 ? "*5\r\n:0\r\n:0\r\n:3\r\n:7000000000\r\n:7000000000\r\n" : ACCEPTED);
    }
}

static void what_may_have_been_charged_is_no_more_told_as_remaining(void)
{
    stub_start(&stub, lose_the_second);
    weir_redis_options options = client_options(stub.url);
    options.remember_ns = WEIR_DAY;
    weir_redis *limiter = client_open(&options, 5);
    CHECK_EQUAL(0, client_taken(limiter, "k", 5).verdict);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 5).flags);
    expect_unreached(limiter, WEIR_REDIS_UNKNOWN);
    CHECK_EQUAL(0, client_take(limiter, "k", 5, NULL)); /* refused it is, whatever became of the other */
    CHECK_EQUAL(0, client_taken(limiter, "k", 5).flags);
    CHECK_EQUAL(3, atomic_load(&stub.commands));
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

static void lose_all_scripts(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub_, fd))
        stub_send(fd, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

static void a_server_that_keeps_no_script_is_not_asked_for_ever(void)
{
    stub_start(&stub, lose_all_scripts);
    expect_failure(touchy(stub.url), 0, "NOSCRIPT for a script that was sent whole", stub.name);
    stub_stop(&stub);
    CHECK_EQUAL(3, atomic_load(&stub.commands));
}

/* Answers one command and closes. */
static void answer_one(struct stub *stub_, int fd, unsigned number)
{
    (void)number;
    if (stub_read(stub_, fd))
        stub_send(fd, ACCEPTED);
    shutdown(fd, SHUT_RDWR);
    atomic_fetch_add(&stub_->stage, 1);
}

/* A server that closes idle connections costs no decision. */
static void a_connection_closed_at_rest_is_replaced_without_a_failure(void)
{
    stub_start(&stub, answer_one);
    weir_redis_options options = touchy(stub.url);
    weir_redis *limiter = client_open(&options, 5);
    unsigned before = descriptors();
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
        stub_await(&stub, i + 1);
    }
    CHECK_EQUAL(5, client_stats(limiter).connects);
    CHECK_EQUAL(0, client_stats(limiter).failures);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
    CHECK_EQUAL(before, descriptors() + 1); /* the listener */
}

enum { TOGETHER = 4 };

/* The first connections, all in use at once, answer one command each; then they are dead, but do not look so. */
static void answer_once_together(struct stub *stub_, int fd, unsigned number)
{
    while (stub_read(stub_, fd)) {
        while (atomic_load(&stub_->commands) < TOGETHER)
            sched_yield();
        if (number < TOGETHER && atomic_load(&stub_->stage) > 0)
            return;
        stub_send(fd, ACCEPTED);
    }
}

static void *take_once(void *argument)
{
    return (void *)(uintptr_t)client_take(argument, "k", 1, NULL);
}

static void connections_from_before_an_outage_do_not_lengthen_it(void)
{
    pthread_t threads[TOGETHER];
    unsigned before = descriptors();
    stub_start(&stub, answer_once_together);
    weir_redis_options options = client_options(stub.url);
    options.breaker_failures = 1;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    weir_redis *limiter = client_open(&options, 5);
    for (int i = 0; i < TOGETHER; i++)
        pthread_create(&threads[i], NULL, take_once, limiter);
    for (int i = 0; i < TOGETHER; i++) {
        void *verdict;
        pthread_join(threads[i], &verdict);
        CHECK_EQUAL(1, (uintptr_t)verdict);
    }
    CHECK_EQUAL(TOGETHER, client_stats(limiter).connects);
    atomic_store(&stub.stage, 1);
    expect_unreached(limiter, WEIR_REDIS_UNKNOWN);
    for (int i = 0; i < 2 * TOGETHER; i++)
        CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(TOGETHER + 1, client_stats(limiter).connects);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
    CHECK_EQUAL(before, descriptors());
}

/* One connection, held by a call that waits for a silent server: who comes meanwhile waits no longer than its time. */
static void *take_patiently(void *argument)
{
    (void)client_take(argument, "k", 1, NULL);
    return NULL;
}

static void who_finds_all_connections_in_use_waits_until_its_deadline(void)
{
    pthread_t holder;
    stub_start(&stub, say_nothing);
    weir_redis_options options = touchy(stub.url);
    options.connections = 1;
    options.breaker_failures = 100;
    options.command_timeout_ns = 200 * WEIR_MILLISECOND;
    weir_redis *limiter = client_open(&options, 5);
    pthread_create(&holder, NULL, take_patiently, limiter);
    while (atomic_load(&stub.commands) == 0)
        ;
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, "k", 1).flags & WEIR_REDIS_UNREACHED);
    pthread_join(holder, NULL);
    CHECK(client_stats(limiter).connects <= 2);
    CHECK_EQUAL(2, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

int main(void)
{
    nobody_listens();
    a_connection_is_never_accepted();
    a_silent_server_is_asked_until_the_breaker_opens();
    a_connection_that_is_made_counts_when_it_is_seen_late();
    a_batch_connects_no_longer_than_a_call_may();
    a_reset_tells_whether_its_fate_is_known();
    answers_that_are_none();
    errors_that_say_that_nothing_was_done();
    bytes_that_trickle_do_not_move_the_deadline();
    a_reply_without_end_is_not_taken_into_memory();
    a_server_that_answers_twice_is_not_believed_the_second_time();
    a_late_reply_answers_no_later_question();
    of_a_batch_that_is_cut_off_the_answers_count_and_the_rest_is_unknown();
    what_was_not_written_to_its_end_is_not_unknown_and_no_sigpipe_is_raised();
    what_may_have_been_charged_is_no_more_told_as_remaining();
    a_server_that_keeps_no_script_is_not_asked_for_ever();
    a_connection_closed_at_rest_is_replaced_without_a_failure();
    connections_from_before_an_outage_do_not_lengthen_it();
    who_finds_all_connections_in_use_waits_until_its_deadline();
    return checks_end();
}
