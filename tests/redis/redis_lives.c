/*
 * How long the keys live, and the server's own time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/rows.h"

#define US WEIR_MICROSECOND

static struct redis_server server_;
static redisContext *link_;

static weir_request request_of(const char *key, uint64_t cost)
{
    weir_request request = weir_request_for(key, strlen(key));

    request.cost = cost;
    return request;
}

static void every_key_has_its_time(long long most_ms)
{
    redisReply *keys = redis_server_ask(link_, "KEYS *");

    for (size_t i = 0; i < keys->elements; i++) {
        long long left = redis_server_number(link_, "PTTL %s", keys->element[i]->str);

        CHECK(left > 0 && left <= most_ms);
    }
    CHECK(keys->elements > 0);
    freeReplyObject(keys);
}

static void every_key_ends_after_its_window_by_itself(void)
{
    const weir_rule rules[] = {counter_rule(1000, 30 * WEIR_MILLISECOND), log_rule(1000, 40 * WEIR_MILLISECOND),
                               buckets_rule(1000, 50 * WEIR_MILLISECOND, 5)};
    weir_redis_options options = asker_options(false);
    struct asker asker[4];

    REDIS_SERVER_TELL(link_, "FLUSHALL");
    for (size_t i = 0; i < 4; i++)
        CHECK_EQUAL(0, asker_open_with(&asker[i], link_, i < 3 ? &rules[i] : rules, i < 3 ? 1 : 3, &options));
    for (int step = 0; step < 300; step++) {
        weir_request request = request_of(step % 7 == 0 ? "one" : "other", (uint64_t)step % 3);

        for (size_t i = 0; i < 4; i++) {
            if (step % 50 == 49)
                asker_reset(&asker[i], &request, WEIR_NOW);
            else
                asker_take(&asker[i], &request, WEIR_NOW, NULL);
        }
        if (step % 10 == 9)
            every_key_has_its_time(60 + 2000);
    }
    while (redis_server_number(link_, "DBSIZE") > 0) /* by the server's own hand; the test's timeout is the bound */
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    for (size_t i = 0; i < 4; i++)
        asker_close(&asker[i]);
}

/* Twenty clients at once: a key is never without its time, and each call is one command. */
static void a_crowd_leaves_no_key_without_its_time(void)
{
    enum { CLIENTS = 20, ROUNDS = 20 };
    const weir_rule rules[] = {log_rule(50, WEIR_SECOND), counter_rule(50, WEIR_SECOND)};
    weir_redis_options options = asker_options(false);
    weir_request one = request_of("key", 1);
    redisContext *links[CLIENTS];
    struct asker asker;
    size_t length;

    REDIS_SERVER_TELL(link_, "FLUSHALL");
    CHECK_EQUAL(0, asker_open_with(&asker, link_, rules, 2, &options));
    asker_take(&asker, &one, WEIR_NOW, NULL); /* the script is known */
    weiri_redis_question question = {WEIRI_REDIS_TAKE, &one, WEIR_NOW, weiri_redis_limits_of(&asker.rules, 0)};
    char *command = weiri_redis_command(&asker.rules, &question, false, &length);
    for (size_t i = 0; i < CLIENTS; i++)
        links[i] = redis_server_connect(&server_);
    REDIS_SERVER_TELL(link_, "CONFIG RESETSTAT");
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CLIENTS; i++) {
            int written = 0;

            redisAppendFormattedCommand(links[i], command, length);
            while (!written)
                CHECK(redisBufferWrite(links[i], &written) == REDIS_OK);
        }
        for (size_t i = 0; i < CLIENTS; i++) {
            void *reply = NULL;

            CHECK(redisGetReply(links[i], &reply) == REDIS_OK);
            CHECK_EQUAL(REDIS_REPLY_ARRAY, ((redisReply *)reply)->type);
            freeReplyObject(reply);
        }
        every_key_has_its_time(2 * 1000 + 2000);
    }
    redisReply *stats = redis_server_ask(link_, "INFO commandstats");
    CHECK(strstr(stats->str, "cmdstat_evalsha:calls=400,") != NULL && strstr(stats->str, "cmdstat_eval:") == NULL);
    freeReplyObject(stats);
    for (size_t i = 0; i < CLIENTS; i++)
        redisFree(links[i]);
    free(command);
    asker_close(&asker);
    while (redis_server_number(link_, "DBSIZE") > 0)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

/* A life is not told to Redis twice in one second: so one must pass. */
static void a_later_record_lengthens_the_life(void)
{
    enum { WINDOW_MS = 1500 };
    const weir_rule rules[] = {log_rule(10, WINDOW_MS * WEIR_MILLISECOND),
                               buckets_rule(10, WINDOW_MS * WEIR_MILLISECOND, 5),
                               counter_rule(10, WINDOW_MS * WEIR_MILLISECOND)};
    weir_redis_options options = asker_options(false);
    weir_request one = request_of("key", 1);
    struct asker asker[3];

    REDIS_SERVER_TELL(link_, "FLUSHALL");
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQUAL(0, asker_open_with(&asker[i], link_, &rules[i], 1, &options));
        CHECK_EQUAL(1, asker_take(&asker[i], &one, WEIR_NOW, NULL));
    }
    for (size_t i = 0; i < 3; i++) {
        const char *suffix = asker[i].rules.rule[0].suffix;

        while (redis_server_number(link_, "PTTL {weir:key}%s", suffix) >= WINDOW_MS)
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        CHECK_EQUAL(1, asker_take(&asker[i], &one, WEIR_NOW, NULL));
        CHECK(redis_server_number(link_, "PTTL {weir:key}%s", suffix) >= WINDOW_MS);
        asker_close(&asker[i]);
    }
}

/* ---- The server's own time ---- */

static uint64_t server_time_us(void)
{
    redisReply *reply = redis_server_ask(link_, "TIME");
    uint64_t seconds = strtoull(reply->element[0]->str, NULL, 10);
    uint64_t us = seconds * 1000000 + strtoull(reply->element[1]->str, NULL, 10);

    freeReplyObject(reply);
    return us;
}

static void without_a_given_time_the_server_tells_it(void)
{
    enum { WINDOW_US = 30000 };
    const weir_rule rules[] = {log_rule(1, WINDOW_US * US), buckets_rule(1, WINDOW_US * US, WINDOW_US)};
    weir_redis_options options = asker_options(false);
    weir_request one = request_of("key", 1);

    for (size_t i = 0; i < 2; i++) {
        struct asker asker;
        weir_decision got;

        REDIS_SERVER_TELL(link_, "FLUSHALL");
        CHECK_EQUAL(0, asker_open_with(&asker, link_, &rules[i], 1, &options));
        uint64_t before = server_time_us();
        CHECK_EQUAL(1, asker_take(&asker, &one, WEIR_NOW, NULL));
        while (asker_take(&asker, &one, WEIR_NOW, &got) == 0) {
            uint64_t now = server_time_us(); /* a little later than the refusal */

            CHECK(now + got.retry_after_ns / US >= before + WINDOW_US);
            CHECK(got.retry_after_ns / US <= WINDOW_US);
        }
        CHECK(server_time_us() >= before + WINDOW_US);
        asker_close(&asker);
    }
}

int main(void)
{
    NEEDS_REDIS();
    redis_server_start(&server_, NULL);
    link_ = redis_server_connect(&server_);
    every_key_ends_after_its_window_by_itself();
    a_crowd_leaves_no_key_without_its_time();
    a_later_record_lengthens_the_life();
    without_a_given_time_the_server_tells_it();
    redisFree(link_);
    redis_server_stop(&server_);
    return checks_end();
}
