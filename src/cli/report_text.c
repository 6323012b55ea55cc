#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "say.h"
#include "times.h"

#define CELL 40

enum { NAME, ACCEPTED, REFUSED, SHARE, KEYS, BYTES, SPEED, COLUMNS };

typedef char row[COLUMNS][CELL];

static const char *shown_key(char out[WEIRI_SHOWN_ROOM], const weiri_key *key)
{
    return key->len > 0 ? weiri_show(out, key->bytes, key->len) : "(no key)";
}

/* "1 key", "2 keys" */
static void counted(const char *before, uint64_t number, const char *one, const char *many)
{
    char cell[CELL];

    printf("%s%s %s", before, weiri_thousands(cell, number), number == 1 ? one : many);
}

/* From the earliest to the latest: the records need not be in order. */
static void print_span(const weiri_records *records)
{
    char from[WEIRI_TIME_ROOM], to[WEIRI_TIME_ROOM];
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = 0; i < records->count; i++) {
        uint64_t time = records->record[i].time;
        first = time < first ? time : first;
        last = time > last ? time : last;
    }
    if (records->count > 0)
        printf("from %s to %s\n", weiri_time_show(from, first), weiri_time_show(to, last));
}

static void print_head(const weiri_report *report)
{
    const weiri_options *options = report->options;

    counted("", report->records->count, "record", "records");
    counted(", ", report->records->keys, "key", "keys");
    counted(", ", report->malformed, "malformed line", "malformed lines");
    counted(", ", report->records->late, "out of order", "out of order");
    printf("%s\n", report->records->late == 0 ? "" : options->sort ? " (sorted)" : " (replayed as they stand)");
    print_span(report->records);
    printf("limit");
    for (size_t i = 0; i < options->rule_count; i++)
        printf("%s %s", i > 0 ? "," : "", options->rules[i].name);
    printf(" for each key\n");
}

static uint64_t per_second(uint64_t calls, uint64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (uint64_t)((double)calls * 1e9 / (double)elapsed_ns) : 0;
}

static void print_rows(row *rows, size_t count, int columns)
{
    int width[COLUMNS] = {0};

    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < columns; c++)
            width[c] = (int)strlen(rows[i][c]) > width[c] ? (int)strlen(rows[i][c]) : width[c];
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        printf("%-*s", width[NAME], rows[i][NAME]);
        for (int c = NAME + 1; c < columns; c++)
            printf("  %*s", width[c], rows[i][c]);
        putchar('\n');
    }
}

static void fill_row(row cells, const weiri_run *run)
{
    uint64_t calls = run->accepted + run->refused;

    strcpy(cells[NAME], run->choice.name);
    weiri_thousands(cells[ACCEPTED], run->accepted);
    weiri_thousands(cells[REFUSED], run->refused);
    snprintf(cells[SHARE], CELL, "%.2f%%", calls > 0 ? 100.0 * (double)run->refused / (double)calls : 0.0);
    weiri_thousands(cells[KEYS], run->keys_refused);
    weiri_thousands(cells[BYTES], run->bytes);
    weiri_thousands(cells[SPEED], per_second(calls, run->elapsed_ns));
}

static void print_table(const weiri_report *report)
{
    row *rows = weiri_resize(NULL, report->run_count + 1, sizeof *rows);
    static const row head = {"algorithm",    "accepted",      "refused",    "share",
                             "keys refused", "memory, bytes", "decisions/s"};

    memcpy(rows[0], head, sizeof head);
    for (size_t i = 0; i < report->run_count; i++)
        fill_row(rows[i + 1], &report->runs[i]);
    print_rows(rows, report->run_count + 1, COLUMNS);
    free(rows);
}

enum { REMOTE_ACCEPTED = 1, REMOTE_REFUSED, DIFFERING, ROUND_TRIPS, REMOTE_SPEED, REMOTE_COLUMNS };

static void fill_remote_row(row cells, const weiri_run *run)
{
    const weiri_remote *remote = &run->remote;
    uint64_t calls = run->accepted + run->refused;

    strcpy(cells[NAME], run->choice.name);
    weiri_thousands(cells[REMOTE_ACCEPTED], remote->accepted);
    weiri_thousands(cells[REMOTE_REFUSED], calls - remote->accepted);
    weiri_thousands(cells[DIFFERING], remote->differing);
    weiri_thousands(cells[ROUND_TRIPS], remote->round_trips);
    weiri_thousands(cells[REMOTE_SPEED], per_second(calls, remote->elapsed_ns));
}

/* What a server answered to the same calls, where one was asked. */
static void print_remote(const weiri_report *report)
{
    row *rows = weiri_resize(NULL, report->run_count + 1, sizeof *rows);
    static const row head = {"over Redis", "accepted", "refused", "differing", "round trips", "decisions/s"};

    memcpy(rows[0], head, sizeof head);
    for (size_t i = 0; i < report->run_count; i++)
        fill_remote_row(rows[i + 1], &report->runs[i]);
    print_rows(rows, report->run_count + 1, REMOTE_COLUMNS);
    free(rows);
}

static void print_disagreements(const weiri_records *records, const weiri_run *run)
{
    char times[WEIRI_DISAGREEMENTS_SHOWN][WEIRI_TIME_ROOM], key[WEIRI_SHOWN_ROOM];
    int width = 0, name_width = (int)strlen(run->choice.name);

    if (name_width < (int)strlen("accepted by"))
        name_width = (int)strlen("accepted by");
    for (size_t i = 0; i < run->disagreements; i++) {
        int len = (int)strlen(weiri_time_show(times[i], records->record[run->disagreement[i]].time));
        width = len > width ? len : width;
    }
    printf("  %-*s  %-*s  key\n", width, "time", name_width, "accepted by");
    for (size_t i = 0; i < run->disagreements; i++) {
        uint32_t index = run->disagreement[i];
        printf("  %-*s  %-*s  %s\n", width, times[i], name_width,
               weiri_run_accepted(run, index) ? run->choice.name : "log",
               shown_key(key, &records->key[records->record[index].key]));
    }
}

static void print_comparison(const weiri_records *records, const weiri_run *run)
{
    uint64_t all = run->only_log + run->only_this;
    char cell[CELL];

    printf("\n%s against the log: ", run->choice.name);
    if (all == 0) {
        printf("no call is answered differently\n");
        return;
    }
    printf("%s accepted by the log alone, ", weiri_thousands(cell, run->only_log));
    printf("%s by %s alone", weiri_thousands(cell, run->only_this), run->choice.name);
    if (all > run->disagreements)
        printf("; the first %zu:\n", run->disagreements);
    else
        printf(":\n");
    print_disagreements(records, run);
}

static void print_top(const weiri_report *report)
{
    char key[WEIRI_SHOWN_ROOM], cell[CELL];
    size_t found;
    uint32_t *top = weiri_run_top(report->judge, report->records, report->options->top, &found);
    int width = 0;

    if (found > 0) {
        printf("\nrefused most by %s%s\n", report->judge->choice.algorithm == WEIR_LOG ? "the " : "",
               report->judge->choice.name);
        width = (int)strlen(weiri_thousands(cell, report->judge->refused_of[top[0]]));
    }
    for (size_t i = 0; i < found; i++)
        printf("  %*s  %s\n", width, weiri_thousands(cell, report->judge->refused_of[top[i]]),
               shown_key(key, &report->records->key[top[i]]));
    if (found > 0 && report->judge->keys_refused > found)
        counted("  and ", report->judge->keys_refused - found, "other key\n", "other keys\n");
    free(top);
}

void weiri_report_text(const weiri_report *report)
{
    print_head(report);
    if (report->records->count == 0)
        return;
    print_table(report);
    if (report->options->redis)
        print_remote(report);
    for (size_t i = 0; i < report->run_count; i++)
        if (report->runs[i].compared)
            print_comparison(report->records, &report->runs[i]);
    print_top(report);
}
