#include <stdlib.h>
#include <string.h>

#include "report.h"

void bench_rows_keep(void *argument, const bench_row *row)
{
    bench_rows *rows = argument;
    if (rows->count == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 64;
        rows->row = bench_must(reallocarray(rows->row, rows->room, sizeof *rows->row));
    }
    rows->row[rows->count++] = *row;
}

void bench_rows_free(bench_rows *rows)
{
    free(rows->row);
    *rows = (bench_rows){0};
}

void bench_report_machine(FILE *to, const bench_machine *machine)
{
    fprintf(to, "weir      %s, commit %s\n", machine->version, machine->commit);
    fprintf(to, "machine   %s, %ld cores, %s\n", machine->cpu, machine->cores, machine->arch);
    fprintf(to, "kernel    %s, clock source %s, huge pages: %s\n", machine->kernel, machine->clocksource,
            machine->huge_pages);
    fprintf(to, "compiler  %s, %s (%s)\n", machine->compiler, machine->flags, machine->buildtype);
    fprintf(to, "timer     %.1f ns are in every time of a single call\n", machine->timer_ns);
    fprintf(to, "load      %.2f%s\n", machine->load,
            machine->load > 0.5 ? ": the machine is busy, and the figures are worse for it" : "");
}

/* --- cells --- */

enum { CELL = 64 };

static void format_number(double number, char text[CELL])
{
    if (number >= 1e6 && number < 1e15 && number == (double)(uint64_t)(number / 1e6) * 1e6)
        snprintf(text, CELL, "%.0fM", number / 1e6);
    else
        snprintf(text, CELL, "%.10g", number);
}

static void format_parameter(const bench_parameter *parameter, char text[CELL])
{
    if (parameter->word)
        snprintf(text, CELL, "%s", parameter->word);
    else
        format_number(parameter->number, text);
}

/* Three digits or so, and thousands and millions of what is large. */
static int short_number(double value, char *text, size_t size)
{
    const double up = value < 0 ? -value : value;
    const char *suffix = up >= 1e9 ? "G" : up >= 1e6 ? "M" : up >= 1e5 ? "k" : "";
    const double scaled = up >= 1e9 ? value / 1e9 : up >= 1e6 ? value / 1e6 : up >= 1e5 ? value / 1e3 : value;
    const double size_of = scaled < 0 ? -scaled : scaled;
    return snprintf(text, size, "%.*f%s", size_of >= 100 ? 0 : size_of >= 10 ? 1 : 2, scaled, suffix);
}

static void format_measure(const bench_measure *measure, char text[CELL])
{
    const bench_summary value = measure->value;
    int at = short_number(value.median, text, CELL);
    if (value.rounds < 2)
        return;
    at += snprintf(text + at, CELL - (size_t)at, " (");
    at += short_number(value.low, text + at, CELL - (size_t)at);
    at += snprintf(text + at, CELL - (size_t)at, "-");
    at += short_number(value.high, text + at, CELL - (size_t)at);
    snprintf(text + at, CELL - (size_t)at, ")");
}

/* --- tables --- */

static bool same_columns(const bench_row *a, const bench_row *b)
{
    if (strcmp(a->scenario, b->scenario) != 0 || a->parameter_count != b->parameter_count)
        return false;
    for (unsigned i = 0; i < a->parameter_count; i++)
        if (strcmp(a->parameter[i].name, b->parameter[i].name) != 0)
            return false;
    return true;
}

static bool same_value(const bench_parameter *a, const bench_parameter *b)
{
    return a->word && b->word ? strcmp(a->word, b->word) == 0 : a->word == b->word && a->number == b->number;
}

/* The rows of a table, and which of its parameters are the same in all of them: told once, above. */
typedef struct table {
    const bench_row *row;
    size_t count;
    bool same[BENCH_PARAMETERS_MAX];
    bool same_algorithm;
    unsigned measure_count;
    const char *measure[2 * BENCH_MEASURES_MAX]; /* of any row */
} table;

static void add_measures(table *made, const bench_row *row)
{
    for (unsigned i = 0; i < row->measure_count; i++) {
        unsigned at = 0;
        while (at < made->measure_count && strcmp(made->measure[at], row->measure[i].name) != 0)
            at++;
        if (at == made->measure_count && at < 2 * BENCH_MEASURES_MAX)
            made->measure[made->measure_count++] = row->measure[i].name;
    }
}

static table table_of(const bench_row *row, size_t count)
{
    table made = {.row = row, .same_algorithm = true};
    for (unsigned i = 0; i < row->parameter_count; i++)
        made.same[i] = true;
    while (made.count < count && same_columns(row, &row[made.count])) {
        const bench_row *next = &row[made.count++];
        add_measures(&made, next);
        made.same_algorithm &= strcmp(next->algorithm, row->algorithm) == 0;
        for (unsigned i = 0; i < row->parameter_count; i++)
            made.same[i] &= same_value(&row->parameter[i], &next->parameter[i]);
    }
    return made;
}

static void print_title(FILE *to, const table *of)
{
    char text[CELL];
    fprintf(to, "\n%s", of->row->scenario);
    if (of->same_algorithm)
        fprintf(to, ", %s", of->row->algorithm);
    for (unsigned i = 0; i < of->row->parameter_count; i++) {
        if (!of->same[i])
            continue;
        format_parameter(&of->row->parameter[i], text);
        fprintf(to, ", %s: %s", of->row->parameter[i].name, text);
    }
    fprintf(to, "\n");
}

/* What stands in a column: names, parameters that differ, measures; false behind the last. `row` NULL: the heading. */
static bool cell(const table *of, unsigned column, const bench_row *row, char text[CELL])
{
    const bench_row *first = of->row;
    if (column == 0)
        return snprintf(text, CELL, "%s", row ? row->subject : "subject") >= 0;
    column--;
    if (!of->same_algorithm && column-- == 0)
        return snprintf(text, CELL, "%s", row ? row->algorithm : "algorithm") >= 0;
    for (unsigned i = 0; i < first->parameter_count; i++) {
        if (of->same[i] || column-- > 0)
            continue;
        if (row)
            format_parameter(&row->parameter[i], text);
        else
            snprintf(text, CELL, "%s", first->parameter[i].name);
        return true;
    }
    if (column >= of->measure_count)
        return false;
    const bench_measure *measure = row ? bench_row_find_measure(row, of->measure[column]) : NULL;
    snprintf(text, CELL, "%s", row ? "-" : of->measure[column]);
    if (measure)
        format_measure(measure, text);
    return true;
}

static int width_of(const table *of, unsigned column)
{
    char text[CELL];
    if (!cell(of, column, NULL, text))
        return -1;
    size_t width = strlen(text);
    for (size_t i = 0; i < of->count; i++) {
        cell(of, column, &of->row[i], text);
        width = strlen(text) > width ? strlen(text) : width;
    }
    return (int)width;
}

static void print_line(FILE *to, const table *of, const bench_row *row)
{
    char text[CELL];
    for (unsigned column = 0; cell(of, column, row, text); column++)
        fprintf(to, column == 0 ? "  %-*s" : "  %*s", width_of(of, column), text);
    if (row && row->wrong > 0)
        fprintf(to, "  WRONG: in %llu rounds", (unsigned long long)row->wrong);
    if (row && row->note)
        fprintf(to, "  %s", row->note);
    fprintf(to, "\n");
}

void bench_report_table(FILE *to, const bench_rows *rows)
{
    for (size_t at = 0; at < rows->count;) {
        const table one = table_of(&rows->row[at], rows->count - at);
        print_title(to, &one);
        print_line(to, &one, NULL);
        for (size_t i = 0; i < one.count; i++)
            print_line(to, &one, &one.row[i]);
        at += one.count;
    }
}
