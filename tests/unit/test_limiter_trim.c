/*
 * Guarantee F inside a key that stays: the memory of charges that no longer count is given back, and late callers find
 * no fresh quota for it (B).
 *
 * SPDX-License-Identifier: MIT
 */
#include "limiter_bench.h"

enum { MANY = 10000, SHORT = 1000 };

static const weir_rule log_alone = {
    .limit = MANY, .window_ns = SHORT, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
static const weir_rule log_beside_counter[] = {
    {.limit = MANY, .window_ns = SHORT, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST},
    {.limit = 2 * MANY, .window_ns = UINT64_C(1) << 40, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST},
};

static void charge(weir *limiter, const weir_identity *key, uint64_t times, uint64_t now)
{
    for (uint64_t i = 0; i < times; i++)
        cr_assert_eq(take(limiter, key, 1, now), 1);
}

/* Bytes that the key's records take, after what is dead was swept and reclaimed. */
static uint64_t records_bytes(struct bench *bench, const weir_identity *key, uint64_t now)
{
    cr_assert_eq(weir_sweep(bench->limiter, now, 0), 1);
    cr_assert_eq(weir_reclaim(bench->limiter), 0);
    uint64_t with = bench->counting.bytes;
    weir_request request = request_for(key, 1);
    cr_assert_eq(weir_reset(bench->limiter, &request), 0);
    return with - bench->counting.bytes;
}

Test(trim, a_log_that_falls_to_a_hundred_records_keeps_memory_for_little_more)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &log_alone, 1, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);

    charge(limiter, &key, MANY - 100, 0);
    charge(limiter, &key, 100, 500);
    cr_assert_eq(stats_of(limiter).bytes, bench.counting.bytes);
    uint64_t bytes = records_bytes(&bench, &key, SHORT); /* those at 0 no longer count */
    cr_assert_eq(bytes, 8 + 8 * 120, "got %" PRIu64, bytes); /* one chunk: a hundred, an eighth more, by eights */
    bench_close(&bench);
}

Test(trim, what_is_left_of_a_trimmed_log_counts_as_before_and_late_calls_find_no_more)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &log_alone, 1, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);
    weir_request request = request_for(&key, 1);
    weir_decision decision;

    charge(limiter, &key, MANY - 100, 0);
    charge(limiter, &key, 100, 500);
    cr_assert_eq(weir_peek(limiter, &request, 600, &decision), 0);
    cr_assert_eq(decision.retry_after_ns, SHORT - 600);
    cr_assert_eq(weir_sweep(limiter, SHORT + 10, 0), 1);
    cr_assert_eq(weir_peek(limiter, &request, SHORT + 10, &decision), 1);
    cr_assert_eq(decision.remaining, MANY - 100);
    /* Late: the records at 0 are gone, so it is decided where they do not count, and says so. */
    cr_assert_eq(weir_take(limiter, &request, 600, &decision), 1);
    cr_assert_eq(decision.flags, WEIR_LATE);
    cr_assert_eq(decision.remaining, MANY - 101);
    cr_assert_eq(weir_peek(limiter, &request, 500 + SHORT - 1, &decision), 1);
    cr_assert_eq(decision.remaining, MANY - 101); /* it bears the stamp SHORT + 10 */
    cr_assert_eq(weir_peek(limiter, &request, 500 + SHORT, &decision), 1);
    cr_assert_eq(decision.remaining, MANY - 1);
    bench_close(&bench);
}

Test(trim, a_log_that_falls_to_a_few_records_keeps_no_memory_for_them_but_the_nodes)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &log_alone, 1, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);

    charge(limiter, &key, 1, 0);
    uint64_t one = bench.counting.bytes;
    charge(limiter, &key, MANY - 6, 0);
    charge(limiter, &key, 5, 500);
    cr_assert_eq(weir_sweep(limiter, SHORT, 0), 1);
    cr_assert_eq(bench.counting.bytes, one);
    charge(limiter, &key, MANY - 5, SHORT); /* and grows again */
    cr_assert_eq(take(limiter, &key, 1, SHORT), 0);
    cr_assert_eq(take(limiter, &key, 1, SHORT + 500), 1);
    bench_close(&bench);
}

Test(trim, a_log_that_is_empty_beside_a_long_counter_gives_its_memory_back)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, log_beside_counter, 2, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);

    charge(limiter, &key, MANY, 0);
    uint64_t bytes = records_bytes(&bench, &key, 2 * SHORT);
    cr_assert_eq(bytes, 0, "got %" PRIu64, bytes);
    bench_close(&bench);
}

Test(trim, a_reset_gives_the_memory_of_the_charges_back_at_once)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &log_alone, 1, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);
    weir_request request = request_for(&key, 1);

    charge(limiter, &key, 1, 0);
    uint64_t one = bench.counting.bytes;
    charge(limiter, &key, MANY - 1, 0);
    cr_assert_gt(bench.counting.bytes, one + 8 * (MANY - 1));
    cr_assert_eq(weir_reset(limiter, &request), 0);
    cr_assert_eq(bench.counting.bytes, one); /* the first few have their place in the node */
    bench_close(&bench);
}

Test(trim, a_log_that_stays_busy_gives_dead_chunks_back_with_its_charges)
{
    struct bench bench;
    weir *limiter = bench_open(&bench, &log_alone, 1, 0);
    weir_identity key = key_at(limiter, 0, 0, 1);

    charge(limiter, &key, 1, 0);
    uint64_t one = bench.counting.bytes;
    charge(limiter, &key, MANY - 1, 0);
    charge(limiter, &key, 1, SHORT); /* all others have left: neither a sweep nor a reclaim is needed for them */
    uint64_t bytes = bench.counting.bytes;
    cr_assert_lt(bytes, one + 8 * (MANY / 8), "got %" PRIu64, bytes); /* a last chunk and the index of many stay */
    bench_close(&bench);
}

Test(trim, a_log_that_falls_to_one_chunk_needs_no_index)
{
    const uint64_t left = 200;
    for (uint64_t all = MANY - 700; all <= MANY; all += 50) { /* they are in one chunk of many, or astride of two */
        struct bench bench;
        weir *limiter = bench_open(&bench, &log_alone, 1, 0);
        weir_identity key = key_at(limiter, 0, 0, 1);

        charge(limiter, &key, all - left, 0);
        charge(limiter, &key, left, 500);
        cr_assert_eq(weir_sweep(limiter, SHORT, 0), 1);
        const weiri_log *log = weiri_log_of(limiter, node_of(limiter, &key), 0);
        cr_assert_eq(log->next - log->first, left);
        cr_assert_eq(log->chunks, 1, "%" PRIu64 " charged", all);
        cr_assert_eq(log->index_capacity, 0, "%" PRIu64 " charged", all);
        bench_close(&bench);
    }
}
