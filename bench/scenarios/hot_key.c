/* hot-key: all threads on one key. What one line that everybody wants costs, written or only read. */
#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_weir_identity, &bench_sharded, NULL};
static const bench_list own_threads = {2, {1, 2}}, own_key_lens = {1, {8}};

/* Every number of threads takes part in the same rounds, so that what threads gain is a ratio within one run. */
static int run_one(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    const bench_list *threads = bench_list_or(&options->threads, &own_threads);
    const bench_needs needs = {.algorithm = contest.algorithm,
                               .can = (contest.costs ? BENCH_CAN_COSTS : 0u) | (contest.whole ? BENCH_CAN_WHOLE : 0u) |
                                      BENCH_CAN_THREADS,
                               .keys = 1};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    const unsigned count = bench_choose(options, own, &needs, chosen);
    for (unsigned i = 0; i < threads->count; i++)
        bench_contest_enter(&contest, chosen, count, (unsigned)threads->value[i]);
    return bench_contest_apart("hot-key", &contest, sink) != 0;
}

static int run_traffic(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    int failed = 0;
    for (contest.traffic = BENCH_ALLOWED; contest.traffic <= BENCH_MIXED; contest.traffic++)
        failed += run_one(options, contest, sink);
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    static const uint32_t algorithms[] = {WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS};
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    bench_contest contest = {.rules = 1, .keys = 1, .batch = 1, .whole = options->whole, .clock = options->clock,
                             .seconds = options->seconds};
    int failed = 0;
    for (unsigned i = 0; i < key_lens->count; i++) {
        contest.key_len = key_lens->value[i];
        for (unsigned k = 0; k < sizeof algorithms / sizeof *algorithms; k++) {
            contest.algorithm = algorithms[k];
            if (!bench_options_want(options, contest.algorithm))
                continue;
            contest.costs = false;
            failed += run_traffic(options, contest, sink);
            contest.costs = true;
            if (contest.algorithm == WEIR_LOG)
                failed += run_traffic(options, contest, sink);
        }
    }
    return failed;
}

const bench_scenario bench_hot_key = {
    "hot-key", "all threads on one key: allowed, refused and mixed calls; token costs on a log", run};
