/*
 * Lines of web servers' logs, odd ones too.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <weir/types.h>

#include "cli/reader_clf.h"

#define TIME "[08/Aug/2016:08:49:16 +0000]"

/* In memory that ends with the line, so that a sanitizer sees a read past it. */
static bool parse(const void *line, size_t len, weiri_entry *entry, weiri_fault *fault)
{
    static char *copy;

    free(copy);
    copy = malloc(len + !len);
    cr_assert_not_null(copy);
    memcpy(copy, line, len);
    return weiri_clf_parse(copy, len, entry, fault);
}

static void reads(const char *line, size_t len, const char *key, size_t key_len, uint64_t cost)
{
    weiri_entry entry;
    weiri_fault fault = {"", "", 0};

    cr_assert(parse(line, len, &entry, &fault), "%s: %s", line, fault.reason);
    cr_assert_eq(entry.time, 1470646156 * WEIR_SECOND);
    cr_assert_eq(entry.cost, cost, "%s: %llu", line, (unsigned long long)entry.cost);
    cr_assert_eq(entry.key_len, key_len, "%s", line);
    cr_assert_arr_eq(entry.key, key, key_len);
}

#define READS(line, key, cost) reads(line, sizeof(line) - 1, key, sizeof(key) - 1, cost)

Test(cli_clf, common_and_combined_lines_are_read)
{
    READS("10.0.0.1 - - " TIME " \"GET / HTTP/1.1\" 200 512", "10.0.0.1", 512);
    READS("10.0.0.1 - - " TIME " \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\"", "10.0.0.1", 512);
    READS("2001:db8::1 id frank " TIME " \"GET / HTTP/1.1\" 200 -", "2001:db8::1", 0);
    READS("client.example - Jo [x] Doe " TIME " \"GET / HTTP/1.1\" 200 0", "client.example", 0);
    READS("a - - [08/Aug/2016:16:49:16 +0800] \"GET /\" 200 18446744073709551615", "a", UINT64_MAX);
}

Test(cli_clf, odd_requests_and_agents_count_for_the_client)
{
    READS("a - - " TIME " \"-\" 408 -", "a", 0);
    READS("a - - " TIME " \"\" 400 0", "a", 0);
    READS("a - - " TIME " \"-\" - -", "a", 0);
    READS("a - - " TIME " \"GET / HTTP/1.1\" 200 7 \"-\" \"x \\\"y\\\" z\"", "a", 7);
    READS("a - - " TIME " \"GET / HTTP/1.1\" 200 7 \"-\" \"ends \\\\\"", "a", 7);
    READS("a - - " TIME " \"GET /\\\"[" TIME "] \\\\\" 200 7", "a", 7);
    READS("a - - " TIME " \"\x16\x03\x01\" 400 226", "a", 226);
    READS("a - - " TIME " \"GET /\0\0 \xff\xfe\" 400 226", "a", 226);
    READS("\xff\0\033[m - - " TIME " \"GET /\" 400 1", "\xff\0\033[m", 1);
}

static void refuses(const char *line, const char *reason, const char *text)
{
    weiri_entry entry;
    weiri_fault fault;

    cr_assert_not(parse(line, strlen(line), &entry, &fault), "%s is read", line);
    cr_assert_str_eq(fault.reason, reason, "%s: %s", line, fault.reason);
    cr_assert_eq(fault.len, strlen(text), "%s: %.*s", line, (int)fault.len, fault.text);
    cr_assert_arr_eq(fault.text, text, fault.len);
}

Test(cli_clf, a_line_that_is_cut_or_wrong_is_told_in_words)
{
    refuses("", "no log line: no client at its beginning", "");
    refuses(" - - " TIME " \"GET /\" 2 5", "no log line: no client at its beginning", " - - " TIME " \"GET /\" 2 5");
    refuses("word", "no log line: no client at its beginning", "word");
    refuses("a ", "no log line: no words between client and time", "");
    refuses("a - ", "no time in brackets", "");
    refuses("a " TIME " \"GET /\" 200 5", "no time in brackets", "+0000] \"GET /\" 200 5");
    refuses("a - - [08/Aug/2016:", "no time in brackets", "- [08/Aug/2016:");
    refuses("a - - [] \"GET /\" 200 5", "no time like 08/Aug/2016:16:49:16 +0800", "");
    refuses("a - - [08/Okt/2016:08:49:16 +0000] \"GET / [x]\" 200 5", "no time like 08/Aug/2016:16:49:16 +0800",
            "08/Okt/2016:08:49:16 +0000");
    refuses("a - - [31/Apr/2016:08:49:16 +0000] \"GET /\" 200 5", "no such day", "31/Apr/2016:08:49:16 +0000");
    refuses("a - - " TIME, "no request in quotes after the time", "");
    refuses("a - - " TIME " GET / 200 5", "no request in quotes after the time", " GET / 200 5");
    refuses("a - - " TIME " \"GET /", "the request has no closing quote", " \"GET /");
    refuses("a - - " TIME " \"GET /\\\" 200 5", "the request has no closing quote", " \"GET /\\\" 200 5");
    refuses("a - - " TIME " \"GET /\\", "the request has no closing quote", " \"GET /\\");
    refuses("a - - " TIME " \"GET /\"", "no status after the request", "");
    refuses("a - - " TIME " \"GET /\" ok 5", "no status after the request", " ok 5");
    refuses("a - - " TIME " \"GET /\" 200", "no size (a number of bytes, or -) after the status", "");
    refuses("a - - " TIME " \"GET /\" 200 -1", "no size (a number of bytes, or -) after the status", " -1");
    refuses("a - - " TIME " \"GET /\" 200 1e3 x", "no size (a number of bytes, or -) after the status", " 1e3 x");
    refuses("a - - " TIME " \"GET /\" 200 18446744073709551616", "no size (a number of bytes, or -) after the status",
            " 18446744073709551616");
}

Test(cli_clf, a_client_is_as_long_as_a_key_may_be)
{
    static const char rest[] = " - - " TIME " \"GET /\" 200 5";
    static char line[WEIR_KEY_MAX + 1 + sizeof rest];
    weiri_entry entry;
    weiri_fault fault;

    memset(line, 'k', sizeof line);
    memcpy(line + WEIR_KEY_MAX, rest, sizeof rest - 1);
    cr_assert(parse(line, WEIR_KEY_MAX + sizeof rest - 1, &entry, &fault));
    cr_assert_eq(entry.key_len, WEIR_KEY_MAX);
    memset(line, 'k', sizeof line);
    memcpy(line + WEIR_KEY_MAX + 1, rest, sizeof rest - 1);
    cr_assert_not(parse(line, WEIR_KEY_MAX + sizeof rest, &entry, &fault));
    cr_assert_str_eq(fault.reason, "client longer than 65535 bytes");
}
