/* The circuit breaker, under times and random numbers that the test brings. */
#include "check.h"
#include "redis/breaker.h"

enum { FAILURES = 3, LEAST = 100, MOST = 1000 };

static weiri_redis_breaker fresh(void)
{
    return weiri_redis_breaker_of(FAILURES, LEAST, MOST);
}

/* Fails so often that it opens, at `now`; nothing is taken off the pause. */
static weiri_redis_breaker opened(uint64_t now)
{
    weiri_redis_breaker breaker = fresh();
    for (int i = 0; i < FAILURES; i++)
        weiri_redis_breaker_failed(&breaker, weiri_redis_breaker_admit(&breaker, now), now, 0);
    return breaker;
}

static void it_opens_at_the_last_of_so_many_failures_in_a_row(void)
{
    weiri_redis_breaker breaker = fresh();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < FAILURES - 1; i++)
            weiri_redis_breaker_failed(&breaker, weiri_redis_breaker_admit(&breaker, 5), 5, 0);
        CHECK(!weiri_redis_breaker_is_open(&breaker));
        CHECK_EQUAL(0, weiri_redis_breaker_wait(&breaker, 5));
        weiri_redis_breaker_succeeded(&breaker, weiri_redis_breaker_admit(&breaker, 5));
    }
    breaker = opened(5);
    CHECK(weiri_redis_breaker_is_open(&breaker));
    CHECK_EQUAL(LEAST, weiri_redis_breaker_wait(&breaker, 5));
    CHECK_EQUAL(0, weiri_redis_breaker_admit(&breaker, 5));
    CHECK_EQUAL(0, weiri_redis_breaker_admit(&breaker, 5 + LEAST - 1));
}

static void one_caller_probes_when_the_while_is_over(void)
{
    weiri_redis_breaker breaker = opened(0);
    CHECK_EQUAL(0, weiri_redis_breaker_wait(&breaker, LEAST));
    uint64_t probe = weiri_redis_breaker_admit(&breaker, LEAST);
    CHECK(probe != 0);
    CHECK_EQUAL(0, weiri_redis_breaker_admit(&breaker, LEAST));
    CHECK_EQUAL(1, weiri_redis_breaker_wait(&breaker, LEAST));
    CHECK_EQUAL(0, weiri_redis_breaker_admit(&breaker, 10 * LEAST));
    weiri_redis_breaker_succeeded(&breaker, probe);
    CHECK(!weiri_redis_breaker_is_open(&breaker));
    CHECK(weiri_redis_breaker_admit(&breaker, LEAST) != 0);
    CHECK(weiri_redis_breaker_admit(&breaker, LEAST) != 0);
}

static void each_probe_that_fails_doubles_the_while_up_to_the_longest(void)
{
    static const uint64_t pauses[] = {200, 400, 800, 1000, 1000};
    weiri_redis_breaker breaker = opened(0);
    uint64_t now = LEAST;
    for (unsigned i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        weiri_redis_breaker_failed(&breaker, weiri_redis_breaker_admit(&breaker, now), now, 0);
        CHECK_EQUAL(pauses[i], weiri_redis_breaker_wait(&breaker, now));
        now += pauses[i];
    }
    weiri_redis_breaker_succeeded(&breaker, weiri_redis_breaker_admit(&breaker, now));
    for (int i = 0; i < FAILURES; i++)
        weiri_redis_breaker_failed(&breaker, weiri_redis_breaker_admit(&breaker, now), now, 0);
    CHECK_EQUAL(LEAST, weiri_redis_breaker_wait(&breaker, now)); /* from the start again */
}

static void at_most_a_half_is_taken_off_at_random(void)
{
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (uint64_t random = 0; random < 1000; random++) {
        weiri_redis_breaker breaker = opened(0);
        uint64_t probe = weiri_redis_breaker_admit(&breaker, LEAST);
        weiri_redis_breaker_failed(&breaker, probe, LEAST, random);
        uint64_t wait = weiri_redis_breaker_wait(&breaker, LEAST);
        shortest = wait < shortest ? wait : shortest;
        longest = wait > longest ? wait : longest;
    }
    CHECK_EQUAL(LEAST, shortest);
    CHECK_EQUAL(2 * LEAST, longest);
}

static void what_was_under_way_when_it_opened_counts_no_more(void)
{
    weiri_redis_breaker breaker = fresh();
    uint64_t early = weiri_redis_breaker_admit(&breaker, 0);
    for (int i = 0; i < FAILURES; i++)
        weiri_redis_breaker_failed(&breaker, weiri_redis_breaker_admit(&breaker, 0), 0, 0);
    CHECK(!weiri_redis_breaker_holds(&breaker, early));
    weiri_redis_breaker_failed(&breaker, early, 50, 0);
    CHECK_EQUAL(LEAST, weiri_redis_breaker_wait(&breaker, 0));
    weiri_redis_breaker_succeeded(&breaker, early);
    CHECK(weiri_redis_breaker_is_open(&breaker));
    uint64_t probe = weiri_redis_breaker_admit(&breaker, LEAST);
    weiri_redis_breaker_failed(&breaker, early, LEAST, 0);
    CHECK(weiri_redis_breaker_holds(&breaker, probe));
}

static void a_probe_that_did_not_ask_leaves_its_place_to_the_next(void)
{
    weiri_redis_breaker breaker = opened(0);
    weiri_redis_breaker_abandoned(&breaker, weiri_redis_breaker_admit(&breaker, LEAST));
    CHECK(weiri_redis_breaker_is_open(&breaker));
    uint64_t probe = weiri_redis_breaker_admit(&breaker, LEAST);
    CHECK(probe != 0);
    weiri_redis_breaker_succeeded(&breaker, probe);
    CHECK(!weiri_redis_breaker_is_open(&breaker));
    uint64_t closed = weiri_redis_breaker_admit(&breaker, LEAST);
    weiri_redis_breaker_abandoned(&breaker, closed);
    CHECK(weiri_redis_breaker_holds(&breaker, closed));
}

int main(void)
{
    it_opens_at_the_last_of_so_many_failures_in_a_row();
    one_caller_probes_when_the_while_is_over();
    each_probe_that_fails_doubles_the_while_up_to_the_longest();
    at_most_a_half_is_taken_off_at_random();
    what_was_under_way_when_it_opened_counts_no_more();
    a_probe_that_did_not_ask_leaves_its_place_to_the_next();
    return checks_end();
}
