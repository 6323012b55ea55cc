/*
 * CSV: framing, columns, costs, faults and their lines, however the bytes arrive.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/types.h>

#include "cli/reader_csv.h"

/* What the sink saw, a line of text for each record. */
static char *seen;
static size_t seen_len;
static FILE *log_of_sink;
static bool by_lines; /* else the numbers of lines mean nothing, and are 0 */

static void on_entry(void *argument, uint64_t line, const weiri_entry *entry)
{
    (void)argument;
    fprintf(log_of_sink, "%llu: %llu [%.*s] %llu|", (unsigned long long)(by_lines ? line : 0),
            (unsigned long long)entry->time, (int)entry->key_len, entry->key, (unsigned long long)entry->cost);
}

static void on_fault(void *argument, uint64_t line, const weiri_fault *fault)
{
    (void)argument;
    fprintf(log_of_sink, "%llu: %s: %.*s|", (unsigned long long)(by_lines ? line : 0), fault->reason, (int)fault->len,
            fault->text);
}

/* Feeds a line at a time; or, where `piece` is not 0, so many bytes. Shows what the sink saw, or the problem. */
static const char *read_pieces(const char *text, const weiri_fields *fields, size_t piece)
{
    static const weiri_sink sink = {on_entry, on_fault, NULL};
    weiri_csv *csv = weiri_csv_new(fields, &sink);
    const char *end = text + strlen(text);
    bool good = true;

    free(seen);
    by_lines = piece == 0;
    log_of_sink = open_memstream(&seen, &seen_len);
    while (good && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t len = newline ? (size_t)(newline + 1 - text) : (size_t)(end - text);
        if (piece > 0)
            len = piece < (size_t)(end - text) ? piece : (size_t)(end - text);
        good = weiri_csv_feed(csv, text, len);
        text += len;
    }
    if (!good || !weiri_csv_finish(csv))
        fprintf(log_of_sink, "problem: %s", weiri_csv_problem(csv));
    weiri_csv_free(csv);
    fclose(log_of_sink);
    return seen;
}

static const weiri_fields usual;

#define READS(text, wanted) cr_assert_str_eq(read_pieces(text, &usual, 0), wanted)
#define READS_WITH(text, wanted, ...) cr_assert_str_eq(read_pieces(text, &(weiri_fields){__VA_ARGS__}, 0), wanted)

#define T "1000000000"

Test(cli_csv, quotes_and_line_ends_are_as_in_rfc_4180)
{
    READS("\"ts\",\"key\",\"cost\"\r\n1,\"a,b\",2\r\n2,\"x\"\"y\n\"\"z\",3",
          "2: " T " [a,b] 2|3: 2000000000 [x\"y\n\"z] 3|");
    READS("ts,key\n1,a\n\n\r\n1,b\r1,c\r\n1,d",
          "2: " T " [a] 1|5: " T " [b] 1|5: " T " [c] 1|6: " T " [d] 1|");
    READS("ts,key\n1,\"a\r\n\r\nb\"\n1,c\n", "2: " T " [a\r\n\r\nb] 1|5: " T " [c] 1|");
    READS("ts,key\n1,\n1,\"\"\n", "2: " T " [] 1|3: " T " [] 1|");
}

Test(cli_csv, spaces_belong_to_keys_and_to_nothing_else)
{
    READS(" ts , key\t,cost\n 1 , a ,\t2 \n", "2: " T " [ a ] 2|");
}

Test(cli_csv, usual_names_are_found_in_any_case)
{
    READS("TIMESTAMP,User\n1,a\n", "2: " T " [a] 1|");
    READS("date,Time,ip,key,COST\n9,1,x,a,5\n", "2: " T " [a] 5|");
    READS("@timestamp\n1\n", "2: " T " [] 1|");
}

Test(cli_csv, named_columns_come_before_usual_ones)
{
    READS_WITH("time,key,cost,t,k,c\n9,x,9,1,a,5\n", "2: " T " [a] 5|", .time = "t", .key = "k", .cost = "c");
    READS_WITH("time,key,cost\n1,x,9\n", "2: " T " [] 1|", .key = "", .cost = "");
    READS_WITH("time,id\n1,x\n", "2: " T " [1] 1|", .key = "time");
}

Test(cli_csv, a_cost_may_be_a_sum)
{
    READS_WITH("time,in,out\n1,3,4\n1,18446744073709551615,0\n1,18446744073709551615,1\n",
               "2: " T " [] 7|3: " T " [] 18446744073709551615|4: the sum of the costs passes 2^64-1: 1|",
               .cost = "in+out");
    READS_WITH("time,a+b,a,b\n1,9,1,2\n", "2: " T " [] 9|", .cost = "a+b");
    READS_WITH("time,a\n1,2\n", "2: " T " [] 4|", .cost = "a+a");
}

Test(cli_csv, a_cost_is_a_whole_number)
{
    static const char *const bad[] = {"-1", "-0.5", "1e30", "1.0", "+1", "", "0x1", "18446744073709551616", "1 2",
                                      NULL};

    for (const char *const *cost = bad; *cost; cost++) {
        char text[100], wanted[200];
        snprintf(text, sizeof text, "time,cost\n1,%s\n1,7\n", *cost);
        snprintf(wanted, sizeof wanted, "2: cost is no whole number from 0 to 2^64-1: %s|3: " T " [] 7|", *cost);
        READS(text, wanted);
    }
    READS("time,cost\n1,18446744073709551615\n1,0\n", "2: " T " [] 18446744073709551615|3: " T " [] 0|");
}

Test(cli_csv, a_faulty_record_is_told_with_the_line_it_begins_in)
{
    READS("time,key\nx,\"a\nb\"\n1,a,b\n1\n-1,a\n1,a\n",
          "2: no time (seconds since 1970, or like 2016-08-08T16:49:16.5+08:00): x|4: more fields than the header: |"
          "5: fewer fields than the header: |6: time before 1970: -1|7: " T " [a] 1|");
    READS("time,key\n1,a\n1,\"b\n1,c\n1,d\n",
          "2: " T " [a] 1|3: a quote is opened and never closed: nothing was read from here on: |");
}

Test(cli_csv, the_line_a_record_begins_in_is_told_where_a_cr_ended_the_one_before)
{
    /* The second begins in the line where the first one's quote ends. */
    READS("ts,key\n1,\"a\nb\"\r1,c\n1,d\n", "2: " T " [a\nb] 1|3: " T " [c] 1|4: " T " [d] 1|");
    /* And here in the line before its own quote ends. */
    READS("ts,key\n1,a\r1,\"b\nc\"\n\rx,d\n",
          "2: " T " [a] 1|2: " T " [b\nc] 1|4: no time (seconds since 1970, or like 2016-08-08T16:49:16.5+08:00): x|");
}

Test(cli_csv, a_header_that_lacks_a_column_is_told_with_those_it_has)
{
    READS_WITH("a,b\tc\n1,2\n", "problem: no column \"t\"; the columns are: a, b\\x09c", .time = "t");
    READS_WITH("ts,a\n1,2\n", "problem: no column \"k\"; the columns are: ts, a", .key = "k");
    READS_WITH("ts,a\n1,2\n", "problem: no column \"b\"; the columns are: ts, a", .cost = "a+b");
    READS_WITH("ts,a\n1,2\n", "problem: no column \"\"; the columns are: ts, a", .cost = "a+");
    READS_WITH("ts,a\n1,2\n",
               "problem: a limit on cost needs a column of costs (--cost-field); the columns are: ts, a",
               .cost_needed = true);
    READS("a,b\n1,2\n", "problem: no column of times (--time-field); the columns are: a, b");
    READS("", "problem: no header line");
    READS("\n\n", "problem: no header line");
    READS("a,\"b\n1,2\n", "problem: a quote in the header is never closed; the columns are: a");
}

Test(cli_csv, a_key_is_as_long_as_a_key_may_be)
{
    static char text[WEIR_KEY_MAX + 100], wanted[WEIR_KEY_MAX + 100];
    int at = sprintf(text, "time,key\n1,"), wanted_at = sprintf(wanted, "2: " T " [");

    memset(text + at, 'k', WEIR_KEY_MAX + 1);
    memset(wanted + wanted_at, 'k', WEIR_KEY_MAX);
    strcpy(wanted + wanted_at + WEIR_KEY_MAX, "] 1|");
    strcpy(text + at + WEIR_KEY_MAX, "\n");
    READS(text, wanted);
    strcpy(text + at + WEIR_KEY_MAX, "k\n1,b\n");
    cr_assert_eq(strncmp(read_pieces(text, &usual, 0), "2: key longer than 65535 bytes: kkkk", 36), 0);
    cr_assert_not_null(strstr(seen, "|3: " T " [b] 1|"));
}

Test(cli_csv, it_does_not_matter_where_the_pieces_end)
{
    static const char text[] = "ts,key,cost\r\n1,\"a,\"\"b\",2\r\n2,\"x\r\ny\",3\r\n\r\nbad,c,4\n3,\xff,5";

    for (size_t piece = 1; piece < sizeof text; piece++)
        cr_assert_str_eq(read_pieces(text, &usual, piece),
                         "0: " T " [a,\"b] 2|0: 2000000000 [x\r\ny] 3|"
                         "0: no time (seconds since 1970, or like 2016-08-08T16:49:16.5+08:00): bad|"
                         "0: 3000000000 [\xff] 5|", "pieces of %zu", piece);
}

Test(cli_csv, a_header_is_recognised_by_its_times)
{
    static const char *const yes[] = {"time\n", "a,b,TimeStamp\r\n", "\"ts\",x", "ts,a\r1,2\r", NULL};
    static const char *const no[] = {"", "\n", "timer,x\n", "a,b\n", "\"ts", "10.0.0.1 - - [x] \"GET /\" 2 5\n", NULL};

    for (const char *const *line = yes; *line; line++)
        cr_assert(weiri_csv_recognises(*line, strlen(*line)), "%s", *line);
    for (const char *const *line = no; *line; line++)
        cr_assert_not(weiri_csv_recognises(*line, strlen(*line)), "%s", *line);
}
