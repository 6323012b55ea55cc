/*
 * The calls on an open limiter: their errors, their clocks, and what they leave alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../support/rows.h"

#define S       WEIR_SECOND
#define ENDLESS UINT64_MAX

static const unsigned char long_key[WEIR_KEY_MAX + 1];

static uint64_t keys_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};

    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    return statistics.keys;
}

/* One limiter for each way of keeping a key: in the table, and in a node. */
static weir *either(int which)
{
    weir_rule rules[] = {counter_rule(5, 10), log_rule(5, 10)};
    weir *limiter = manual_limiter(&rules[which], 1, ENDLESS, NULL);

    cr_assert_not_null(limiter);
    return limiter;
}

static void is_bad_request(weir *limiter, const weir_request *request, const char *what)
{
    weir_decision decisions[3];
    int verdicts[3];
    weir_request batch[] = {weir_request_for("good", 4), *request, weir_request_for("good", 4)};

    cr_assert_eq(weir_take(limiter, request, 0, NULL), -EINVAL, "take: %s", what);
    cr_assert_eq(weir_take(limiter, request, 0, &decisions[0]), -EINVAL, "take: %s", what);
    cr_assert_eq(weir_peek(limiter, request, 0, NULL), -EINVAL, "peek: %s", what);
    cr_assert_eq(weir_peek(limiter, request, 0, &decisions[0]), -EINVAL, "peek: %s", what);
    cr_assert_eq(keys_of(limiter), 0, "%s", what);
    cr_assert_eq(weir_take_batch(limiter, batch, 3, 0, verdicts, decisions), 2, "batch: %s", what);
    cr_assert_eq(verdicts[0], 1);
    cr_assert_eq(verdicts[1], -EINVAL);
    cr_assert_eq(verdicts[2], 1);
    cr_assert_eq(decisions[0].remaining, 4);
    cr_assert_eq(decisions[1].verdict, -EINVAL);
    cr_assert_eq(decisions[2].remaining, 3);
    cr_assert_eq(keys_of(limiter), 1, "%s", what);
}

/* Each bad request on a fresh limiter, so that what was recorded can be counted. */
static void refuses_request(weir_request request, const char *what, int reset)
{
    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);

        is_bad_request(limiter, &request, what);
        cr_assert_eq(weir_reset(limiter, &request), reset, "reset: %s", what);
        weir_close(limiter);
    }
}

Test(api, refuses_bad_requests_and_records_nothing)
{
    weir_request request;

    refuses_request(weir_request_for(long_key, WEIR_KEY_MAX + 1), "key_len", -EINVAL);
    refuses_request(weir_request_for(long_key, SIZE_MAX), "key_len", -EINVAL);
    refuses_request(weir_request_for(NULL, 1), "key NULL", -EINVAL);
    request = weir_request_for("key", 3);
    request.flags = 1;
    refuses_request(request, "flags", -EINVAL);
    request = weir_request_for("key", 3);
    request.receipt = 1;
    refuses_request(request, "receipt", -EINVAL);
    for (int i = 0; i < 2; i++) {
        request = weir_request_for("key", 3);
        request.reserved[i] = 1;
        refuses_request(request, "reserved", -EINVAL);
    }
    /* Reset does not look at cost and plan. */
    request = weir_request_for("key", 3);
    request.plan = 1;
    refuses_request(request, "plan", 0);
    request.plan = UINT32_MAX;
    refuses_request(request, "plan", 0);
}

Test(api, refuses_an_identity_of_another_limiter)
{
    weir *other = either(0);
    weir_identity identity;
    weir_request request = {.identity = &identity, .cost = 1};

    cr_assert_eq(weir_identify(other, "key", 3, &identity), 0);
    refuses_request(request, "identity of another limiter", -EINVAL);
    memset(&identity, 0, sizeof identity);
    refuses_request(request, "identity of nobody", -EINVAL);
    weir_close(other);
}

Test(api, refuses_an_identity_of_a_limiter_that_was_closed)
{
    weir_identity identity;
    weir_request request = {.identity = &identity, .cost = 1};
    weir *limiter = either(0);

    cr_assert_eq(weir_identify(limiter, "key", 3, &identity), 0);
    weir_close(limiter);
    /* A limiter that may well be given the same address. */
    refuses_request(request, "identity of a closed limiter", -EINVAL);
}

Test(api, an_identity_stands_for_its_key_of_whatever_length)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 300, WEIR_KEY_MAX};

    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);

        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            weir_request by_key = weir_request_for(long_key, lengths[i]);
            weir_identity identity;
            weir_request by_identity = {.identity = &identity, .cost = 1};
            weir_decision decision;

            cr_assert_eq(weir_identify(limiter, long_key, lengths[i], &identity), 0);
            cr_assert_eq(weir_take(limiter, &by_key, 0, NULL), 1);
            cr_assert_eq(weir_take(limiter, &by_identity, 0, &decision), 1);
            cr_assert_eq(decision.remaining, 3);
            /* Key and key_len are not looked at beside it. */
            by_identity.key_len = SIZE_MAX;
            cr_assert_eq(weir_take(limiter, &by_identity, 0, &decision), 1);
            cr_assert_eq(decision.remaining, 2);
        }
        cr_assert_eq(keys_of(limiter), sizeof lengths / sizeof *lengths);
        weir_close(limiter);
    }
}

Test(api, identify_refuses_a_key_too_long)
{
    weir *limiter = either(0);
    weir_identity identity;

    cr_assert_eq(weir_identify(limiter, long_key, WEIR_KEY_MAX + 1, &identity), -EINVAL);
    cr_assert_eq(weir_identify(limiter, NULL, 0, &identity), 0);
    weir_close(limiter);
}

static int nobody(void *argument, const weir_key *key)
{
    (void)argument;
    (void)key;
    return 0;
}

Test(api, refuses_a_time_out_of_range)
{
    static const uint64_t bad[] = {WEIR_TIME_MAX + 1, UINT64_MAX - 1, WEIR_NOW};

    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);
        weir_request request = weir_request_for("key", 3);
        int verdict = 42;
        weir_decision decision = {.verdict = 42};

        for (size_t i = 0; i < 3; i++) {
            cr_assert_eq(weir_take(limiter, &request, bad[i], NULL), -EINVAL);
            cr_assert_eq(weir_peek(limiter, &request, bad[i], NULL), -EINVAL);
            cr_assert_eq(weir_take_batch(limiter, &request, 1, bad[i], &verdict, &decision), -EINVAL);
            cr_assert_eq(weir_sweep(limiter, bad[i], 0), -EINVAL);
            cr_assert_eq(weir_each(limiter, bad[i], nobody, NULL), -EINVAL);
        }
        cr_assert_eq(verdict, 42);
        cr_assert_eq(decision.verdict, 42);
        cr_assert_eq(keys_of(limiter), 0);
        cr_assert_eq(weir_take(limiter, &request, WEIR_TIME_MAX, &decision), 1);
        cr_assert_eq(decision.remaining, 4);
        cr_assert_eq(decision.reserved0, 0);
        cr_assert_eq(decision.reserved[0], 0);
        cr_assert_eq(decision.reserved[1], 0);
        weir_close(limiter);
    }
}

Test(api, a_batch_answers_as_so_many_takes)
{
    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);
        weir_request requests[200];
        int verdicts[200];
        weir_decision decisions[200];
        char keys[20][8];

        for (int i = 0; i < 200; i++) {
            snprintf(keys[i % 20], sizeof keys[0], "key%d", i % 20);
            requests[i] = weir_request_for(keys[i % 20], strlen(keys[i % 20]));
        }
        cr_assert_eq(weir_take_batch(limiter, requests, 0, 0, NULL, NULL), 0);
        cr_assert_eq(weir_take_batch(limiter, requests, 40, 0, NULL, NULL), 40);
        cr_assert_eq(weir_take_batch(limiter, requests, 200, 0, verdicts, decisions), 60);
        for (uint64_t i = 0; i < 200; i++) {
            cr_assert_eq(verdicts[i], i < 60);
            cr_assert_eq(decisions[i].verdict, i < 60);
            cr_assert_eq(decisions[i].remaining, i < 60 ? 2 - i / 20 : 0);
        }
        weir_close(limiter);
    }
}

Test(api, peeking_a_million_times_changes_nothing)
{
    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);
        weir_request request = weir_request_for("key", 3);
        weir_decision decision;

        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        for (uint64_t i = 0; i < 1000000; i++)
            cr_assert_eq(weir_peek(limiter, &request, i % 10, i % 2 == 0 ? &decision : NULL), 1);
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.remaining, 3);
        weir_close(limiter);
    }
}

Test(api, reset_forgets_charges_but_not_time_and_creates_no_key)
{
    static const struct row log[] = {TAKES(100, 5, 0), RESETS, TAKES(50, 5, 0), REFUSES(50, 1, 0, 60)};
    static const struct row counter[] = {TAKES(100, 5, 0), RESETS, TAKES(50, 5, 0), REFUSES(50, 1, 0, 62)};
    static const struct row counter_at_0[] = {TAKES(0, 5, 0), RESETS, WOULD_TAKE(0, 5, 5), TAKES(0, 5, 0)};
    static const struct row buckets[] = {TAKES(100, 5, 0), RESETS, TAKES(50, 5, 0), REFUSES(50, 1, 0, 61)};
    weir_request request = weir_request_for("key", 3);
    const char *wrong = rows_wrong_for(log_rule(5, 10), ENDLESS, ROWS(log));

    cr_assert_null(wrong, "%s", wrong);
    wrong = rows_wrong_for(counter_rule(5, 10), ENDLESS, ROWS(counter));
    cr_assert_null(wrong, "%s", wrong);
    wrong = rows_wrong_for(counter_rule(5, 10), ENDLESS, ROWS(counter_at_0));
    cr_assert_null(wrong, "%s", wrong);
    wrong = rows_wrong_for(buckets_rule(5, 10, 5), ENDLESS, ROWS(buckets));
    cr_assert_null(wrong, "%s", wrong);
    for (int which = 0; which < 2; which++) {
        weir *limiter = either(which);

        cr_assert_eq(weir_reset(limiter, &request), 0);
        cr_assert_eq(keys_of(limiter), 0);
        weir_close(limiter);
    }
}

static uint64_t read_cell(void *argument)
{
    return atomic_load((_Atomic uint64_t *)argument);
}

Test(api, a_custom_clock_may_step_back_and_forth)
{
    _Atomic uint64_t time = 100;
    weir_rule rule = log_rule(1, 10);
    weir_options options = weir_options_default();
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;
    weir *limiter;

    options.clock = WEIR_CLOCK_CUSTOM;
    options.clock_read = read_cell;
    options.clock_argument = &time;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    cr_assert_eq(weir_now(limiter), 100);
    cr_assert_eq(weir_take(limiter, &request, WEIR_NOW, NULL), 1);
    time = 95;
    cr_assert_eq(weir_now(limiter), 95);
    cr_assert_eq(weir_take(limiter, &request, WEIR_NOW, &decision), 0);
    cr_assert_eq(decision.retry_after_ns, 15);
    time = 0;
    cr_assert_eq(weir_peek(limiter, &request, WEIR_NOW, &decision), 0);
    cr_assert_eq(decision.retry_after_ns, 110);
    time = 109;
    cr_assert_not(weir_allow(limiter, "key", 3));
    time = 110;
    cr_assert_eq(weir_take_batch(limiter, &request, 1, WEIR_NOW, NULL, &decision), 1);
    cr_assert_eq(decision.release_after_ns, 10);
    time = 5;
    cr_assert_eq(weir_sweep(limiter, WEIR_NOW, 0), 1);
    cr_assert_eq(keys_of(limiter), 1);
    time = 120 + WEIR_SECOND;
    cr_assert_eq(weir_sweep(limiter, WEIR_NOW, 0), 1);
    cr_assert_eq(keys_of(limiter), 0);
    weir_close(limiter);
}

Test(api, the_named_clocks_are_the_systems)
{
    static const struct {
        uint32_t clock;
        clockid_t id;
    } clocks[] = {{WEIR_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
                  {WEIR_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
                  {WEIR_CLOCK_REALTIME, CLOCK_REALTIME}};
    weir_rule rule = log_rule(1, 10);

    for (size_t i = 0; i < 3; i++) {
        weir_options options = weir_options_default();
        struct timespec before;
        struct timespec after;
        weir *limiter;

        options.clock = clocks[i].clock;
        cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
        clock_gettime(clocks[i].id, &before);
        uint64_t now = weir_now(limiter);
        clock_gettime(clocks[i].id, &after);
        cr_assert_geq(now, (uint64_t)before.tv_sec * S + (uint64_t)before.tv_nsec);
        cr_assert_leq(now, (uint64_t)after.tv_sec * S + (uint64_t)after.tv_nsec);
        weir_close(limiter);
    }
}

Test(api, manual_time_is_no_time)
{
    weir *limiter = either(0);

    cr_assert_eq(weir_now(limiter), WEIR_NOW);
    weir_close(limiter);
}

Test(api, allow_answers_an_error_as_a_full_table)
{
    for (uint32_t when_full = WEIR_FULL_REFUSE; when_full <= WEIR_FULL_ADMIT; when_full++) {
        weir_rule rule = log_rule(2, WEIR_WINDOW_MAX);
        weir_options options = weir_options_manual();
        weir *limiter;

        options.when_full = when_full;
        cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
        cr_assert_eq(weir_allow(limiter, "key", 3), when_full == WEIR_FULL_ADMIT);
        cr_assert_eq(keys_of(limiter), 0);
        weir_close(limiter);
        options = weir_options_default();
        options.when_full = when_full;
        cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
        cr_assert(weir_allow(limiter, "key", 3));
        cr_assert(weir_allow(limiter, "key", 3));
        cr_assert_not(weir_allow(limiter, "key", 3));
        cr_assert_eq(weir_allow(limiter, long_key, WEIR_KEY_MAX + 1), when_full == WEIR_FULL_ADMIT);
        weir_close(limiter);
    }
}

Test(api, the_version_is_the_headers)
{
    char wanted[32];

    snprintf(wanted, sizeof wanted, "%d.%d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
    cr_assert_str_eq(weir_version(), wanted);
}
