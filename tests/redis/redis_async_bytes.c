/*
 * The client for event loops byte by byte, on every loop: the server is a socket in the test's own thread, which so
 * knows what was written, and when.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/link.h"
#include "stub.h"
#include "turning.h"

#define ACCEPTED "*5\r\n:1\r\n:0\r\n:1\r\n:0\r\n:5\r\n"
#define REFUSED  "*5\r\n:0\r\n:0\r\n:0\r\n:7\r\n:7\r\n"
#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"

struct listening {
    char path[64];
    char url[80];
    int listener;
    int fd;
};

static void listen_here(struct listening *here)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(here->path, sizeof here->path, "/tmp/weir-redis-stub-%d", (int)getpid());
    snprintf(here->url, sizeof here->url, "unix://%s", here->path);
    strcpy(address.sun_path, here->path);
    unlink(here->path); /* of a test with this number that was killed */
    here->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(here->listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(here->listener, 8) == 0);
}

static void listen_no_more(struct listening *here)
{
    close(here->listener);
    unlink(here->path);
}

/* Turns until so many "EVAL" have come, or no call waits any more; `text` holds what came, ended by 0. Returns how many
 * came. */
static size_t hear(struct turning *turning, int fd, size_t commands, char *text, size_t room)
{
    size_t length = 0, heard = 0;
    while (heard < commands && length + 1 < room && turning->under_way > 0) {
        ssize_t got = recv(fd, text + length, room - length - 1, MSG_DONTWAIT);
        if (got > 0)
            length += (size_t)got;
        else
            turn_for(turning, 0);
        text[length] = '\0';
        heard = 0;
        for (const char *at = text; (at = strstr(at, "\nEVAL")); at++)
            heard++;
    }
    return heard;
}

/* One that ends before it has answered anything: else it would be dialled again and again. */
static void a_connection_that_ends_before_it_has_served_is_a_failure(const struct loop_kind *kind)
{
    struct listening here;
    struct turning turning;
    listen_here(&here);
    weir_redis_options options = touchy(here.url);
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    CHECK_EQUAL(-EINPROGRESS, turning_take(&turning, "k", WEIR_NOW));
    close(accept(here.listener, NULL, NULL));
    turn_out(&turning);
    CHECK_EQUAL(1, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    CHECK_EQUAL(1, client_stats(limiter).failures);
    CHECK_EQUAL(1, client_stats(limiter).connects);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    listen_no_more(&here);
}

/* Are these words in the text, in this order? */
static bool in_order(const char *text, const char *const *words_)
{
    for (; *words_; words_++) {
        text = strstr(text, *words_);
        if (!text)
            return false;
        text += strlen(*words_);
    }
    return true;
}

/* a is answered; b and c find no script, d does: so c must not be asked before b, nor e, which came later, before c. */
static void calls_without_a_script_are_sent_again_in_order_before_later_ones(const struct loop_kind *kind)
{
    static char text[65536];
    struct listening here;
    struct turning turning;
    listen_here(&here);
    weir_redis_options options = untiring(here.url);
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    turning_take(&turning, "aaa", WEIR_NOW);
    turning_take(&turning, "bbb", WEIR_NOW);
    turning_take(&turning, "ccc", WEIR_NOW);
    turning_take(&turning, "ddd", WEIR_NOW);
    here.fd = accept(here.listener, NULL, NULL);
    CHECK_EQUAL(4, hear(&turning, here.fd, 4, text, sizeof text));
    CHECK(in_order(text, (const char *const[]){"EVALSHA", "aaa", "EVALSHA", "bbb", "EVALSHA", "ccc", "EVALSHA", "ddd",
                                               NULL}));
    stub_send(here.fd, ACCEPTED NOSCRIPT);
    while (turning.under_way > 3)
        turn(&turning);
    turning_take(&turning, "eee", WEIR_NOW);
    turn_for(&turning, WEIR_MILLISECOND);
    CHECK(recv(here.fd, text, 1, MSG_DONTWAIT) < 0); /* nothing, while answers are to come */
    stub_send(here.fd, NOSCRIPT ACCEPTED);
    CHECK_EQUAL(3, hear(&turning, here.fd, 3, text, sizeof text));
    CHECK(in_order(text, (const char *const[]){"\nEVAL\r\n", "bbb", "\nEVALSHA\r\n", "ccc", "\nEVALSHA\r\n", "eee",
                                               NULL}));
    CHECK(strstr(text, "aaa") == NULL && strstr(text, "ddd") == NULL);
    stub_send(here.fd, ACCEPTED REFUSED ACCEPTED);
    turn_out(&turning);
    CHECK_EQUAL(4, turning.accepted);
    CHECK_EQUAL(1, turning.refused);
    CHECK_EQUAL(0, turning.unreached);
    CHECK_EQUAL(7, client_stats(limiter).commands);
    CHECK_EQUAL(1, client_stats(limiter).scripts_loaded);
    close(here.fd);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    listen_no_more(&here);
}

/* Sending fails, and no SIGPIPE is raised: it would have ended this process. What could not be sent is known to be. */
static void a_side_that_reads_no_more_raises_no_signal(const struct loop_kind *kind)
{
    struct listening here;
    struct turning turning;
    struct sigaction action;
    sigset_t pending;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    listen_here(&here);
    weir_redis_options options = touchy(here.url);
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    turning_take(&turning, "k", WEIR_NOW);
    here.fd = accept(here.listener, NULL, NULL);
    shutdown(here.fd, SHUT_RD);
    turn_out(&turning);
    CHECK_EQUAL(1, turning.unreached);
    CHECK_EQUAL(0, turning.unknown);
    CHECK(is_error(limiter, "connection lost: Broken pipe", here.path));
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE));
    close(here.fd);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    listen_no_more(&here);
}

/* Reads up to `most` bytes that are there. Returns how many they were. */
static size_t drain(int fd, size_t most)
{
    static char bytes[65536];
    size_t all = 0;
    while (all < most) {
        ssize_t got = recv(fd, bytes, most - all < sizeof bytes ? most - all : sizeof bytes, MSG_DONTWAIT);
        if (got <= 0)
            break;
        all += (size_t)got;
    }
    return all;
}

/* Commands of one length, more than the socket holds, asked in two lots: the other side counts the whole ones. */
static void exactly_those_that_were_written_whole_are_of_unknown_fate(const struct loop_kind *kind)
{
    enum { LOT = 40, KEY = 60000 };
    static char key[KEY];
    weir_request request = weir_request_for(key, sizeof key);
    struct listening here;
    struct turning turning;
    listen_here(&here);
    weir_redis_options options = touchy(here.url);
    weir_redis *limiter = client_open(&options, 5);
    turning_open(&turning, kind, limiter);
    turning_ask(&turning, &request, WEIR_NOW);
    here.fd = accept(here.listener, NULL, NULL);
    size_t command = 0;
    while (command <= KEY && turning.under_way > 0) { /* it is written at once: it has room */
        turn_for(&turning, WEIR_MICROSECOND);
        command += drain(here.fd, SIZE_MAX);
    }
    CHECK(command > KEY);
    stub_send(here.fd, ACCEPTED);
    turn_out(&turning);
    for (int i = 0; i < LOT; i++)
        turning_ask(&turning, &request, WEIR_NOW);
    turn_for(&turning, WEIR_MILLISECOND);
    for (int i = 0; i < LOT; i++)
        turning_ask(&turning, &request, WEIR_NOW);
    size_t heard = 0;
    while (heard < 5 * command && turning.under_way > 0) { /* makes room, by less than a command at a time */
        heard += drain(here.fd, command / 2);
        turn_for(&turning, WEIR_MICROSECOND);
    }
    shutdown(here.fd, SHUT_WR);
    turn_out(&turning);
    heard += drain(here.fd, SIZE_MAX);
    CHECK(heard / command >= 5 && heard / command < 2 * LOT);
    CHECK_EQUAL(heard / command, turning.unknown);
    CHECK_EQUAL(2 * LOT, turning.unreached);
    close(here.fd);
    turning_close(&turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    listen_no_more(&here);
}

/* So many calls are answered together, and then the loop is held up for longer than the timeout. False: this machine
 * was too slow to ask and answer in time. */
static bool answer_a_late_loop(const struct loop_kind *kind, unsigned calls, const char *answers,
                               struct turning *turning)
{
    static char text[1 << 20];
    struct listening here;
    listen_here(&here);
    weir_redis_options options = touchy(here.url);
    options.command_timeout_ns = WEIR_SECOND;
    weir_redis *limiter = client_open(&options, 5);
    turning_open(turning, kind, limiter);
    uint64_t begun = weiri_redis_now();
    for (unsigned i = 0; i < calls; i++)
        turning_take(turning, "k", WEIR_NOW);
    here.fd = accept(here.listener, NULL, NULL);
    size_t asked = hear(turning, here.fd, calls, text, sizeof text);
    stub_send(here.fd, answers); /* at once: many small ones would not fit into the socket */
    bool in_time = asked == calls && weiri_redis_now() - begun < WEIR_SECOND;
    usleep(1100 * 1000); /* the host's own delay, which is what this is about */
    turn_out_late(turning);
    close(here.fd);
    turning_close(turning);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    listen_no_more(&here);
    return in_time;
}

static void await_a_late_loop(const struct loop_kind *kind, unsigned calls, const char *answers,
                              struct turning *turning)
{
    int tries = 0;
    while (tries < 10 && !answer_a_late_loop(kind, calls, answers, turning))
        tries++;
    CHECK(tries < 10);
}

/* More than one read brings, as many answers and as one. */
static void a_late_loop_takes_the_answers_that_are_there(const struct loop_kind *kind)
{
    enum { CALLS = 1000, WORDS = 60000 };
    static char many[CALLS * (sizeof ACCEPTED - 1) + 1], long_one[WORDS + 20];
    struct turning turning;
    for (char *end = many; end < many + sizeof many - 1;)
        end = stpcpy(end, ACCEPTED);
    await_a_late_loop(kind, CALLS, many, &turning);
    CHECK_EQUAL(CALLS, turning.accepted);
    CHECK_EQUAL(0, turning.unreached);
    snprintf(long_one, sizeof long_one, "-LOADING %0*d\r\n", WORDS, 0);
    await_a_late_loop(kind, 1, long_one, &turning);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, turning.last.flags); /* and not UNKNOWN: it was read that nothing was done */
}

int main(void)
{
    loop_kinds_tell_missing();
    for (const struct loop_kind *kind = loop_kinds; kind < loop_kinds + loop_kind_count; kind++) {
        unsigned long failed = checks_failed;
        a_connection_that_ends_before_it_has_served_is_a_failure(kind);
        calls_without_a_script_are_sent_again_in_order_before_later_ones(kind);
        a_side_that_reads_no_more_raises_no_signal(kind);
        exactly_those_that_were_written_whole_are_of_unknown_fate(kind);
        a_late_loop_takes_the_answers_that_are_there(kind);
        if (checks_failed > failed)
            printf("on %s\n", kind->name);
    }
    return checks_end();
}
