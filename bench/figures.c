/* weir-figures: what weir costs on this machine, as tables for people. Nothing is asserted. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "memory.h"
#include "speed.h"

enum {
    DEFAULT_SECONDS = 120,
    KEYS = 1000000,
    OCTAVE_KEYS = 700000,
    RING_KEYS = 2000,
    RING_LIMIT = 1000,
    DOC_KEYS = 50000,
    DOC_LIMIT = 1000
};

static int failures;

/* --- time --- */

enum { SPEED_TABLES = 4, HOT_TABLES = 2 };

/* When all is to be over, and the rows that are to come. */
static double deadline;
static unsigned rows_left = SPEED_TABLES * BENCH_SPEED_ROWS + HOT_TABLES * BENCH_HOT_ROWS;

/* Seconds for each of the next `rows`: an equal share of what is left, less what making their tables takes. */
static double share_for(unsigned rows)
{
    double left = (deadline - bench_wall_ns()) * 1e-9, share = left > 0 ? 0.75 * left / rows_left : 0;
    rows_left -= rows;
    return share;
}

/* --- machine --- */

/* The value of the first line of a file that begins with `name`; "unknown". */
static void find_value(const char *path, const char *name, char *value, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    snprintf(value, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        const char *colon = strchr(line, ':');
        const char *start = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
        snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
        break;
    }
    if (file)
        fclose(file);
}

static void print_machine(void)
{
    char cpu[256], pages[256];
    struct utsname system;
    double load = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    find_value("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    find_value("/sys/kernel/mm/transparent_hugepage/enabled", "", pages, sizeof pages);
    if (uname(&system) != 0)
        memset(&system, 0, sizeof system);
    printf("weir      %s\n", weir_version());
    printf("machine   %s, %ld cores, %s\n", cpu, cores, system.machine);
    printf("kernel    %s %s, huge pages: %s\n", system.sysname, system.release, pages);
    printf("compiler  %s, %s (%s)\n", BENCH_COMPILER, BENCH_FLAGS, BENCH_BUILDTYPE);
    if (getloadavg(&load, 1) == 1)
        printf("load      %.2f%s\n", load,
               load > 0.5 ? ": the machine is busy, and the figures are worse for it" : "");
}

/* --- memory --- */

static void print_growth(size_t key_len)
{
    bench_growth growth;
    const bench_growth_parameters parameters = {OCTAVE_KEYS, key_len};
    if (bench_measure_growth(&parameters, &growth) != 0) {
        failures++;
        return;
    }
    printf("counter, %2zu-byte keys, bytes a key          %8.1f (%.1f-%.1f)  %8.1f (%.1f-%.1f)      72\n", key_len,
           growth.mean.bytes, growth.least.bytes, growth.most.bytes, growth.mean.resident, growth.least.resident,
           growth.most.resident);
}

static void print_ring(const char *when, bench_memory memory)
{
    printf("log, %-22s bytes a record     %8.2f               %8.2f                     9\n", when, memory.bytes,
           memory.resident);
}

static void print_rings(void)
{
    bench_rings rings;
    const bench_rings_parameters parameters = {RING_KEYS, RING_LIMIT, 3, 1};
    if (bench_measure_rings(&parameters, &rings) != 0) {
        failures++;
        return;
    }
    print_ring("first fill,", rings.filled);
    print_ring("steady traffic,", rings.steady);
    if (rings.wrong) {
        printf("  wrong: %d calls were not answered as they should be\n", rings.wrong);
        failures++;
    }
}

static void print_memory(void)
{
    printf("\nMemory                                        by weir_stats           resident              target\n");
    print_growth(8);
    print_growth(16);
    print_rings();
    printf("  A counter's figures are means over %d sizes from %d keys to twice as many (least-most).\n", BENCH_SIZES,
           OCTAVE_KEYS);
    printf("  A log's are beyond 192 bytes a key: %d keys, each at its limit of %d calls, at random phases.\n",
           RING_KEYS, RING_LIMIT);
}

static void print_full_row(const char *name, weir_rule rule)
{
    bench_full full;
    const bench_full_parameters parameters = {rule, DOC_KEYS};
    if (bench_measure_full(&parameters, &full) != 0) {
        failures++;
        return;
    }
    printf("%-14s %15.0f %10.1f %18.0f %10.1f\n", name, full.all.bytes, full.all.bytes / DOC_KEYS, full.all.resident,
           full.all.resident / DOC_KEYS);
    if (full.wrong) {
        printf("  wrong: %d calls were not answered as they should be\n", full.wrong);
        failures++;
    }
}

static void print_full(void)
{
    weir_rule rule = {.limit = DOC_LIMIT, .window_ns = WEIR_MINUTE, .meter = WEIR_PER_REQUEST};
    printf("\n%d keys, each with its whole limit of %d used\n", DOC_KEYS, DOC_LIMIT);
    printf("                 bytes by stats      a key     bytes resident      a key\n");
    rule.algorithm = WEIR_COUNTER;
    print_full_row("counter", rule);
    rule.algorithm = WEIR_BUCKETS;
    rule.buckets = 60;
    print_full_row("buckets:60", rule);
    rule.algorithm = WEIR_LOG;
    rule.buckets = 0;
    print_full_row("log", rule);
}

/* --- speed --- */

static const char *name_of(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? "log" : "counter";
}

static void print_summary(bench_summary summary)
{
    printf("  %7.1f (%6.1f-%6.1f)", summary.median, summary.low, summary.high);
}

static void print_speed(uint32_t algorithm, size_t key_len)
{
    bench_speed speed;
    const bench_speed_parameters parameters = {algorithm, key_len, KEYS, share_for(BENCH_SPEED_ROWS)};
    if (bench_measure_speed(&parameters, &speed) != 0) {
        failures++;
        return;
    }
    for (unsigned i = 0; i < BENCH_SPEED_ROWS; i++) {
        const bench_speed_row *row = &speed.row[i];
        printf("%-8s %2zu bytes  %-8s  %-8s", name_of(algorithm), key_len, row->whole ? "decision" : "verdict",
               row->refused ? "refused" : "accepted");
        print_summary(row->side[BENCH_WEIR]);
        print_summary(row->side[BENCH_SHARDED]);
        printf("  %5.2f  %s\n", row->side[BENCH_WEIR].median / row->side[BENCH_SHARDED].median,
               algorithm == WEIR_COUNTER && !row->whole ? "0.50" : "");
        if (row->share < 0.999)
            printf("  only %.1f%% of these calls were %s\n", 100 * row->share, row->refused ? "refused" : "accepted");
        if (row->wrong) {
            printf("  wrong: the two disagreed in %d rounds\n", row->wrong);
            failures++;
        }
    }
    fflush(stdout);
}

static void print_speeds(void)
{
    printf("\nOne weir_take, %d keys picked at random, one thread: ns, median of rounds (quartiles)\n", KEYS);
    printf("         key       answer    call               weir                   mutex            ratio  target\n");
    print_speed(WEIR_COUNTER, 8);
    print_speed(WEIR_COUNTER, 36);
    print_speed(WEIR_LOG, 8);
    print_speed(WEIR_LOG, 36);
    printf("  mutex: 64 shards, each a mutex and a hash table (uthash), with the same hash of the key. Rounds of\n"
           "  the two alternate. Processor time of the thread.\n");
}

static void print_hot_side(const char *side, uint32_t algorithm, bool refused, bench_summary one, bench_summary two)
{
    printf("%-8s %-8s  %-6s", name_of(algorithm), refused ? "refused" : "accepted", side);
    print_summary(one);
    print_summary(two);
    printf("  %5.2f\n", one.median / two.median);
}

static void print_hot(uint32_t algorithm)
{
    bench_hot hot;
    const bench_hot_parameters parameters = {algorithm, share_for(BENCH_HOT_ROWS)};
    if (bench_measure_hot(&parameters, &hot) != 0) {
        failures++;
        return;
    }
    for (unsigned i = 0; i < BENCH_HOT_ROWS; i++) {
        const bench_hot_row *row = &hot.row[i];
        print_hot_side("weir", algorithm, row->refused, row->one[BENCH_WEIR], row->two[BENCH_WEIR]);
        print_hot_side("mutex", algorithm, row->refused, row->one[BENCH_SHARDED], row->two[BENCH_SHARDED]);
    }
    fflush(stdout);
}

static void print_hots(void)
{
    printf("\nOne key, hammered: ns of wall time a call, all threads together; gain: throughput by that of one\n");
    printf("         call      side              one thread              two threads       gain\n");
    print_hot(WEIR_COUNTER);
    print_hot(WEIR_LOG);
}

/* --- the way in --- */

static void usage(FILE *to)
{
    fprintf(to,
            "usage: weir-figures [--seconds N]\n"
            "Prints what weir costs on this machine: memory a key and a record, time a call.\n"
            "  --seconds N   about how long it takes in all (%d); some rounds are run in any case\n"
            "  --help        this text\n",
            DEFAULT_SECONDS);
}

/* The number, or -1. */
static double seconds_from(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    return *text != '\0' && *end == '\0' && seconds > 0 && seconds < 1e6 ? seconds : -1;
}

/* 0: go on; else 1 + exit status. */
static int read_options(int count, char **arguments, double *seconds)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            return 1;
        }
        if (option == 's')
            *seconds = seconds_from(optarg);
        if (option != 's' || *seconds < 0) {
            usage(stderr);
            return 3;
        }
    }
    if (optind != count) {
        usage(stderr);
        return 3;
    }
    return 0;
}

int main(int count, char **arguments)
{
    double seconds = DEFAULT_SECONDS;
    int done = read_options(count, arguments, &seconds);
    if (done)
        return done - 1;
    deadline = bench_wall_ns() + seconds * 1e9;
    print_machine();
    print_memory();
    print_full();
    fflush(stdout);
    print_speeds();
    print_hots();
    return failures > 0;
}
