/* What is answered without asking: by the policy while Redis is away, and by refusals that are remembered. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "client.h"

static struct redis_server server;
static redisContext *own;

/* ---- the policy: over a socket where nobody is ---- */

static weir_redis_options away(uint32_t when)
{
    weir_redis_options options = client_options("unix:///nowhere/redis.sock");
    options.when_unreached = when;
    return options;
}

static void refusing_tells_when_redis_is_tried_again(void)
{
    weir_redis_options options = away(WEIR_UNREACHED_REFUSE);
    options.breaker_failures = 2;
    options.backoff_min_ns = options.backoff_max_ns = WEIR_HOUR;
    weir_redis *limiter = client_open(&options, 10);
    weir_decision decision = client_taken(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, decision.flags);
    CHECK_EQUAL(1, decision.retry_after_ns); /* the next call tries */
    CHECK_EQUAL(10, decision.limit);
    CHECK_EQUAL(0, decision.remaining);
    decision = client_peeked(limiter, "k", 1);
    CHECK_EQUAL(0, decision.verdict);
    CHECK(decision.retry_after_ns >= WEIR_HOUR / 2 - WEIR_MINUTE && decision.retry_after_ns <= WEIR_HOUR);
    CHECK_EQUAL(2, client_stats(limiter).failures);
    CHECK_EQUAL(2, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void admitting_accepts_all_and_records_nothing(void)
{
    weir_request requests[20];
    weir_decision decisions[20];
    weir_redis_options options = away(WEIR_UNREACHED_ADMIT);
    weir_redis *limiter = client_open(&options, 10);
    for (int i = 0; i < 20; i++) {
        weir_decision decision = client_taken(limiter, "k", 1);
        CHECK_EQUAL(1, decision.verdict);
        CHECK_EQUAL(WEIR_REDIS_UNREACHED, decision.flags);
        CHECK_EQUAL(0, decision.retry_after_ns);
        requests[i] = weir_request_for("k", 1);
    }
    CHECK_EQUAL(20, weir_redis_take_batch(limiter, requests, 20, WEIR_NOW, NULL, decisions));
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, decisions[19].flags);
    CHECK_EQUAL(40, client_stats(limiter).unreached);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* Calls on one key until one is refused. */
static unsigned accepted_locally(weir_redis *limiter, const char *key, uint32_t plan)
{
    weir_request request = weir_request_for(key, strlen(key));
    request.plan = plan;
    for (unsigned count = 0;; count++) {
        weir_decision decision;
        int verdict = weir_redis_take(limiter, &request, WEIR_NOW, &decision);
        CHECK_EQUAL(WEIR_REDIS_UNREACHED | WEIR_REDIS_FALLBACK, decision.flags);
        if (verdict != 1)
            return count;
    }
}

static void falling_back_gives_each_process_its_share(void)
{
    static const struct {
        uint64_t limit;
        uint32_t permille;
        unsigned share;
    } rows[] = {{10, 1000, 10}, {10, 500, 5}, {10, 999, 9}, {10, 1, 1}, {1, 500, 1}, {1999, 1, 1}, {2000, 1, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_redis_options options = away(WEIR_UNREACHED_FALLBACK);
        options.fallback_permille = rows[i].permille;
        weir_redis *limiter = client_open(&options, rows[i].limit);
        CHECK_EQUAL(rows[i].share, accepted_locally(limiter, "k", 0));
        CHECK_EQUAL(rows[i].share, client_peeked(limiter, "other", 1).remaining);
        CHECK_EQUAL(0, weir_redis_close(limiter));
    }
}

static void falling_back_follows_plans_limits_that_are_set_and_resets(void)
{
    const uint64_t plans[] = {4, 8}, more = 20, much = UINT64_C(1) << 40;
    const weir_rule rules[] = {
        {.limit = 4, .window_ns = WEIR_DAY, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST}};
    weir_redis *limiter;
    weir_redis_options options = away(WEIR_UNREACHED_FALLBACK);
    options.fallback_permille = 500;
    options.plans = 2;
    options.plan_limits = plans;
    CHECK_EQUAL(0, weir_redis_open(&limiter, rules, 1, &options));
    CHECK_EQUAL(2, accepted_locally(limiter, "a", 0));
    CHECK_EQUAL(4, accepted_locally(limiter, "b", 1));
    CHECK_EQUAL(0, weir_redis_set_limits(limiter, 1, &more, 1));
    CHECK_EQUAL(6, accepted_locally(limiter, "b", 1));
    CHECK_EQUAL(0, accepted_locally(limiter, "a", 0));
    CHECK_EQUAL(-ENOTCONN, client_reset(limiter, "b"));
    CHECK_EQUAL(10, accepted_locally(limiter, "b", 1));
    CHECK_EQUAL(0, weir_redis_set_limits(limiter, 1, &much, 1));
    weir_request request = {.key = "b", .key_len = 1, .cost = 1, .plan = 1};
    weir_decision decision;
    CHECK_EQUAL(1, weir_redis_peek(limiter, &request, WEIR_NOW, &decision));
    CHECK_EQUAL(much / 2 - 10, decision.remaining);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_given_time_is_the_local_limiter_s_too(void)
{
    weir_redis_options options = away(WEIR_UNREACHED_FALLBACK);
    options.given_time = 1;
    weir_redis *limiter = client_open(&options, 1);
    weir_request request = weir_request_for("k", 1);
    CHECK_EQUAL(1, weir_redis_take(limiter, &request, 5000, NULL));
    CHECK_EQUAL(0, weir_redis_take(limiter, &request, WEIR_DAY + 4999, NULL));
    CHECK_EQUAL(1, weir_redis_take(limiter, &request, WEIR_DAY + 5000, NULL));
    CHECK_EQUAL(-EINVAL, weir_redis_take(limiter, &request, WEIR_NOW, NULL));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* ---- remembered refusals: over a server ---- */

static weir_redis_options hammered(void)
{
    weir_redis_options options = client_options(server.url);
    options.remember_ns = WEIR_DAY;
    REDIS_SERVER_TELL(own, "FLUSHALL");
    REDIS_SERVER_TELL(own, "SCRIPT FLUSH");
    return options;
}

/* Ten are accepted, 990 are not. */
static void hammer(weir_redis *limiter, bool remembers)
{
    unsigned accepted = 0, refused = 0, told = 0;
    for (int i = 0; i < 1000; i++) {
        weir_decision decision = client_taken(limiter, "k", 1);
        accepted += decision.verdict == 1;
        refused += decision.verdict == 0 && decision.limit == 10 && decision.remaining == 0 &&
                   decision.retry_after_ns > WEIR_DAY - WEIR_HOUR && decision.retry_after_ns <= WEIR_DAY;
        told += decision.flags == WEIR_REDIS_REMEMBERED;
    }
    CHECK_EQUAL(10, accepted);
    CHECK_EQUAL(990, refused);
    CHECK_EQUAL(remembers ? 989 : 0, told);
    weir_redis_statistics statistics = client_stats(limiter);
    CHECK_EQUAL(remembers ? 989 : 0, statistics.remembered);
    CHECK_EQUAL(remembers ? 12 : 1001, statistics.commands); /* one of them was sent again, with its script */
    CHECK_EQUAL(statistics.commands, statistics.round_trips);
}

static void a_client_that_hammers_costs_one_command_with_memory_and_all_without(void)
{
    weir_redis_options options = hammered();
    weir_redis *limiter = client_open(&options, 10);
    hammer(limiter, true);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    options = hammered();
    options.remember_keys = 0;
    limiter = client_open(&options, 10);
    hammer(limiter, false);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    options = hammered();
    options.remember_ns = 0;
    limiter = client_open(&options, 10);
    hammer(limiter, false);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

/* How many commands were sent since the last time. */
static uint64_t asked(const weir_redis *limiter)
{
    static uint64_t before;
    uint64_t now = client_stats(limiter).commands;
    uint64_t since = now - before;
    before = now;
    return since;
}

static void what_may_pass_is_asked_and_what_cannot_is_not(void)
{
    weir_request batch[3];
    int verdicts[3];
    weir_redis_options options = hammered();
    weir_redis *limiter = client_open(&options, 10);
    (void)client_taken(limiter, "k", 7);
    (void)client_taken(limiter, "k", 5);
    (void)asked(limiter);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 5).flags);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_peeked(limiter, "k", 5).flags);
    CHECK_EQUAL(0, client_take(limiter, "k", 6, NULL)); /* its verdict is known */
    CHECK_EQUAL(0, client_take(limiter, "k", UINT64_MAX, NULL));
    CHECK_EQUAL(0, asked(limiter));
    CHECK_EQUAL(0, client_taken(limiter, "k", 6).flags); /* its waits are not */
    CHECK_EQUAL(1, asked(limiter));
    for (int i = 0; i < 3; i++)
        batch[i] = weir_request_for(i == 1 ? "l" : "k", 1);
    batch[0].cost = batch[2].cost = 5;
    CHECK_EQUAL(1, weir_redis_take_batch(limiter, batch, 3, WEIR_NOW, verdicts, NULL));
    CHECK(verdicts[0] == 0 && verdicts[1] == 1 && verdicts[2] == 0);
    CHECK_EQUAL(1, asked(limiter));
    weir_decision decision = client_taken(limiter, "k", 2); /* a lower cost may pass, and does */
    CHECK_EQUAL(1, decision.verdict);
    CHECK_EQUAL(1, decision.remaining);
    CHECK_EQUAL(1, asked(limiter));
    CHECK_EQUAL(0, client_take(limiter, "k", 5, NULL)); /* still refused */
    CHECK_EQUAL(0, asked(limiter));
    CHECK_EQUAL(1, client_taken(limiter, "k", 5).remaining); /* but 3 are left no more */
    CHECK_EQUAL(1, asked(limiter));
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_batch_s_own_charges_are_in_what_its_later_requests_are_told(void)
{
    enum { COUNT = 4 };
    static const uint64_t costs[COUNT] = {5, 1, 5, 5}, remaining[COUNT] = {3, 2, 2, 2};
    weir_request batch[COUNT];
    weir_decision decisions[COUNT];
    weir_redis_options options = hammered();
    weir_redis *limiter = client_open(&options, 10);
    (void)client_taken(limiter, "k", 7);
    CHECK_EQUAL(3, client_taken(limiter, "k", 5).remaining);
    for (int i = 0; i < COUNT; i++) {
        batch[i] = weir_request_for("k", 1);
        batch[i].cost = costs[i];
    }
    CHECK_EQUAL(1, weir_redis_take_batch(limiter, batch, COUNT, WEIR_NOW, NULL, decisions));
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(i == 1, decisions[i].verdict);
        CHECK_EQUAL(remaining[i], decisions[i].remaining);
        CHECK_EQUAL(i == 0 ? WEIR_REDIS_REMEMBERED : 0, decisions[i].flags);
    }
    CHECK_EQUAL(2, client_taken(limiter, "k", 5).remaining);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void new_limits_and_a_reset_end_what_is_remembered(void)
{
    const uint64_t more = 20;
    weir_redis_options options = hammered();
    weir_redis *limiter = client_open(&options, 10);
    (void)client_taken(limiter, "k", 10);
    (void)client_taken(limiter, "k", 1);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(0, weir_redis_set_limits(limiter, 0, &more, 1));
    CHECK_EQUAL(9, client_taken(limiter, "k", 1).remaining);
    (void)client_taken(limiter, "k", 10);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 10).flags);
    CHECK_EQUAL(0, client_reset(limiter, "k"));
    CHECK_EQUAL(10, client_taken(limiter, "k", 10).remaining);
    (void)client_taken(limiter, "k", 11);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 11).flags);
    for (int i = 0; i < 256; i++) /* more versions than an entry can tell apart */
        CHECK_EQUAL(0, weir_redis_set_limits(limiter, 0, &more, 1));
    CHECK_EQUAL(0, client_taken(limiter, "k", 11).flags);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static atomic_bool setting;

/* How many calls were refused. Verdicts alone are asked for: of a key that is charged, they alone are remembered. */
static void *take_on(void *argument)
{
    uintptr_t refused = 0;
    while (atomic_load(&setting))
        refused += client_take(argument, "k", 8, NULL) == 0;
    return (void *)refused;
}

/* Refused under the limits of version 0; the 256th change after it is as version 0 to an entry. So many entries are to
 * be cleared for that, that calls come in between. */
static void a_refusal_does_not_come_back_while_versions_turn_over(void)
{
    const uint64_t more = UINT32_MAX;
    weir_redis_options options = hammered();
    options.remember_keys = 1 << 20;
    for (int round = 0; round < 4; round++) { /* the place of the key's entry is random */
        pthread_t taker;
        void *refused;
        REDIS_SERVER_TELL(own, "FLUSHALL");
        weir_redis *limiter = client_open(&options, 7);
        (void)client_taken(limiter, "k", 7);
        CHECK_EQUAL(WEIR_NEVER, client_taken(limiter, "k", 8).retry_after_ns);
        for (int i = 0; i < 255; i++)
            CHECK_EQUAL(0, weir_redis_set_limits(limiter, 0, &more, 1));
        atomic_store(&setting, true);
        pthread_create(&taker, NULL, take_on, limiter);
        uint64_t before = client_stats(limiter).commands;
        while (client_stats(limiter).commands == before)
            sched_yield();
        CHECK_EQUAL(0, weir_redis_set_limits(limiter, 0, &more, 1));
        atomic_store(&setting, false);
        pthread_join(taker, &refused);
        CHECK_EQUAL(0, (uintptr_t)refused);
        CHECK_EQUAL(0, client_stats(limiter).remembered);
        CHECK_EQUAL(0, weir_redis_close(limiter));
    }
}

/* A window of half a second: what is remembered ends when the call would pass, by itself. */
static void a_refusal_is_forgotten_when_its_call_would_pass(void)
{
    const weir_rule rule = {
        .limit = 1, .window_ns = WEIR_SECOND / 2, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_redis_options options = hammered();
    weir_redis *limiter;
    weir_decision decision;
    CHECK_EQUAL(0, weir_redis_open(&limiter, &rule, 1, &options));
    CHECK_EQUAL(1, client_take(limiter, "k", 1, NULL));
    (void)asked(limiter);
    do { /* the first that passes is accepted by Redis: so the memory has ended, and not too late for ever */
        decision = client_taken(limiter, "k", 1);
    } while (decision.verdict == 0);
    CHECK_EQUAL(0, decision.flags);
    CHECK(client_stats(limiter).remembered > 0);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

static void a_dead_server_ends_no_memory_of_its_refusals(void)
{
    weir_redis_options options = hammered();
    options.when_unreached = WEIR_UNREACHED_ADMIT;
    weir_redis *limiter = client_open(&options, 10);
    (void)client_taken(limiter, "k", 10);
    (void)client_taken(limiter, "k", 1);
    redis_server_freeze(&server);
    CHECK_EQUAL(WEIR_REDIS_REMEMBERED, client_taken(limiter, "k", 1).flags);
    redis_server_thaw(&server);
    CHECK_EQUAL(0, weir_redis_close(limiter));
}

int main(void)
{
    refusing_tells_when_redis_is_tried_again();
    admitting_accepts_all_and_records_nothing();
    falling_back_gives_each_process_its_share();
    falling_back_follows_plans_limits_that_are_set_and_resets();
    a_given_time_is_the_local_limiter_s_too();
    NEEDS_REDIS();
    redis_server_start(&server, NULL);
    own = redis_server_connect(&server);
    a_client_that_hammers_costs_one_command_with_memory_and_all_without();
    what_may_pass_is_asked_and_what_cannot_is_not();
    a_batch_s_own_charges_are_in_what_its_later_requests_are_told();
    new_limits_and_a_reset_end_what_is_remembered();
    a_refusal_does_not_come_back_while_versions_turn_over();
    a_refusal_is_forgotten_when_its_call_would_pass();
    a_dead_server_ends_no_memory_of_its_refusals();
    redisFree(own);
    redis_server_stop(&server);
    return checks_end();
}
