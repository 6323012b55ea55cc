/* The histogram of weir-bench: which bucket a value falls in, and what the percentiles then are, to the last digit. */
#include <criterion/criterion.h>

#include "histogram.h"

static bench_histogram one, other;

Test(bench_histogram, a_bucket_begins_where_the_one_before_ends)
{
    uint64_t begin = 0;
    for (unsigned i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) {
        const uint64_t top = bench_histogram_top(i);
        cr_assert_eq(bench_histogram_index(begin), i);
        cr_assert_eq(bench_histogram_index(top), i);
        begin = top + 1;
    }
    cr_assert_eq(begin, 0); /* 2^64 */
}

Test(bench_histogram, a_bucket_is_no_wider_than_a_thirty_second_part)
{
    for (unsigned i = 64; i < BENCH_HISTOGRAM_BUCKETS; i++) {
        const uint64_t bottom = bench_histogram_top(i - 1) + 1;
        cr_assert_leq(bench_histogram_top(i) - bottom + 1, bottom / 32);
    }
}

Test(bench_histogram, small_values_are_exact)
{
    for (uint64_t value = 1; value <= 50; value++)
        bench_histogram_add(&one, value);
    cr_assert_eq(bench_histogram_quantile(&one, 0.5), 25);
    cr_assert_eq(bench_histogram_quantile(&one, 0.98), 49);
    cr_assert_eq(bench_histogram_quantile(&one, 0.981), 50);
    cr_assert_eq(bench_histogram_quantile(&one, 0), 1);
    cr_assert_eq(bench_histogram_quantile(&one, 1), 50);
    cr_assert_eq(bench_histogram_mean(&one, 1), 25.5);
    cr_assert_eq(bench_histogram_mean(&one, 0.5), 13);
}

/* 1000 and 1007 share a bucket of 16 values that ends at 1007; 5000 lies in one of 128 that ends at 5119. */
Test(bench_histogram, a_percentile_is_its_buckets_top_but_not_more_than_the_largest_value)
{
    for (unsigned i = 0; i < 9990; i++)
        bench_histogram_add(&one, 1000);
    for (unsigned i = 0; i < 9; i++)
        bench_histogram_add(&one, 5000);
    bench_histogram_add(&one, 1000000);
    cr_assert_eq(bench_histogram_quantile(&one, 0.5), 1007);
    cr_assert_eq(bench_histogram_quantile(&one, 0.99), 1007);
    cr_assert_eq(bench_histogram_quantile(&one, 0.999), 1007);
    cr_assert_eq(bench_histogram_quantile(&one, 0.9991), 5119);
    cr_assert_eq(bench_histogram_quantile(&one, 0.9999), 5119);
    cr_assert_eq(bench_histogram_quantile(&one, 1), 1000000);
    cr_assert_eq(one.max, 1000000);
    cr_assert_eq(one.count, 10000);
    cr_assert_eq(bench_histogram_mean(&one, 0.99), 999.5);
}

Test(bench_histogram, merged_is_as_if_all_had_been_added_to_one)
{
    static bench_histogram all;
    uint64_t value = 1;
    for (unsigned i = 0; i < 1000; i++, value = value * 6364136223846793005u + 1442695040888963407u) {
        bench_histogram_add(i % 3 == 0 ? &one : &other, value >> (i % 60));
        bench_histogram_add(&all, value >> (i % 60));
    }
    bench_histogram_merge(&one, &other);
    cr_assert_eq(one.count, all.count);
    cr_assert_eq(one.max, all.max);
    for (unsigned i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++)
        cr_assert_eq(one.bucket[i], all.bucket[i]);
}

Test(bench_histogram, an_empty_one_tells_0)
{
    cr_assert_eq(bench_histogram_quantile(&one, 0.5), 0);
    cr_assert_eq(bench_histogram_quantile(&one, 1), 0);
    cr_assert_eq(bench_histogram_mean(&one, 1), 0);
}

Test(bench_histogram, the_largest_value_there_is_has_a_place)
{
    bench_histogram_add(&one, UINT64_MAX);
    cr_assert_eq(bench_histogram_index(UINT64_MAX), BENCH_HISTOGRAM_BUCKETS - 1);
    cr_assert_eq(bench_histogram_quantile(&one, 1), UINT64_MAX);
}
