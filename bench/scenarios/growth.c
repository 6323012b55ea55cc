/*
 * growth: keys are inserted from empty to `keys`, one after the other, and each insertion is timed. Told are the
 * distribution of all of them, and the longest pause that the table causes.
 *
 * On a shared machine the longest of ten million times is an interruption, whatever is measured. So the table is grown
 * several times, each time with the same keys and the same hash key: what it does at an insertion, it does there each
 * time, and an interruption comes elsewhere. The pause of an insertion is the least of all runs, by the cheap timer,
 * and where it took long by processor time of the thread: a call into the kernel, which is therefore made around blocks
 * of 64, and what the others in the block took is taken off.
 *
 * Fresh memory costs the kernel: a page that is touched for the first time is a fault and is filled with zeroes,
 * whoever asks for it. The C library is told to keep what is freed, so that all runs but the first find pages that are
 * there; large blocks, which it maps one by one, are fresh each time. The first run's faults are told, and what one
 * costs.
 *
 * weir is measured as a server has it ("weir-janitor": the janitor frees what the growing table leaves behind, and each
 * insertion reads the clock), and with manual time, where the inserting thread has to free itself at times.
 */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../baselines/baselines.h"
#include "../subject_tended.h"
#include "../subject_weir.h"
#include "limiter/testing.h"
#include "scenarios.h"

enum { BLOCK = 64, LONG_NS = 10000, RUNS_MIN = 3, RUNS_MAX = 50, PAUSE_NS = 100000 };

static const bench_list own_keys = {1, {10000000}}, own_key_lens = {1, {8}};

/* What is measured, and on the way up again and again. */
typedef struct order {
    const bench_subject *subject;
    uint64_t keys;
    size_t key_len;
    double seconds;
} order;

/* All growths. */
typedef struct climb {
    const order *of;
    void *state;
    float *least;         /* ns of each insertion, the least of all runs so far */
    bench_histogram ticks; /* of each insertion of all runs, by the cheap timer */
    unsigned runs;
    uint64_t wrong;
} climb;

static double faults_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (double)usage.ru_minflt;
}

/* ns that the first touch of a page costs: the mean of many, by processor time. */
static double fault_ns(void)
{
    enum { PAGES = 4096 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("out of memory");
    const double start = bench_cpu_ns();
    for (size_t i = 0; i < PAGES; i++)
        *(volatile char *)(memory + i * page) = 1;
    const double spent = bench_cpu_ns() - start;
    munmap(memory, PAGES * page);
    return spent / PAGES;
}

/* --- one growth from empty --- */

static void keep_least(climb *at, uint64_t number, double ns)
{
    if (at->runs == 0 || ns < (double)at->least[number])
        at->least[number] = (float)ns;
}

/* `cpu`: when the block began. */
static void insert_block(climb *at, uint64_t first, uint64_t count, double cpu)
{
    const order *of = at->of;
    bench_key key = {{0}};
    bench_call call = {.key = key.byte, .key_len = of->key_len, .cost = 1, .now = WEIR_HOUR};
    double ns[BLOCK] = {0}, sum = 0;
    unsigned longest = 0;
    for (unsigned i = 0; i < count; i++) {
        call.number = (uint32_t)(first + i);
        bench_key_write(&key, of->key_len, first + i);
        const uint64_t begin = bench_ticks();
        at->wrong += of->subject->take(at->state, &call, NULL) != 1;
        const uint64_t ticks = bench_ticks() - begin;
        bench_histogram_add(&at->ticks, ticks);
        ns[i] = (double)ticks * bench_tick_ns();
        sum += ns[i];
        longest = ns[i] > ns[longest] ? i : longest;
    }
    if (ns[longest] > LONG_NS)
        ns[longest] = fmin(ns[longest], fmax(bench_cpu_ns() - cpu - (sum - ns[longest]), 0));
    for (unsigned i = 0; i < count; i++)
        keep_least(at, first + i, ns[i]);
}

static void open_one(climb *at)
{
    /* A window that nothing expires in. */
    const weir_rule rule = {
        .algorithm = WEIR_COUNTER, .limit = 1000, .window_ns = WEIR_HOUR, .meter = WEIR_PER_REQUEST};
    const bench_setup setup = {&rule, 1, at->of->keys, at->of->key_len};
    at->state = at->of->subject->open(&setup);
    if (!at->state)
        bench_fail("a subject cannot be opened");
    if (at->of->subject == &bench_tended)
        weiri_test_hash_key(at->state, 1, 2);
    else if (at->of->subject == &bench_weir)
        weiri_test_hash_key(bench_weir_of(at->state), 1, 2);
}

static void climb_once(climb *at)
{
    open_one(at);
    for (uint64_t first = 0; first < at->of->keys; first += BLOCK)
        insert_block(at, first, at->of->keys - first < BLOCK ? at->of->keys - first : BLOCK, bench_cpu_ns());
    at->runs++;
}

/* --- all of them --- */

static void tell_pauses(bench_row *row, const climb *at)
{
    double longest = 0, longest_at = 0, over = 0;
    for (uint64_t i = 0; i < at->of->keys; i++) {
        const double ns = (double)at->least[i];
        over += ns > PAUSE_NS;
        if (ns > longest) {
            longest = ns;
            longest_at = (double)i;
        }
    }
    bench_row_measure(row, "longest pause", "ns", bench_once(longest));
    bench_row_measure(row, "at key", "", bench_once(longest_at));
    bench_row_measure(row, "over 100 us", "", bench_once(over));
}

static double peak_resident(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

static void grow(const void *given, const bench_sink *sink)
{
    const order *of = given;
    climb *at = bench_must(calloc(1, sizeof *at));
    *at = (climb){.of = of, .least = bench_must(malloc(of->keys * sizeof *at->least))};
    for (uint64_t i = 0; i < of->keys; i++)
        at->least[i] = 0; /* its pages are there */
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    bench_row row = bench_row_for("growth", of->subject->name, "counter");
    bench_row_number(&row, "keys", (double)of->keys);
    bench_row_number(&row, "key bytes", (double)of->key_len);
    const double fault = fault_ns(), before = (double)bench_resident(), faults = faults_so_far();
    const double end = bench_wall_ns() + of->seconds * 1e9;
    climb_once(at);
    const double resident = (double)bench_resident() - before, peak = peak_resident() - before;
    const double first_faults = faults_so_far() - faults;
    of->subject->close(at->state);
    while (at->runs < RUNS_MAX && (at->runs < RUNS_MIN || bench_wall_ns() < end)) {
        climb_once(at);
        of->subject->close(at->state);
    }
    bench_row_latency(&row, &at->ticks);
    tell_pauses(&row, at);
    bench_row_measure(&row, "faults a key", "", bench_once(first_faults / (double)of->keys));
    bench_row_measure(&row, "a fault", "ns", bench_once(fault));
    bench_row_measure(&row, "peak resident", "bytes", bench_once(peak));
    bench_row_measure(&row, "bytes a key", "bytes", bench_once(resident / (double)of->keys));
    row.note = "p50 to max are of all runs, interruptions included; the pause is the longest that came in every run";
    row.wrong = at->wrong;
    bench_put(sink, &row);
}

static int run_one(const bench_options *options, order asked, const bench_sink *sink)
{
    static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
    const bench_needs needs = {.algorithm = WEIR_COUNTER, .keys = asked.keys};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    const unsigned count = bench_choose(options, own, &needs, chosen);
    int failed = 0;
    for (unsigned i = 0; i < count; i++) {
        asked.subject = chosen[i];
        failed += bench_apart(grow, &asked, sink) != 0;
        asked.subject = &bench_tended;
        if (chosen[i] == &bench_weir)
            failed += bench_apart(grow, &asked, sink) != 0;
    }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (unsigned i = 0; i < keys->count && bench_options_want(options, WEIR_COUNTER); i++)
        for (unsigned k = 0; k < key_lens->count; k++)
            failed += run_one(options, (order){.keys = keys->value[i], .key_len = key_lens->value[k],
                                               .seconds = options->seconds}, sink);
    return failed;
}

const bench_scenario bench_growth = {
    "growth", "insertion from empty to 10^7 keys: how long each takes while the table grows, and memory", run};
