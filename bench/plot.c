/*
 * Which pictures rows make. Lines: rows that differ in nothing but their subject and one parameter, a line for each
 * subject. Curves: the distributions of rows that differ in their subject alone. Bars: what bytes rows tell of.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "canvas.h"
#include "report.h"

enum { NAME_MAX_BYTES = 256 };

/* A picture of some kind, and the rows that it may take. */
typedef struct kind {
    const char *name;    /* begins the names of the files */
    const char *along;   /* the parameter that goes from left to right; NULL: none */
    const char *measure; /* what goes upwards */
    const char *left, *below;
    unsigned log_below;  /* 2 or 10 */
    bool log_left;
} kind;

static const kind lines[] = {
    {"threads", "threads", "rate", "decisions a second", "threads", 2, false},
    {"keys", "keys", "ns", "ns a decision", "keys", 10, true},
    {"batch", "batch", "ns", "ns a decision", "calls in a batch", 2, true},
};

static const kind curve = {"latency", NULL, NULL, "ns", "one call in so many takes longer", 10, true};

/* --- what rows have in common --- */

static bool same_value(const bench_parameter *a, const bench_parameter *b)
{
    if (!a || !b)
        return a == b;
    return a->word && b->word ? strcmp(a->word, b->word) == 0 : a->word == b->word && a->number == b->number;
}

/* Scenario, algorithm, and all parameters but `along`. */
static bool same_group(const bench_row *a, const bench_row *b, const char *along)
{
    if (strcmp(a->scenario, b->scenario) != 0 || strcmp(a->algorithm, b->algorithm) != 0 ||
        a->parameter_count != b->parameter_count)
        return false;
    for (unsigned i = 0; i < a->parameter_count; i++) {
        const char *name = a->parameter[i].name;
        if ((!along || strcmp(name, along) != 0) && !same_value(&a->parameter[i], bench_row_find_parameter(b, name)))
            return false;
    }
    return true;
}

/* Does the scenario have rows with other values of that parameter, or without it? */
static bool varies(const bench_rows *rows, const bench_row *row, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].scenario, row->scenario) == 0 &&
            !same_value(bench_row_find_parameter(row, name), bench_row_find_parameter(&rows->row[i], name)))
            return true;
    return false;
}

static void append(char name[NAME_MAX_BYTES], const char *one, const char *other)
{
    const size_t used = strlen(name);
    snprintf(name + used, NAME_MAX_BYTES - used, "%s%s", one, other);
}

/* The parameters of a row but one: in a file's name those that vary in its scenario, in a title all. */
static void add_parameters(char name[NAME_MAX_BYTES], const bench_rows *rows, const bench_row *row, const char *but,
                           bool title)
{
    for (unsigned i = 0; i < row->parameter_count; i++) {
        const bench_parameter *parameter = &row->parameter[i];
        char value[32];
        if ((but && strcmp(parameter->name, but) == 0) || !varies(rows, row, parameter->name))
            continue;
        snprintf(value, sizeof value, "%.10g", parameter->number);
        if (!parameter->word || !title)
            append(name, title ? ", " : "-", parameter->name);
        append(name, title && !parameter->word ? " " : title ? ", " : "-", parameter->word ? parameter->word : value);
    }
}

static void open_picture(canvas *on, const char *kind_name, const bench_rows *rows, const bench_row *row,
                         const char *along)
{
    char file[NAME_MAX_BYTES] = "", title[NAME_MAX_BYTES] = "";
    append(file, row->scenario, "-");
    append(file, kind_name, "-");
    append(file, row->algorithm, "");
    add_parameters(file, rows, row, along, false);
    append(title, row->scenario, ", ");
    append(title, row->algorithm, "");
    add_parameters(title, rows, row, along, true);
    canvas_picture(on, file, title);
}

/* --- lines --- */

static bool takes_part(const bench_row *row, const kind *of)
{
    const bench_measure *measure = bench_row_find_measure(row, of->measure);
    return measure && measure->value.median > 0 && bench_row_find_parameter(row, of->along);
}

/* Is it the first of its group, and does another value follow? */
static bool begins_lines(const bench_rows *rows, size_t at, const kind *of)
{
    const bench_row *row = &rows->row[at];
    bool more = false;
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *other = &rows->row[i];
        if (!takes_part(other, of) || !same_group(row, other, of->along))
            continue;
        if (i < at)
            return false;
        more |= !same_value(bench_row_find_parameter(row, of->along), bench_row_find_parameter(other, of->along));
    }
    return more;
}

/* Is there no row of the same group and subject before it? */
static bool begins_subject(const bench_rows *rows, size_t at, const char *along)
{
    for (size_t i = 0; i < at; i++)
        if (same_group(&rows->row[at], &rows->row[i], along) &&
            strcmp(rows->row[at].subject, rows->row[i].subject) == 0)
            return false;
    return true;
}

static void draw_lines(canvas *on, const bench_rows *rows, size_t first, const kind *of)
{
    const bench_row *row = &rows->row[first];
    open_picture(on, of->name, rows, row, of->along);
    canvas_axes(on, of->below, of->log_below, of->left, of->log_left);
    for (size_t i = first; i < rows->count; i++) {
        const bench_row *one = &rows->row[i];
        if (!takes_part(one, of) || !same_group(row, one, of->along) || !begins_subject(rows, i, of->along))
            continue;
        canvas_line(on, one->subject);
        for (size_t k = i; k < rows->count; k++) {
            const bench_row *next = &rows->row[k];
            if (!takes_part(next, of) || !same_group(row, next, of->along) || strcmp(one->subject, next->subject) != 0)
                continue;
            canvas_point(on, bench_row_find_parameter(next, of->along)->number,
                         bench_row_find_measure(next, of->measure)->value);
        }
    }
    canvas_done(on);
}

/* --- curves --- */

static bool begins_curves(const bench_rows *rows, size_t at)
{
    if (rows->row[at].point_count == 0)
        return false;
    for (size_t i = 0; i < at; i++)
        if (rows->row[i].point_count > 0 && same_group(&rows->row[at], &rows->row[i], NULL))
            return false;
    return true;
}

static void draw_curves(canvas *on, const bench_rows *rows, size_t first)
{
    const bench_row *row = &rows->row[first];
    open_picture(on, curve.name, rows, row, NULL);
    canvas_axes(on, curve.below, curve.log_below, curve.left, curve.log_left);
    for (size_t i = first; i < rows->count; i++) {
        const bench_row *one = &rows->row[i];
        if (one->point_count == 0 || !same_group(row, one, NULL))
            continue;
        canvas_line(on, one->subject);
        for (unsigned k = 0; k < one->point_count; k++)
            if (one->point[k].share < 1)
                canvas_point(on, 1 / (1 - one->point[k].share), bench_once(one->point[k].ns));
    }
    canvas_done(on);
}

/* --- bars --- */

static bool is_bytes(const bench_measure *measure)
{
    return strcmp(measure->unit, "bytes") == 0;
}

/* The same scenario, and the same words as parameters: bars of one picture. */
static bool same_bars(const bench_row *a, const bench_row *b)
{
    if (strcmp(a->scenario, b->scenario) != 0)
        return false;
    for (unsigned i = 0; i < a->parameter_count; i++)
        if (a->parameter[i].word && !same_value(&a->parameter[i], bench_row_find_parameter(b, a->parameter[i].name)))
            return false;
    return true;
}

static bool begins_bars(const bench_rows *rows, size_t at, const char *measure)
{
    for (size_t i = 0; i < at; i++)
        if (bench_row_find_measure(&rows->row[i], measure) && same_bars(&rows->row[at], &rows->row[i]))
            return false;
    return true;
}

/* Does a picture of bars have other numbers of that parameter? */
static bool varies_in_bars(const bench_rows *rows, const bench_row *row, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (same_bars(row, &rows->row[i]) &&
            !same_value(bench_row_find_parameter(row, name), bench_row_find_parameter(&rows->row[i], name)))
            return true;
    return false;
}

/* Words that vary in the scenario, or numbers that vary in the picture. */
static void add_some(char name[NAME_MAX_BYTES], const bench_rows *rows, const bench_row *row, bool words)
{
    for (unsigned i = 0; i < row->parameter_count; i++) {
        const bench_parameter *parameter = &row->parameter[i];
        char value[64];
        if ((parameter->word != NULL) != words ||
            !(words ? varies(rows, row, parameter->name) : varies_in_bars(rows, row, parameter->name)))
            continue;
        snprintf(value, sizeof value, "%s %.10g", parameter->name, parameter->number);
        append(name, ", ", words ? parameter->word : value);
    }
}

static void draw_bars(canvas *on, const bench_rows *rows, size_t first, const char *name)
{
    char file[NAME_MAX_BYTES] = "", title[NAME_MAX_BYTES] = "";
    append(file, rows->row[first].scenario, "-");
    append(file, name, "");
    add_some(file, rows, &rows->row[first], true);
    append(title, rows->row[first].scenario, ": ");
    append(title, name, "");
    add_some(title, rows, &rows->row[first], true);
    canvas_picture(on, file, title);
    canvas_bars(on, "bytes");
    for (size_t i = first; i < rows->count; i++) {
        const bench_row *row = &rows->row[i];
        const bench_measure *measure = bench_row_find_measure(row, name);
        char label[NAME_MAX_BYTES] = "";
        if (!measure || !same_bars(&rows->row[first], row))
            continue;
        append(label, row->subject, ", ");
        append(label, row->algorithm, "");
        add_some(label, rows, row, false);
        canvas_bar(on, label, measure->value);
    }
    canvas_done(on);
}

/* --- all --- */

static void draw(canvas *on, const bench_rows *rows, size_t at)
{
    const bench_row *row = &rows->row[at];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (takes_part(row, &lines[i]) && begins_lines(rows, at, &lines[i]))
            draw_lines(on, rows, at, &lines[i]);
    if (begins_curves(rows, at))
        draw_curves(on, rows, at);
    for (unsigned i = 0; i < row->measure_count; i++)
        if (is_bytes(&row->measure[i]) && begins_bars(rows, at, row->measure[i].name))
            draw_bars(on, rows, at, row->measure[i].name);
}

int bench_plot(const char *directory, const bench_rows *rows)
{
    canvas on;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "weir-bench: cannot make the directory %s: %s\n", directory, strerror(errno));
        return -1;
    }
    if (canvas_open(&on, directory) != 0)
        return -1;
    for (size_t at = 0; at < rows->count; at++)
        draw(&on, rows, at);
    return canvas_close(&on);
}
