#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "report.h"

static json_t *made(json_t *value)
{
    return bench_must(value);
}

/* Both take over `value`. */
static void set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, made(value)) != 0)
        bench_fail("out of memory");
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, made(value)) != 0)
        bench_fail("out of memory");
}

/* JSON has no word for what is no number. */
static json_t *real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *machine_object(const bench_machine *machine)
{
    json_t *object = made(json_object());
    set(object, "cpu", json_string(machine->cpu));
    set(object, "cores", json_integer(machine->cores));
    set(object, "arch", json_string(machine->arch));
    set(object, "kernel", json_string(machine->kernel));
    set(object, "clocksource", json_string(machine->clocksource));
    set(object, "huge_pages", json_string(machine->huge_pages));
    set(object, "compiler", json_string(machine->compiler));
    set(object, "flags", json_string(machine->flags));
    set(object, "buildtype", json_string(machine->buildtype));
    set(object, "version", json_string(machine->version));
    set(object, "commit", json_string(machine->commit));
    set(object, "time", json_string(machine->time));
    set(object, "load", real(machine->load));
    set(object, "timer_ns", real(machine->timer_ns));
    return object;
}

static json_t *parameters_object(const bench_row *row)
{
    json_t *object = made(json_object());
    for (unsigned i = 0; i < row->parameter_count; i++) {
        const bench_parameter *parameter = &row->parameter[i];
        set(object, parameter->name, parameter->word ? json_string(parameter->word) : real(parameter->number));
    }
    return object;
}

static json_t *measures_object(const bench_row *row)
{
    json_t *object = made(json_object());
    for (unsigned i = 0; i < row->measure_count; i++) {
        const bench_measure *measure = &row->measure[i];
        json_t *value = made(json_object());
        set(value, "unit", json_string(measure->unit));
        set(value, "median", real(measure->value.median));
        set(value, "low", real(measure->value.low));
        set(value, "high", real(measure->value.high));
        set(value, "rounds", json_integer(measure->value.rounds));
        set(object, measure->name, value);
    }
    return object;
}

static json_t *curve_array(const bench_row *row)
{
    json_t *array = made(json_array());
    for (unsigned i = 0; i < row->point_count; i++) {
        json_t *point = made(json_array());
        append(point, real(row->point[i].share));
        append(point, real(row->point[i].ns));
        append(array, point);
    }
    return array;
}

static json_t *row_object(const bench_row *row)
{
    json_t *object = made(json_object());
    set(object, "scenario", json_string(row->scenario));
    set(object, "subject", json_string(row->subject));
    set(object, "algorithm", json_string(row->algorithm));
    set(object, "parameters", parameters_object(row));
    set(object, "measures", measures_object(row));
    if (row->point_count > 0)
        set(object, "latency", curve_array(row));
    if (row->note)
        set(object, "note", json_string(row->note));
    set(object, "wrong", json_integer((json_int_t)row->wrong));
    return object;
}

int bench_report_json(FILE *to, const bench_machine *machine, const bench_rows *rows)
{
    json_t *root = made(json_object()), *array = made(json_array());
    for (size_t i = 0; i < rows->count; i++)
        append(array, row_object(&rows->row[i]));
    set(root, "machine", machine_object(machine));
    set(root, "rows", array);
    errno = 0;
    const int failed = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(8)) != 0 || fputc('\n', to) == EOF;
    json_decref(root);
    return failed ? -1 : 0;
}
