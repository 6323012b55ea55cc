/*
 * targets: what weir set out to reach, as ratios within one run. Subjects of a case are measured in the same rounds;
 * where another scenario measures the case, its rows are looked through. Told beside, without a target: longer keys,
 * and whole decisions.
 */
#include <string.h>

#include "../baselines/baselines.h"
#include "../contest.h"
#include "../subject_weir.h"
#include "scenarios.h"

enum { BATCH = 32, MILLION = 1000000, THOUSAND = 1000, OCTAVE = 700000, CROWD = 16 };

/* A contender beside another of the same contest. */
typedef struct ratio {
    const char *what, *against;
    bench_contender one, other;
    enum bench_value value;
    double target; /* at most; of rates: at least */
} ratio;

/* A contest and what is looked at in it. */
typedef struct bout {
    uint32_t algorithm;
    uint64_t keys;
    enum bench_traffic traffic;
    bool costs, timed, beside; /* beside: also longer keys and whole decisions */
    unsigned count;
    ratio ratio[4];
} bout;

static const bout bouts[] = {
    {WEIR_COUNTER, MILLION, BENCH_ALLOWED, false, false, true, 4, {
        {"many keys, one call", "lfht", {&bench_weir, 1}, {&bench_lfht, 1}, BENCH_NS, 0.50},
        {"many keys, one call", "sharded", {&bench_weir, 1}, {&bench_sharded, 1}, BENCH_NS, 0.35},
        {"many keys, batch of 32", "one call", {&bench_weir_batch, 1}, {&bench_weir, 1}, BENCH_NS, 0.35},
        {"many keys, batch of 32", "lfht", {&bench_weir_batch, 1}, {&bench_lfht, 1}, BENCH_NS, 0.15}}},
    {WEIR_LOG, MILLION, BENCH_ALLOWED, false, false, true, 1, {
        {"many keys, one call", "sharded", {&bench_weir, 1}, {&bench_sharded, 1}, BENCH_NS, 0.60}}},
    {WEIR_COUNTER, THOUSAND, BENCH_ALLOWED, false, false, true, 2, {
        {"few keys, one call", "sharded", {&bench_weir, 1}, {&bench_sharded, 1}, BENCH_NS, 0.70},
        {"few keys, batch of 32", "one call", {&bench_weir_batch, 1}, {&bench_weir, 1}, BENCH_NS, 0.85}}},
#define HOT_REFUSED(algorithm, costs, words)                                                                         \
    {algorithm, 1, BENCH_REFUSED, costs, false, false, 2, {                                                          \
        {words, "sharded", {&bench_weir, 2}, {&bench_sharded, 2}, BENCH_NS, 0.10},                                   \
        {words ", rate", "1 thread", {&bench_weir, 2}, {&bench_weir, 1}, BENCH_RATE, 1.8}}}
    HOT_REFUSED(WEIR_LOG, false, "hot key refused, 2 threads"),
    HOT_REFUSED(WEIR_LOG, true, "hot key refused, token costs, 2 threads"),
    HOT_REFUSED(WEIR_COUNTER, false, "hot key refused, 2 threads"),
    HOT_REFUSED(WEIR_BUCKETS, false, "hot key refused, 2 threads"),
    {WEIR_LOG, 1, BENCH_ALLOWED, false, false, false, 1, {
        {"hot key allowed, 2 threads", "sharded", {&bench_weir, 2}, {&bench_sharded, 2}, BENCH_NS, 0.50}}},
    {WEIR_LOG, 1, BENCH_ALLOWED, false, true, false, 1, {
        {"hot key allowed, 16 threads, p99.9", "sharded", {&bench_weir, CROWD}, {&bench_sharded, CROWD}, BENCH_P999,
         1.0}}},
};

/* A row of another scenario: that of `subject` with all these parameters, and one of its measures. */
typedef struct borrowed {
    const bench_scenario *scenario;
    const char *what, *against;
    bench_options options; /* what the scenario is asked for; seconds come from ours */
    const char *parameter, *word; /* NULL, or which of its rows */
    const char *measure;
    double target;
    const char *subject; /* how its rows' subjects begin; NULL: weir */
} borrowed;

static bench_row row_for(const char *subject, const char *algorithm, const char *what, const char *against,
                         uint64_t keys, size_t key_len, bool whole)
{
    bench_row row = bench_row_for("targets", subject, algorithm);
    bench_row_word(&row, "case", what);
    bench_row_word(&row, "against", against);
    bench_row_number(&row, "keys", (double)keys);
    bench_row_number(&row, "key bytes", (double)key_len);
    bench_row_word(&row, "answer", whole ? "decision" : "verdict");
    return row;
}

/* `target` 0: told beside. */
static void put_measured(bench_row *row, const char *unit, bench_summary measured, double target, bool at_least)
{
    bench_row_measure(row, unit[0] ? "measured" : "ratio", unit, measured);
    if (target == 0)
        return;
    bench_row_measure(row, at_least ? "at least" : "at most", unit, bench_once(target));
    row->note = (at_least ? measured.median >= target : measured.median <= target) ? "met" : "missed";
}

/* --- contests --- */

/* One more contender, if it is not there; its index. */
static unsigned enter(bench_contest *contest, const bench_contender *who)
{
    unsigned at = 0;
    while (at < contest->count &&
           (contest->contender[at].subject != who->subject || contest->contender[at].threads != who->threads))
        at++;
    if (at == contest->count)
        bench_contest_enter(contest, &who->subject, 1, who->threads);
    return at;
}

typedef struct order {
    const bout *bout;
    bench_contest contest;
    unsigned one[4], other[4];
} order;

static void put_ratio(const order *asked, const bench_contest_result *result, unsigned number, const bench_sink *sink)
{
    const ratio *of = &asked->bout->ratio[number];
    const bench_contest *contest = &asked->contest;
    const unsigned one = asked->one[number], other = asked->other[number];
    const bool is_rate = of->value == BENCH_RATE, beside = contest->key_len != 8 || contest->whole;
    const char *unit = is_rate ? "1/s" : "ns";
    bench_row row = row_for(of->one.subject->name, bench_algorithm_name(contest->algorithm), of->what, of->against,
                            contest->keys, contest->key_len, contest->whole);
    put_measured(&row, "", bench_samples_ratio(&result->samples, one, other, of->value), beside ? 0 : of->target,
                 is_rate);
    bench_row_measure(&row, "its own", unit, bench_samples_summary(&result->samples, one, of->value));
    bench_row_measure(&row, "the other's", unit, bench_samples_summary(&result->samples, other, of->value));
    if (is_rate)
        bench_row_measure(&row, "by cpu time", "", bench_contest_gain(contest, &result->samples, one, other));
    else if (of->one.threads == 2)
        bench_row_measure(&row, "least share", "", bench_samples_summary(&result->samples, one, BENCH_LEAST));
    row.wrong = result->wrong[one] + result->wrong[other];
    bench_put(sink, &row);
}

static void run_contest(const void *given, const bench_sink *sink)
{
    const order *asked = given;
    bench_contest_result result;
    bench_contest_run(&asked->contest, &result);
    for (unsigned i = 0; i < asked->bout->count; i++)
        put_ratio(asked, &result, i, sink);
    bench_contest_free(&result);
}

static uint64_t at_most(const bench_options *options, uint64_t keys)
{
    return options->keys.count > 0 && options->keys.value[0] < keys ? options->keys.value[0] : keys;
}

static int run_bout(const bench_options *options, const bout *match, size_t key_len, bool whole, const bench_sink *sink)
{
    order asked = {.bout = match, .contest = bench_contest_for(options, match->algorithm)};
    bench_contest *contest = &asked.contest;
    contest->keys = at_most(options, match->keys);
    contest->traffic = match->traffic;
    contest->costs = match->costs;
    contest->timed = match->timed;
    contest->key_len = key_len;
    contest->whole = whole;
    contest->batch = match->keys > 1 ? BATCH : 1;
    for (unsigned i = 0; i < match->count; i++) {
        asked.one[i] = enter(contest, &match->ratio[i].one);
        asked.other[i] = enter(contest, &match->ratio[i].other);
    }
    return bench_apart(run_contest, &asked, sink) != 0;
}

static int run_lengths(const bench_options *options, const bout *match, const bench_sink *sink)
{
    static const bench_list own_key_lens = {3, {8, 16, 36}};
    const bench_list *key_lens = bench_list_or(&options->key_lens, &own_key_lens);
    int failed = 0;
    for (unsigned i = 0; i < key_lens->count && (i == 0 || match->beside); i++) {
        failed += run_bout(options, match, key_lens->value[i], false, sink);
        if (match->beside && i == 0)
            failed += run_bout(options, match, key_lens->value[i], true, sink);
    }
    return failed;
}

/* --- others' rows --- */

static const borrowed others[] = {
    {&bench_churn, "spoofed flood, new keys, 2 threads", "sharded",
     {.threads = {1, {2}}, .keys = {1, {MILLION}}, .algorithms = 1 << WEIR_COUNTER,
      .subject_count = 2, .subjects = {&bench_weir, &bench_sharded}},
     "swept", "by insertions alone", "to sharded", 0.50, NULL},
    {&bench_growth, "growth, longest pause, ns", "-",
     {.keys = {1, {10 * MILLION}}, .key_lens = {1, {8}}, .algorithms = 1 << WEIR_COUNTER, .subject_count = 1,
      .subjects = {&bench_weir}}, NULL, NULL, "longest pause", 100000, "weir-janitor"},
    {&bench_janitor, "a million expired keys swept underneath, p99", "quiet",
     {.keys = {1, {MILLION}}, .key_lens = {1, {8}}, .algorithms = 1 << WEIR_COUNTER, .subject_count = 1,
      .subjects = {&bench_weir}}, NULL, NULL, "p99 to quiet", 1.5, NULL},
    {&bench_memory, "bytes a key, resident, mean of an octave", "-",
     {.keys = {1, {OCTAVE}}, .key_lens = {1, {8}}, .algorithms = 1 << WEIR_COUNTER, .subject_count = 1,
      .subjects = {&bench_weir}}, "of", "keys, mean of an octave", "bytes a key", 64, NULL},
    {&bench_memory, "bytes a record, full rings, less 192 a key", "-",
     {.keys = {1, {OCTAVE}}, .key_lens = {1, {8}}, .algorithms = 1 << WEIR_LOG, .subject_count = 1,
      .subjects = {&bench_weir}}, "of", "records, full rings after steady traffic", "less 192 a key", 8.5, NULL},
};

typedef struct lookout {
    const borrowed *of;
    uint64_t keys;
    const bench_sink *sink;
} lookout;

static void look(void *argument, const bench_row *found)
{
    const lookout *looking = argument;
    const borrowed *of = looking->of;
    const char *begins = of->subject ? of->subject : "weir";
    const bench_measure *measure = bench_row_find_measure(found, of->measure);
    const bench_parameter *parameter = of->parameter ? bench_row_find_parameter(found, of->parameter) : NULL;
    if (strncmp(found->subject, begins, strlen(begins)) != 0 || !measure ||
        (of->parameter && (!parameter || !parameter->word || strcmp(parameter->word, of->word) != 0)))
        return;
    bench_row row = row_for(found->subject, found->algorithm, of->what, of->against, looking->keys, 8, false);
    put_measured(&row, measure->unit, measure->value, of->target, false);
    row.wrong = found->wrong;
    bench_put(looking->sink, &row);
}

static int run_borrowed(const bench_options *options, const borrowed *of, const bench_sink *sink)
{
    bench_options asked = of->options;
    asked.seconds = options->seconds;
    asked.keys.value[0] = at_most(options, asked.keys.value[0]);
    lookout looking = {of, asked.keys.value[0], sink};
    const bench_sink eyes = {look, &looking};
    return of->scenario->run(&asked, &eyes);
}

static int run(const bench_options *options, const bench_sink *sink)
{
    int failed = 0;
    for (unsigned i = 0; i < sizeof bouts / sizeof *bouts; i++)
        if (bench_options_want(options, bouts[i].algorithm))
            failed += run_lengths(options, &bouts[i], sink);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if ((others[i].options.algorithms & options->algorithms) != 0 || options->algorithms == 0)
            failed += run_borrowed(options, &others[i], sink);
    return failed;
}

const bench_scenario bench_targets = {"targets", "what weir set out to reach, as ratios within one run", run};
