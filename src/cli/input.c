#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "reader_clf.h"
#include "say.h"

/* Lines looked at to find out the format. */
#define HELD 100

/* A file line by line; the first ones may be held back and come again. */
typedef struct source {
    FILE *file;
    char *line;
    size_t room;
    struct {
        char *line;
        size_t len;
    } held[HELD];
    size_t held_count, held_at;
    bool begun;
    int error; /* errno */
} source;

/* --- lines --- */

/* Returns the line's length, its end included; 0 at the end of the file, or at an error. */
static size_t read_line(source *in, char **line, size_t *room)
{
    ssize_t len;

    errno = 0;
    len = getline(line, room, in->file);
    if (len < 0) {
        in->error = feof(in->file) ? 0 : errno;
        if (in->error == ENOMEM)
            weiri_out_of_memory();
        return 0;
    }
    if (!in->begun && len >= 3 && memcmp(*line, "\xef\xbb\xbf", 3) == 0) {
        len -= 3;
        memmove(*line, *line + 3, (size_t)len + 1);
    }
    in->begun = true;
    return (size_t)len;
}

static bool hold_line(source *in)
{
    size_t room = 0, len;
    char *line = NULL;

    if (in->held_count < HELD && (len = read_line(in, &line, &room)) > 0) {
        in->held[in->held_count].line = line;
        in->held[in->held_count++].len = len;
        return true;
    }
    free(line);
    return false;
}

static const char *next_line(source *in, size_t *len)
{
    if (in->held_at < in->held_count) {
        *len = in->held[in->held_at].len;
        return in->held[in->held_at++].line;
    }
    if (in->error)
        return NULL;
    *len = read_line(in, &in->line, &in->room);
    return *len > 0 ? in->line : NULL;
}

static size_t without_end(const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\n')
        len--;
    if (len > 0 && line[len - 1] == '\r')
        len--;
    return len;
}

/* --- the format --- */

static enum weiri_format recognise(source *in)
{
    weiri_entry entry;
    weiri_fault fault;

    for (size_t i = 0; hold_line(in); i++) {
        if (i == 0 && weiri_csv_recognises(in->held[0].line, in->held[0].len))
            return WEIRI_FORMAT_CSV;
        if (weiri_clf_parse(in->held[i].line, without_end(in->held[i].line, in->held[i].len), &entry, &fault))
            return WEIRI_FORMAT_CLF;
    }
    return WEIRI_FORMAT_ANY;
}

static bool tell_unrecognised(const weiri_input *input, const source *in)
{
    char shown[WEIRI_SHOWN_ROOM];

    if (in->held_count == 0)
        weiri_say("%s: empty", input->name);
    else
        weiri_say("%s: no format recognised: neither a line of the Common or Combined Log Format nor a CSV header "
                  "with a column of times among the first lines; it begins with: %s",
                  input->name, weiri_show(shown, in->held[0].line, without_end(in->held[0].line, in->held[0].len)));
    return false;
}

/* --- records --- */

static void on_entry(void *argument, uint64_t line, const weiri_entry *entry)
{
    weiri_input *input = argument;

    (void)line;
    weiri_records_add(&input->records, entry);
}

static void on_fault(void *argument, uint64_t line, const weiri_fault *fault)
{
    weiri_input *input = argument;
    char shown[WEIRI_SHOWN_ROOM];

    if (input->malformed++ >= WEIRI_FAULTS_SHOWN)
        return;
    weiri_show(shown, fault->text, fault->len);
    weiri_say("%s:%" PRIu64 ": %s%s%s", input->name, line, fault->reason, *shown ? ": " : "", shown);
}

static void read_clf(weiri_input *input, source *in)
{
    weiri_entry entry;
    weiri_fault fault;
    const char *line;
    size_t len;

    for (uint64_t number = 1; (line = next_line(in, &len)); number++) {
        len = without_end(line, len);
        if (len == 0)
            continue;
        if (weiri_clf_parse(line, len, &entry, &fault))
            on_entry(input, number, &entry);
        else
            on_fault(input, number, &fault);
    }
}

static bool read_csv(weiri_input *input, source *in)
{
    weiri_sink sink = {on_entry, on_fault, input};
    weiri_csv *csv = weiri_csv_new(&input->fields, &sink);
    const char *line;
    size_t len;
    bool good = true;

    while (good && (line = next_line(in, &len)))
        good = weiri_csv_feed(csv, line, len);
    good = good && (in->error || weiri_csv_finish(csv));
    if (!good)
        weiri_say("%s: %s", input->name, weiri_csv_problem(csv));
    good = good && !weiri_csv_cut_short(csv);
    weiri_csv_free(csv);
    return good;
}

static bool read_lines(weiri_input *input, source *in)
{
    enum weiri_format format = input->format == WEIRI_FORMAT_ANY ? recognise(in) : input->format;
    bool good = true;

    if (format == WEIRI_FORMAT_CLF)
        read_clf(input, in);
    else if (format == WEIRI_FORMAT_CSV)
        good = read_csv(input, in);
    else if (!in->error)
        good = tell_unrecognised(input, in);
    if (!in->error)
        return good;
    weiri_say("%s: %s", input->name, strerror(in->error));
    return false;
}

bool weiri_input_read(weiri_input *input, const char *path)
{
    bool standard = strcmp(path, "-") == 0, good;
    source in = {.file = standard ? stdin : fopen(path, "r")};

    input->name = standard ? "standard input" : path;
    if (!in.file) {
        weiri_say("%s: %s", path, strerror(errno));
        return false;
    }
    good = read_lines(input, &in);
    for (size_t i = 0; i < in.held_count; i++)
        free(in.held[i].line);
    free(in.line);
    if (!standard)
        fclose(in.file);
    return good;
}

void weiri_input_end(const weiri_input *input)
{
    if (input->malformed > WEIRI_FAULTS_SHOWN)
        weiri_say("and %" PRIu64 " more that could not be read", input->malformed - WEIRI_FAULTS_SHOWN);
}
