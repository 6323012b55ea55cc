/*
 * What --limit and --algorithm take, what they refuse, and in which words; and how bytes are shown.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/limits.h"
#include "cli/say.h"

Test(cli_limits, a_limit_is_a_number_and_a_window)
{
    static const struct {
        const char *text;
        uint64_t limit, window_ns;
        uint32_t meter;
    } rows[] = {
        {"100/60s", 100, 60 * WEIR_SECOND, WEIR_PER_REQUEST},
        {"300000cost/60s", 300000, 60 * WEIR_SECOND, WEIR_PER_COST},
        {"1/1ns", 1, 1, WEIR_PER_REQUEST},
        {"1/7us", 1, 7000, WEIR_PER_REQUEST},
        {"1/7ms", 1, 7000000, WEIR_PER_REQUEST},
        {"1/7m", 1, 420 * WEIR_SECOND, WEIR_PER_REQUEST},
        {"1/7h", 1, 25200 * WEIR_SECOND, WEIR_PER_REQUEST},
        {"1/7d", 1, 604800 * WEIR_SECOND, WEIR_PER_REQUEST},
        {"9223372036854775807/4611686018427387904ns", INT64_MAX, UINT64_C(1) << 62, WEIR_PER_REQUEST},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_rule rule;
        const char *reason = weiri_limit_parse(rows[i].text, &rule);

        cr_assert_null(reason, "%s: %s", rows[i].text, reason);
        cr_assert_eq(rule.limit, rows[i].limit, "%s", rows[i].text);
        cr_assert_eq(rule.window_ns, rows[i].window_ns, "%s", rows[i].text);
        cr_assert_eq(rule.meter, rows[i].meter, "%s", rows[i].text);
        cr_assert_eq(rule.algorithm, 0);
        cr_assert_eq(rule.buckets, 0);
        cr_assert_str_eq(rule.name, rows[i].text);
    }
}

Test(cli_limits, a_bad_limit_is_told_in_words)
{
    static const char *const rows[][2] = {
        {"", "begins with a whole number"},
        {"x", "begins with a whole number"},
        {"-1/60s", "begins with a whole number"},
        {"+1/60s", "begins with a whole number"},
        {"/60s", "begins with a whole number"},
        {"0/60s", "the limit is 0"},
        {"9223372036854775808/60s", "the limit is above 2^63-1"},
        {"18446744073709551617/60s", "the limit is above 2^63-1"},
        {"100", "goes a slash"},
        {"1.5/60s", "goes a slash"},
        {"100cots/60s", "goes a slash"},
        {"100 /60s", "goes a slash"},
        {"100/", "goes a window"},
        {"100/s", "goes a window"},
        {"100/-1s", "goes a window"},
        {"100/60", "unit is none of"},
        {"100/60S", "unit is none of"},
        {"100/60s ", "unit is none of"},
        {"100/1.5s", "unit is none of"},
        {"100/0s", "the window is 0"},
        {"100/4611686018427387905ns", "longer than 2^62 ns"},
        {"100/53376d", "longer than 2^62 ns"},
        {"100/213504d", "longer than 2^62 ns"}, /* wraps to a small window in 64 bits */
        {"100/18446744073709551616ns", "longer than 2^62 ns"},
        {"100/92233720368547758089ns", "longer than 2^62 ns"}, /* 5 * 2^64 + 9 */
        {"100/18446744073709551615d", "longer than 2^62 ns"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_rule rule;
        const char *reason = weiri_limit_parse(rows[i][0], &rule);

        cr_assert_not_null(reason, "%s is taken", rows[i][0]);
        cr_assert_not_null(strstr(reason, rows[i][1]), "%s: %s", rows[i][0], reason);
    }
}

Test(cli_limits, an_algorithm_has_a_name_and_perhaps_buckets)
{
    weiri_choice choice;

    cr_assert_null(weiri_choice_parse("log", &choice));
    cr_assert(choice.algorithm == WEIR_LOG && choice.buckets == 0);
    cr_assert_str_eq(choice.name, "log");
    cr_assert_null(weiri_choice_parse("counter", &choice));
    cr_assert(choice.algorithm == WEIR_COUNTER && choice.buckets == 0);
    cr_assert_str_eq(choice.name, "counter");
    cr_assert_null(weiri_choice_parse("buckets:18446744073709551615", &choice));
    cr_assert(choice.algorithm == WEIR_BUCKETS && choice.buckets == UINT64_MAX);
    cr_assert_str_eq(choice.name, "buckets:18446744073709551615");
    cr_assert_null(weiri_choice_parse("buckets:007", &choice));
    cr_assert_str_eq(choice.name, "buckets:7");
}

Test(cli_limits, a_bad_algorithm_is_told_in_words)
{
    static const char *const unknown[] = {"", "Log", "log ", "buckets", "bucket:60", NULL};
    static const char *const unnumbered[] = {"buckets:", "buckets:0", "buckets:-1", "buckets:6x", "buckets: 6",
                                             "buckets:18446744073709551616", "buckets:92233720368547758089", NULL};
    weiri_choice choice;

    for (const char *const *text = unknown; *text; text++)
        cr_assert_str_eq(weiri_choice_parse(*text, &choice), "it is none of log, counter, buckets:N, all");
    for (const char *const *text = unnumbered; *text; text++)
        cr_assert_str_eq(weiri_choice_parse(*text, &choice), "after the colon goes the number of buckets: buckets:60");
}

Test(cli_limits, shown_bytes_are_printable)
{
    char shown[WEIRI_SHOWN_ROOM], bytes[100], wanted[WEIRI_SHOWN_ROOM] = "";

    cr_assert_str_eq(weiri_show(shown, "10.0.0.1", 8), "10.0.0.1");
    cr_assert_str_eq(weiri_show(shown, "", 0), "");
    cr_assert_str_eq(weiri_show(shown, "a\\b\0\033[31m\x7f\xc3\xa9~ ", 14), "a\\\\b\\x00\\x1b[31m\\x7f\\xc3\\xa9~ ");
    memset(bytes, 0xff, sizeof bytes);
    for (int i = 0; i < WEIRI_SHOWN; i++)
        strcat(wanted, "\\xff");
    cr_assert_str_eq(weiri_show(shown, bytes, WEIRI_SHOWN), wanted);
    strcat(wanted, "...");
    cr_assert_str_eq(weiri_show(shown, bytes, WEIRI_SHOWN + 1), wanted);
}
