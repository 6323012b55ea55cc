#include <csv.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <weir/types.h>

#include "reader_csv.h"
#include "say.h"
#include "text.h"
#include "times.h"

typedef struct column {
    char *name;
    bool time, key;
    unsigned costs; /* how often the sum names it */
} column;

struct weiri_csv {
    const weiri_fields *fields;
    const weiri_sink *sink;
    struct csv_parser parser;
    column *columns;
    size_t count;
    bool header_read, bad_header;
    bool cut_short; /* a quote was never closed */
    bool between; /* no byte of the next record was seen */
    uint64_t line, first_line; /* fed last; where the record begins */
    /* The record so far. */
    size_t at;
    weiri_entry entry;
    weiri_fault fault; /* its reason is NULL while all is well */
    char faulty[WEIRI_SHOWN + 1];
    char problem[600];
    char key[WEIR_KEY_MAX];
};

/* --- the header --- */

static const char *const time_names[] = {"time", "timestamp", "ts", "@timestamp", "datetime", "date", NULL};
static const char *const key_names[] = {"key", "client", "client_ip", "ip", "remote_addr", "user", "user_id", NULL};
static const char *const cost_names[] = {"cost", NULL};

/* Spaces around a number, a time or a name mean nothing; around a key they are the key's. */
static weiri_text trimmed(const char *bytes, size_t len)
{
    weiri_text text = weiri_text_of(bytes, len);

    while (weiri_text_at(&text, ' ') || weiri_text_at(&text, '\t'))
        text.at++;
    while (text.end > text.at && (text.end[-1] == ' ' || text.end[-1] == '\t'))
        text.end--;
    return text;
}

static void add_column(weiri_csv *csv, const char *bytes, size_t len)
{
    weiri_text text = trimmed(bytes, len);
    size_t name_len = weiri_text_left(&text);
    char *name = weiri_resize(NULL, name_len + 1, 1);

    memcpy(name, text.at, name_len);
    name[name_len] = '\0';
    csv->columns = weiri_resize(csv->columns, csv->count + 1, sizeof *csv->columns);
    csv->columns[csv->count++] = (column){.name = name};
}

static column *named(weiri_csv *csv, const char *name, size_t len)
{
    for (column *c = csv->columns; c < csv->columns + csv->count; c++)
        if (strlen(c->name) == len && memcmp(c->name, name, len) == 0)
            return c;
    return NULL;
}

static column *usual(weiri_csv *csv, const char *const *names)
{
    for (; *names; names++)
        for (column *c = csv->columns; c < csv->columns + csv->count; c++)
            if (strcasecmp(c->name, *names) == 0)
                return c;
    return NULL;
}

/* Says what is wrong, and which columns there are. */
static bool bad_header(weiri_csv *csv, const char *what, const char *name, size_t len)
{
    char shown[WEIRI_SHOWN_ROOM];
    FILE *out = fmemopen(csv->problem, sizeof csv->problem, "w");

    csv->bad_header = true;
    if (!out)
        weiri_out_of_memory();
    fprintf(out, what, weiri_show(shown, name, len));
    for (size_t i = 0; i < csv->count; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "; the columns are: ",
                weiri_show(shown, csv->columns[i].name, strlen(csv->columns[i].name)));
    fclose(out);
    csv->problem[sizeof csv->problem - 1] = '\0';
    return false;
}

/* The column of that name, or the first usual one. False: it has a name and is not there. */
static bool find(weiri_csv *csv, const char *name, const char *const *names, column **found)
{
    *found = name ? named(csv, name, strlen(name)) : usual(csv, names);
    return *found || !name || !*name || bad_header(csv, "no column \"%s\"", name, strlen(name));
}

/* A column whose name has a + in it is itself before it is a sum. */
static bool find_costs(weiri_csv *csv, const char *name)
{
    column *cost = name ? named(csv, name, strlen(name)) : usual(csv, cost_names);
    bool any = false;

    if (cost) {
        cost->costs = 1;
        any = true;
    }
    for (const char *part = name; !cost && part && *name;) {
        size_t len = strcspn(part, "+");
        column *term = named(csv, part, len);

        if (!term)
            return bad_header(csv, "no column \"%s\"", part, len);
        term->costs++;
        any = true;
        if (!part[len])
            break;
        part += len + 1;
    }
    return any || !csv->fields->cost_needed ||
           bad_header(csv, "a limit on cost needs a column of costs (--cost-field)%s", "", 0);
}

static bool read_header(weiri_csv *csv)
{
    column *time, *key;

    csv->header_read = true;
    if (!find(csv, csv->fields->time, time_names, &time) || !find(csv, csv->fields->key, key_names, &key))
        return false;
    if (!time)
        return bad_header(csv, "no column of times (--time-field)%s", "", 0);
    time->time = true;
    if (key)
        key->key = true;
    return find_costs(csv, csv->fields->cost);
}

/* --- records --- */

static void start_record(weiri_csv *csv)
{
    bool costs = false;

    for (size_t i = 0; i < csv->count; i++)
        costs = costs || csv->columns[i].costs > 0;
    csv->at = 0;
    csv->entry = (weiri_entry){.key = csv->key, .cost = costs ? 0 : 1};
    csv->fault.reason = NULL;
    csv->between = true;
}

/* The first fault of a record is the one told. */
static void fail(weiri_csv *csv, const char *reason, const char *bytes, size_t len)
{
    if (csv->fault.reason)
        return;
    csv->fault = (weiri_fault){reason, csv->faulty, len < sizeof csv->faulty ? len : sizeof csv->faulty};
    if (len > 0)
        memcpy(csv->faulty, bytes, csv->fault.len);
}

static void take_time(weiri_csv *csv, const char *bytes, size_t len)
{
    weiri_text text = trimmed(bytes, len);
    const char *reason = weiri_time_any(text.at, weiri_text_left(&text), &csv->entry.time);

    if (reason)
        fail(csv, reason, bytes, len);
}

static void take_key(weiri_csv *csv, const char *bytes, size_t len)
{
    if (len > WEIR_KEY_MAX) {
        fail(csv, "key longer than 65535 bytes", bytes, len);
        return;
    }
    if (len > 0)
        memcpy(csv->key, bytes, len);
    csv->entry.key_len = len;
}

static void take_cost(weiri_csv *csv, const char *bytes, size_t len)
{
    weiri_text text = trimmed(bytes, len);
    uint64_t cost;

    if (!weiri_text_whole(text.at, weiri_text_left(&text), &cost))
        fail(csv, "cost is no whole number from 0 to 2^64-1", bytes, len);
    else if (__builtin_add_overflow(csv->entry.cost, cost, &csv->entry.cost))
        fail(csv, "the sum of the costs passes 2^64-1", bytes, len);
}

static void on_field(void *field, size_t len, void *argument)
{
    weiri_csv *csv = argument;
    const char *bytes = field ? field : "";

    if (!csv->header_read) {
        add_column(csv, bytes, len);
        return;
    }
    if (!csv->bad_header && csv->at < csv->count) {
        const column *c = &csv->columns[csv->at];
        if (c->time)
            take_time(csv, bytes, len);
        if (c->key)
            take_key(csv, bytes, len);
        for (unsigned i = 0; i < c->costs; i++)
            take_cost(csv, bytes, len);
    }
    csv->at++;
}

static void on_record(int end, void *argument)
{
    weiri_csv *csv = argument;

    (void)end;
    if (csv->bad_header)
        return;
    if (!csv->header_read) {
        if (!read_header(csv))
            return;
    } else {
        if (csv->at < csv->count)
            fail(csv, "fewer fields than the header", "", 0);
        if (csv->at > csv->count)
            fail(csv, "more fields than the header", "", 0);
        if (csv->fault.reason)
            csv->sink->fault(csv->sink->argument, csv->first_line, &csv->fault);
        else
            csv->sink->entry(csv->sink->argument, csv->first_line, &csv->entry);
    }
    start_record(csv);
}

/* --- the whole --- */

static int no_space(unsigned char byte)
{
    (void)byte;
    return 0;
}

weiri_csv *weiri_csv_new(const weiri_fields *fields, const weiri_sink *sink)
{
    weiri_csv *csv = weiri_resize(NULL, 1, sizeof *csv);

    memset(csv, 0, offsetof(weiri_csv, key));
    csv->fields = fields;
    csv->sink = sink;
    csv->between = true;
    if (csv_init(&csv->parser, 0) != 0)
        weiri_out_of_memory();
    csv_set_space_func(&csv->parser, no_space);
    csv_set_blk_size(&csv->parser, 1 << 16); /* its buffer grows by that much */
    return csv;
}

static bool blank(const char *bytes, size_t len)
{
    while (len > 0 && (bytes[len - 1] == '\r' || bytes[len - 1] == '\n'))
        len--;
    return len == 0;
}

/* Up to and with the next CR: a record ends nowhere but at the end of such a piece, or of a line. */
static size_t piece_of(const char *bytes, size_t len)
{
    const char *end = len > 0 ? memchr(bytes, '\r', len) : NULL;

    return end ? (size_t)(end - bytes) + 1 : len;
}

bool weiri_csv_feed(weiri_csv *csv, const char *bytes, size_t len)
{
    csv->line++;
    for (size_t piece; len > 0; bytes += piece, len -= piece) {
        piece = piece_of(bytes, len);
        if (csv->between) {
            csv->first_line = csv->line;
            csv->between = blank(bytes, piece);
        }
        if (csv_parse(&csv->parser, bytes, piece, on_field, on_record, csv) != piece)
            weiri_out_of_memory();
    }
    return !csv->bad_header;
}

/* Without CSV_STRICT nothing fails in libcsv but memory, and a quote left open at the end. */
bool weiri_csv_finish(weiri_csv *csv)
{
    csv_set_opts(&csv->parser, CSV_STRICT | CSV_STRICT_FINI); /* before it would stop at the first odd quote */
    if (csv_fini(&csv->parser, on_field, on_record, csv) != 0 && !csv->bad_header) {
        if (csv_error(&csv->parser) != CSV_EPARSE)
            weiri_out_of_memory();
        if (!csv->header_read)
            return bad_header(csv, "a quote in the header is never closed%s", "", 0);
        csv->fault.reason = NULL;
        fail(csv, "a quote is opened and never closed: nothing was read from here on", "", 0);
        csv->sink->fault(csv->sink->argument, csv->first_line, &csv->fault);
        csv->cut_short = true;
    }
    return !csv->bad_header && (csv->header_read || bad_header(csv, "no header line%s", "", 0));
}

bool weiri_csv_cut_short(const weiri_csv *csv)
{
    return csv->cut_short;
}

const char *weiri_csv_problem(const weiri_csv *csv)
{
    return csv->problem;
}

void weiri_csv_free(weiri_csv *csv)
{
    for (size_t i = 0; i < csv->count; i++)
        free(csv->columns[i].name);
    free(csv->columns);
    csv_free(&csv->parser);
    free(csv);
}

static void no_entry(void *argument, uint64_t line, const weiri_entry *entry)
{
    (void)argument, (void)line, (void)entry;
}

static void no_fault(void *argument, uint64_t line, const weiri_fault *fault)
{
    (void)argument, (void)line, (void)fault;
}

bool weiri_csv_recognises(const char *line, size_t len)
{
    static const weiri_fields usual_fields;
    static const weiri_sink nowhere = {no_entry, no_fault, NULL};
    weiri_csv *csv = weiri_csv_new(&usual_fields, &nowhere);
    bool recognised = weiri_csv_feed(csv, line, len) && weiri_csv_finish(csv);

    weiri_csv_free(csv);
    return recognised;
}
