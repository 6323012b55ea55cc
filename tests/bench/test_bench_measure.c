/* How weir-bench sums up: medians, quartiles, ratios; rounds in turn, the first one thrown away; threads' shares. */
#include <criterion/criterion.h>

#include "crew.h"
#include "measure.h"

Test(bench_measure, the_median_and_the_quartiles_of_an_odd_number)
{
    double samples[] = {5, 1, 4, 2, 3};
    const bench_summary summary = bench_summarize(samples, 5);
    cr_assert_eq(summary.median, 3);
    cr_assert_eq(summary.low, 2);
    cr_assert_eq(summary.high, 4);
    cr_assert_eq(summary.rounds, 5);
}

Test(bench_measure, between_two_samples_where_the_number_is_even)
{
    double samples[] = {40, 10, 30, 20};
    const bench_summary summary = bench_summarize(samples, 4);
    cr_assert_eq(summary.median, 25);
    cr_assert_eq(summary.low, 17.5);
    cr_assert_eq(summary.high, 32.5);
}

Test(bench_measure, one_sample_is_all_of_it)
{
    double samples[] = {7};
    const bench_summary summary = bench_summarize(samples, 1);
    cr_assert_eq(summary.median, 7);
    cr_assert_eq(summary.low, 7);
    cr_assert_eq(summary.high, 7);
}

Test(bench_measure, no_sample_is_0)
{
    double samples[1];
    cr_assert_eq(bench_summarize(samples, 0).median, 0);
}

/* Notes who had a turn, and measures 100 * contender + round, and the double of it. */
typedef struct turns {
    unsigned count;
    unsigned contender[64], round[64];
} turns;

static void note(void *argument, unsigned contender, unsigned round, double *values)
{
    turns *seen = argument;
    seen->contender[seen->count] = contender;
    seen->round[seen->count++] = round;
    values[0] = 100 * (contender + 1) + round;
    values[1] = 2 * values[0];
}

Test(bench_measure, rounds_are_in_turn_and_the_first_is_thrown_away)
{
    turns seen = {0};
    bench_samples samples = {.contenders = 3, .values = 2};
    cr_assert_eq(bench_interleave(note, &seen, 0, &samples), 0);
    cr_assert_eq(samples.rounds, BENCH_ROUNDS_MIN);
    cr_assert_eq(seen.count, 3 * (BENCH_ROUNDS_MIN + 1));
    for (unsigned i = 0; i < seen.count; i++) {
        cr_assert_eq(seen.contender[i], i % 3);
        cr_assert_eq(seen.round[i], i / 3);
    }
    cr_assert_eq(BENCH_ROUNDS_MIN, 5); /* rounds 1 to 5: their median is 3 */
    cr_assert_eq(bench_samples_summary(&samples, 0, 0).median, 103);
    cr_assert_eq(bench_samples_summary(&samples, 2, 1).median, 606);
    const bench_summary ratio = bench_samples_ratio(&samples, 1, 0, 0);
    cr_assert_eq(ratio.median, 203.0 / 103);
    cr_assert_eq(ratio.low, 204.0 / 104);
    cr_assert_eq(ratio.high, 202.0 / 102);
    bench_samples_free(&samples);
}

static _Atomic unsigned prepared;

static void prepare(void *argument, unsigned thread)
{
    (void)argument, (void)thread;
    prepared++;
}

/* Thread i does i + 1; all must have been prepared before any of them begins. */
static uint64_t work(void *argument, unsigned thread, const bench_crew *crew)
{
    const unsigned *threads = argument;
    (void)crew;
    return prepared == *threads ? thread + 1 : 1000;
}

Test(bench_measure, a_crew_begins_together_and_its_shares_are_told)
{
    unsigned threads = 4;
    bench_crew_result result;
    const bench_crew_job job = {prepare, work, &threads, threads, 1};
    cr_assert_eq(bench_crew_run(&job, &result), 0);
    cr_assert_eq(result.done, 10);
    for (unsigned i = 0; i < threads; i++)
        cr_assert_eq(result.done_by[i], i + 1);
    cr_assert_eq(bench_crew_least(&result, threads), 0.4);
    cr_assert_eq(bench_crew_most(&result, threads), 1.6);
    cr_assert_gt(result.wall_ns, 0);
}

static uint64_t until_told(void *argument, unsigned thread, const bench_crew *crew)
{
    uint64_t turns_had = 0;
    (void)argument, (void)thread;
    while (bench_crew_goes_on(crew))
        turns_had++;
    return turns_had + 1;
}

Test(bench_measure, a_crew_ends_when_its_time_is_over, .timeout = 60)
{
    bench_crew_result result;
    const bench_crew_job job = {NULL, until_told, NULL, 2, 0.01};
    cr_assert_eq(bench_crew_run(&job, &result), 0);
    cr_assert_geq(result.wall_ns, 0.01 * 1e9); /* not before */
}

Test(bench_measure, a_tick_and_the_timer_cost_something)
{
    cr_assert_gt(bench_tick_ns(), 0);
    cr_assert_gt(bench_timer_ns(), 0);
}
