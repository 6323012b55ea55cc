/*
 * many-keys: keys picked at random, evenly or by Zipf's law; and with other memory gone through between the calls, so
 * that a call finds the caches as it does in a server that has more to do.
 */
#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

enum { WALK = 256 * 1024, LONGER_KEYS = 1000000 };

static const bench_subject *const own[] = {&bench_weir, &bench_weir_identity, &bench_weir_prefetch, &bench_mutex,
                                           &bench_sharded, &bench_lfht, NULL};
static const bench_list own_threads = {1, {1}}, own_keys = {5, {1000, 10000, 100000, 1000000, 10000000}};
static const bench_list own_key_lens = {4, {8, 16, 36, 64}};

static int run_one(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    bench_contest_enter_able(&contest, options, own, bench_list_or(&options->threads, &own_threads));
    return bench_contest_apart("many-keys", &contest, sink) != 0;
}

/* One number of keys of one length, in all ways. */
static int run_ways(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    int failed = run_one(options, contest, sink);
    contest.traffic = BENCH_REFUSED;
    failed += run_one(options, contest, sink);
    contest.traffic = BENCH_ALLOWED;
    contest.picking = BENCH_ZIPF;
    failed += run_one(options, contest, sink);
    contest.picking = BENCH_UNIFORM;
    contest.walk = WALK;
    return failed + run_one(options, contest, sink);
}

/* Every number of keys with the first length; where none was asked for, the longer ones with one number of keys. */
static int run_lengths(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (unsigned i = 0; i < key_lens->count; i++) {
        contest.key_len = key_lens->value[i];
        if (i == 0 || options->key_lens.count > 0)
            failed += run_ways(options, contest, sink);
        else if (contest.keys == LONGER_KEYS)
            failed += run_one(options, contest, sink);
    }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    int failed = 0;
    for (uint32_t algorithm = WEIR_LOG; algorithm <= WEIR_BUCKETS; algorithm++) {
        bench_contest contest = bench_contest_for(options, algorithm);
        if (!bench_options_want(options, algorithm))
            continue;
        for (unsigned i = 0; i < keys->count; i++) {
            contest.keys = keys->value[i];
            failed += run_lengths(options, contest, sink);
        }
    }
    return failed;
}

const bench_scenario bench_many_keys = {
    "many-keys", "keys picked evenly or by Zipf's law, 10^3 to 10^7; with other memory gone through between", run};
