/* weir-bench: scenarios in, tables, JSON and pictures out. All measuring is in the library under it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "report.h"

static void print_list(void)
{
    printf("Scenarios\n");
    for (const bench_scenario *const *at = bench_scenarios; *at; at++)
        printf("  %-15s %s\n", (*at)->name, (*at)->about);
    printf("\nSubjects\n");
    for (const bench_subject *const *at = bench_subjects; *at; at++)
        printf("  %-15s %s\n", (*at)->name, (*at)->about);
}

/* 0, or -1: the file cannot be written. */
static int write_json(const char *path, const bench_machine *machine, const bench_rows *rows)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdout : fopen(path, "w");
    int failed = !file || bench_report_json(file, machine, rows) != 0;
    failed |= file && !standard && fclose(file) != 0;
    if (failed)
        fprintf(stderr, "weir-bench: cannot write %s: %s\n", path, strerror(errno));
    return failed ? -1 : 0;
}

static uint64_t count_wrong(const bench_rows *rows)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < rows->count; i++)
        wrong += rows->row[i].wrong;
    return wrong;
}

/* Rows are shown when the scenario has ended; a reader at a terminal sees that it goes on. */
static void keep(void *rows, const bench_row *row)
{
    bench_rows_keep(rows, row);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s: %zu rows", row->scenario, ((bench_rows *)rows)->count);
}

static void wipe_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int measure(const bench_command *command)
{
    const bool tables = !command->json || strcmp(command->json, "-") != 0;
    const bench_machine machine = bench_machine_look();
    bench_rows all = {0};
    int failed = 0;
    if (tables)
        bench_report_machine(stdout, &machine);
    for (unsigned i = 0; i < command->scenario_count; i++) {
        const bench_sink sink = {keep, &all};
        const size_t before = all.count;
        failed += command->scenarios[i]->run(&command->options, &sink);
        wipe_progress();
        if (all.count == before) {
            fprintf(stderr, "weir-bench: %s: nothing was measured: no subject asked for can do what was asked for\n",
                    command->scenarios[i]->name);
            failed++;
        }
        const bench_rows new = {all.row + before, all.count - before, 0};
        if (tables)
            bench_report_table(stdout, &new);
        fflush(stdout);
    }
    failed += command->json && write_json(command->json, &machine, &all) != 0;
    failed += command->plot && bench_plot(command->plot, &all) < 0;
    if (count_wrong(&all) > 0) {
        fprintf(stderr, "weir-bench: subjects disagreed, or calls failed: see the rows that say so\n");
        failed++;
    }
    bench_rows_free(&all);
    return failed > 0;
}

/* Tables that did not arrive are no success. Runs at exit, so that --help is covered too. */
static void close_output(void)
{
    const int failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout) == 0 && !failed)
        return;
    fprintf(stderr, "weir-bench: cannot write to standard output: %s\n", errno ? strerror(errno) : "write error");
    _exit(1);
}

int main(int argc, char **argv)
{
    static char called[] = "weir-bench"; /* in messages, wherever it lies */
    bench_command command;
    if (argc > 0)
        argv[0] = called;
    signal(SIGPIPE, SIG_IGN); /* a write fails instead, which is told */
    atexit(close_output);
    bench_options_parse(&command, argc, argv);
    if (command.list) {
        print_list();
        return 0;
    }
    return measure(&command);
}
