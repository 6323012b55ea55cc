#include <string.h>

#include "contest.h"

typedef struct order {
    const char *scenario;
    const bench_contest *contest;
} order;

static const char *traffic_name(enum bench_traffic traffic)
{
    return traffic == BENCH_ALLOWED ? "allowed" : traffic == BENCH_REFUSED ? "refused" : "mixed";
}

static void put_parameters(const bench_contest *contest, unsigned contender, bench_row *row)
{
    bench_row_word(row, "calls", traffic_name(contest->traffic));
    bench_row_word(row, "answer", contest->whole ? "decision" : "verdict");
    bench_row_number(row, "threads", contest->contender[contender].threads);
    bench_row_number(row, "keys", (double)contest->keys);
    bench_row_number(row, "key bytes", (double)contest->key_len);
    bench_row_word(row, "picked", contest->picking == BENCH_ZIPF ? "zipf 0.99" : "uniform");
    bench_row_number(row, "rules", contest->rules);
    bench_row_word(row, "costs", contest->costs ? "1-16" : "1");
    bench_row_number(row, "batch", contest->batch);
    bench_row_word(row, "clock", contest->clock ? "read" : "given");
    if (contest->walk > 0)
        bench_row_number(row, "walk KiB", (double)contest->walk / 1024);
}

/* The contender of that name with so many threads, or contenders. */
static unsigned find(const bench_contest *contest, const char *subject, unsigned threads)
{
    unsigned at = 0;
    while (at < contest->count && (strcmp(contest->contender[at].subject->name, subject) != 0 ||
                                   contest->contender[at].threads != threads))
        at++;
    return at;
}

bench_summary bench_contest_gain(const bench_contest *contest, const bench_samples *samples, unsigned one,
                                 unsigned other)
{
    const bench_summary dearer = bench_samples_ratio(samples, one, other, BENCH_CPU);
    const double times = (double)contest->contender[one].threads / contest->contender[other].threads;
    return (bench_summary){times / dearer.median, times / dearer.high, times / dearer.low, dearer.rounds};
}

/* Beside the sharded mutex and weir's plain call with as many threads, and beside itself with one. */
static void put_ratios(const bench_contest *contest, const bench_samples *samples, unsigned contender, bool timed,
                       bench_row *row)
{
    const bench_contender *who = &contest->contender[contender];
    const unsigned other = find(contest, "sharded", who->threads);
    const unsigned plain = find(contest, "weir", who->threads), alone = find(contest, who->subject->name, 1);
    const unsigned value = timed && who->threads > 1 ? BENCH_P50 : BENCH_NS; /* a mean would be of others' turns */
    if (other < contest->count && other != contender)
        bench_row_measure(row, "to sharded", "", bench_samples_ratio(samples, contender, other, value));
    if (other < contest->count && other != contender && timed)
        bench_row_measure(row, "p99.9 to sharded", "", bench_samples_ratio(samples, contender, other, BENCH_P999));
    if (plain < contest->count && plain != contender && strncmp(who->subject->name, "weir-", 5) == 0)
        bench_row_measure(row, "to weir", "", bench_samples_ratio(samples, contender, plain, value));
    if (alone == contest->count || alone == contender)
        return;
    bench_row_measure(row, "gain", "", bench_samples_ratio(samples, contender, alone, BENCH_RATE));
    bench_row_measure(row, "gain, cpu", "", bench_contest_gain(contest, samples, contender, alone));
}

static void put_latency(const bench_samples *samples, unsigned contender, const bench_histogram *all, bench_row *row)
{
    static const struct {
        const char *name;
        enum bench_value value;
    } told[] = {{"p50", BENCH_P50}, {"p99", BENCH_P99}, {"p99.9", BENCH_P999}, {"p99.99", BENCH_P9999},
                {"max", BENCH_MAX}};
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++)
        bench_row_measure(row, told[i].name, "ns", bench_samples_summary(samples, contender, told[i].value));
    bench_row_curve(row, all);
}

void bench_contest_put(const char *scenario, const bench_contest *contest, const bench_contest_result *result,
                       const bench_sink *sink)
{
    const bool timed = result->latency != NULL;
    for (unsigned i = 0; i < contest->count; i++) {
        const bench_contender *who = &contest->contender[i];
        bench_row row = bench_row_for(scenario, who->subject->name, bench_algorithm_name(contest->algorithm));
        put_parameters(contest, i, &row);
        if (!timed || who->threads == 1)
            bench_row_measure(&row, "ns", "ns", bench_samples_summary(&result->samples, i, BENCH_NS));
        if (!timed && who->threads > 1)
            bench_row_measure(&row, "cpu", "ns", bench_samples_summary(&result->samples, i, BENCH_CPU));
        if (contest->walk == 0)
            bench_row_measure(&row, "rate", "1/s", bench_samples_summary(&result->samples, i, BENCH_RATE));
        if (timed)
            put_latency(&result->samples, i, &result->latency[i], &row);
        put_ratios(contest, &result->samples, i, timed, &row);
        bench_row_measure(&row, "accepted", "", bench_once(result->accepted[i]));
        if (who->threads > 1) {
            bench_row_measure(&row, "least share", "", bench_samples_summary(&result->samples, i, BENCH_LEAST));
            bench_row_measure(&row, "most share", "", bench_samples_summary(&result->samples, i, BENCH_MOST));
        }
        row.wrong = result->wrong[i];
        bench_put(sink, &row);
    }
}

static void work(const void *given, const bench_sink *sink)
{
    const order *asked = given;
    bench_contest_result result;
    bench_contest_run(asked->contest, &result);
    bench_contest_put(asked->scenario, asked->contest, &result, sink);
    bench_contest_free(&result);
}

int bench_contest_apart(const char *scenario, const bench_contest *contest, const bench_sink *sink)
{
    const order given_order = {scenario, contest};
    return contest->count == 0 ? 0 : bench_apart(work, &given_order, sink);
}
