/*
 * The CSV reader, on any bytes. Wherever the pieces end, the records are the same. Fed line by line, each is told with
 * the line in which its first byte stands; which that is, is worked out here from feeding the bytes one by one.
 * Records that are written out anew, quoted, read as the same.
 *
 * Input: a byte that chooses the names of the columns, a byte for the sizes of the pieces, the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/reader_csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <weir/types.h>

#include "fuzz.h"

/* One record or fault: its words are [from, to) of the text. */
struct event {
    size_t from, to;
    uint64_t line;
    size_t fed; /* bytes, when it was told */
    bool entry;
};

/* All that one reading said. */
struct told {
    FILE *out; /* to text */
    char *text;
    size_t size;
    struct event *events;
    size_t count, room;
    size_t fed;
    bool good, cut_short;
};

static struct event *new_event(struct told *told, uint64_t line, bool entry)
{
    if (told->count == told->room) {
        told->room = told->room * 2 + 64;
        told->events = realloc(told->events, told->room * sizeof *told->events);
        FUZZ_HOLDS(told->events != NULL, "no memory");
    }
    told->events[told->count] = (struct event){(size_t)ftell(told->out), 0, line, told->fed, entry};
    return &told->events[told->count++];
}

static void on_entry(void *argument, uint64_t line, const weiri_entry *entry)
{
    struct told *told = argument;
    struct event *event = new_event(told, line, true);

    FUZZ_HOLDS(entry->time <= WEIR_TIME_MAX && entry->key_len <= WEIR_KEY_MAX, "an entry out of range");
    fprintf(told->out, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ",\"", entry->time / WEIR_SECOND, entry->time % WEIR_SECOND,
            entry->cost);
    for (size_t i = 0; i < entry->key_len; i++) {
        fputc(entry->key[i], told->out);
        if (entry->key[i] == '"')
            fputc('"', told->out);
    }
    fputs("\"\n", told->out);
    event->to = (size_t)ftell(told->out);
}

static void on_fault(void *argument, uint64_t line, const weiri_fault *fault)
{
    struct told *told = argument;
    struct event *event = new_event(told, line, false);

    FUZZ_HOLDS(fault->reason != NULL && *fault->reason != '\0', "no reason is given");
    fprintf(told->out, "%s: ", fault->reason);
    fwrite(fault->text, 1, fault->len, told->out);
    fputc('\n', told->out);
    event->to = (size_t)ftell(told->out);
}

/* How long the next piece is. */
typedef size_t pieces(const char *bytes, size_t left, uint8_t seed);

static size_t by_line(const char *bytes, size_t left, uint8_t seed)
{
    const char *end = memchr(bytes, '\n', left);

    (void)seed;
    return end != NULL ? (size_t)(end - bytes) + 1 : left;
}

static size_t by_byte(const char *bytes, size_t left, uint8_t seed)
{
    (void)bytes, (void)left, (void)seed;
    return 1;
}

static size_t whole(const char *bytes, size_t left, uint8_t seed)
{
    (void)bytes, (void)seed;
    return left;
}

/* 1 to 16 bytes, by the seed and what stands there. */
static size_t uneven(const char *bytes, size_t left, uint8_t seed)
{
    size_t size = 1 + ((unsigned char)*bytes * 7u + seed + left) % 16;

    return size < left ? size : left;
}

static struct told read_in(pieces *size_of, uint8_t seed, const weiri_fields *fields, const char *bytes, size_t size)
{
    struct told told = {.good = true};
    weiri_sink sink = {on_entry, on_fault, &told};
    weiri_csv *csv = weiri_csv_new(fields, &sink);

    told.out = open_memstream(&told.text, &told.size);
    FUZZ_HOLDS(told.out != NULL, "no memory");
    while (told.good && told.fed < size) {
        size_t length = size_of(bytes + told.fed, size - told.fed, seed);
        char *piece = fuzz_copy(bytes + told.fed, length);

        told.fed += length;
        told.good = weiri_csv_feed(csv, piece, length);
        free(piece);
    }
    told.good = told.good && weiri_csv_finish(csv);
    told.cut_short = weiri_csv_cut_short(csv);
    if (!told.good) {
        FUZZ_HOLDS(*weiri_csv_problem(csv) != '\0', "the header is bad, and why is not told");
        fprintf(told.out, "problem: %s\n", weiri_csv_problem(csv));
    }
    fclose(told.out);
    weiri_csv_free(csv);
    return told;
}

static void forget(struct told *told)
{
    free(told->text);
    free(told->events);
}

static void same(const char *how, const struct told *wanted, const struct told *got)
{
    FUZZ_HOLDS(wanted->good == got->good && wanted->cut_short == got->cut_short, "%s: another end", how);
    FUZZ_HOLDS(wanted->count == got->count && wanted->size == got->size &&
                   memcmp(wanted->text, got->text, got->size) == 0,
               "%s:\n%s\ninstead of\n%s", how, got->text, wanted->text);
}

/* A record begins at the first byte after the one before that is no line end; where the header ends is not told. */
static void check_lines(const struct told *lines, const struct told *bytes, const char *text, size_t size)
{
    size_t at = 0;
    uint64_t line = 1;

    for (size_t i = 1; i < bytes->count; i++) {
        for (; at < bytes->events[i - 1].fed || (at < size && (text[at] == '\r' || text[at] == '\n')); at++)
            line += text[at] == '\n';
        FUZZ_HOLDS(lines->events[i].line == line, "record %zu of line %" PRIu64 " is told as of line %" PRIu64, i, line,
                   lines->events[i].line);
    }
}

/* The entries alone, as a file of their own. */
static void check_anew(const struct told *before)
{
    static const weiri_fields own = {"t", "k", "c", true};
    char *text;
    size_t size, at = 0;
    FILE *file = open_memstream(&text, &size);

    FUZZ_HOLDS(file != NULL, "no memory");
    fputs("t,c,k\n", file);
    for (size_t i = 0; i < before->count; i++)
        if (before->events[i].entry)
            fwrite(before->text + before->events[i].from, 1, before->events[i].to - before->events[i].from, file);
    fclose(file);
    struct told again = read_in(by_line, 0, &own, text, size);
    FUZZ_HOLDS(again.good && !again.cut_short, "written out anew, it is not taken: %s", again.text);
    FUZZ_HOLDS(again.size == size - 6 && memcmp(again.text, text + 6, again.size) == 0, "written out anew:\n%s",
               again.text);
    for (size_t i = 0; i < before->count; i++)
        at += before->events[i].entry;
    FUZZ_HOLDS(at == again.count, "written out anew, there are %zu records", again.count);
    free(text);
    forget(&again);
}

/* Fields of the line that begins at `at`; `at` moves to the next line that is not empty. */
static size_t fields_of(const char **at, const char *end)
{
    size_t fields = 1;

    for (; *at < end && **at != '\r' && **at != '\n'; ++*at)
        fields += **at == ',';
    while (*at < end && (**at == '\r' || **at == '\n'))
        ++*at;
    return fields;
}

/* Without quotes it is plain what a record is: a line, which has as many fields as the first one or is at fault. */
static void check_plain(const struct told *told, const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    size_t records = 0, wanted;

    if (size == 0 || memchr(text, '"', size) != NULL || !told->good)
        return;
    while (at < end && (*at == '\r' || *at == '\n'))
        at++;
    for (wanted = fields_of(&at, end); at < end; records++) {
        bool fits = fields_of(&at, end) == wanted;

        FUZZ_HOLDS(records < told->count, "a line is no record");
        FUZZ_HOLDS(fits || !told->events[records].entry, "record %zu has too few fields, or too many", records);
        if (!fits)
            continue;
        const char *words = told->text + told->events[records].from;
        FUZZ_HOLDS(memcmp(words, "fewer fields", 12) != 0 && memcmp(words, "more fields", 11) != 0,
                   "record %zu has as "
                   "many fields as the header",
                   records);
    }
    FUZZ_HOLDS(records == told->count, "%zu lines, %zu records", records, told->count);
}

static void check_recognised(const weiri_fields *usual, const char *text, size_t size)
{
    size_t length = by_line(text, size, 0);
    struct told first = read_in(whole, 0, usual, text, length);

    FUZZ_HOLDS(weiri_csv_recognises(text, length) == first.good, "a header is recognised, or read, but not both");
    forget(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const weiri_fields choices[] = {
        {NULL, NULL, NULL, false}, {NULL, NULL, NULL, true}, {"t", NULL, "a+b", false}, {"t", "k", "a+a", true},
        {"t", "", "", false},      {"", "k", NULL, false},   {"t", "t", "t", true},     {NULL, "k", "a+", false}};

    if (size < 2)
        return 0;
    const weiri_fields *fields = &choices[data[0] % (sizeof choices / sizeof *choices)];
    const char *text = (const char *)data + 2;
    struct told lines = read_in(by_line, 0, fields, text, size - 2);
    struct told bytes = read_in(by_byte, 0, fields, text, size - 2);
    struct told at_once = read_in(whole, 0, fields, text, size - 2);
    struct told uneven_ones = read_in(uneven, data[1], fields, text, size - 2);

    same("byte by byte", &lines, &bytes);
    same("at once", &lines, &at_once);
    same("in uneven pieces", &lines, &uneven_ones);
    check_lines(&lines, &bytes, text, size - 2);
    check_anew(&lines);
    check_plain(&lines, text, size - 2);
    if (size > 2)
        check_recognised(&choices[0], text, size - 2);
    forget(&lines);
    forget(&bytes);
    forget(&at_once);
    forget(&uneven_ones);
    return 0;
}
