/*
 * growth: keys are inserted from empty to `keys`, one after the other, and each insertion is timed. Told are the
 * distribution of all of them, and the longest pauses in processor time of the thread.
 *
 * The clock of processor time is too dear to be read around each insertion (a call into the kernel). So it is read
 * around every block of 64; an insertion that took long by the cheap timer is given what the block took less what the
 * others in it did. What a preemption took is thus left out; interrupts are in it.
 *
 * Fresh memory costs the kernel: a page that is touched for the first time is a fault and is filled with zeroes, whoever
 * asks for it. Faults are counted around each block too; "less faults" takes them off a pause at what they cost here,
 * measured before on memory of its own.
 *
 * weir is measured as a server has it ("weir-janitor": the janitor frees what the growing table leaves behind, and each
 * insertion reads the clock), and with manual time, where the inserting thread has to free itself at times.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../baselines/baselines.h"
#include "../subject_tended.h"
#include "../subject_weir.h"
#include "scenarios.h"

enum { BLOCK = 64, LONG_NS = 10000, RUNS_MIN = 3, RUNS_MAX = 50 };

static const bench_list own_keys = {1, {10000000}}, own_key_lens = {1, {8}};

/* What is measured, and on the way up again and again. */
typedef struct order {
    const bench_subject *subject;
    uint64_t keys;
    size_t key_len;
    double seconds;
} order;

/* One growth from empty. */
typedef struct climb {
    uint64_t wrong;
    double wall_ns, cpu_ns;     /* of all */
    double pause, own_pause;    /* the longest insertion by processor time, ns; and less its faults */
    double pause_at;            /* number of keys there */
    double over;                /* insertions of more than 100 us of processor time, less faults */
    double resident;            /* at the end, bytes */
    double faults;
    bench_histogram ticks;      /* of each insertion, by the cheap timer */
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

/* --- a block --- */

typedef struct block {
    double longest, others; /* ns, by the cheap timer */
    unsigned longest_at;
} block;

static block insert_block(climb *made, const order *of, void *state, uint64_t first, uint64_t count)
{
    const double tick = bench_tick_ns();
    bench_key key = {{0}};
    bench_call call = {.key = key.byte, .key_len = of->key_len, .cost = 1, .now = WEIR_HOUR};
    block result = {0};
    for (unsigned i = 0; i < count; i++) {
        call.number = (uint32_t)(first + i);
        bench_key_write(&key, of->key_len, first + i);
        const uint64_t begin = bench_ticks();
        const int verdict = of->subject->take(state, &call, NULL);
        const uint64_t ticks = bench_ticks() - begin;
        const double ns = (double)ticks * tick;
        bench_histogram_add(&made->ticks, ticks);
        made->wrong += verdict != 1;
        if (ns > result.longest) {
            result.others += result.longest;
            result.longest = ns;
            result.longest_at = i;
        } else {
            result.others += ns;
        }
    }
    return result;
}

/* The longest insertion of a block by processor time, and what of it the table itself took. */
static void judge(climb *made, const block *of, double cpu, double faults, double fault, uint64_t first)
{
    const double spent = fmin(of->longest, fmax(cpu - of->others, 0)), own = fmax(spent - faults * fault, 0);
    if (spent > made->pause)
        made->pause = spent;
    if (own > made->own_pause) {
        made->own_pause = own;
        made->pause_at = (double)(first + of->longest_at);
    }
    made->over += own > 100e3;
}

static void *open_one(const order *of)
{
    /* A window that nothing expires in. */
    const weir_rule rule = {.algorithm = WEIR_COUNTER, .limit = 1000, .window_ns = WEIR_HOUR, .meter = WEIR_PER_REQUEST};
    const bench_setup setup = {&rule, 1, of->keys, of->key_len};
    void *state = of->subject->open(&setup);
    if (!state)
        bench_fail("a subject cannot be opened");
    return state;
}

static void climb_once(const order *of, double fault, climb *made)
{
    const double resident = (double)bench_resident(), faults_before = faults_so_far(), start = bench_wall_ns();
    const double cpu_before = bench_cpu_ns();
    *made = (climb){0};
    void *state = open_one(of);
    for (uint64_t first = 0; first < of->keys; first += BLOCK) {
        const uint64_t count = of->keys - first < BLOCK ? of->keys - first : BLOCK;
        const double faults = faults_so_far(), cpu = bench_cpu_ns();
        const block result = insert_block(made, of, state, first, count);
        const double spent = bench_cpu_ns() - cpu;
        if (result.longest > LONG_NS)
            judge(made, &result, spent, faults_so_far() - faults, fault, first);
    }
    made->wall_ns = bench_wall_ns() - start;
    made->cpu_ns = bench_cpu_ns() - cpu_before;
    made->resident = (double)bench_resident() - resident;
    made->faults = faults_so_far() - faults_before;
    of->subject->close(state);
}

/* --- all of them --- */

static bench_summary of_runs(const climb *runs, unsigned count, size_t offset)
{
    double samples[RUNS_MAX];
    for (unsigned i = 0; i < count; i++)
        samples[i] = *(const double *)(const void *)((const char *)&runs[i] + offset);
    return bench_summarize(samples, count);
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
    const double fault = fault_ns(), before = (double)bench_resident(), end = bench_wall_ns() + of->seconds * 1e9;
    climb *runs = bench_must(calloc(RUNS_MAX, sizeof *runs));
    bench_histogram *all = bench_must(calloc(1, sizeof *all));
    unsigned count = 0;
    uint64_t wrong = 0;
    double peak = 0;
    while (count < RUNS_MAX && (count < RUNS_MIN || bench_wall_ns() < end)) {
        climb_once(of, fault, &runs[count]);
        peak = count == 0 ? peak_resident() - before : peak; /* the first has the process to itself */
        bench_histogram_merge(all, &runs[count].ticks);
        wrong += runs[count++].wrong;
    }
    bench_row row = bench_row_for("growth", of->subject->name, "counter");
    bench_row_number(&row, "keys", (double)of->keys);
    bench_row_number(&row, "key bytes", (double)of->key_len);
    bench_row_latency(&row, all);
    bench_row_measure(&row, "longest pause", "ns", of_runs(runs, count, offsetof(climb, pause)));
    bench_row_measure(&row, "less faults", "ns", of_runs(runs, count, offsetof(climb, own_pause)));
    bench_row_measure(&row, "at keys", "", of_runs(runs, count, offsetof(climb, pause_at)));
    bench_row_measure(&row, "over 100 us", "", of_runs(runs, count, offsetof(climb, over)));
    bench_row_measure(&row, "a fault", "ns", bench_once(fault));
    bench_row_measure(&row, "peak resident", "bytes", bench_once(peak));
    bench_row_measure(&row, "resident at the end", "bytes", bench_once(runs[0].resident));
    bench_row_measure(&row, "bytes a key", "bytes", bench_once(runs[0].resident / (double)of->keys));
    row.note = "p50 to max by the timer, preemption and faults included; pauses in processor time of the thread";
    row.wrong = wrong;
    bench_put(sink, &row);
}

static int run_one(const bench_options *options, order asked, const bench_sink *sink)
{
    static const bench_subject *const own[] = {&bench_tended, &bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
    const bench_needs needs = {.algorithm = WEIR_COUNTER, .keys = asked.keys};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    const unsigned count = bench_choose(options, own, &needs, chosen);
    int failed = 0;
    for (unsigned i = 0; i < count; i++) {
        asked.subject = chosen[i];
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
