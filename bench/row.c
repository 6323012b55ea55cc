#include "row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/types.h>

bench_row bench_row_for(const char *scenario, const char *subject, const char *algorithm)
{
    return (bench_row){.scenario = scenario, .subject = subject, .algorithm = algorithm};
}

static void add_parameter(bench_row *row, bench_parameter parameter)
{
    if (row->parameter_count == BENCH_PARAMETERS_MAX)
        bench_fail("a row has more parameters than there is room for");
    row->parameter[row->parameter_count++] = parameter;
}

void bench_row_word(bench_row *row, const char *name, const char *word)
{
    add_parameter(row, (bench_parameter){name, word, 0});
}

void bench_row_number(bench_row *row, const char *name, double number)
{
    add_parameter(row, (bench_parameter){name, NULL, number});
}

void bench_row_measure(bench_row *row, const char *name, const char *unit, bench_summary value)
{
    if (row->measure_count == BENCH_MEASURES_MAX)
        bench_fail("a row has more measures than there is room for");
    row->measure[row->measure_count++] = (bench_measure){name, unit, value};
}

void bench_row_latency(bench_row *row, const bench_histogram *ticks)
{
    static const struct {
        const char *name;
        double share;
    } told[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}, {"max", 1}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        bench_row_measure(row, told[i].name, "ns",
                          bench_once((double)bench_histogram_quantile(ticks, told[i].share) * bench_tick_ns()));
    bench_row_curve(row, ticks);
}

void bench_row_curve(bench_row *row, const bench_histogram *ticks)
{
    static const double shares[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999,
                                    0.9995, 0.9998, 0.9999, 0.99995, 0.99999, 0.999999, 1};
    _Static_assert(sizeof shares / sizeof *shares == BENCH_CURVE_POINTS, "one point for each");
    const double ns = bench_tick_ns();
    row->point_count = BENCH_CURVE_POINTS;
    for (unsigned i = 0; i < BENCH_CURVE_POINTS; i++)
        row->point[i] = (bench_point){shares[i], (double)bench_histogram_quantile(ticks, shares[i]) * ns};
}

const bench_parameter *bench_row_find_parameter(const bench_row *row, const char *name)
{
    for (unsigned i = 0; i < row->parameter_count; i++)
        if (strcmp(row->parameter[i].name, name) == 0)
            return &row->parameter[i];
    return NULL;
}

const bench_measure *bench_row_find_measure(const bench_row *row, const char *name)
{
    for (unsigned i = 0; i < row->measure_count; i++)
        if (strcmp(row->measure[i].name, name) == 0)
            return &row->measure[i];
    return NULL;
}

const char *bench_algorithm_name(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? "log" : algorithm == WEIR_COUNTER ? "counter" : "buckets";
}

void bench_fail(const char *what)
{
    fprintf(stderr, "weir-bench: %s\n", what);
    exit(1);
}

void *bench_must(void *memory)
{
    if (!memory)
        bench_fail("out of memory");
    return memory;
}
