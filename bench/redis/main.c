/*
 * weir-bench-redis: what a decision over Redis costs, beside the floor of a round trip and what one would write without
 * weir. It starts a redis-server of its own, and speaks to no other.
 *
 * SPDX-License-Identifier: MIT
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../report.h"
#include "match.h"

typedef struct command {
    double seconds;
    const char *json;
} command;

static const char doc[] =
    "Measures what a decision over Redis costs: beside an EVALSHA of an empty script (the floor of a round trip), "
    "beside INCR and EXPIRE, in batches, from event loops, and with refusals remembered. Starts a redis-server of its "
    "own.\v"
    "Sides are measured in rounds, in turn, and medians of the rounds are told, with their quartiles. Exit status: 0; "
    "1 where a measurement failed; 2 for wrong usage.";

static const struct argp_option options_table[] = {
    {"seconds", 's', "N", 0, "Measure for so long for each row (default 0.5)", 0},
    {"json", 'j', "FILE", 0, "Write everything into FILE as JSON too", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    command *of = state->input;
    char *end;
    switch (key) {
    case 'j': of->json = text; return 0;
    case 's':
        of->seconds = strtod(text, &end);
        if (*text == '\0' || *end != '\0' || !(of->seconds > 0 && of->seconds <= 3600))
            argp_error(state, "--seconds %s: it is no number above 0 and up to 3600", text);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- what is measured --- */

#define RULE(kind, most, window, parts) \
    {.algorithm = (kind), .limit = (most), .window_ns = (window), .buckets = (parts), .meter = WEIR_PER_REQUEST}

enum { SEVEN = 7 };

static const bench_side decided[SEVEN] = {
    {.subject = "empty script", .algorithm = "-", .calls = "-", .way = &bench_by_empty_script, .batch = 1},
    {.subject = "INCR+EXPIRE", .algorithm = "-", .calls = "-", .way = &bench_by_incr, .batch = 1},
    {.subject = "weir", .algorithm = "counter", .calls = "accepted", .way = &bench_by_weir, .batch = 1,
     .rule = RULE(WEIR_COUNTER, INT32_MAX, 60 * WEIR_SECOND, 0)},
    {.subject = "weir", .algorithm = "counter", .calls = "refused", .way = &bench_by_weir, .batch = 1,
     .rule = RULE(WEIR_COUNTER, 100, WEIR_DAY, 0)},
    {.subject = "weir", .algorithm = "log", .calls = "accepted", .way = &bench_by_weir, .batch = 1,
     .rule = RULE(WEIR_LOG, INT32_MAX, WEIR_MILLISECOND, 0), .window_calls = 100},
    {.subject = "weir", .algorithm = "log", .calls = "refused", .way = &bench_by_weir, .batch = 1,
     .rule = RULE(WEIR_LOG, 100, WEIR_DAY, 0)},
    {.subject = "weir", .algorithm = "buckets", .calls = "accepted", .way = &bench_by_weir, .batch = 1,
     .rule = RULE(WEIR_BUCKETS, INT32_MAX, WEIR_MILLISECOND, 60), .window_calls = 600},
};

typedef struct bench {
    const command *command;
    struct redis_server server;
    bench_rows rows;
} bench;

/* Prints what it measures. */
static void measure(bench *of, const char *scenario, const bench_side *sides, unsigned count, unsigned threads)
{
    const bench_match match = {scenario, &of->server, sides, count, threads, of->command->seconds};
    const bench_sink sink = {bench_rows_keep, &of->rows};
    const size_t before = of->rows.count;
    bench_match_run(&match, &sink);
    const bench_rows new = {of->rows.row + before, of->rows.count - before, 0};
    bench_report_table(stdout, &new);
    fflush(stdout);
}

static void measure_decisions(bench *of)
{
    for (unsigned threads = 1; threads <= 8; threads *= 2)
        measure(of, "decision", decided, SEVEN, threads);
}

static void measure_tcp(bench *of)
{
    bench_side sides[SEVEN];
    for (unsigned i = 0; i < SEVEN; i++) {
        sides[i] = decided[i];
        sides[i].tcp = true;
    }
    measure(of, "over TCP", sides, SEVEN, 1);
}

static void measure_batches(bench *of)
{
    enum { SIZES = 7 };
    bench_side sides[SIZES];
    for (unsigned i = 0; i < SIZES; i++) {
        sides[i] = decided[2];
        sides[i].batch = 1u << i;
    }
    measure(of, "batch over Redis", sides, SIZES, 1);
}

/* The blocking client beside loops with more and more calls under way. */
static void measure_loops(bench *of, unsigned threads)
{
    enum { SIZES = 5 };
    static const unsigned in_flight[SIZES] = {1, 1, 8, 64, 256};
    bench_side sides[SIZES];
    for (unsigned i = 0; i < SIZES; i++) {
        sides[i] = decided[2];
        sides[i].in_flight = in_flight[i];
        if (i > 0) {
            sides[i].subject = "weir, event loop";
            sides[i].way = &bench_by_loop;
        }
    }
    measure(of, "event loop", sides, SIZES, threads);
}

/* A client that goes on asking though it is refused. */
static void measure_hammering(bench *of)
{
    bench_side sides[2] = {decided[5], decided[5]};
    sides[1].remember_ns = WEIR_SECOND;
    measure(of, "hammering", sides, 2, 1);
}

/* What redis-benchmark, which comes with the server, tells of the same empty script. */
static void measure_by_theirs(bench *of, bool tcp)
{
    char order[256], line[256], *rate = NULL;
    redisContext *link = redis_server_connect(&of->server);
    redisReply *loaded = redis_server_ask(link, "SCRIPT LOAD %s", "");
    snprintf(order, sizeof order, "redis-benchmark %s %.100s -n 20000 -c 1 --csv EVALSHA %s 1 k 2>&1",
             tcp ? "-h 127.0.0.1 -p" : "-s", of->server.socket, loaded->str);
    if (tcp)
        snprintf(order, sizeof order, "redis-benchmark -h 127.0.0.1 -p %u -n 20000 -c 1 --csv EVALSHA %s 1 k 2>&1",
                 (unsigned)of->server.port, loaded->str);
    freeReplyObject(loaded);
    redisFree(link);
    FILE *theirs = popen(order, "r");
    while (theirs && fgets(line, sizeof line, theirs))
        if (strncmp(line, "\"EVALSHA", 8) == 0 && (rate = strstr(line, "\",\"")))
            break;
    const double found = rate ? strtod(rate + 3, NULL) : 0;
    if (!theirs || pclose(theirs) != 0 || found <= 0) {
        fprintf(stderr, "weir-bench-redis: redis-benchmark told nothing\n");
        return;
    }
    bench_row row = bench_row_for("redis-benchmark", "empty script", "-");
    bench_row_word(&row, "over", tcp ? "TCP" : "unix socket");
    bench_row_measure(&row, "rate", "1/s", bench_once(found));
    bench_rows_keep(&of->rows, &row);
    printf("\nredis-benchmark, over %s: %.0f empty scripts a second by one client\n", tcp ? "TCP" : "a unix socket",
           found);
}

static int finish(bench *of, const bench_machine *machine)
{
    uint64_t wrong = 0;
    FILE *file = of->command->json ? fopen(of->command->json, "w") : NULL;
    for (size_t i = 0; i < of->rows.count; i++)
        wrong += of->rows.row[i].wrong;
    if (wrong > 0)
        fprintf(stderr, "weir-bench-redis: calls failed, or were answered otherwise than they must be\n");
    if (of->command->json && (!file || bench_report_json(file, machine, &of->rows) != 0 || fclose(file) != 0)) {
        fprintf(stderr, "weir-bench-redis: cannot write %s: %s\n", of->command->json, strerror(errno));
        wrong++;
    }
    bench_rows_free(&of->rows);
    redis_server_stop(&of->server);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options_table, parse, NULL, doc, NULL, NULL, NULL};
    static bench of;
    command given = {.seconds = 0.5};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &given) != 0)
        return 2;
    if (redis_server_missing()) {
        fprintf(stderr, "weir-bench-redis: %s\n", redis_server_missing());
        return 1;
    }
    const bench_machine machine = bench_machine_look();
    of.command = &given;
    redis_server_start(&of.server, NULL);
    bench_report_machine(stdout, &machine);
    measure_by_theirs(&of, false);
    measure_decisions(&of);
    measure_by_theirs(&of, true);
    measure_tcp(&of);
    measure_batches(&of);
    measure_loops(&of, 1);
    measure_loops(&of, 2);
    measure_hammering(&of);
    return finish(&of, &machine);
}
