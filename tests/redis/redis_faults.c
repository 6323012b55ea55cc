/*
 * Faults that other limiters have had over Redis and with several backends, each as the input that shows it. A row's
 * times are in microseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "server.h"
#include "support/rows.h"

#define US UINT64_C(1)
#define S  UINT64_C(1000000)

static redisContext *link_;

static uint64_t in_ns(uint64_t us)
{
    return us == WEIR_NEVER ? WEIR_NEVER : us * WEIR_MICROSECOND;
}

static weir_request request_of(const char *key, uint64_t cost)
{
    weir_request request = weir_request_for(key, strlen(key));

    request.cost = cost;
    return request;
}

static void run_row(struct asker *asker, const struct row *row, size_t number, const char *fault)
{
    weir_request request = request_of(row->key == NULL ? "key" : row->key, row->cost);
    weir_decision got = {0};
    int verdict;

    switch (row->kind) {
    case ROW_LIMIT:
        CHECK_EQUAL(0, weiri_redis_limits_set(&asker->rules, 0, &row->cost, 1));
        return;
    case ROW_RESET:
        asker_reset(asker, &request, in_ns(row->now));
        return;
    case ROW_PEEK:
        verdict = asker_peek(asker, &request, in_ns(row->now), &got);
        break;
    default:
        verdict = asker_take(asker, &request, in_ns(row->now), &got);
        break;
    }
    if (verdict != row->verdict || got.remaining != row->remaining || got.retry_after_ns != in_ns(row->retry_after_ns))
        printf("%s, row %zu: got %d, remaining %" PRIu64 ", retry %" PRIu64 "\n", fault, number, verdict, got.remaining,
               got.retry_after_ns);
    CHECK_EQUAL(row->verdict, verdict);
    CHECK_EQUAL(row->remaining, got.remaining);
    CHECK_EQUAL(in_ns(row->retry_after_ns), got.retry_after_ns);
}

static void holds(const char *fault, weir_rule rule, const struct row *rows, size_t count)
{
    struct asker asker;

    rule.window_ns *= WEIR_MICROSECOND;
    REDIS_SERVER_TELL(link_, "FLUSHALL");
    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    for (size_t i = 0; i < count; i++)
        run_row(&asker, &rows[i], i, fault);
    asker_close(&asker);
}

static void every_algorithm_charges_the_whole_cost(void)
{
    static const struct row rows[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 60)};
    static const struct row counter[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 75)};
    static const struct row buckets[] = {TAKES(0, 4, 6), TAKES(0, 4, 2), REFUSES(0, 4, 2, 69)};

    holds("cost dropped in one backend", log_rule(10, 60), ROWS(rows));
    holds("cost dropped in one backend", counter_rule(10, 60), ROWS(counter));
    holds("cost dropped in one backend", buckets_rule(10, 60, 6), ROWS(buckets));
}

static void a_lowered_limit_leaves_a_debt_and_a_raised_one_room(void)
{
    static const struct row log[] = {TAKES(0, 5, 0), LIMIT(3), REFUSES(10, 1, 0, 90), REFUSES(10, 0, 0, 90),
                                     LIMIT(8), WOULD_TAKE(10, 1, 3)};
    static const struct row counter[] = {TAKES(0, 5, 0), LIMIT(3), REFUSES(10, 1, 0, 150), REFUSES(10, 0, 0, 130),
                                         LIMIT(8), WOULD_TAKE(10, 1, 3)};
    static const struct row buckets[] = {TAKES(0, 5, 0), LIMIT(3), REFUSES(10, 1, 0, 99), REFUSES(10, 0, 0, 99),
                                         LIMIT(8), WOULD_TAKE(10, 1, 3)};

    holds("limit changed at runtime", log_rule(5, 100), ROWS(log));
    holds("limit changed at runtime", counter_rule(5, 100), ROWS(counter));
    holds("limit changed at runtime", buckets_rule(5, 100, 10), ROWS(buckets));
}

static void a_counters_wait_ends_when_it_has_worn_off_enough(void)
{
    static const struct row rows[] = {TAKES(30 * S, 60, 0), TAKES(72 * S, 12, 0), REFUSES(72 * S, 1, 0, S),
                                      WOULD_REFUSE(73 * S - 1, 1, 0, 1), TAKES(73 * S, 1, 0)};
    static const struct row left[] = {TAKES(50, 50, 50), TAKES(110, 10, 45), REFUSES(110, 46, 45, 2),
                                      TAKES(110, 45, 0)};

    holds("ctr retry = window end", counter_rule(60, 60 * S), ROWS(rows));
    holds("remaining ignores previous window", counter_rule(100, 100), ROWS(left));
}

static void a_later_record_lengthens_what_the_key_remembers(void)
{
    static const struct row log[] = {TAKES(0, 1, 9), TAKES(3540 * S, 8, 1), REFUSES(3660 * S, 9, 2, 3480 * S)};
    static const struct row counter[] = {TAKES(0, 1, 9), TAKES(9 * S + S / 10 * 9, 9, 0),
                                         REFUSES(10 * S + S / 10, 1, 0, S - S / 10), TAKES(15 * S, 5, 0),
                                         REFUSES(15 * S, 1, 0, S)};

    holds("TTL not refreshed", log_rule(10, 3600 * S), ROWS(log));
    holds("TTL not refreshed", counter_rule(10, 10 * S), ROWS(counter));
}

static void clocks_that_disagree_issue_no_more_than_one(void)
{
    static const struct row log[] = {TAKES(100 * S, 1, 1), TAKES(99 * S, 1, 0), REFUSES(100 * S, 1, 0, 10 * S),
                                     REFUSES(99 * S, 1, 0, 11 * S)};
    static const struct row buckets[] = {TAKES(100 * S, 1, 1), TAKES(99 * S, 1, 0),
                                         REFUSES(100 * S, 1, 0, 11 * S - 1), REFUSES(99 * S, 1, 0, 12 * S - 1)};
    static const struct row counter[] = {TAKES(100 * S, 1, 1), TAKES(99 * S, 1, 0), REFUSES(100 * S, 1, 0, 15 * S),
                                         REFUSES(99 * S, 1, 0, 16 * S)};

    holds("clock skew", log_rule(2, 10 * S), ROWS(log));
    holds("clock skew", buckets_rule(2, 10 * S, 10), ROWS(buckets));
    holds("clock skew", counter_rule(2, 10 * S), ROWS(counter));
}

/* 1.7e15 us, as of 2023: a nanosecond there would be lost in a double, and %g would write 1.7e+15. */
static void times_of_today_are_exact(void)
{
    const uint64_t now = UINT64_C(1700000000000001);
    const struct row log[] = {TAKES(now, 1, 0), REFUSES(now + 9, 1, 0, 1), TAKES(now + 10, 1, 0),
                              REFUSES(now + 11, 1, 0, 9)};
    const struct row counter[] = {TAKES(now, 1, 0), REFUSES(now + 8, 1, 0, 11), TAKES(now + 19, 1, 0)};

    holds("double rounding", log_rule(1, 10), ROWS(log));
    holds("double rounding", buckets_rule(1, 10, 10), ROWS(log));
    holds("double rounding", counter_rule(1, 10), ROWS(counter));
}

static void calls_in_one_microsecond_all_count(void)
{
    static const struct row rows[] = {TAKES(500, 1, 2), TAKES(500, 1, 1), TAKES(500, 1, 0), REFUSES(500, 1, 0, 1000),
                                      REFUSES(500, 1, 0, 1000), REFUSES(1499, 3, 0, 1), TAKES(1500, 3, 0)};

    holds("same-timestamp collapse", log_rule(3, 1000), ROWS(rows));
}

static void a_cost_that_a_double_cannot_tell_is_refused_for_ever(void)
{
    static const struct row rows[] = {TAKES(0, 5, 5), REFUSES(1, UINT64_MAX, 5, WEIR_NEVER),
                                      REFUSES(1, UINT64_MAX - 5, 5, WEIR_NEVER), TAKES(1, 5, 0)};

    holds("cost > limit", log_rule(10, 60 * S), ROWS(rows));
    holds("cost > limit", counter_rule(10, 60 * S), ROWS(rows));
    holds("cost > limit", buckets_rule(10, 60 * S, 6), ROWS(rows));
}

static void limits_at_the_edge_are_exact(void)
{
    static const struct row rows[] = {TAKES(0, WEIRI_REDIS_LIMIT_MAX - 5, 5), REFUSES(1, 100, 5, 198), TAKES(1, 5, 0),
                                      LIMIT(WEIRI_REDIS_LIMIT_MAX - 1), REFUSES(1, 0, 0, 198)};

    holds("count overflow", buckets_rule(WEIRI_REDIS_LIMIT_MAX, 100, 1), ROWS(rows));
}

/* Where the key or its time is lost: a wait is never below 0, nor what Redis says of such a key. */
static void a_key_that_vanished_is_a_key_without_charges(void)
{
    const weir_rule rules[] = {log_rule(1, 3600 * WEIR_SECOND), counter_rule(1, 3600 * WEIR_SECOND),
                               buckets_rule(1, 3600 * WEIR_SECOND, 4)};
    weir_redis_options options = asker_options(false);
    weir_request one = request_of("key", 1);

    for (size_t i = 0; i < 3; i++) {
        struct asker asker;
        weir_decision got;

        REDIS_SERVER_TELL(link_, "FLUSHALL");
        CHECK_EQUAL(0, asker_open_with(&asker, link_, &rules[i], 1, &options));
        CHECK_EQUAL(1, asker_take(&asker, &one, WEIR_NOW, NULL));
        CHECK_EQUAL(0, asker_take(&asker, &one, WEIR_NOW, &got));
        CHECK(got.retry_after_ns > 0 && got.retry_after_ns <= 2 * 3600 * WEIR_SECOND);
        /* The time lost: PTTL says -1. */
        CHECK_EQUAL(1, redis_server_number(link_, "PERSIST {weir:key}%s", asker.rules.rule[0].suffix));
        CHECK_EQUAL(0, asker_take(&asker, &one, WEIR_NOW, &got));
        CHECK(got.retry_after_ns > 0 && got.retry_after_ns <= 2 * 3600 * WEIR_SECOND);
        /* Gone: PTTL says -2. */
        CHECK_EQUAL(1, redis_server_number(link_, "DEL {weir:key}%s", asker.rules.rule[0].suffix));
        CHECK_EQUAL(1, asker_take(&asker, &one, WEIR_NOW, &got));
        CHECK_EQUAL(0, got.remaining);
        CHECK_EQUAL(0, got.retry_after_ns);
        CHECK(redis_server_number(link_, "PTTL {weir:key}%s", asker.rules.rule[0].suffix) > 0);
        asker_close(&asker);
    }
}

static void two_rules_that_look_alike_share_nothing(void)
{
    const weir_rule rules[] = {log_rule(1000, 60 * WEIR_SECOND), log_rule(10, 60 * WEIR_SECOND)};
    weir_request one = request_of("key", 1);
    struct asker asker;
    int accepted = 0;

    REDIS_SERVER_TELL(link_, "FLUSHALL");
    CHECK_EQUAL(0, asker_open(&asker, link_, rules, 2));
    for (int i = 0; i < 20; i++)
        accepted += asker_take(&asker, &one, 0, NULL);
    CHECK_EQUAL(10, accepted);
    asker_close(&asker);
}

/* One reload after each loss, and no charge twice. */
static void a_server_that_forgot_the_script_is_told_it_again(void)
{
    const weir_rule rule = log_rule(2, 60 * WEIR_SECOND);
    weir_request one = request_of("key", 1);
    weir_decision got;
    struct asker asker;

    REDIS_SERVER_TELL(link_, "FLUSHALL");
    CHECK_EQUAL(0, asker_open(&asker, link_, &rule, 1));
    for (int i = 0; i < 3; i++) {
        REDIS_SERVER_TELL(link_, "SCRIPT FLUSH");
        CHECK_EQUAL(WEIRI_REDIS_NOSCRIPT, asker_try(&asker, WEIRI_REDIS_TAKE, &one, 0, false, &got));
        CHECK_EQUAL(WEIRI_REDIS_ANSWERED, asker_try(&asker, WEIRI_REDIS_TAKE, &one, 0, true, &got));
        CHECK_EQUAL(i < 2, got.verdict);
        CHECK_EQUAL(i == 0 ? 1 : 0, got.remaining);
        CHECK_EQUAL(WEIRI_REDIS_ANSWERED, asker_try(&asker, WEIRI_REDIS_PEEK, &one, 0, false, &got));
    }
    asker_close(&asker);
}

int main(void)
{
    struct redis_server server;

    NEEDS_REDIS();
    redis_server_start(&server, NULL);
    link_ = redis_server_connect(&server);
    every_algorithm_charges_the_whole_cost();
    a_lowered_limit_leaves_a_debt_and_a_raised_one_room();
    a_counters_wait_ends_when_it_has_worn_off_enough();
    a_later_record_lengthens_what_the_key_remembers();
    clocks_that_disagree_issue_no_more_than_one();
    times_of_today_are_exact();
    calls_in_one_microsecond_all_count();
    a_cost_that_a_double_cannot_tell_is_refused_for_ever();
    limits_at_the_edge_are_exact();
    a_key_that_vanished_is_a_key_without_charges();
    two_rules_that_look_alike_share_nothing();
    a_server_that_forgot_the_script_is_told_it_again();
    redisFree(link_);
    redis_server_stop(&server);
    return checks_end();
}
