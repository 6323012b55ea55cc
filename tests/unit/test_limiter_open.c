/*
 * weir_open: what it takes, what it refuses and in which words, and that a failed one leaves nothing behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/rows.h"

#define S        WEIR_SECOND
#define LIMIT_32 UINT64_C(0xffffffff)
#define LIMIT_63 ((uint64_t)INT64_MAX)

static char error[200];

static weir_options telling_options(void)
{
    weir_options options = weir_options_manual();

    memset(error, '?', sizeof error);
    options.error = error;
    options.error_size = sizeof error;
    return options;
}

/* The rule is the second of two, named "second"; the error must say which rule, by number and name, and which field. */
static void refuses_rule(weir_rule rule, const char *field)
{
    weir_rule rules[] = {log_rule(1, 10), rule};
    weir_options options = telling_options();
    weir *limiter = (weir *)rules;

    rules[1].name = "second";
    cr_assert_eq(weir_open(&limiter, rules, 2, &options), -EINVAL, "%s", field);
    cr_assert_null(limiter);
    cr_assert_not_null(memchr(error, '\0', sizeof error));
    cr_assert_not_null(strstr(error, "rule 1"), "no number in: %s", error);
    cr_assert_not_null(strstr(error, "second"), "no name in: %s", error);
    cr_assert_not_null(strstr(error, field), "no %s in: %s", field, error);
}

static void refuses_options(weir_options options, const char *field)
{
    weir_rule rule = log_rule(1, 10);
    weir *limiter = (weir *)&rule;

    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL, "%s", field);
    cr_assert_null(limiter);
    cr_assert_not_null(memchr(error, '\0', sizeof error));
    cr_assert_not_null(strstr(error, field), "no %s in: %s", field, error);
}

static void accepts_rule(weir_rule rule)
{
    weir_rule rules[] = {log_rule(1, 10), rule};
    weir_options options = telling_options();
    weir *limiter;

    cr_assert_eq(weir_open(&limiter, rules, 2, &options), 0, "%s", error);
    cr_assert_not_null(limiter);
    cr_assert_eq(weir_close(limiter), 0);
}

Test(open, names_the_rule_and_the_field_that_is_out_of_range)
{
    weir_rule rule = log_rule(1, 10);

    refuses_rule(log_rule(0, 10), "limit");
    refuses_rule(log_rule(LIMIT_32 + 1, 10), "limit");
    refuses_rule(counter_rule(0, 10), "limit");
    refuses_rule(counter_rule(LIMIT_63 + 1, 10), "limit");
    refuses_rule(buckets_rule(LIMIT_63 + 1, 10, 1), "limit");
    refuses_rule(counter_rule(UINT64_MAX, 10), "limit");
    refuses_rule(log_rule(1, 0), "window");
    refuses_rule(log_rule(1, WEIR_WINDOW_MAX + 1), "window");
    refuses_rule(counter_rule(1, UINT64_MAX), "window");
    refuses_rule(buckets_rule(1, 10, 0), "buckets");
    refuses_rule(buckets_rule(1, 10, 11), "buckets");
    rule.buckets = 1;
    refuses_rule(rule, "buckets");
    rule = counter_rule(1, 10);
    rule.buckets = 1;
    refuses_rule(rule, "buckets");
    rule = log_rule(1, 10);
    rule.algorithm = 0;
    refuses_rule(rule, "algorithm");
    rule.algorithm = 4;
    refuses_rule(rule, "algorithm");
    rule = log_rule(1, 10);
    rule.meter = 0;
    refuses_rule(rule, "meter");
    rule.meter = 3;
    refuses_rule(rule, "meter");
    rule = log_rule(1, 10);
    rule.flags = 1;
    refuses_rule(rule, "flags");
    rule = log_rule(1, 10);
    rule.reserved0 = 1;
    refuses_rule(rule, "reserved");
    rule = log_rule(1, 10);
    rule.reserved[0] = 1;
    refuses_rule(rule, "reserved");
    rule = log_rule(1, 10);
    rule.reserved[1] = 1;
    refuses_rule(rule, "reserved");
}

Test(open, accepts_every_field_at_its_ends)
{
    accepts_rule(log_rule(1, 1));
    accepts_rule(log_rule(LIMIT_32, WEIR_WINDOW_MAX));
    accepts_rule(counter_rule(1, 1));
    accepts_rule(counter_rule(LIMIT_32, 1));
    accepts_rule(counter_rule(LIMIT_32 + 1, 1));
    accepts_rule(counter_rule(LIMIT_63, WEIR_WINDOW_MAX));
    accepts_rule(buckets_rule(1, 1, 1));
    accepts_rule(buckets_rule(LIMIT_63, WEIR_WINDOW_MAX, 1));
    accepts_rule(buckets_rule(LIMIT_63, 100, 100));
}

Test(open, a_ring_larger_than_memory_is_an_error_and_never_an_overflow)
{
    static const uint64_t huge[] = {UINT64_C(1) << 62, (UINT64_C(1) << 61) - 1, UINT64_C(1) << 60, UINT64_C(1) << 48};

    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        weir_rule rule = buckets_rule(1, huge[i], huge[i]);
        weir_options options = telling_options();
        weir_request request = weir_request_for("key", 3);
        test_allocator memory = {0};
        weir_decision decision;
        weir *limiter;
        int result;

        options.allocator = test_allocator_for(&memory);
        result = weir_open(&limiter, &rule, 1, &options);
        cr_assert(result == 0 || result == -EINVAL || result == -ENOMEM);
        if (result != 0) {
            cr_assert_null(limiter);
            continue;
        }
        cr_assert_eq(weir_take(limiter, &request, 0, &decision), 0);
        cr_assert_eq(decision.flags, WEIR_NO_MEMORY);
        cr_assert_eq(weir_close(limiter), 0);
    }
}

Test(open, takes_one_to_eight_rules)
{
    weir_rule rules[WEIR_RULES_MAX + 1];
    weir_options options = telling_options();
    weir *limiter = (weir *)rules;

    for (size_t i = 0; i <= WEIR_RULES_MAX; i++)
        rules[i] = log_rule(i + 1, 10);
    cr_assert_eq(weir_open(&limiter, rules, 0, &options), -EINVAL);
    cr_assert_null(limiter);
    cr_assert_not_null(strstr(error, "rule"), "%s", error);
    cr_assert_eq(weir_open(&limiter, rules, WEIR_RULES_MAX + 1, &options), -EINVAL);
    cr_assert_null(limiter);
    for (size_t count = 1; count <= WEIR_RULES_MAX; count++) {
        static const struct row rows[] = {TAKES(0, 1, 0), REFUSES(0, 1, 0, 10)};

        cr_assert_eq(weir_open(&limiter, rules, count, &options), 0);
        const char *wrong = rows_wrong(limiter, ROWS(rows));
        cr_assert_null(wrong, "%s", wrong);
        weir_close(limiter);
    }
}

static uint64_t no_time(void *argument)
{
    (void)argument;
    return 0;
}

static void *no_allocation(void *argument, size_t alignment, size_t size)
{
    (void)argument;
    (void)alignment;
    (void)size;
    return NULL;
}

Test(open, names_the_option_that_is_out_of_range)
{
    const uint64_t limits[] = {1, 0};
    weir_options options;

    options = telling_options();
    options.clock = 5;
    refuses_options(options, "clock");
    options = telling_options();
    options.clock = WEIR_CLOCK_CUSTOM;
    refuses_options(options, "clock_read");
    options = telling_options();
    options.when_full = 2;
    refuses_options(options, "when_full");
    options = telling_options();
    options.janitor = 2;
    refuses_options(options, "janitor");
    options = telling_options();
    options.max_lateness_ns = WEIR_TIME_MAX + 1;
    refuses_options(options, "max_lateness_ns");
    options = telling_options();
    options.max_lateness_ns = UINT64_MAX - 1;
    refuses_options(options, "max_lateness_ns");
    options = telling_options();
    options.sweep_interval_ns = UINT64_MAX;
    refuses_options(options, "sweep_interval_ns");
    options = telling_options();
    options.max_limit = LIMIT_63 + 1;
    refuses_options(options, "max_limit");
    options = telling_options();
    options.plans = 1;
    refuses_options(options, "plan_limits");
    options = telling_options();
    options.plans = 2;
    options.plan_limits = limits;
    refuses_options(options, "limit");
    options = telling_options();
    options.allocator.allocate = no_allocation;
    refuses_options(options, "allocator");
    for (size_t i = 0; i < 8; i++) {
        options = telling_options();
        options.reserved[i] = 1;
        refuses_options(options, "reserved");
    }
}

Test(open, an_options_struct_of_no_size_is_refused_without_a_word)
{
    weir_rule rule = log_rule(1, 10);
    weir_options options = telling_options();
    weir *limiter = (weir *)&rule;

    /* Where the struct has no size, nothing says that it has an error buffer. */
    options.struct_size = 0;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL);
    cr_assert_null(limiter);
    cr_assert_eq(error[0], '?');
}

/* Callers built against a later and an earlier header. */
Test(open, options_of_another_version_are_taken_unless_they_ask_for_what_is_not_known)
{
    struct {
        weir_options options;
        unsigned char more[24];
    } newer = {.options = telling_options()};
    weir_rule rule = log_rule(1, 10);
    weir *limiter;

    newer.options.struct_size = sizeof newer;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &newer.options), 0);
    weir_close(limiter);
    for (size_t i = 0; i < sizeof newer.more; i++) {
        newer.more[i] = 1;
        cr_assert_eq(weir_open(&limiter, &rule, 1, &newer.options), -EINVAL, "byte %zu", i);
        cr_assert_null(limiter);
        cr_assert_not_null(strstr(error, "struct_size"), "in: %s", error);
        newer.more[i] = 0;
    }

    weir_options older = telling_options();
    older.struct_size = offsetof(weir_options, reserved);
    older.reserved[0] = 1; /* not the caller's to set: to it, the struct has ended */
    cr_assert_eq(weir_open(&limiter, &rule, 1, &older), 0);
    weir_close(limiter);
    older.struct_size--;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &older), -EINVAL);
}

Test(open, writes_no_more_of_the_error_than_there_is_room)
{
    weir_rule rule = log_rule(0, 10);
    weir_options options = telling_options();
    weir *limiter;

    options.error_size = 0;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL);
    cr_assert_eq(error[0], '?');
    options.error_size = 1;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL);
    cr_assert_eq(error[0], '\0');
    cr_assert_eq(error[1], '?');
    options.error_size = 6;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL);
    cr_assert_eq(error[5], '\0');
    cr_assert_eq(error[6], '?');
    options.error = NULL;
    options.error_size = 100;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), -EINVAL);
}

Test(open, reads_rules_options_and_names_during_the_call_only)
{
    char name[] = "short-lived";
    uint64_t limits[] = {2};
    weir_rule rule = log_rule(5, 10);
    weir_options options = weir_options_manual();
    static const struct row rows[] = {TAKES(0, 1, 1), TAKES(0, 1, 0), REFUSES(0, 1, 0, 10)};
    weir *limiter;

    rule.name = name;
    options.plans = 1;
    options.plan_limits = limits;
    cr_assert_eq(weir_open(&limiter, &rule, 1, &options), 0);
    memset(name, 0, sizeof name);
    memset(limits, 0, sizeof limits);
    memset(&rule, 0, sizeof rule);
    memset(&options, 0xff, sizeof options);
    const char *wrong = rows_wrong(limiter, ROWS(rows));
    cr_assert_null(wrong, "%s", wrong);
    weir_close(limiter);
}

Test(open, without_options_has_a_clock_and_works)
{
    weir_rule rule = log_rule(1, WEIR_WINDOW_MAX);
    weir_request request = weir_request_for("key", 3);
    weir *limiter;

    cr_assert_eq(weir_open(&limiter, &rule, 1, NULL), 0);
    cr_assert_eq(weir_take(limiter, &request, WEIR_NOW, NULL), 1);
    cr_assert_eq(weir_take(limiter, &request, WEIR_NOW, NULL), 0);
    cr_assert_eq(weir_close(limiter), 0);
}

Test(open, the_constructors_are_what_the_header_says)
{
    weir_options options = weir_options_default();

    cr_assert_eq(options.struct_size, sizeof options);
    cr_assert_eq(options.clock, WEIR_CLOCK_MONOTONIC);
    cr_assert_eq(options.janitor, 1);
    cr_assert_eq(options.max_lateness_ns, S);
    cr_assert_eq(options.when_full, WEIR_FULL_REFUSE);
    options = weir_options_manual();
    cr_assert_eq(options.struct_size, sizeof options);
    cr_assert_eq(options.clock, WEIR_CLOCK_MANUAL);
    cr_assert_eq(options.max_lateness_ns, S);
}

Test(open, fails_cleanly_at_every_allocation)
{
    const weir_rule rules[] = {log_rule(5, 10), counter_rule(5, 10)};

    for (size_t count = 1; count <= 2; count++)
        for (int clock = 0; clock < 2; clock++) {
            uint64_t n = 0;
            int result;

            do {
                test_allocator memory = {0};
                weir_options options = telling_options();
                weir *limiter = (weir *)&memory;

                if (clock == 1) {
                    options.clock = WEIR_CLOCK_CUSTOM;
                    options.clock_read = no_time;
                }
                options.allocator = test_allocator_for(&memory);
                memory.fail_at = ++n;
                result = weir_open(&limiter, &rules[2 - count], count, &options);
                if (result == 0) {
                    cr_assert_eq(memory.failed, 0);
                    cr_assert_eq(weir_close(limiter), 0);
                } else {
                    cr_assert_eq(result, -ENOMEM);
                    cr_assert_null(limiter);
                }
                cr_assert_eq(memory.blocks, 0);
                cr_assert_eq(memory.bytes, 0);
                cr_assert_eq(memory.faults, 0);
            } while (result != 0);
            cr_assert_gt(n, 1);
        }
}

Test(open, closing_nothing_is_allowed)
{
    cr_assert_eq(weir_close(NULL), 0);
}
