/* hot-key: all threads on one key. What one line that everybody wants costs, written or only read. */
#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_weir_identity, &bench_mutex, &bench_sharded,
                                           &bench_lfht, NULL};
static const bench_list own_threads = {2, {1, 2}}, own_key_lens = {1, {8}};

/* Every number of threads takes part in the same rounds, so that what threads gain is a ratio within one run. */
static int run_traffic(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    int failed = 0;
    bench_contest_enter_able(&contest, options, own, bench_list_or(&options->threads, &own_threads));
    for (contest.traffic = BENCH_ALLOWED; contest.traffic <= BENCH_MIXED; contest.traffic++)
        failed += bench_contest_apart("hot-key", &contest, sink) != 0;
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (uint32_t algorithm = WEIR_LOG; algorithm <= WEIR_BUCKETS; algorithm++) {
        if (!bench_options_want(options, algorithm))
            continue;
        for (unsigned i = 0; i < key_lens->count; i++) {
            bench_contest contest = bench_contest_for(options, algorithm);
            contest.key_len = key_lens->value[i];
            failed += run_traffic(options, contest, sink);
            contest.costs = true;
            if (algorithm == WEIR_LOG)
                failed += run_traffic(options, contest, sink);
        }
    }
    return failed;
}

const bench_scenario bench_hot_key = {
    "hot-key", "all threads on one key: allowed, refused and mixed calls; token costs on a log", run};
