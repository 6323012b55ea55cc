/*
 * oversubscribed: more threads than cores, so that whoever holds a lock may lose its core in the middle. What a call
 * then takes, as a distribution: hot key, and many keys of which some are hot.
 */
#include <unistd.h>

#include "../baselines/baselines.h"
#include "../contest.h"
#include "../crew.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, &bench_lfht, NULL};
static const bench_list own_keys = {2, {1, 100000}}, own_key_lens = {1, {8}};

/* 2, 4 and 8 times as many threads as there are cores. */
static bench_list threads_for_cores(void)
{
    const uint64_t cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    bench_list threads = {.count = 0};
    for (uint64_t times = 2; times <= 8 && times * cores <= BENCH_THREADS_MAX; times *= 2)
        threads.value[threads.count++] = times * cores;
    return threads;
}

/* One number of threads at a time: all of them together would have thousands of calls under way. */
static int run_threads(const bench_options *options, const bench_contest *given, const bench_sink *sink)
{
    const bench_list own_threads = threads_for_cores(), *threads = bench_list_or(&options->threads, &own_threads);
    int failed = 0;
    for (unsigned i = 0; i < threads->count; i++) {
        const bench_list one = {1, {threads->value[i]}};
        bench_contest contest = *given;
        bench_contest_enter_able(&contest, options, own, &one);
        failed += bench_contest_apart("oversubscribed", &contest, sink) != 0;
    }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (uint32_t algorithm = WEIR_LOG; algorithm <= WEIR_BUCKETS; algorithm++) {
        bench_contest contest = bench_contest_for(options, algorithm);
        contest.timed = true;
        contest.picking = BENCH_ZIPF;
        if (!bench_options_want(options, algorithm))
            continue;
        for (unsigned i = 0; i < keys->count; i++) {
            contest.keys = keys->value[i];
            contest.key_len = key_lens->value[0];
            contest.traffic = BENCH_ALLOWED;
            failed += run_threads(options, &contest, sink);
            contest.traffic = BENCH_MIXED;
            failed += run_threads(options, &contest, sink);
        }
    }
    return failed;
}

const bench_scenario bench_oversubscribed = {
    "oversubscribed", "2, 4 and 8 times more threads than cores, hot key and mixed keys: latency percentiles", run};
