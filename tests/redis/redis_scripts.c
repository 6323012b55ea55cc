/*
 * The scripts on a real server: their arithmetic, and what they write and when.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/random.h"
#include "support/rows.h"

#define S          WEIR_SECOND
#define US         WEIR_MICROSECOND
#define ARITHMETIC "src/redis/lua/exact.lua"
#define ROUND      200 /* divisions asked at once */

static struct redis_server server;
static redisContext *link_;

static void start_afresh(void)
{
    REDIS_SERVER_TELL(link_, "FLUSHALL");
}

static long long changes(void)
{
    return redis_server_info(link_, "rdb_changes_since_last_save");
}

static weir_request request_of(const char *key, uint64_t cost)
{
    weir_request request = weir_request_for(key, strlen(key));

    request.cost = cost;
    return request;
}

/* ---- Arithmetic ---- */

static char *read_arithmetic(const char *more)
{
    FILE *file = fopen(ARITHMETIC, "r");
    char *text = calloc(1, 16384);

    if (file == NULL || text == NULL || fread(text, 1, 15000, file) == 0) {
        perror(ARITHMETIC);
        exit(1);
    }
    fclose(file);
    strcat(text, more);
    return text;
}

static uint64_t any_number(random_source *random, uint64_t most)
{
    uint64_t number = random_one_in(random, 4) ? most - random_below(random, 3) : random_sized(random, 53);

    return number > most ? most - number % 3 % (most + 1) : number;
}

struct division {
    uint64_t a, b, c; /* b <= c */
};

static struct division any_division(random_source *random)
{
    struct division division;

    division.c = random_one_in(random, 4) ? WEIRI_REDIS_LIMIT_MAX - random_below(random, 3) : random_sized(random, 53);
    division.b = any_number(random, division.c);
    division.a = any_number(random, WEIRI_REDIS_LIMIT_MAX);
    if (random_one_in(random, 3)) /* a * b beside a multiple of c, of about 2^52: where a rounded quotient would lie */
        division.a = ((UINT64_C(1) << 52) - random_below(random, 3)) / (division.b + 1);
    return division;
}

static void compare_divisions(const struct division *divisions, const redisReply *reply)
{
    CHECK_EQUAL(4 * ROUND, reply->elements);
    for (size_t i = 0; i < ROUND; i++) {
        unsigned __int128 product = (unsigned __int128)divisions[i].a * divisions[i].b;
        uint64_t c = divisions[i].c;

        CHECK_EQUAL(product / c, reply->element[4 * i]->integer);
        CHECK_EQUAL((product + c - 1) / c, reply->element[4 * i + 1]->integer);
        CHECK_EQUAL(product / c, reply->element[4 * i + 2]->integer);
        CHECK_EQUAL(product % c, reply->element[4 * i + 3]->integer);
    }
}

static void products_are_divided_exactly(uint64_t seed)
{
    char *text = read_arithmetic("local out = {}\n"
                                 "for i = 1, #ARGV, 3 do\n"
                                 "  local a, b, c = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])\n"
                                 "  local n = #out\n"
                                 "  out[n + 1], out[n + 2] = floor_product(a, b, c), ceil_product(a, b, c)\n"
                                 "  out[n + 3], out[n + 4] = divide_product(a, b, c)\n"
                                 "end\n"
                                 "return out\n");
    random_source random = random_from(seed, 0);

    for (uint64_t round = random_scaled(40); round > 0; round--) {
        static char numbers[3 * ROUND][24];
        static struct division divisions[ROUND];
        const char *words[3 + 3 * ROUND] = {"EVAL", text, "0"};

        for (size_t i = 0; i < ROUND; i++) {
            divisions[i] = any_division(&random);
            snprintf(numbers[3 * i], sizeof *numbers, "%" PRIu64, divisions[i].a);
            snprintf(numbers[3 * i + 1], sizeof *numbers, "%" PRIu64, divisions[i].b);
            snprintf(numbers[3 * i + 2], sizeof *numbers, "%" PRIu64, divisions[i].c);
            for (size_t n = 3 * i; n < 3 * i + 3; n++)
                words[3 + n] = numbers[n];
        }
        redisReply *reply = redisCommandArgv(link_, 3 + 3 * ROUND, words, NULL);
        compare_divisions(divisions, reply);
        freeReplyObject(reply);
    }
    free(text);
}

/* ---- What is written ---- */

/* One of each: alone, and with others. */
static const weir_rule kinds[] = {
    {.limit = 3, .window_ns = S, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
    {.limit = 3, .window_ns = S, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    {.limit = 3, .window_ns = S, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 4},
    {.limit = 3, .window_ns = S / 2, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
};
enum { KINDS = 4 };

static void writes_for_what_it_accepts_alone(const weir_rule *rules, size_t count)
{
    struct asker asker;
    weir_request never = request_of("key", 9);
    weir_request nothing = request_of("key", 0);
    weir_request one = request_of("key", 1);

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, rules, count));
    long long before = changes();
    CHECK_EQUAL(0, asker_take(&asker, &never, 0, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &nothing, 0, NULL));
    CHECK_EQUAL(1, asker_peek(&asker, &one, 0, NULL));
    CHECK_EQUAL(1, asker_reset(&asker, &one, 0));
    CHECK_EQUAL(before, changes());
    CHECK_EQUAL(0, redis_server_number(link_, "DBSIZE"));
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(1, asker_take(&asker, &one, S / 10, NULL));
    CHECK_EQUAL(count, redis_server_number(link_, "DBSIZE"));
    before = changes();
    CHECK_EQUAL(0, asker_take(&asker, &one, S / 10, NULL));
    CHECK_EQUAL(0, asker_take(&asker, &never, S / 10, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &nothing, S / 10, NULL));
    CHECK_EQUAL(0, asker_peek(&asker, &one, S / 10, NULL));
    CHECK_EQUAL(1, asker_peek(&asker, &one, 9 * S, NULL)); /* all has left; a peek clears nothing away */
    CHECK_EQUAL(before, changes());
    asker_close(&asker);
}

static void what_is_not_accepted_writes_nothing(void)
{
    for (size_t i = 0; i < KINDS; i++)
        writes_for_what_it_accepts_alone(&kinds[i], 1);
    writes_for_what_it_accepts_alone(kinds, KINDS);
}

static void a_refusal_by_one_rule_records_in_none(void)
{
    const weir_rule rules[] = {counter_rule(100, S), log_rule(1, S), buckets_rule(100, S, 4)};
    weir_request one = request_of("key", 1);
    weir_decision decision;
    struct asker asker;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, rules, 3));
    CHECK_EQUAL(1, asker_take(&asker, &one, 0, NULL));
    long long before = changes();
    CHECK_EQUAL(0, asker_take(&asker, &one, 0, &decision));
    CHECK_EQUAL(1, decision.rule);
    CHECK_EQUAL(before, changes());
    asker_close(&asker);
}

/* So many commands of this name since CONFIG RESETSTAT, those within scripts among them. */
static int calls_of(const char *command)
{
    redisReply *reply = redis_server_ask(link_, "INFO commandstats");
    char line[64];
    int length = snprintf(line, sizeof line, "cmdstat_%s:calls=", command);
    const char *found = strstr(reply->str, line);
    int calls = found == NULL ? 0 : atoi(found + length);

    freeReplyObject(reply);
    return calls;
}

static void each_decision_is_one_command(void)
{
    struct asker asker;
    weir_request one = request_of("key", 1);

    REDIS_SERVER_TELL(link_, "SCRIPT FLUSH");
    CHECK_EQUAL(0, asker_open(&asker, link_, kinds, KINDS));
    CHECK_EQUAL(WEIRI_REDIS_NOSCRIPT, asker_try(&asker, WEIRI_REDIS_TAKE, &one, 0, false, NULL));
    CHECK_EQUAL(WEIRI_REDIS_ANSWERED, asker_try(&asker, WEIRI_REDIS_TAKE, &one, 0, true, NULL));
    REDIS_SERVER_TELL(link_, "CONFIG RESETSTAT");
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(WEIRI_REDIS_ANSWERED, asker_try(&asker, WEIRI_REDIS_TAKE, &one, 0, false, NULL));
    CHECK_EQUAL(10, calls_of("evalsha"));
    CHECK_EQUAL(0, calls_of("eval"));
    CHECK_EQUAL(0, calls_of("script|load"));
    asker_close(&asker);
}

/* ---- Series ---- */

static long long members(const struct asker *asker, const char *key)
{
    return redis_server_number(link_, "ZCARD {weir:%s}%s", key, asker->rules.rule[0].suffix);
}

static void what_left_the_window_is_removed_by_the_next_record(void)
{
    const weir_rule rules[] = {log_rule(10, 100 * US), buckets_rule(10, 100 * US, 10)};
    weir_request one = request_of("key", 1);

    for (size_t i = 0; i < 2; i++) {
        struct asker asker;

        start_afresh();
        CHECK_EQUAL(0, asker_open(&asker, link_, &rules[i], 1));
        for (uint64_t t = 0; t < 50; t += 10)
            CHECK_EQUAL(1, asker_take(&asker, &one, t * US, NULL));
        CHECK_EQUAL(5, members(&asker, "key"));
        CHECK_EQUAL(1, asker_take(&asker, &one, 129 * US, NULL)); /* 0, 10 and 20 have left */
        CHECK_EQUAL(3, members(&asker, "key"));
        CHECK_EQUAL(1, asker_take(&asker, &one, 500 * US, NULL));
        CHECK_EQUAL(1, members(&asker, "key"));
        asker_close(&asker);
    }
}

static void buckets_have_one_member_each(void)
{
    const weir_rule rule = buckets_rule(1000, 100 * US, 10);
    weir_request one = request_of("key", 1);
    struct asker asker;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    for (uint64_t t = 0; t < 30; t++)
        CHECK_EQUAL(1, asker_take(&asker, &one, t * US, NULL));
    CHECK_EQUAL(3, members(&asker, "key"));
    asker_close(&asker);
}

static uint64_t newest_total(const struct asker *asker, const char *key)
{
    redisReply *reply = redis_server_ask(link_, "ZRANGE {weir:%s}%s -1 -1", key, asker->rules.rule[0].suffix);
    uint64_t total = 0;

    CHECK_EQUAL(1, reply->elements);
    for (size_t i = 0; reply->elements == 1 && i < 7; i++)
        total = total << 8 | (unsigned char)reply->element[0]->str[i];
    freeReplyObject(reply);
    return total;
}

static void totals_begin_again_before_they_pass_2_to_53(void)
{
    const weir_rule rule = buckets_rule(WEIRI_REDIS_LIMIT_MAX, 100 * US, 10);
    weir_request most = request_of("key", WEIRI_REDIS_LIMIT_MAX - 2);
    weir_request one = request_of("key", 1);
    weir_request five = request_of("key", 5);
    weir_decision decision;
    struct asker asker;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    CHECK_EQUAL(1, asker_take(&asker, &most, 0, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &one, 200 * US, NULL));
    CHECK_EQUAL(WEIRI_REDIS_LIMIT_MAX - 1, newest_total(&asker, "key"));
    CHECK_EQUAL(1, asker_take(&asker, &five, 201 * US, &decision)); /* the same bucket */
    CHECK_EQUAL(WEIRI_REDIS_LIMIT_MAX - 6, decision.remaining);
    CHECK_EQUAL(6, newest_total(&asker, "key"));
    CHECK_EQUAL(1, members(&asker, "key"));
    CHECK_EQUAL(1, asker_take(&asker, &most, 400 * US, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &one, 510 * US, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &five, 520 * US, &decision)); /* another */
    CHECK_EQUAL(WEIRI_REDIS_LIMIT_MAX - 6, decision.remaining);
    CHECK_EQUAL(6, newest_total(&asker, "key"));
    CHECK_EQUAL(2, members(&asker, "key"));
    CHECK(redis_server_number(link_, "PTTL {weir:key}%s", asker.rules.rule[0].suffix) > 0);
    asker_close(&asker);
}

/* Weighted costs among hundreds: a wait is found by halving, not by walking. */
static void a_wait_among_many_records_takes_few_looks(void)
{
    enum { RECORDS = 2000 };
    const weir_rule rule = log_rule(3 * RECORDS, S);
    weir_decision decision;
    struct asker asker;
    uint64_t charged = 0;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    for (uint64_t i = 0; i < RECORDS; i++) {
        weir_request some = request_of("key", 1 + i % 3);

        charged += 1 + i % 3;
        CHECK_EQUAL(1, asker_take(&asker, &some, i * US, NULL));
    }
    weir_request more = request_of("key", 3 * RECORDS - charged + 1500);
    REDIS_SERVER_TELL(link_, "CONFIG RESETSTAT");
    CHECK_EQUAL(0, asker_take(&asker, &more, RECORDS * US, &decision));
    /* 1 + 2 + 3 six times two hundred and fifty are 1,500: the record numbered 749 must have left. */
    CHECK_EQUAL(749 * US + S - RECORDS * US, decision.retry_after_ns);
    CHECK(calls_of("zrange") <= 2 + 11);
    asker_close(&asker);
}

/* What an operator took out by hand makes answers wrong; it must not make a script run for ever. */
static void a_series_with_gaps_ends_every_search(void)
{
    const weir_rule rule = log_rule(1000, S);
    struct asker asker;
    uint64_t refused = 0;

    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    for (uint64_t gap = 1; gap < 14; gap++) {
        start_afresh();
        for (uint64_t i = 0; i < 15; i++) {
            weir_request some = request_of("key", 1 + i % 4 * 40);

            CHECK_EQUAL(1, asker_take(&asker, &some, i * US, NULL));
        }
        const char *suffix = asker.rules.rule[0].suffix;
        CHECK_EQUAL(1, redis_server_number(link_, "ZREMRANGEBYRANK {weir:key}%s %d %d", suffix, (int)gap, (int)gap));
        for (uint64_t cost = 1; cost <= 1000; cost += 7) {
            weir_request some = request_of("key", cost);

            refused += asker_peek(&asker, &some, 20 * US, NULL) == 0;
        }
    }
    CHECK(refused > 1000);
    asker_close(&asker);
}

/* ---- What is stored ---- */

static void stored_numbers_are_whole(void)
{
    const weir_rule rules[] = {counter_rule(WEIRI_REDIS_LIMIT_MAX, US), log_rule(UINT32_MAX, US),
                               buckets_rule(WEIRI_REDIS_LIMIT_MAX, 10 * US, 2)};
    const uint64_t now = WEIRI_REDIS_TIME_MAX_US * US;
    weir_request most = request_of("key", UINT32_MAX - 1);
    struct asker asker;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&asker, link_, rules, 3));
    CHECK_EQUAL(1, asker_take(&asker, &most, now - US, NULL));
    CHECK_EQUAL(1, asker_take(&asker, &most, now, NULL));
    CHECK_EQUAL(21, redis_server_number(link_, "STRLEN {weir:key}%s", asker.rules.rule[0].suffix));
    for (size_t i = 1; i < 3; i++) {
        redisReply *reply = redis_server_ask(link_, "ZRANGE {weir:key}%s 0 -1 WITHSCORES", asker.rules.rule[i].suffix);

        CHECK(reply->elements > 0);
        for (size_t n = 0; n < reply->elements; n += 2) {
            CHECK_EQUAL(21, reply->element[n]->len);
            CHECK_EQUAL(strlen(reply->element[n + 1]->str), strspn(reply->element[n + 1]->str, "0123456789"));
        }
        freeReplyObject(reply);
    }
    asker_close(&asker);
}

static void given_times_share_no_key_with_the_servers(void)
{
    weir_redis_options options = asker_options(false);
    weir_request one = request_of("key", 1);
    const weir_rule rule = log_rule(1, 3600 * S);
    struct asker given;
    struct asker own;

    start_afresh();
    CHECK_EQUAL(0, asker_open(&given, link_, &rule, 1));
    CHECK_EQUAL(0, asker_open_with(&own, link_, &rule, 1, &options));
    CHECK_EQUAL(1, asker_take(&own, &one, WEIR_NOW, NULL));
    CHECK_EQUAL(0, asker_take(&own, &one, WEIR_NOW, NULL));
    CHECK_EQUAL(1, asker_take(&given, &one, 0, NULL));
    asker_close(&given);
    asker_close(&own);
}

int main(void)
{
    NEEDS_REDIS();
    uint64_t seed = random_seed("redis_scripts");
    redis_server_start(&server, NULL);
    link_ = redis_server_connect(&server);
    products_are_divided_exactly(seed);
    what_is_not_accepted_writes_nothing();
    a_refusal_by_one_rule_records_in_none();
    each_decision_is_one_command();
    what_left_the_window_is_removed_by_the_next_record();
    buckets_have_one_member_each();
    totals_begin_again_before_they_pass_2_to_53();
    a_wait_among_many_records_takes_few_looks();
    a_series_with_gaps_ends_every_search();
    stored_numbers_are_whole();
    given_times_share_no_key_with_the_servers();
    redisFree(link_);
    redis_server_stop(&server);
    return checks_end();
}
