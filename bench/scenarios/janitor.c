/*
 * janitor: how long a decision takes while a million expired keys are swept underneath and the grace period passes,
 * beside the same decisions without a sweep. One thread decides, on live keys that stand among the expired ones, and
 * times each call; another sweeps and reclaims. Both phases belong to the same round, on the same table.
 *
 *   by the caller    time is made; the other thread calls the subject's sweep (weir: weir_sweep and weir_reclaim)
 *   by the janitor   weir alone: its own clock and thread. What is quiet and what is not is told by weir_stats: a
 *                    stretch of calls during which keys were dropped, or dropped ones were not freed so far
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../baselines/baselines.h"
#include "../picks.h"
#include "../subject_tended.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
static const bench_list own_keys = {1, {1000000}}, own_key_lens = {1, {8}};

enum {
    LIVE = 100000,        /* keys, at most a tenth of the expired ones */
    PICKS = 65536,
    STRETCH = 256,
    QUIET_CALLS = 400000, /* of a round */
    ROUNDS_MIN = 3,
    ROUNDS_MAX = 200
};

#define WINDOW (WEIR_SECOND / 2)

typedef struct order {
    const bench_subject *subject; /* NULL: weir with its janitor */
    uint32_t algorithm;
    uint64_t keys; /* that expire */
    size_t key_len;
    double seconds;
} order;

/* Quiet, and swept underneath. */
enum phase { QUIET, SWEPT, PHASES };

typedef struct trial {
    const order *of;
    const bench_subject *subject;
    void *state;
    uint64_t live;
    uint64_t now;
    uint32_t *picks, place;
    bench_histogram *latency; /* of each phase, all rounds together */
    bench_histogram *one;     /* of each phase, of this round */
    double p99[PHASES][ROUNDS_MAX], mean[PHASES][ROUNDS_MAX], swept_ns[ROUNDS_MAX];
    unsigned rounds;
    uint64_t wrong;
    _Atomic bool done;
} trial;

/* --- calls --- */

/* The live keys' numbers are the first ones. The time of all calls of a round is the same. */
static void decide(trial *at, bench_histogram *latency)
{
    bench_tally tally = {0};
    const bench_work work = {.picks = at->picks, .mask = PICKS - 1, .first = at->place, .key_len = at->of->key_len,
                             .calls = STRETCH, .now = at->now, .batch = 1, .latency = latency};
    at->subject->round(at->state, &work, &tally);
    at->place += STRETCH;
    at->wrong += tally.accepted != STRETCH;
}

/* One call for each key number from `first` on. */
static void insert(trial *at, uint64_t first, uint64_t count)
{
    bench_key key = {{0}};
    bench_call call = {.key = key.byte, .key_len = at->of->key_len, .cost = 1, .now = at->now};
    for (uint64_t i = first; i < first + count; i++) {
        call.number = (uint32_t)i;
        bench_key_write(&key, at->of->key_len, i);
        at->wrong += at->subject->take(at->state, &call, NULL) != 1;
    }
}

/* Keys that will expire, with the live ones among them: segments and shards hold both. */
static void fill(trial *at, unsigned round)
{
    const uint64_t first = at->live + round * at->of->keys;
    for (uint64_t i = 0; i < at->live; i++) {
        insert(at, first + i * (at->of->keys / at->live), at->of->keys / at->live);
        insert(at, i, 1);
    }
}

static weir_rule rule_of(const order *of)
{
    return (weir_rule){.algorithm = of->algorithm,
                       .limit = of->algorithm == WEIR_LOG ? 1000000 : UINT32_MAX - 1,
                       .window_ns = WINDOW,
                       .meter = WEIR_PER_REQUEST,
                       .buckets = of->algorithm == WEIR_BUCKETS ? 10 : 0};
}

static trial *begin(const order *of, const bench_subject *subject)
{
    trial *made = bench_must(calloc(1, sizeof *made));
    made->of = of;
    made->subject = subject;
    made->live = of->keys / 10 < LIVE ? of->keys / 10 : LIVE;
    made->now = WEIR_HOUR;
    made->picks = bench_must(calloc(PICKS, sizeof *made->picks));
    made->latency = bench_must(calloc(2 * PHASES, sizeof *made->latency));
    made->one = made->latency + PHASES;
    bench_pick(BENCH_UNIFORM, made->live, 1, made->picks, PICKS);
    bench_tick_ns();
    return made;
}

/* --- a round's end --- */

static void end_round(trial *at, double swept_ns)
{
    for (unsigned phase = 0; phase < PHASES; phase++) {
        bench_histogram *one = &at->one[phase];
        at->p99[phase][at->rounds] = (double)bench_histogram_quantile(one, 0.99) * bench_tick_ns();
        at->mean[phase][at->rounds] = bench_histogram_mean(one, 0.99) * bench_tick_ns();
        bench_histogram_merge(&at->latency[phase], one);
        *one = (bench_histogram){0};
    }
    at->swept_ns[at->rounds++] = swept_ns;
}

static bench_summary ratio(const double *a, const double *b, unsigned count)
{
    double ratios[ROUNDS_MAX];
    for (unsigned i = 0; i < count; i++)
        ratios[i] = a[i] / b[i];
    return bench_summarize(ratios, count);
}

static void put(trial *at, const char *how, const bench_sink *sink)
{
    static const char *const names[PHASES] = {"no", "yes"};
    const bench_summary worse = ratio(at->p99[SWEPT], at->p99[QUIET], at->rounds);
    const bench_summary dearer = ratio(at->mean[SWEPT], at->mean[QUIET], at->rounds);
    for (unsigned phase = 0; phase < PHASES; phase++) {
        bench_row row = bench_row_for("janitor", at->subject->name, bench_algorithm_name(at->of->algorithm));
        bench_row_number(&row, "expired keys", (double)at->of->keys);
        bench_row_number(&row, "live keys", (double)at->live);
        bench_row_number(&row, "key bytes", (double)at->of->key_len);
        bench_row_word(&row, "swept", how);
        bench_row_word(&row, "sweep under way", names[phase]);
        bench_row_measure(&row, "mean to p99", "ns", bench_summarize(at->mean[phase], at->rounds));
        bench_row_latency(&row, &at->latency[phase]);
        if (phase == SWEPT) {
            bench_row_measure(&row, "p99 to quiet", "", worse);
            bench_row_measure(&row, "mean to p99, to quiet", "", dearer);
            bench_row_measure(&row, "a sweep", "ns", bench_summarize(at->swept_ns, at->rounds));
        }
        row.wrong = phase == SWEPT ? at->wrong : 0;
        bench_put(sink, &row);
    }
}

/* --- swept by the caller --- */

static void *sweep(void *argument)
{
    trial *at = argument;
    at->subject->sweep(at->state, at->now);
    atomic_store(&at->done, true);
    return NULL;
}

static void round_by_caller(trial *at)
{
    pthread_t thread;
    fill(at, at->rounds);
    at->now += 10 * WINDOW;
    insert(at, 0, at->live); /* they live */
    for (unsigned i = 0; i < QUIET_CALLS; i += STRETCH)
        decide(at, &at->one[QUIET]);
    atomic_store(&at->done, false);
    const double start = bench_wall_ns();
    if (pthread_create(&thread, NULL, sweep, at) != 0)
        bench_fail("a thread cannot be started");
    do
        decide(at, &at->one[SWEPT]);
    while (!atomic_load(&at->done));
    end_round(at, bench_wall_ns() - start);
    pthread_join(thread, NULL);
    at->now += 10 * WINDOW;
}

static void by_caller(const void *given, const bench_sink *sink)
{
    const order *of = given;
    const weir_rule rule = rule_of(of);
    const bench_setup setup = {&rule, 1, of->keys + LIVE, of->key_len};
    trial *at = begin(of, of->subject);
    at->state = of->subject->open(&setup);
    if (!at->state)
        bench_fail("a subject cannot be opened");
    const double end = bench_wall_ns() + of->seconds * 1e9;
    while (at->rounds < ROUNDS_MAX && (at->rounds < ROUNDS_MIN || bench_wall_ns() < end))
        round_by_caller(at);
    put(at, "by the caller", sink);
}

/* --- swept by the janitor --- */

/* Real time: the first sweep comes when all that was charged at the beginning has expired for long. */
enum { SWEEP_AFTER_S = 3, GIVE_UP_S = 30 };

static weir_statistics statistics_of(const trial *at)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    if (weir_stats(at->state, &statistics) != 0)
        bench_fail("weir_stats failed");
    return statistics;
}

/* One limiter, one sweep. */
static void round_by_janitor(trial *at, const bench_setup *setup)
{
    bench_histogram *stretch = bench_must(calloc(1, sizeof *stretch));
    const double start = bench_wall_ns();
    double first = 0, last = 0;
    at->state = bench_tended_open(setup, 0, SWEEP_AFTER_S * WEIR_SECOND);
    if (!at->state)
        bench_fail("a subject cannot be opened");
    fill(at, 0);
    weir_statistics before = statistics_of(at);
    const uint64_t dropped = before.swept; /* while the table grew */
    for (;;) {
        decide(at, stretch);
        const weir_statistics now = statistics_of(at);
        const bool sweeping = now.swept != before.swept || (now.swept > dropped && now.retired_bytes > 0);
        const double passed = bench_wall_ns() - start;
        if (sweeping && first == 0)
            first = passed;
        last = sweeping ? passed : last;
        /* Live keys have been called again by then, and settled: not what the filling left behind. */
        if (sweeping || passed > (SWEEP_AFTER_S - 1) * 1e9)
            bench_histogram_merge(&at->one[sweeping ? SWEPT : QUIET], stretch);
        *stretch = (bench_histogram){0};
        before = now;
        if (first > 0 && now.keys <= at->live && !sweeping && passed > last + 0.5e9)
            break;
        if (passed > GIVE_UP_S * 1e9)
            bench_fail("the janitor did not sweep");
    }
    end_round(at, last - first);
    weir_close(at->state);
    free(stretch);
}

static void by_janitor(const void *given, const bench_sink *sink)
{
    const order *of = given;
    const weir_rule rule = rule_of(of);
    const bench_setup setup = {&rule, 1, of->keys + LIVE, of->key_len};
    trial *at = begin(of, &bench_tended);
    const double end = bench_wall_ns() + of->seconds * 1e9;
    const unsigned least = of->seconds < 0.1 ? 1 : ROUNDS_MIN; /* a round takes seconds, however little is asked for */
    while (at->rounds < ROUNDS_MAX && (at->rounds < least || bench_wall_ns() < end))
        round_by_janitor(at, &setup);
    put(at, "by the janitor", sink);
}

/* --- all of them --- */

static int run_one(const bench_options *options, order asked, const bench_sink *sink)
{
    const bench_needs needs = {.algorithm = asked.algorithm, .keys = asked.keys, .sweep = true,
                               .can = BENCH_CAN_THREADS};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    const unsigned count = bench_choose(options, own, &needs, chosen);
    int failed = 0;
    for (unsigned i = 0; i < count; i++) {
        asked.subject = chosen[i];
        failed += bench_apart(by_caller, &asked, sink) != 0;
        if (chosen[i] == &bench_weir)
            failed += bench_apart(by_janitor, &asked, sink) != 0;
    }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    static const uint32_t algorithms[] = {WEIR_COUNTER, WEIR_LOG};
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    int failed = 0;
    for (unsigned a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (unsigned i = 0; i < keys->count && bench_options_want(options, algorithms[a]); i++)
            failed += run_one(options, (order){.algorithm = algorithms[a], .keys = keys->value[i],
                                               .key_len = bench_list_or(&options->key_lens, &own_key_lens)->value[0],
                                               .seconds = options->seconds}, sink);
    return failed;
}

const bench_scenario bench_janitor = {
    "janitor", "decisions while a million expired keys are swept and the grace period passes", run};
