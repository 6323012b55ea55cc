/*
 * What is checked at open and in a question, in words; and replies as outcomes. No server is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "support/rows.h"

/* ---- Open ---- */

static char said[200];

static int open_with(weir_rule rule, size_t count, void (*change)(weir_redis_options *options))
{
    weir_redis_options options = asker_options(false);
    weir_rule rules[9] = {rule, rule, rule, rule, rule, rule, rule, rule, rule};
    weiri_redis_rules opened;

    options.error = said;
    options.error_size = sizeof said;
    said[0] = '\0';
    if (change != NULL)
        change(&options);
    int error = weiri_redis_rules_open(&opened, count == 0 ? NULL : rules, count, &options);
    if (error == 0)
        weiri_redis_rules_close(&opened);
    return error;
}

static void open_says(weir_rule rule, const char *wanted)
{
    CHECK_EQUAL(-EINVAL, open_with(rule, 1, NULL));
    if (strcmp(wanted, said) != 0)
        printf("wanted \"%s\", got \"%s\"\n", wanted, said);
    CHECK(strcmp(wanted, said) == 0);
}

static weir_rule with(weir_rule rule, uint32_t algorithm, uint32_t meter, uint64_t buckets, uint32_t flags)
{
    rule.algorithm = algorithm;
    rule.meter = meter;
    rule.buckets = buckets;
    rule.flags = flags;
    return rule;
}

static void a_rule_out_of_range_is_refused_at_open_in_words(void)
{
    const uint64_t longest = WEIRI_REDIS_WINDOW_MAX_US * WEIR_MICROSECOND;
    weir_rule good = log_rule(1, 1);

    open_says(log_rule(0, 1), "rule 0: limit: 0 is outside 1 ... 2^32-1");
    open_says(log_rule(UINT64_C(1) << 32, 1), "rule 0: limit: 4294967296 is outside 1 ... 2^32-1");
    open_says(counter_rule(UINT64_C(1) << 53, 1), "rule 0: limit: 9007199254740992 is outside 1 ... 2^53-1");
    open_says(buckets_rule(UINT64_C(1) << 53, 1, 1), "rule 0: limit: 9007199254740992 is outside 1 ... 2^53-1");
    open_says(log_rule(1, 0), "rule 0: window_ns: 0 is outside 1 ... 2^50 us");
    open_says(log_rule(1, longest + 1), "rule 0: window_ns: 1125899906842624001 is outside 1 ... 2^50 us");
    open_says(buckets_rule(1, 5, 6), "rule 0: buckets: 6 is outside 1 ... window_ns");
    open_says(with(good, WEIR_LOG, WEIR_PER_COST, 1, 0), "rule 0: buckets: must be 0, the algorithm has none");
    open_says(with(good, 4, WEIR_PER_COST, 0, 0),
              "rule 0: algorithm: 4 is none of WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS");
    open_says(with(good, WEIR_LOG, 0, 0, 0), "rule 0: meter: 0 is neither WEIR_PER_REQUEST nor WEIR_PER_COST");
    open_says(with(good, WEIR_LOG, WEIR_PER_COST, 0, 1), "rule 0: flags and reserved: must be 0");
    CHECK_EQUAL(0, open_with(log_rule(UINT32_MAX, longest), 8, NULL));
    CHECK_EQUAL(0, open_with(counter_rule(WEIRI_REDIS_LIMIT_MAX, longest), 1, NULL));
    CHECK_EQUAL(0, open_with(buckets_rule(WEIRI_REDIS_LIMIT_MAX, longest, longest), 1, NULL));
    CHECK_EQUAL(-EINVAL, open_with(good, 9, NULL));
    CHECK(strcmp(said, "rules: 9 of them, where 1 ... 8 must be given") == 0);
    CHECK_EQUAL(-EINVAL, open_with(good, 0, NULL));
    CHECK(strcmp(said, "rules: 0 of them, where 1 ... 8 must be given") == 0);
}

static const uint64_t plan_limits[] = {5, 0};

static void no_prefix(weir_redis_options *options) { options->prefix = NULL; }
static void plans_without_limits(weir_redis_options *options) { options->plans = 2; }
static void two_given_times(weir_redis_options *options) { options->given_time = 2; }
static void a_plan_of_nothing(weir_redis_options *options)
{
    options->plans = 2;
    options->plan_limits = plan_limits;
}

static void an_option_out_of_range_is_refused_at_open_in_words(void)
{
    weir_rule good = log_rule(1, 1);

    CHECK_EQUAL(-EINVAL, open_with(good, 1, no_prefix));
    CHECK(strcmp(said, "options: prefix: NULL") == 0);
    CHECK_EQUAL(-EINVAL, open_with(good, 1, plans_without_limits));
    CHECK(strcmp(said, "options: plan_limits: NULL, but there are 2 plans") == 0);
    CHECK_EQUAL(-EINVAL, open_with(good, 1, a_plan_of_nothing));
    CHECK(strcmp(said, "plan 1: rule 0: limit: 0 is outside 1 ... 2^32-1") == 0);
    CHECK_EQUAL(-EINVAL, open_with(good, 1, two_given_times));
    CHECK(strcmp(said, "options: given_time: 2 is neither 0 nor 1") == 0);
}

static void windows_are_rounded_up_to_a_microsecond(void)
{
    const weir_rule rules[] = {log_rule(1, 1), log_rule(1, 1000), log_rule(1, 1001), buckets_rule(1, 10000, 3),
                               buckets_rule(1, 10000, 10000)};
    const uint64_t windows[] = {1, 1, 2, 10, 10};
    const uint64_t widths[] = {0, 0, 0, 4, 1};
    weir_redis_options options = asker_options(false);
    weiri_redis_rules opened;

    CHECK_EQUAL(0, weiri_redis_rules_open(&opened, rules, 5, &options));
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQUAL(windows[i], opened.rule[i].window_us);
        CHECK_EQUAL(widths[i], opened.rule[i].width_us);
    }
    weiri_redis_rules_close(&opened);
}

/* ---- Limits and questions ---- */

static void limits_of_a_plan_are_replaced_together_or_not_at_all(void)
{
    const weir_rule rules[] = {log_rule(1, 1), counter_rule(2, 1)};
    const uint64_t new_limits[] = {UINT32_MAX, WEIRI_REDIS_LIMIT_MAX};
    const uint64_t too_high[] = {5, WEIRI_REDIS_LIMIT_MAX + 1};
    const uint64_t too_low[] = {0, 5};
    struct asker asker;

    CHECK_EQUAL(0, asker_open(&asker, NULL, rules, 2));
    CHECK_EQUAL(0, weiri_redis_limits_version(&asker.rules));
    CHECK_EQUAL(-EINVAL, weiri_redis_limits_set(&asker.rules, 0, too_high, 2));
    CHECK_EQUAL(-EINVAL, weiri_redis_limits_set(&asker.rules, 0, too_low, 2));
    CHECK_EQUAL(-EINVAL, weiri_redis_limits_set(&asker.rules, 0, new_limits, 1));
    CHECK_EQUAL(-EINVAL, weiri_redis_limits_set(&asker.rules, 1, new_limits, 2));
    CHECK_EQUAL(-EINVAL, weiri_redis_limits_set(&asker.rules, 0, NULL, 2));
    CHECK_EQUAL(0, weiri_redis_limits_version(&asker.rules));
    CHECK_EQUAL(1, weiri_redis_limits_of(&asker.rules, 0).limit[0]);
    CHECK_EQUAL(0, weiri_redis_limits_set(&asker.rules, 0, new_limits, 2));
    CHECK_EQUAL(1, weiri_redis_limits_version(&asker.rules));
    CHECK_EQUAL(1, weiri_redis_limits_of(&asker.rules, 0).version);
    CHECK_EQUAL(UINT32_MAX, weiri_redis_limits_of(&asker.rules, 0).limit[0]);
    CHECK_EQUAL(WEIRI_REDIS_LIMIT_MAX, weiri_redis_limits_of(&asker.rules, 0).limit[1]);
    asker_close(&asker);
}

static void a_request_out_of_range_is_refused(void)
{
    static const char long_key[WEIR_KEY_MAX + 1];
    const weir_rule rule = log_rule(1, 1);
    const weir_request good = weir_request_for(long_key, WEIR_KEY_MAX);
    const weir_identity identity = {{0, 0}, 0, 0};
    struct asker asker;

    CHECK_EQUAL(0, asker_open(&asker, NULL, &rule, 1));
#define CHECKED(error, now, change)                                            \
    do {                                                                       \
        weir_request request = good;                                           \
        change;                                                                \
        CHECK_EQUAL(error, weiri_redis_question_check(&asker.rules, &request, now)); \
    } while (0)
    CHECKED(0, 0, (void)0);
    CHECKED(0, WEIRI_REDIS_TIME_MAX_US * WEIR_MICROSECOND + 999, (void)0);
    CHECKED(-EINVAL, (WEIRI_REDIS_TIME_MAX_US + 1) * WEIR_MICROSECOND, (void)0);
    CHECKED(-EINVAL, WEIR_NOW, (void)0);
    CHECKED(-EINVAL, 0, request.key_len++);
    CHECKED(-EINVAL, 0, request.plan = 1);
    CHECKED(-EINVAL, 0, request.flags = 1);
    CHECKED(-EINVAL, 0, request.receipt = 1);
    CHECKED(-EINVAL, 0, request.reserved[0] = 1);
    CHECKED(-EINVAL, 0, request.reserved[1] = 1);
    CHECKED(-EINVAL, 0, request.key = NULL);
    CHECKED(0, 0, (request.key = NULL, request.key_len = 0));
    CHECKED(0, 0, request.identity = &identity);
    CHECKED(-EINVAL, 0, (request.identity = &identity, request.key = NULL, request.key_len = 0));
    asker.rules.given_time = false;
    CHECKED(0, WEIR_NOW, (void)0);
    CHECKED(-EINVAL, 0, (void)0);
#undef CHECKED
    asker_close(&asker);
}

/* What stands between the script and the end, with spaces for what frames the words. */
static void question_is(const char *wanted, enum weiri_redis_verb verb, uint64_t cost, bool given_time)
{
    const weir_rule rules[] = {counter_rule(WEIRI_REDIS_LIMIT_MAX, WEIR_SECOND), buckets_rule(9, 10000, 3),
                               {.limit = 7, .window_ns = 1, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST}};
    weir_request request = weir_request_for("k", 1);
    weir_redis_options options = asker_options(given_time);
    redisReader *reader = redisReaderCreate();
    void *words = NULL;
    struct asker asker;
    char got[300] = "";
    size_t length;

    request.cost = cost;
    CHECK_EQUAL(0, asker_open_with(&asker, NULL, rules, 3, &options));
    weiri_redis_question question = {verb, &request, 5999, weiri_redis_limits_of(&asker.rules, 0)};
    for (int whole = 0; whole < 2; whole++) {
        char *command = weiri_redis_command(&asker.rules, &question, whole, &length);

        /* A command is an array of strings, as a reply may be. */
        CHECK(redisReaderFeed(reader, command, length) == REDIS_OK);
        CHECK(redisReaderGetReply(reader, &words) == REDIS_OK && words != NULL);
        const redisReply *array = words;
        CHECK(strcmp(array->element[0]->str, whole ? "EVAL" : "EVALSHA") == 0);
        CHECK(whole ? array->element[1]->len > 1000 : array->element[1]->len == 40);
        got[0] = '\0';
        for (size_t i = 2; i < array->elements; i++)
            strcat(strcat(got, array->element[i]->str), i + 1 < array->elements ? " " : "");
        if (strcmp(wanted, got) != 0)
            printf("wanted \"%s\", got \"%s\"\n", wanted, got);
        CHECK(strcmp(wanted, got) == 0);
        freeReplyObject(words);
        free(command);
    }
    redisReaderFree(reader);
    asker_close(&asker);
}

static void a_question_is_one_command_of_numbers_that_a_double_counts(void)
{
    question_is("3 {weir:k}0cc1000000 {weir:k}1bc10/4 {weir:k}2lr1 t 9007199254740991 3 1000000 0 9 3 10 4 7 1 1 1",
                WEIRI_REDIS_TAKE, 3, false);
    question_is("3 {weir:k}0cc1000000g {weir:k}1bc10/4g {weir:k}2lr1g p 9007199254740991 9007199254740992 1000000 0"
                " 9 10 10 4 7 1 1 1 5",
                WEIRI_REDIS_PEEK, UINT64_MAX, true);
    question_is("3 {weir:k}0cc1000000 {weir:k}1bc10/4 {weir:k}2lr1 r 9007199254740991 0 1000000 0 9 0 10 4 7 1 1 1",
                WEIRI_REDIS_RESET, 0, false);
}

/* ---- Replies ---- */

static weir_decision decision;
static weiri_redis_place place;

/* The reply as it comes over the wire. */
static enum weiri_redis_outcome outcome_of(enum weiri_redis_verb verb, const char *wire)
{
    const weir_rule rules[] = {log_rule(7, 1), log_rule(9, 1)};
    weir_request request = weir_request_for("key", 3);
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    struct asker asker;

    CHECK_EQUAL(0, asker_open(&asker, NULL, rules, 2));
    CHECK(redisReaderFeed(reader, wire, strlen(wire)) == REDIS_OK);
    CHECK(redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL);
    weiri_redis_question question = {verb, &request, 0, weiri_redis_limits_of(&asker.rules, 0)};
    decision = (weir_decision){.verdict = 77};
    place = (weiri_redis_place){.slot = 77};
    enum weiri_redis_outcome outcome = weiri_redis_answer(&asker.rules, &question, reply, &decision, &place);
    freeReplyObject(reply);
    redisReaderFree(reader);
    asker_close(&asker);
    return outcome;
}

#define TAKE_IS(outcome, wire)  CHECK_EQUAL(outcome, outcome_of(WEIRI_REDIS_TAKE, wire))
#define RESET_IS(outcome, wire) CHECK_EQUAL(outcome, outcome_of(WEIRI_REDIS_RESET, wire))

static void an_answer_becomes_a_decision_in_ns(void)
{
    TAKE_IS(WEIRI_REDIS_ANSWERED, "*5\r\n:1\r\n:1\r\n:8\r\n:0\r\n:60000000\r\n");
    CHECK_EQUAL(1, decision.verdict);
    CHECK_EQUAL(0, decision.flags);
    CHECK_EQUAL(1, decision.rule);
    CHECK_EQUAL(9, decision.limit);
    CHECK_EQUAL(8, decision.remaining);
    CHECK_EQUAL(0, decision.retry_after_ns);
    CHECK_EQUAL(WEIR_MINUTE, decision.release_after_ns);
    TAKE_IS(WEIRI_REDIS_ANSWERED, "*5\r\n:0\r\n:0\r\n:0\r\n:9007199254740992\r\n:1\r\n");
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(7, decision.limit);
    CHECK_EQUAL(UINT64_C(9007199254740992000), decision.retry_after_ns);
    TAKE_IS(WEIRI_REDIS_ANSWERED, "*5\r\n:0\r\n:0\r\n:0\r\n:-1\r\n:1\r\n");
    CHECK_EQUAL(WEIR_NEVER, decision.retry_after_ns);
    RESET_IS(WEIRI_REDIS_ANSWERED, ":1\r\n");
    CHECK_EQUAL(77, decision.verdict);
}

static void what_no_script_of_ours_writes_is_garbled(void)
{
    static const char *const wires[] = {
        ":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "+OK\r\n", "$1\r\n1\r\n",
        "*4\r\n:1\r\n:0\r\n:0\r\n:0\r\n",                      /* too few */
        "*6\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n",          /* too many */
        "*5\r\n:1\r\n:0\r\n$7\r\n1.7e+15\r\n:0\r\n:0\r\n",     /* text */
        "*5\r\n:2\r\n:0\r\n:0\r\n:0\r\n:0\r\n",                /* no verdict */
        "*5\r\n:-1\r\n:0\r\n:0\r\n:0\r\n:0\r\n",
        "*5\r\n:1\r\n:2\r\n:0\r\n:0\r\n:0\r\n",                /* no such rule */
        "*5\r\n:1\r\n:-1\r\n:0\r\n:0\r\n:0\r\n",
        "*5\r\n:1\r\n:0\r\n:-1\r\n:0\r\n:0\r\n",               /* below 0 */
        "*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n:-1\r\n",
        "*5\r\n:0\r\n:0\r\n:0\r\n:-2\r\n:0\r\n",
        "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n",                /* refused without a wait */
        "*5\r\n:1\r\n:0\r\n:0\r\n:5\r\n:0\r\n",                /* accepted with one */
        "*5\r\n:0\r\n:0\r\n:0\r\n:9007199254740993\r\n:0\r\n", /* beyond what a double counts */
    };

    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        TAKE_IS(WEIRI_REDIS_GARBLED, wires[i]);
        CHECK_EQUAL(77, decision.verdict);
    }
    RESET_IS(WEIRI_REDIS_GARBLED, ":0\r\n");
    RESET_IS(WEIRI_REDIS_GARBLED, "*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
}

static void errors_before_anything_was_written_are_told_from_others(void)
{
    static const char *const harmless[] = {
        "-READONLY You can't write against a read only replica.\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-OOM command not allowed when used memory > 'maxmemory'. script: x, on @user_script:1.\r\n",
        "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
        "-NOAUTH Authentication required.\r\n",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist on disk.\r\n",
        "-NOREPLICAS Not enough good replicas to write.\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
        "-WRONGTYPE Operation against a key holding the wrong kind of value script: x, on @user_script:1.\r\n",
        "-ERR max number of clients reached\r\n",
        "-ERR unknown command 'EVALSHA', with args beginning with: \r\n",
        "-MOVED nonsense\r\n",
        "-ASK 1\r\n",
    };

    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        TAKE_IS(WEIRI_REDIS_REFUSED, harmless[i]);
        RESET_IS(WEIRI_REDIS_REFUSED, harmless[i]);
    }
    TAKE_IS(WEIRI_REDIS_NOSCRIPT, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    TAKE_IS(WEIRI_REDIS_GARBLED, "-ERR Error running script (call to x): user_script:1: whatever\r\n");
    TAKE_IS(WEIRI_REDIS_GARBLED, "-ERR The user executing the script can't run this command or subcommand\r\n");
    TAKE_IS(WEIRI_REDIS_GARBLED, "-\r\n");
    TAKE_IS(WEIRI_REDIS_GARBLED, "-READONLYISH\r\n");
}

static void place_is(const char *host, unsigned slot, unsigned port)
{
    CHECK(strcmp(host, place.host) == 0);
    CHECK_EQUAL(slot, place.slot);
    CHECK_EQUAL(port, place.port);
}

static void a_redirection_tells_slot_host_and_port(void)
{
    TAKE_IS(WEIRI_REDIS_MOVED, "-MOVED 3999 127.0.0.1:6381\r\n");
    place_is("127.0.0.1", 3999, 6381);
    TAKE_IS(WEIRI_REDIS_ASK, "-ASK 16383 redis-3.example:65535\r\n");
    place_is("redis-3.example", 16383, 65535);
    TAKE_IS(WEIRI_REDIS_MOVED, "-MOVED 0 2001:db8::7:6379\r\n");
    place_is("2001:db8::7", 0, 6379);
    TAKE_IS(WEIRI_REDIS_MOVED, "-MOVED 12 :6379\r\n");
    place_is("", 12, 6379);
    TAKE_IS(WEIRI_REDIS_REFUSED, "-MOVED 16384 127.0.0.1:6381\r\n");
    TAKE_IS(WEIRI_REDIS_REFUSED, "-MOVED 1 127.0.0.1:0\r\n");
    TAKE_IS(WEIRI_REDIS_REFUSED, "-MOVED 1 127.0.0.1:65536\r\n");
    TAKE_IS(WEIRI_REDIS_REFUSED, "-MOVED 1 127.0.0.1:80x\r\n");
    TAKE_IS(WEIRI_REDIS_REFUSED, "-MOVED 1 127.0.0.1\r\n");
}

int main(void)
{
    a_rule_out_of_range_is_refused_at_open_in_words();
    an_option_out_of_range_is_refused_at_open_in_words();
    windows_are_rounded_up_to_a_microsecond();
    limits_of_a_plan_are_replaced_together_or_not_at_all();
    a_request_out_of_range_is_refused();
    a_question_is_one_command_of_numbers_that_a_double_counts();
    an_answer_becomes_a_decision_in_ns();
    what_no_script_of_ours_writes_is_garbled();
    errors_before_anything_was_written_are_told_from_others();
    a_redirection_tells_slot_host_and_port();
    return checks_end();
}
