/*
 * Times of logs and CSV: exact, in UTC, whatever the environment says.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <weir/types.h>

#include "cli/times.h"

#define S WEIR_SECOND

typedef const char *reader(const char *text, size_t len, uint64_t *ns);

struct reading {
    const char *text;
    uint64_t ns;
};

static void reads(reader *read, const struct reading *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = 0;
        const char *reason = read(rows[i].text, strlen(rows[i].text), &ns);

        cr_assert_null(reason, "%s: %s", rows[i].text, reason);
        cr_assert_eq(ns, rows[i].ns, "%s: %llu", rows[i].text, (unsigned long long)ns);
    }
}

static void refuses(reader *read, const char *const *texts, const char *words)
{
    for (; *texts; texts++) {
        uint64_t ns;
        const char *reason = read(*texts, strlen(*texts), &ns);

        cr_assert_not_null(reason, "%s is taken for a time", *texts);
        cr_assert_not_null(strstr(reason, words), "%s: %s", *texts, reason);
    }
}

#define READS(read, rows) reads(read, rows, sizeof rows / sizeof *rows)

static const struct reading clf_rows[] = {
    {"08/Aug/2016:16:49:16 +0800", 1470646156 * S},
    {"08/Aug/2016:08:49:16 +0000", 1470646156 * S},
    {"08/Aug/2016:05:19:16 -0330", 1470646156 * S},
    {"01/Jan/1970:00:00:00 +0000", 0},
    {"31/Dec/1969:23:59:59 -0001", 59 * S},
    {"29/Feb/2000:00:00:00 +0000", 951782400 * S},
    {"01/Mar/2100:00:00:00 +0000", 4107542400 * S},
    {"31/Dec/2016:23:59:60 +0000", 1483228800 * S},
    {"08/Aug/2016:08:49:16.000000001 +0000", 1470646156 * S + 1},
    {"11/Apr/2262:23:47:16 +0000", 9223372036 * S},
};

Test(cli_times, a_log_time_honours_its_offset)
{
    READS(weiri_time_clf, clf_rows);
}

Test(cli_times, neither_tz_nor_locale_has_a_say)
{
    setenv("TZ", "America/New_York", 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    READS(weiri_time_clf, clf_rows);
}

Test(cli_times, every_english_month_is_known)
{
    static const struct reading rows[] = {
        {"01/Jan/2015:00:00:00 +0000", 1420070400 * S}, {"01/Feb/2015:00:00:00 +0000", 1422748800 * S},
        {"01/Mar/2015:00:00:00 +0000", 1425168000 * S}, {"01/Apr/2015:00:00:00 +0000", 1427846400 * S},
        {"01/May/2015:00:00:00 +0000", 1430438400 * S}, {"01/Jun/2015:00:00:00 +0000", 1433116800 * S},
        {"01/Jul/2015:00:00:00 +0000", 1435708800 * S}, {"01/Aug/2015:00:00:00 +0000", 1438387200 * S},
        {"01/Sep/2015:00:00:00 +0000", 1441065600 * S}, {"01/Oct/2015:00:00:00 +0000", 1443657600 * S},
        {"01/Nov/2015:00:00:00 +0000", 1446336000 * S}, {"01/Dec/2015:00:00:00 +0000", 1448928000 * S},
    };
    READS(weiri_time_clf, rows);
}

Test(cli_times, what_is_no_log_time_is_refused)
{
    static const char *const texts[] = {
        "", "-", "8/Aug/2016:16:49:16 +0800", "08/aug/2016:16:49:16 +0800", "08/Mai/2016:16:49:16 +0800",
        "08/Aug/2016:24:00:00 +0800", "08/Aug/2016:16:60:16 +0800", "08/Aug/2016:16:49:61 +0800",
        "08/Aug/2016:16:49:16", "08/Aug/2016:16:49:16 0800", "08/Aug/2016:16:49:16 +08:00",
        "08/Aug/2016:16:49:16 +2400", "08/Aug/2016:16:49:16 +0060", "08/Aug/2016:16:49:16 +08000",
        "08/Aug/2016:16:49:16. +0800", "08/Aug/2016:16:49:1", "08/Aug/16:16:49:16 +0800", NULL,
    };
    static const char *const days[] = {
        "00/Aug/2016:16:49:16 +0800", "32/Aug/2016:16:49:16 +0800", "31/Apr/2016:16:49:16 +0800",
        "29/Feb/2015:16:49:16 +0800", "29/Feb/2100:16:49:16 +0800", NULL,
    };
    static const char *const early[] = {"31/Dec/1969:23:59:59 +0000", "01/Jan/1970:00:00:00 +0001",
                                        "28/Feb/1900:00:00:00 +0000", "01/Jan/0000:00:00:00 +0000", NULL};

    refuses(weiri_time_clf, texts, "no time like");
    refuses(weiri_time_clf, days, "no such day");
    refuses(weiri_time_clf, early, "before 1970");
}

Test(cli_times, seconds_are_exact_to_the_nanosecond)
{
    static const struct reading rows[] = {
        {"0", 0},
        {"1", S},
        {"0.9", 900000000},
        {"1700000000.123456789", 1700000000123456789},
        {"1700000000.000000001", 1700000000000000001},
        {"0.1234567899", 123456789},
        {"0.00000000099", 0},
        {"9223372036.854775807", INT64_MAX},
        {"9223372036.8547758079", INT64_MAX},
    };
    READS(weiri_time_any, rows);
}

Test(cli_times, iso_times_are_utc_unless_they_say_otherwise)
{
    static const struct reading rows[] = {
        {"2016-08-08T08:49:16", 1470646156 * S},
        {"2016-08-08 08:49:16", 1470646156 * S},
        {"2016-08-08T08:49:16Z", 1470646156 * S},
        {"2016-08-08t08:49:16z", 1470646156 * S},
        {"2016-08-08T16:49:16+08:00", 1470646156 * S},
        {"2016-08-08T16:49:16+0800", 1470646156 * S},
        {"2016-08-08T16:49:16+08", 1470646156 * S},
        {"2016-08-08 05:19:16 -03:30", 1470646156 * S},
        {"2023-11-16 18:17:03.9799600", 1700158623979960000},
        {"2023-11-16T18:17:03,5Z", 1700158623500000000},
        {"2023-11-16T18:17:03.9999999999Z", 1700158623999999999},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
        {"1970-01-01T00:00:00Z", 0},
    };
    READS(weiri_time_any, rows);
}

Test(cli_times, what_is_no_time_is_refused)
{
    static const char *const texts[] = {
        "", " ", "-", "-x", ".5", "5.", "1e9", "0x10", "1,2,3", "nan", "+5", "5 ", "2016-08-08", "2016-08-08T08:49",
        "2016-08-08T08:49:16.", "2016-08-08T08:49:16 ", "2016-08-08T08:49:16ZZ", "2016-08-08T08:49:16+8",
        "2016-08-08T08:49:16+08:", "2016-08-08T08:49:16+080", "2016-08-08T08:49:16 UTC", "2016-8-8T08:49:16",
        "2016-08-08T25:49:16", "20160808T084916", NULL,
    };
    static const char *const days[] = {"2016-00-08T08:49:16", "2016-13-08T08:49:16", "2015-02-29 00:00:00", NULL};
    static const char *const early[] = {"-1", "-0.5", "-99999999999999999999", "1969-12-31T23:59:59Z",
                                        "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00+00:01", NULL};
    static const char *const late[] = {"9223372036.854775808", "9223372037", "1700158623979", "18446744073709551616",
                                       "99999999999999999999999", "2262-04-11T23:47:16.854775808Z",
                                       "9999-12-31T23:59:59Z", NULL};

    refuses(weiri_time_any, texts, "no time (");
    refuses(weiri_time_any, days, "no such day");
    refuses(weiri_time_any, early, "before 1970");
    refuses(weiri_time_any, late, "beyond April 2262");
}

Test(cli_times, nothing_is_read_past_the_length)
{
    uint64_t ns;

    cr_assert_null(weiri_time_any("123456", 3, &ns));
    cr_assert_eq(ns, 123 * S);
    cr_assert_not_null(weiri_time_any("2016-08-08T08:49:16", 18, &ns));
}

Test(cli_times, a_shown_time_is_read_back)
{
    static const struct reading rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"2023-11-16T18:17:03.97996Z", 1700158623979960000},
        {"2016-02-29T23:59:59.1Z", 1456790399100000000},
        {"2016-12-31T00:00:00Z", 1483142400 * S},
        {"2100-03-01T00:00:00Z", 4107542400 * S},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
    };
    char shown[WEIRI_TIME_ROOM];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_str_eq(weiri_time_show(shown, rows[i].ns), rows[i].text);
    READS(weiri_time_any, rows);
    for (uint64_t ns = 1; ns < (uint64_t)INT64_MAX - 12 * WEIR_HOUR; ns += 12 * WEIR_HOUR - 1) {
        uint64_t back = 0;
        weiri_time_show(shown, ns);
        cr_assert_null(weiri_time_any(shown, strlen(shown), &back));
        cr_assert_eq(back, ns, "%s", shown);
    }
}
