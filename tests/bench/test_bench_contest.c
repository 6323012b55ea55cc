/*
 * Contests of weir-bench: a subject that answers otherwise than the first is found out (guarantee A, as far as the
 * harness attacks it), and traffic is what it is called.
 */
#include <criterion/criterion.h>

#include "baselines/baselines.h"
#include "contest.h"
#include "subject_weir.h"

static bench_subject liar;

static bench_contest contest_of(uint32_t algorithm, uint64_t keys)
{
    const bench_options options = {.seconds = 0.001};
    bench_contest contest = bench_contest_for(&options, algorithm);
    contest.keys = keys;
    return contest;
}

static void enter(bench_contest *contest, const bench_subject *subject, unsigned threads)
{
    bench_contest_enter(contest, &subject, 1, threads);
}

/* Rounds in which the second subject was found to differ. */
static uint64_t found_out(bench_contest contest, unsigned threads)
{
    bench_contest_result result;
    enter(&contest, &bench_weir, threads);
    enter(&contest, &liar, threads);
    bench_contest_run(&contest, &result);
    const uint64_t wrong = result.wrong[1];
    cr_assert_eq(result.wrong[0], 0);
    bench_contest_free(&result);
    return wrong;
}

static void round_one_less(void *state, const bench_work *work, bench_tally *tally)
{
    bench_weir.round(state, work, tally);
    tally->accepted--;
}

static void round_one_off(void *state, const bench_work *work, bench_tally *tally)
{
    bench_weir.round(state, work, tally);
    tally->answers++;
}

static void round_dearer(void *state, const bench_work *work, bench_tally *tally)
{
    bench_work dear = *work;
    dear.cost_mask = work->cost_mask | 1;
    bench_weir.round(state, &dear, tally);
}

static void round_with_errors(void *state, const bench_work *work, bench_tally *tally)
{
    bench_weir.round(state, work, tally);
    tally->errors++;
}

Test(bench_contest, the_same_subject_agrees_with_itself)
{
    liar = bench_weir;
    cr_assert_eq(found_out(contest_of(WEIR_LOG, 10), 1), 0);
    cr_assert_eq(found_out(contest_of(WEIR_COUNTER, 1), 2), 0);
}

Test(bench_contest, another_verdict_is_found_out_in_every_round)
{
    liar = bench_weir;
    liar.round = round_one_less;
    cr_assert_geq(found_out(contest_of(WEIR_COUNTER, 10), 1), BENCH_ROUNDS_MIN + 2);
}

Test(bench_contest, another_decision_is_found_out_before_verdicts_are_measured)
{
    liar = bench_weir;
    liar.round = round_one_off;
    bench_contest contest = contest_of(WEIR_COUNTER, 10);
    cr_assert_geq(found_out(contest, 1), 1);
    cr_assert_geq(found_out(contest, 2), 1);
    contest.whole = true;
    cr_assert_geq(found_out(contest, 1), BENCH_ROUNDS_MIN + 2);
}

Test(bench_contest, another_charge_is_found_out)
{
    liar = bench_weir;
    liar.round = round_dearer;
    cr_assert_geq(found_out(contest_of(WEIR_COUNTER, 10), 1), 1);
    cr_assert_geq(found_out(contest_of(WEIR_BUCKETS, 10), 2), 1);
}

Test(bench_contest, errors_are_told_however_many_threads_ask)
{
    liar = bench_weir;
    liar.round = round_with_errors;
    cr_assert_geq(found_out(contest_of(WEIR_COUNTER, 10), 2), BENCH_ROUNDS_MIN + 2);
}

/* Allowed is allowed, refused is refused, and of mixed calls about half pass; more where small costs find room, less
 * where measuring ends in the middle of a ring's window. */
static void check_traffic(uint32_t algorithm, uint64_t keys, bool costs, unsigned threads)
{
    const double least[] = {1, 0, costs ? 0.33 : 0.4}, most[] = {1, 0, costs ? 0.7 : 0.6};
    for (int traffic = BENCH_ALLOWED; traffic <= BENCH_MIXED; traffic++) {
        bench_contest_result result;
        bench_contest contest = contest_of(algorithm, keys);
        contest.traffic = (enum bench_traffic)traffic;
        contest.costs = costs;
        contest.seconds = keys > 1 ? 0.2 : 0.001; /* long enough to fill windows */
        enter(&contest, &bench_weir, threads);
        bench_contest_run(&contest, &result);
        cr_assert(result.accepted[0] >= least[traffic] && result.accepted[0] <= most[traffic],
                  "algorithm %u, %llu keys, costs %d, %u threads, traffic %d: %f", algorithm, (unsigned long long)keys,
                  costs, threads, traffic, result.accepted[0]);
        cr_assert_eq(result.wrong[0], 0);
        bench_contest_free(&result);
    }
}

Test(bench_contest, traffic_is_what_it_is_called)
{
    for (uint32_t algorithm = WEIR_LOG; algorithm <= WEIR_BUCKETS; algorithm++) {
        check_traffic(algorithm, 1, false, 1);
        check_traffic(algorithm, 1, true, 1);
        check_traffic(algorithm, 1, false, 3);
        check_traffic(algorithm, 100, false, 1);
    }
}
