/* Result rows of weir-bench: what a scenario puts in comes out, through a process of its own, as JSON, as a table. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "report.h"

static const bench_machine machine = {.cpu = "a \"quoted\" one", .cores = 2, .arch = "x86_64", .kernel = "Linux 6",
                                      .clocksource = "tsc", .huge_pages = "madvise", .time = "2026-12-01T00:00:00Z",
                                      .compiler = "gcc 12", .flags = "-O2", .buildtype = "release",
                                      .commit = "abc", .version = "0.1.0", .load = 0.25, .timer_ns = 20.5};

static bench_row sample(const char *subject, double keys, double ns)
{
    bench_row row = bench_row_for("many-keys", subject, "counter");
    bench_row_word(&row, "calls", "allowed");
    bench_row_number(&row, "keys", keys);
    bench_row_measure(&row, "ns", "ns", (bench_summary){ns, ns - 1, ns + 1, 9});
    bench_row_measure(&row, "bytes", "bytes", bench_once(64));
    return row;
}

static double number_at(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

Test(bench_rows, json_has_all_of_a_row)
{
    bench_rows rows = {0};
    bench_histogram ticks = {0};
    bench_row row = sample("weir", 1e6, 50);
    for (uint64_t value = 1; value <= 50; value++)
        bench_histogram_add(&ticks, value);
    bench_row_latency(&row, &ticks);
    row.note = "a note";
    row.wrong = 3;
    bench_rows_keep(&rows, &row);
    FILE *file = tmpfile();
    cr_assert_eq(bench_report_json(file, &machine, &rows), 0);
    rewind(file);
    json_t *root = json_loadf(file, 0, NULL);
    cr_assert_neq(root, NULL);
    const json_t *told = json_object_get(root, "machine");
    cr_assert_str_eq(text_at(told, "cpu"), "a \"quoted\" one");
    cr_assert_eq(number_at(told, "cores"), 2);
    cr_assert_eq(number_at(told, "timer_ns"), 20.5);
    for (const char *const *name = (const char *const[]){"kernel", "clocksource", "huge_pages", "compiler", "flags",
                                                         "buildtype", "commit", "version", "time", "arch", NULL};
         *name; name++)
        cr_assert_neq(text_at(told, *name), NULL, "%s", *name);
    const json_t *found = json_array_get(json_object_get(root, "rows"), 0);
    cr_assert_str_eq(text_at(found, "scenario"), "many-keys");
    cr_assert_str_eq(text_at(found, "subject"), "weir");
    cr_assert_str_eq(text_at(found, "algorithm"), "counter");
    cr_assert_str_eq(text_at(found, "note"), "a note");
    cr_assert_eq(number_at(found, "wrong"), 3);
    cr_assert_str_eq(text_at(json_object_get(found, "parameters"), "calls"), "allowed");
    cr_assert_eq(number_at(json_object_get(found, "parameters"), "keys"), 1e6);
    const json_t *ns = json_object_get(json_object_get(found, "measures"), "ns");
    cr_assert_eq(number_at(ns, "median"), 50);
    cr_assert_eq(number_at(ns, "low"), 49);
    cr_assert_eq(number_at(ns, "high"), 51);
    cr_assert_eq(number_at(ns, "rounds"), 9);
    cr_assert_str_eq(text_at(ns, "unit"), "ns");
    cr_assert_eq((unsigned)json_array_size(json_object_get(found, "latency")), BENCH_CURVE_POINTS);
    json_decref(root);
    fclose(file);
    bench_rows_free(&rows);
}

Test(bench_rows, percentiles_are_in_ns)
{
    bench_row row = sample("weir", 1, 50);
    bench_histogram ticks = {0};
    for (uint64_t value = 1; value <= 50; value++)
        bench_histogram_add(&ticks, value);
    bench_row_latency(&row, &ticks);
    cr_assert_eq(bench_row_find_measure(&row, "p50")->value.median, 25 * bench_tick_ns());
    cr_assert_eq(bench_row_find_measure(&row, "p99.99")->value.median, 50 * bench_tick_ns());
    cr_assert_eq(bench_row_find_measure(&row, "max")->value.median, 50 * bench_tick_ns());
    cr_assert_eq(bench_row_find_measure(&row, "p98"), NULL);
    cr_assert_eq(row.point[BENCH_CURVE_POINTS - 1].share, 1);
}

/* What all rows share stands above the table; what differs is a column, a measure that a row lacks a dash. */
Test(bench_rows, a_table_has_what_differs_as_columns)
{
    bench_rows rows = {0};
    bench_row row = sample("weir", 1000, 50);
    bench_rows_keep(&rows, &row);
    row = sample("sharded", 1e6, 123.4);
    row.measure_count = 1;
    row.wrong = 2;
    bench_rows_keep(&rows, &row);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    bench_report_table(file, &rows);
    fclose(file);
    cr_assert_str_eq(text,
                 "\nmany-keys, counter, calls: allowed\n"
                 "  subject  keys                ns  bytes\n"
                 "  weir     1000  50.0 (49.0-51.0)   64.0\n"
                 "  sharded    1M     123 (122-124)      -  WRONG: in 2 rounds\n");
    free(text);
    bench_rows_free(&rows);
}

static void put_two(const void *parameters, const bench_sink *sink)
{
    const double *keys = parameters;
    bench_row row = sample("weir", *keys, 1);
    bench_put(sink, &row);
    row = sample("sharded", *keys + 1, 2);
    bench_put(sink, &row);
}

static void put_one_and_fail(const void *parameters, const bench_sink *sink)
{
    (void)parameters;
    const bench_row row = sample("weir", 1, 1);
    bench_put(sink, &row);
    fclose(stderr); /* what it says is not for this test's output */
    bench_fail("on purpose");
}

Test(bench_rows, rows_come_over_from_a_process_of_its_own)
{
    bench_rows rows = {0};
    const bench_sink sink = {bench_rows_keep, &rows};
    const double keys = 17;
    cr_assert_eq(bench_apart(put_two, &keys, &sink), 0);
    cr_assert_eq(rows.count, 2);
    cr_assert_str_eq(rows.row[0].subject, "weir");
    cr_assert_str_eq(rows.row[1].subject, "sharded");
    cr_assert_eq(bench_row_find_parameter(&rows.row[1], "keys")->number, 18);
    cr_assert_eq(bench_row_find_measure(&rows.row[1], "ns")->value.high, 3);
    bench_rows_free(&rows);
}

Test(bench_rows, a_process_that_fails_is_told_and_its_rows_stay)
{
    bench_rows rows = {0};
    const bench_sink sink = {bench_rows_keep, &rows};
    cr_assert_eq(bench_apart(put_one_and_fail, NULL, &sink), -1);
    cr_assert_eq(rows.count, 1);
    bench_rows_free(&rows);
}

Test(bench_rows, lists_of_numbers)
{
    bench_list list;
    cr_assert_eq(bench_list_parse("1e3,17,1000000", 1, 10000000, &list), NULL);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.value[0], 1000);
    cr_assert_eq(list.value[1], 17);
    cr_assert_eq(list.value[2], 1000000);
    for (const char *const *bad = (const char *const[]){"", ",", "1,", "x", "1.5", "1;2", "nan", "-1", "0", "101",
                                                        "1e400", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL};
         *bad; bad++)
        cr_assert_neq(bench_list_parse(*bad, 1, 100, &list), NULL, "'%s'", *bad);
}
