/*
 * churn: a spoofed flood. Every call is about a new key, which is never called again; the keys of a window are as many
 * as `keys`, and what was charged before expires and goes underneath. A round is one window, so that all of it is in
 * every round; time is made, and goes on by the number of calls, so that every subject holds the same keys at the same
 * call.
 *
 * Expired keys go by the insertions themselves (weir: a full segment drops what has expired before it grows; baselines:
 * see there), and with "swept" by the subject's sweep too, which one of the threads does eight times a window, as often
 * as weir's janitor would; its time counts.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "../baselines/baselines.h"
#include "../crew.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
static const bench_list own_keys = {1, {100000}}, own_key_lens = {1, {8}}, own_threads = {2, {1, 2}};

enum {
    STRETCH = 64,          /* calls at a time; a power of two */
    WINDOWS_BEFORE = 4,    /* from empty: then as many keys expire as come */
    SWEEPS = 8             /* a window */
};

#define WINDOW WEIR_MINUTE /* the lateness, 1 s, is little beside it */

/* What is measured. */
typedef struct order {
    uint32_t algorithm;
    uint64_t keys;
    size_t key_len;
    unsigned threads;
    bool swept;
    double seconds;
    unsigned count;
    const bench_subject *subject[BENCH_SUBJECTS_MAX];
} order;

/* A subject at work. */
typedef struct side {
    const order *of;
    const bench_subject *subject;
    void *state;
    uint64_t wrong;
    _Alignas(64) _Atomic uint64_t next; /* number of the next key, since the beginning; tells the time too */
    _Atomic uint64_t refused;
} side;

enum value { NS, CPU, VALUES };

typedef struct arena {
    const order *of;
    side *sides;
} arena;

static uint64_t time_of(const order *of, uint64_t number)
{
    return WEIR_HOUR + number * (WINDOW / of->keys);
}

static void stretch(side *at, uint64_t number)
{
    uint32_t picks[STRETCH];
    bench_tally tally = {0};
    const order *of = at->of;
    for (uint32_t i = 0; i < STRETCH; i++)
        picks[i] = (uint32_t)number + i;
    const bench_work work = {.picks = picks, .mask = STRETCH - 1, .key_len = of->key_len, .calls = STRETCH,
                             .now = time_of(of, number), .step = WINDOW / of->keys, .batch = 1};
    at->subject->round(at->state, &work, &tally);
    if (tally.accepted != STRETCH)
        atomic_fetch_add(&at->refused, STRETCH - tally.accepted);
    const uint64_t between = of->keys / SWEEPS;
    if (of->swept && number / between != (number + STRETCH) / between)
        at->subject->sweep(at->state, time_of(of, number));
}

/* One thread's share of a window. */
static uint64_t work(void *argument, unsigned thread, const bench_crew *crew)
{
    side *at = argument;
    const uint64_t calls = at->of->keys / at->of->threads / STRETCH * STRETCH;
    (void)thread;
    (void)crew;
    for (uint64_t done = 0; done < calls; done += STRETCH)
        stretch(at, atomic_fetch_add_explicit(&at->next, STRETCH, memory_order_relaxed));
    return calls;
}

static void window(side *at, double *values)
{
    const unsigned threads = at->of->threads;
    const bench_crew_job job = {NULL, work, at, threads, 0};
    bench_crew_result crew;
    if (bench_crew_run(&job, &crew) != 0)
        bench_fail("a thread cannot be started");
    values[NS] = (threads == 1 ? crew.cpu_ns : crew.wall_ns * threads) / (double)crew.done;
    values[CPU] = crew.cpu_ns / (double)crew.done;
}

static void open_side(side *at, const order *of, const bench_subject *subject)
{
    const weir_rule rule = {.algorithm = of->algorithm, .limit = 100, .window_ns = WINDOW, .meter = WEIR_PER_REQUEST,
                            .buckets = of->algorithm == WEIR_BUCKETS ? 10 : 0};
    const bench_setup setup = {&rule, 1, 3 * of->keys, of->key_len}; /* a counter's key lives for two windows at most */
    double unused[VALUES];
    *at = (side){.of = of, .subject = subject, .state = subject->open(&setup)};
    if (!at->state)
        bench_fail("a subject cannot be opened");
    for (unsigned i = 0; i < WINDOWS_BEFORE; i++)
        window(at, unused);
}

static void play(void *argument, unsigned contender, unsigned round, double *values)
{
    arena *all = argument;
    (void)round;
    window(&all->sides[contender], values);
}

static bench_row row_of(const order *of, const bench_subject *subject)
{
    bench_row row = bench_row_for("churn", subject->name, bench_algorithm_name(of->algorithm));
    bench_row_number(&row, "keys a window", (double)of->keys);
    bench_row_number(&row, "key bytes", (double)of->key_len);
    bench_row_word(&row, "swept", of->swept ? "8 times a window" : "by insertions alone");
    bench_row_number(&row, "threads", of->threads);
    return row;
}

/* --- time: all subjects round by round --- */

static void race(const void *given, const bench_sink *sink)
{
    const order *of = given;
    bench_samples samples = {.contenders = of->count, .values = VALUES};
    arena all = {of, bench_must(aligned_alloc(_Alignof(side), of->count * sizeof(side)))};
    unsigned sharded = of->count;
    for (unsigned i = 0; i < of->count; i++) {
        open_side(&all.sides[i], of, of->subject[i]);
        sharded = of->subject[i] == &bench_sharded ? i : sharded;
    }
    if (bench_interleave(play, &all, of->seconds * of->count, &samples) != 0)
        bench_fail("out of memory");
    for (unsigned i = 0; i < of->count; i++) {
        bench_row row = row_of(of, of->subject[i]);
        bench_row_measure(&row, "ns", "ns", bench_samples_summary(&samples, i, NS));
        if (of->threads > 1)
            bench_row_measure(&row, "cpu", "ns", bench_samples_summary(&samples, i, CPU));
        if (sharded < of->count && sharded != i)
            bench_row_measure(&row, "to sharded", "", bench_samples_ratio(&samples, i, sharded, NS));
        row.wrong = all.sides[i].refused;
        bench_put(sink, &row);
    }
}

/* --- memory: each by itself --- */

/* After some more windows. What a window's keys take is told for each of them; about twice as many are live with a
 * counter. */
static void weigh(const void *given, const bench_sink *sink)
{
    const order *of = given;
    const double before = (double)bench_resident();
    double unused[VALUES], most = 0;
    side *at = bench_must(aligned_alloc(_Alignof(side), sizeof(side)));
    open_side(at, of, of->subject[0]);
    for (unsigned i = 0; i < WINDOWS_BEFORE; i++) {
        window(at, unused);
        const double now = (double)bench_resident() - before;
        most = now > most ? now : most;
    }
    bench_row row = row_of(of, of->subject[0]);
    bench_row_measure(&row, "resident", "bytes", bench_once((double)bench_resident() - before));
    bench_row_measure(&row, "most", "bytes", bench_once(most));
    bench_row_measure(&row, "bytes a key of a window", "bytes", bench_once(most / (double)of->keys));
    if (of->subject[0]->bytes)
        bench_row_measure(&row, "by its count", "bytes", bench_once((double)of->subject[0]->bytes(at->state)));
    row.wrong = at->refused;
    bench_put(sink, &row);
}

static int run_one(const bench_options *options, order asked, const bench_sink *sink)
{
    const bench_needs needs = {.algorithm = asked.algorithm, .keys = 3 * asked.keys, .sweep = asked.swept,
                               .can = asked.threads > 1 ? BENCH_CAN_THREADS : 0};
    asked.count = bench_choose(options, own, &needs, asked.subject);
    int failed = asked.count > 0 && bench_apart(race, &asked, sink) != 0;
    for (unsigned i = 0; i < asked.count && asked.threads == 1; i++) {
        order alone = asked;
        alone.subject[0] = asked.subject[i];
        failed += bench_apart(weigh, &alone, sink) != 0;
    }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    static const uint32_t algorithms[] = {WEIR_COUNTER, WEIR_LOG};
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    const bench_list *threads = bench_list_or(&options->threads, &own_threads);
    int failed = 0;
    for (unsigned a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (unsigned i = 0; i < keys->count; i++)
            for (unsigned swept = 0; swept < 2; swept++)
                for (unsigned k = 0; k < threads->count; k++) {
                    const order asked = {.algorithm = algorithms[a], .keys = keys->value[i], .swept = swept > 0,
                                         .key_len = bench_list_or(&options->key_lens, &own_key_lens)->value[0],
                                         .threads = (unsigned)threads->value[k], .seconds = options->seconds};
                    if (bench_options_want(options, asked.algorithm))
                        failed += run_one(options, asked, sink);
                }
    return failed;
}

const bench_scenario bench_churn = {
    "churn", "a spoofed flood: every call is a new key, and as many expire underneath", run};
