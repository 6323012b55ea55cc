/* A connection whose other end is this test's: what is written and read when that end is gone. */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weir/types.h>

#include "check.h"
#include "redis/link.h"

static const char question[] = "*1\r\n$4\r\nPING\r\n";
static int other; /* the far end */
static long long heard[4];
static unsigned replies;

static void hear(void *argument, redisReply *reply)
{
    CHECK(argument == heard);
    if (replies < 4)
        heard[replies] = reply->integer;
    replies++;
}

static weiri_redis_link connected(void)
{
    int pair[2];
    replies = 0;
    CHECK_EQUAL(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    other = pair[1];
    return (weiri_redis_link){.reader = weiri_redis_reader_open(), .fd = pair[0]};
}

static weiri_redis_exchange asking(size_t count)
{
    return (weiri_redis_exchange){.bytes = question,
                                  .length = sizeof question - 1,
                                  .replies = count,
                                  .reply = hear,
                                  .argument = heard,
                                  .deadline = weiri_redis_now() + 10 * WEIR_SECOND,
                                  .timeout = 10 * WEIR_SECOND};
}

static void say(const char *text)
{
    CHECK_EQUAL(strlen(text), send(other, text, strlen(text), MSG_NOSIGNAL));
}

static void it_is_quiet_while_nothing_is_there_to_be_read(void)
{
    weiri_redis_link link = connected();
    CHECK(weiri_redis_link_is_open(&link));
    CHECK(weiri_redis_link_is_quiet(&link));
    say(":");
    CHECK(!weiri_redis_link_is_quiet(&link));
    weiri_redis_link_close(&link);
    CHECK(!weiri_redis_link_is_open(&link));
    CHECK(!weiri_redis_link_is_quiet(&link));
    weiri_redis_link_close(&link);
    close(other);
    link = connected();
    close(other);
    CHECK(!weiri_redis_link_is_quiet(&link));
    weiri_redis_link_close(&link);
}

static void replies_come_in_order_however_they_are_cut(void)
{
    weiri_redis_link link = connected();
    weiri_redis_exchange exchange = asking(3);
    weiri_redis_text why = {.text = ""};
    say(":7\r\n:8\r\n:9\r\n");
    CHECK(weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(sizeof question - 1, exchange.sent);
    CHECK_EQUAL(3, exchange.received);
    CHECK_EQUAL(12, exchange.arrived);
    CHECK(heard[0] == 7 && heard[1] == 8 && heard[2] == 9);
    CHECK(strcmp("", why.text) == 0);
    weiri_redis_link_close(&link);
    close(other);
}

static void a_closed_end_raises_no_signal_and_what_it_said_before_counts(void)
{
    struct sigaction action;
    weiri_redis_link link = connected();
    weiri_redis_exchange exchange = asking(2);
    weiri_redis_text why;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL); /* it would end the test */
    say(":7\r\n");
    close(other);
    CHECK(!weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(0, exchange.sent);
    CHECK_EQUAL(1, exchange.received);
    CHECK_EQUAL(7, heard[0]);
    CHECK(strcmp("connection lost: Broken pipe", why.text) == 0);
    weiri_redis_link_close(&link);
}

static void a_deadline_that_has_passed_is_told_with_its_length(void)
{
    weiri_redis_link link = connected();
    weiri_redis_exchange exchange = asking(1);
    weiri_redis_text why;
    exchange.deadline = 1;
    exchange.timeout = 2500 * WEIR_MICROSECOND;
    CHECK(!weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(0, exchange.received);
    CHECK(strcmp("no answer within 2.5 ms", why.text) == 0);
    weiri_redis_link_close(&link);
    close(other);
}

/* A caller that was stopped, or kept from running, until its deadline had passed. */
static void what_has_come_when_the_deadline_passes_counts(void)
{
    weiri_redis_link link = connected();
    weiri_redis_exchange exchange = asking(2);
    weiri_redis_text why = {.text = ""};
    exchange.deadline = 1;
    say(":7\r\n:8\r\n");
    CHECK(weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(2, exchange.received);
    CHECK(heard[0] == 7 && heard[1] == 8);
    CHECK(strcmp("", why.text) == 0);
    char text[20100]; /* more than one read brings */
    snprintf(text, sizeof text, "$20000\r\n%020000d\r\n:3\r\n", 0);
    replies = 0;
    say(text);
    CHECK(weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(3, heard[1]);
    replies = 0;
    say(":9\r\n:1");
    CHECK(!weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK_EQUAL(1, exchange.received);
    CHECK_EQUAL(9, heard[0]);
    CHECK(strcmp("no answer within 10000 ms", why.text) == 0);
    weiri_redis_link_close(&link);
    close(other);
    link = connected();
    say(":7\r\n:8\r\n:9\r\n");
    CHECK(!weiri_redis_link_exchange(&link, &exchange, &why));
    CHECK(strcmp("garbled reply: more came than was asked for", why.text) == 0);
    weiri_redis_link_close(&link);
    close(other);
}

int main(void)
{
    it_is_quiet_while_nothing_is_there_to_be_read();
    replies_come_in_order_however_they_are_cut();
    a_closed_end_raises_no_signal_and_what_it_said_before_counts();
    a_deadline_that_has_passed_is_told_with_its_length();
    what_has_come_when_the_deadline_passes_counts();
    return checks_end();
}
