/*
 * Errors of a real server that say that nothing was written: nothing was, in any rule's key.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/rows.h"

#define US WEIR_MICROSECOND

/* Alone and together: each first write is one that can be refused. */
static const weir_rule rules[] = {
    {.limit = 100, .window_ns = 100 * US, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 10},
    {.limit = 100, .window_ns = 100 * US, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    {.limit = 100, .window_ns = 100 * US, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
};
enum { RULES = 3 };

static redisContext *link_;
static weir_request one;
static weir_request three;

/* A number that changes with any change of the data. */
static void digest(char text[48])
{
    redisReply *reply = redis_server_ask(link_, "DEBUG DIGEST");

    snprintf(text, 48, "%s", reply->str);
    freeReplyObject(reply);
}

static void refused_with(const char *word, struct asker *asker, enum weiri_redis_verb verb, uint64_t now)
{
    char before[48];
    char after[48];
    weir_decision decision;

    digest(before);
    CHECK_EQUAL(WEIRI_REDIS_REFUSED, asker_try(asker, verb, &three, now, true, &decision));
    if (strncmp(asker_error, word, strlen(word)) != 0)
        printf("wanted %s, got %s\n", word, asker_error);
    CHECK(strncmp(asker_error, word, strlen(word)) == 0);
    digest(after);
    CHECK(strcmp(before, after) == 0);
}

/* On each rule alone, then on all; first with no key there, then with old and new records in a full window. */
static void each_way(void (*spoil)(void), void (*mend)(void), const char *word)
{
    for (size_t i = 0; i <= RULES; i++) {
        struct asker asker;

        CHECK_EQUAL(0, asker_open(&asker, link_, i < RULES ? &rules[i] : rules, i < RULES ? 1 : RULES));
        REDIS_SERVER_TELL(link_, "FLUSHALL");
        spoil();
        refused_with(word, &asker, WEIRI_REDIS_TAKE, 0);
        mend();
        for (uint64_t t = 0; t < 100; t += 30)
            CHECK_EQUAL(1, asker_take(&asker, &one, t * US, NULL));
        spoil();
        refused_with(word, &asker, WEIRI_REDIS_TAKE, 91 * US);
        refused_with(word, &asker, WEIRI_REDIS_TAKE, 121 * US);
        refused_with(word, &asker, WEIRI_REDIS_TAKE, 500 * US);
        mend();
        CHECK_EQUAL(1, asker_take(&asker, &three, 500 * US, NULL));
        asker_close(&asker);
    }
}

static void fill(void) { REDIS_SERVER_TELL(link_, "CONFIG SET maxmemory 1"); }
static void clear(void) { REDIS_SERVER_TELL(link_, "CONFIG SET maxmemory 0"); }
static void demote(void) { REDIS_SERVER_TELL(link_, "REPLICAOF 127.0.0.1 1"); }
static void promote(void) { REDIS_SERVER_TELL(link_, "REPLICAOF NO ONE"); }

static void a_key_of_another_type_is_met_before_anything_is_written(void)
{
    for (size_t spoilt = 0; spoilt < RULES; spoilt++) {
        struct asker asker;

        REDIS_SERVER_TELL(link_, "FLUSHALL");
        CHECK_EQUAL(0, asker_open(&asker, link_, rules, RULES));
        REDIS_SERVER_TELL(link_, "RPUSH {weir:key}%s x", asker.rules.rule[spoilt].suffix);
        refused_with("WRONGTYPE ", &asker, WEIRI_REDIS_TAKE, 0);
        CHECK_EQUAL(1, redis_server_number(link_, "DBSIZE"));
        asker_close(&asker);
    }
}

static void a_reset_that_meets_one_has_forgotten_nothing(void)
{
    for (size_t spoilt = 0; spoilt < RULES; spoilt++) {
        struct asker asker;
        const char *suffix;

        REDIS_SERVER_TELL(link_, "FLUSHALL");
        CHECK_EQUAL(0, asker_open(&asker, link_, rules, RULES));
        suffix = asker.rules.rule[spoilt].suffix;
        CHECK_EQUAL(1, asker_take(&asker, &three, 5 * US, NULL));
        REDIS_SERVER_TELL(link_, "DEL {weir:key}%s", suffix);
        REDIS_SERVER_TELL(link_, "RPUSH {weir:key}%s x", suffix);
        refused_with("WRONGTYPE ", &asker, WEIRI_REDIS_RESET, 5 * US);
        asker_close(&asker);
    }
}

#define RIGHTS "evalsha, eval, time, get, set, zadd, zrange, zrangebyscore, zrank, zcard, zrem, zremrangebyrank, " \
               "zremrangebyscore, pexpire, del"

/* Gives the user all rights that the header names, but for one of them. Returns whether there is such a one. */
static bool allow_all_but(size_t left_out)
{
    char names[] = RIGHTS;
    size_t number = 0;

    REDIS_SERVER_TELL(link_, "ACL SETUSER limiter reset on >word ~{weir:*");
    for (char *name = strtok(names, ", "); name != NULL; name = strtok(NULL, ", "))
        if (number++ != left_out)
            REDIS_SERVER_TELL(link_, "ACL SETUSER limiter +%s", name);
    return left_out < number;
}

/* The paths of the scripts; whether all was answered. Even steps send the script whole, odd ones by its name. */
static bool uses_every_command(struct asker *asker)
{
    const uint64_t most = WEIRI_REDIS_LIMIT_MAX;
    const struct {
        uint64_t now;
        uint64_t cost;
        enum weiri_redis_verb verb;
    } steps[] = {
        {0, 2, WEIRI_REDIS_TAKE},
        {30, 2, WEIRI_REDIS_TAKE},
        {60, 3, WEIRI_REDIS_TAKE},
        {90, 3, WEIRI_REDIS_TAKE},
        {115, most - 5, WEIRI_REDIS_TAKE}, /* until the second that counts has left: a search */
        {116, 1, WEIRI_REDIS_TAKE},        /* one has left */
        {300, 1, WEIRI_REDIS_TAKE},        /* several have */
        {500, most - 4, WEIRI_REDIS_TAKE}, /* totals begin again */
        {505, 1, WEIRI_REDIS_TAKE},        /* in one bucket */
        {506, 0, WEIRI_REDIS_TAKE},
        {999, 0, WEIRI_REDIS_RESET},
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        weir_request request = weir_request_for("key", 3);

        request.cost = steps[i].cost;
        if (asker_try(asker, steps[i].verb, &request, steps[i].now * US, i % 2 == 0, NULL) != WEIRI_REDIS_ANSWERED)
            return false;
    }
    return true;
}

static bool uses_the_servers_time(redisContext *link)
{
    weir_redis_options options = asker_options(false);
    struct asker asker;

    CHECK_EQUAL(0, asker_open_with(&asker, link, rules, RULES, &options));
    enum weiri_redis_outcome outcome = asker_try(&asker, WEIRI_REDIS_TAKE, &one, WEIR_NOW, true, NULL);
    asker_close(&asker);
    return outcome == WEIRI_REDIS_ANSWERED;
}

static void the_rights_that_the_header_names_are_enough_and_each_is_needed(const struct redis_server *server)
{
    const weir_rule wide[] = {buckets_rule(WEIRI_REDIS_LIMIT_MAX, 100 * US, 10),
                              counter_rule(WEIRI_REDIS_LIMIT_MAX, 100 * US)};
    bool one_left_out = true;

    for (size_t left_out = 0; one_left_out; left_out++) {
        redisContext *link = redis_server_connect(server);
        struct asker asker;

        REDIS_SERVER_TELL(link_, "FLUSHALL");
        one_left_out = allow_all_but(left_out);
        REDIS_SERVER_TELL(link, "AUTH limiter word");
        CHECK_EQUAL(0, asker_open(&asker, link, wide, 2));
        bool all = uses_every_command(&asker) && uses_the_servers_time(link);
        if (all == one_left_out)
            printf("right number %zu left out: %s\n", left_out, asker_error);
        CHECK(all != one_left_out);
        asker_close(&asker);
        redisFree(link);
    }
}

int main(void)
{
    struct redis_server server;

    NEEDS_REDIS();
    one = weir_request_for("key", 3);
    three = one;
    three.cost = 3;
    redis_server_start(&server, NULL);
    link_ = redis_server_connect(&server);
    each_way(fill, clear, "OOM ");
    each_way(demote, promote, "READONLY ");
    a_key_of_another_type_is_met_before_anything_is_written();
    a_reset_that_meets_one_has_forgotten_nothing();
    the_rights_that_the_header_names_are_enough_and_each_is_needed(&server);
    redisFree(link_);
    redis_server_stop(&server);
    return checks_end();
}
