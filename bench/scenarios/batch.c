/* batch: calls that are there together, asked in one call of weir_take_batch, or one after the other. */
#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_weir_batch, &bench_sharded, &bench_lfht, NULL};
static const bench_list own_threads = {1, {1}}, own_keys = {2, {1000, 1000000}}, own_key_lens = {1, {8}};
static const bench_list own_batches = {7, {1, 2, 4, 8, 16, 32, 64}};

/* All sizes on keys of one number and length. */
static int run_batches(const bench_options *options, bench_contest contest, const bench_sink *sink)
{
    const bench_list *batches = bench_list_or(&options->batches, &own_batches);
    int failed = 0;
    bench_contest_enter_able(&contest, options, own, bench_list_or(&options->threads, &own_threads));
    for (unsigned i = 0; i < batches->count; i++) {
        contest.batch = (unsigned)batches->value[i];
        failed += bench_contest_apart("batch", &contest, sink) != 0;
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
        if (!bench_options_want(options, algorithm))
            continue;
        for (unsigned i = 0; i < keys->count; i++) {
            for (unsigned k = 0; k < key_lens->count; k++) {
                contest.keys = keys->value[i];
                contest.key_len = key_lens->value[k];
                failed += run_batches(options, contest, sink);
            }
        }
    }
    return failed;
}

const bench_scenario bench_batch = {"batch", "1 to 64 calls at once, beside one after the other", run};
