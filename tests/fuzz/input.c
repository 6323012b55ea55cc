/*
 * A whole file of any bytes, as the tool reads it. The records are those that the readers give line by line; which
 * format it is makes no difference once it is recognised; a byte order mark makes none; and what is said on standard
 * error is short, printable and names lines that are there.
 *
 * Input: a byte that chooses the format, the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/input.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weir/types.h>

#include "cli/reader_clf.h"
#include "cli/reader_csv.h"
#include "fuzz.h"

/* What came of reading a file. */
struct outcome {
    weiri_input input;
    bool good;
    fuzz_capture said;
};

static struct outcome read_as(enum weiri_format format, const char *before, const char *text, size_t size)
{
    struct outcome outcome = {.input.format = format};
    int file = memfd_create("input", MFD_CLOEXEC);
    char path[40];

    FUZZ_HOLDS(file >= 0, "no file in memory");
    FUZZ_HOLDS(write(file, before, strlen(before)) == (ssize_t)strlen(before), "cannot write");
    FUZZ_HOLDS(size == 0 || write(file, text, size) == (ssize_t)size, "cannot write");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    fuzz_capture_begin(&outcome.said, &stderr);
    outcome.good = weiri_input_read(&outcome.input, path);
    weiri_input_end(&outcome.input);
    fuzz_capture_end(&outcome.said);
    outcome.input.name = NULL; /* of a path that is gone */
    close(file);
    return outcome;
}

static void forget(struct outcome *outcome)
{
    weiri_records_free(&outcome->input.records);
    free(outcome->said.text);
}

static void same(const char *how, const struct outcome *wanted, const struct outcome *got)
{
    const weiri_records *a = &wanted->input.records, *b = &got->input.records;

    FUZZ_HOLDS(wanted->good == got->good && wanted->input.malformed == got->input.malformed, "%s: another end", how);
    FUZZ_HOLDS(a->count == b->count && a->keys == b->keys && a->late == b->late, "%s: other records", how);
    for (size_t i = 0; i < a->count; i++)
        FUZZ_HOLDS(memcmp(&a->record[i], &b->record[i], sizeof *a->record) == 0, "%s: record %zu", how, i);
    for (size_t i = 0; i < a->keys; i++)
        FUZZ_HOLDS(a->key[i].len == b->key[i].len && memcmp(a->key[i].bytes, b->key[i].bytes, a->key[i].len) == 0,
                   "%s: key %zu", how, i);
}

/* Every line is the program's, printable, about a line of the file where it names one; few of them. */
static void check_said(const struct outcome *outcome, const char *text, size_t size)
{
    const char *at = outcome->said.text;
    uint64_t lines = 1, shown = 0, line;

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    for (const char *end; *at != '\0'; at = end + 1, shown++) {
        end = strchr(at, '\n');
        FUZZ_HOLDS(end != NULL && strncmp(at, "weir replay: ", 13) == 0, "said: %s", at);
        for (const char *c = at; c < end; c++)
            FUZZ_HOLDS(isprint((unsigned char)*c), "an unprintable byte is said");
        if (sscanf(at, "weir replay: /proc/self/fd/%*d:%" SCNu64 ":", &line) == 1)
            FUZZ_HOLDS(line >= 1 && line <= lines, "line %" PRIu64 " of %" PRIu64, line, lines);
    }
    FUZZ_HOLDS(strlen(outcome->said.text) == outcome->said.size, "a NUL is said");
    FUZZ_HOLDS(shown <= WEIRI_FAULTS_SHOWN + 2, "%" PRIu64 " lines are said", shown);
    FUZZ_HOLDS(outcome->good || shown > 0, "nothing is said of what is wrong");
}

/* The log's reader on each line, without the tool around it. */
static void check_clf(const struct outcome *outcome, const char *text, size_t size)
{
    const weiri_records *records = &outcome->input.records;
    uint64_t malformed = 0;
    size_t taken = 0;

    for (const char *end = text + size, *next; text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((newline != NULL ? newline : end) - text);
        weiri_entry entry;
        weiri_fault fault;

        next = newline != NULL ? newline + 1 : end;
        len -= len > 0 && text[len - 1] == '\r';
        if (len == 0)
            continue;
        if (!weiri_clf_parse(text, len, &entry, &fault)) {
            malformed++;
            continue;
        }
        FUZZ_HOLDS(taken < records->count, "a line is missing");
        const weiri_record *record = &records->record[taken];
        const weiri_key *key = &records->key[record->key];
        FUZZ_HOLDS(record->time == entry.time && record->cost == entry.cost && record->order == taken &&
                       key->len == entry.key_len && memcmp(key->bytes, entry.key, key->len) == 0,
                   "record %zu", taken);
        taken++;
    }
    FUZZ_HOLDS(taken == records->count && malformed == outcome->input.malformed, "%zu lines and %" PRIu64 " faults",
               taken, malformed);
}

/* Each key is there once. */
static void check_keys(const weiri_records *records)
{
    for (size_t i = 0; i < records->keys && records->keys < 200; i++)
        for (size_t j = 0; j < i; j++)
            FUZZ_HOLDS(records->key[i].len != records->key[j].len ||
                           memcmp(records->key[i].bytes, records->key[j].bytes, records->key[i].len) != 0,
                       "keys %zu and %zu are one", j, i);
    for (size_t i = 0; i < records->count; i++)
        FUZZ_HOLDS(records->record[i].key < records->keys, "record %zu has no key", i);
}

/* CSV where the first line is a header of that; else a log where one of the first hundred lines is; else nothing. */
static void check_recognised(const struct outcome *outcome, const char *text, size_t size, bool marked)
{
    const char *first = marked ? text + 3 : text, *end = text + size,
               *newline = memchr(first, '\n', (size_t)(end - first));
    size_t lines = 1;
    bool is_csv = first < end &&
                  weiri_csv_recognises(first, newline != NULL ? (size_t)(newline + 1 - first) : (size_t)(end - first));
    struct outcome forced = read_as(is_csv ? WEIRI_FORMAT_CSV : WEIRI_FORMAT_CLF, "", text, size);

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (is_csv || (forced.input.records.count > 0 && lines <= 100))
        same("as the format it is", &forced, outcome);
    else if (forced.input.records.count == 0)
        FUZZ_HOLDS(!outcome->good && outcome->input.records.count == 0, "a format was made up");
    forget(&forced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    enum weiri_format format = (enum weiri_format)(data[0] % 3);
    bool marked = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    struct outcome outcome = read_as(format, "", text, len);

    check_said(&outcome, text, len);
    check_keys(&outcome.input.records);
    if (format == WEIRI_FORMAT_CLF)
        check_clf(&outcome, marked ? text + 3 : text, marked ? len - 3 : len);
    if (!marked) {
        struct outcome with_mark = read_as(format, "\xef\xbb\xbf", text, len);
        same("with a byte order mark", &outcome, &with_mark);
        forget(&with_mark);
    }
    if (format == WEIRI_FORMAT_ANY)
        check_recognised(&outcome, text, len, marked);
    forget(&outcome);
    return 0;
}
