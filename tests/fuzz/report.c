/*
 * Replays and reports over any records: what is written as JSON is JSON, from which the bytes of each key can be had
 * back; the text is printable; the numbers are those of the verdicts.
 *
 * Input: what each record is, drawn from bytes: a pause, a cost, a key of up to 40 bytes or one that was there before.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/report.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "fuzz.h"

enum { CHOICES = 3, KEY_MOST = 40, RECORDS_MOST = 300 };

static void draw_records(weiri_records *records, fuzz_bytes *bytes)
{
    random_source random = fuzz_random(bytes);
    uint64_t time = random_one_in(&random, 4) ? WEIR_TIME_MAX - 1000 : 1000;
    char key[KEY_MOST];

    while (bytes->left > 0 && records->count < RECORDS_MOST) {
        weiri_entry entry = {.key = key};
        uint64_t kind = random_below(&random, 4);

        if (kind == 0 || records->keys == 0) {
            entry.key_len = random_below(&random, KEY_MOST + 1);
            for (size_t i = 0; i < entry.key_len; i++)
                key[i] = (char)random_below(&random, 256);
        } else {
            const weiri_key *old = &records->key[random_below(&random, records->keys < 4 ? records->keys : 4)];

            entry.key = old->bytes;
            entry.key_len = old->len;
        }
        if (kind == 3)
            time -= random_below(&random, 8);
        else
            time += random_below(&random, kind == 2 ? 256 : 4);
        entry.time = time > WEIR_TIME_MAX ? WEIR_TIME_MAX : time;
        entry.cost = random_below(&random, 8);
        weiri_records_add(records, &entry);
    }
}

static void check_number(const json_t *object, const char *name, uint64_t wanted)
{
    json_t *number = json_object_get(object, name);

    FUZZ_HOLDS(json_is_integer(number) && (uint64_t)json_integer_value(number) == wanted, "%s: %lld, wanted %llu", name,
               (long long)json_integer_value(number), (unsigned long long)wanted);
}

/* The differences, counted anew. */
static void check_run(const json_t *object, const weiri_run *run, const weiri_run *log, const weiri_records *records)
{
    uint64_t accepted = 0, only_log = 0, only_this = 0;

    for (size_t i = 0; i < records->count; i++) {
        accepted += weiri_run_accepted(run, i);
        only_log += weiri_run_accepted(log, i) && !weiri_run_accepted(run, i);
        only_this += !weiri_run_accepted(log, i) && weiri_run_accepted(run, i);
    }
    FUZZ_HOLDS(strcmp(json_string_value(json_object_get(object, "algorithm")), run->choice.name) == 0, "another name");
    check_number(object, "accepted", accepted);
    check_number(object, "refused", records->count - accepted);
    check_number(object, "only_log", only_log);
    check_number(object, "only_this", only_this);
}

static unsigned nibble(char digit)
{
    return isdigit((unsigned char)digit) ? (unsigned)(digit - '0') : (unsigned)(digit - 'a' + 10);
}

/* The key's bytes can be had from the JSON, as it stands or from its hex digits. */
static void check_key(const json_t *object, const weiri_key *key)
{
    const json_t *text = json_object_get(object, "key"), *hex = json_object_get(object, "key_hex");

    FUZZ_HOLDS(json_is_string(text), "a key that is no text");
    if (hex == NULL) {
        FUZZ_HOLDS(json_string_length(text) == key->len && memcmp(json_string_value(text), key->bytes, key->len) == 0,
                   "another key: %s", json_string_value(text));
        return;
    }
    FUZZ_HOLDS(json_string_length(hex) == 2 * (size_t)key->len, "key_hex: %s", json_string_value(hex));
    for (size_t i = 0; i < key->len; i++) {
        const char *digits = json_string_value(hex) + 2 * i;

        FUZZ_HOLDS((nibble(digits[0]) << 4 | nibble(digits[1])) == (unsigned char)key->bytes[i], "key_hex: %s", digits);
    }
}

static void check_json(const weiri_report *report)
{
    fuzz_capture out;
    json_error_t error;
    size_t found;

    fuzz_capture_begin(&out, &stdout);
    weiri_report_json(report);
    fuzz_capture_end(&out);
    json_t *root = json_loadb(out.text, out.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    FUZZ_HOLDS(root != NULL, "no JSON: line %d: %s", error.line, error.text);
    check_number(root, "records", report->records->count);
    check_number(root, "keys", report->records->keys);
    check_number(root, "late", report->records->late);
    check_number(root, "malformed", report->malformed);
    json_t *algorithms = json_object_get(root, "algorithms"), *top = json_object_get(root, "top");
    FUZZ_HOLDS(json_array_size(algorithms) == report->run_count, "%zu algorithms", json_array_size(algorithms));
    for (size_t i = 0; i < report->run_count; i++)
        check_run(json_array_get(algorithms, i), &report->runs[i], report->judge, report->records);
    uint32_t *keys = weiri_run_top(report->judge, report->records, report->options->top, &found);
    FUZZ_HOLDS(json_array_size(top) == found, "%zu keys", json_array_size(top));
    for (size_t i = 0; i < found; i++) {
        check_key(json_array_get(top, i), &report->records->key[keys[i]]);
        check_number(json_array_get(top, i), "refused", report->judge->refused_of[keys[i]]);
    }
    free(keys);
    json_decref(root);
    free(out.text);
}

static void check_text(const weiri_report *report)
{
    fuzz_capture out;

    fuzz_capture_begin(&out, &stdout);
    weiri_report_text(report);
    fuzz_capture_end(&out);
    for (size_t i = 0; i < out.size; i++)
        FUZZ_HOLDS(isprint((unsigned char)out.text[i]) || out.text[i] == '\n', "byte %d in the text", out.text[i]);
    free(out.text);
}

/* Buckets never admit more than a log would in the same place, so neither does their first difference. */
static void check_first_difference(const weiri_run *buckets, const weiri_run *log, const weiri_records *records)
{
    bool differs = false;

    for (size_t i = 0; i < records->count && !differs; i++) {
        differs = weiri_run_accepted(buckets, i) != weiri_run_accepted(log, i);
        FUZZ_HOLDS(!differs || weiri_run_accepted(log, i), "record %zu passes the buckets first", i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[CHOICES] = {"log", "counter", "buckets:7"};
    static char limit[] = "3cost/40ns";
    fuzz_bytes bytes = {data, size};
    weiri_options options = {.rule_count = 1, .top = fuzz_number(&bytes, 1), .sort = fuzz_number(&bytes, 1) & 1};
    weiri_records records = {0};
    weiri_run runs[CHOICES];

    limit[0] = (char)('1' + fuzz_number(&bytes, 1) % 9);
    FUZZ_HOLDS(weiri_limit_parse(limit, &options.rules[0]) == NULL, "the limit is not taken");
    draw_records(&records, &bytes);
    if (options.sort)
        weiri_records_sort(&records);
    for (size_t i = 0; i < CHOICES; i++) {
        weiri_choice choice;

        FUZZ_HOLDS(weiri_choice_parse(names[i], &choice) == NULL, "the algorithm is not taken");
        runs[i] = weiri_run_all(&records, options.rules, 1, &choice, 1);
        if (i > 0)
            weiri_run_compare(&runs[i], &runs[0], &records);
    }
    weiri_report report = {&options, &records, size, runs, CHOICES, &runs[0]};
    check_json(&report);
    check_text(&report);
    if (records.late == 0)
        check_first_difference(&runs[2], &runs[0], &records);
    for (size_t i = 0; i < CHOICES; i++)
        weiri_run_free(&runs[i]);
    weiri_records_free(&records);
    return 0;
}
