/* rules: one to four rules a limiter. What each further one costs, for requests and for tokens. */
#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

static const bench_subject *const own[] = {&bench_weir, &bench_mutex, &bench_sharded, NULL};
static const bench_list own_keys = {1, {1000}}, own_key_lens = {1, {8}}, own_threads = {1, {1}};

enum { RULES = 4 };

/* All subjects that can have so many rules, with so many threads. */
static int run_one(const bench_options *options, bench_contest contest, unsigned threads, const bench_sink *sink)
{
    const bench_needs needs = {.algorithm = contest.algorithm,
                               .rules = contest.rules,
                               .can = (contest.costs ? BENCH_CAN_COSTS : 0u) | (contest.whole ? BENCH_CAN_WHOLE : 0u) |
                                      (threads > 1 ? BENCH_CAN_THREADS : 0u),
                               .keys = contest.keys};
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    bench_contest_enter(&contest, chosen, bench_choose(options, own, &needs, chosen), threads);
    return bench_contest_apart("rules", &contest, sink) != 0;
}

static int run_algorithm(const bench_options *options, bench_contest contest, unsigned threads, const bench_sink *sink)
{
    int failed = 0;
    for (unsigned costs = 0; costs < 2; costs++)
        for (unsigned rules = 1; rules <= RULES; rules++) {
            contest.costs = costs > 0;
            contest.rules = rules;
            failed += run_one(options, contest, threads, sink);
        }
    return failed;
}

static int run(const bench_options *options, const bench_sink *sink)
{
    static const uint32_t algorithms[] = {WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS};
    const bench_list *keys = bench_list_or(&options->keys, &own_keys);
    const bench_list *threads = bench_list_or(&options->threads, &own_threads);
    bench_contest contest = {.batch = 1, .traffic = BENCH_ALLOWED, .picking = BENCH_UNIFORM, .whole = options->whole,
                             .clock = options->clock, .seconds = options->seconds};
    int failed = 0;
    contest.key_len = bench_list_or(&options->key_lens, &own_key_lens)->value[0];
    for (unsigned i = 0; i < keys->count; i++)
        for (unsigned k = 0; k < threads->count; k++)
            for (unsigned a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
                contest.keys = keys->value[i];
                contest.algorithm = algorithms[a];
                if (bench_options_want(options, contest.algorithm))
                    failed += run_algorithm(options, contest, (unsigned)threads->value[k], sink);
            }
    return failed;
}

const bench_scenario bench_rules = {"rules", "one to four rules of a kind on each key: requests and tokens", run};
