/*
 * The keys that weir-bench picks: even, or by Zipf's law, with a fixed seed. The chance of each number is worked out by
 * summing up; so many draws of it lie within five standard deviations.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "picks.h"

enum { DRAWS = 200000 };

static uint64_t seed(void)
{
    const char *given = getenv("WEIR_SEED");
    const uint64_t chosen = given ? strtoull(given, NULL, 0) : 20261201;
    printf("WEIR_SEED=%llu\n", (unsigned long long)chosen);
    return chosen;
}

static void expect_near(uint64_t found, double chance, const char *what)
{
    const double mean = DRAWS * chance, deviation = sqrt(DRAWS * chance * (1 - chance));
    cr_assert(fabs((double)found - mean) <= 5 * deviation + 1e-9, "%s: %llu of %d, not %.1f +- %.1f", what,
              (unsigned long long)found, DRAWS, mean, deviation);
}

/* Each of the first numbers, and all others together. */
static void check_zipf(uint64_t count, double exponent)
{
    enum { TOLD = 50 };
    uint64_t found[TOLD] = {0}, others = 0, random = seed() | 1;
    double sum = 0, told = 0;
    const uint64_t first = count < TOLD ? count : TOLD;
    const bench_zipf zipf = bench_zipf_for(count, exponent);
    for (uint64_t k = 1; k <= count; k++)
        sum += pow((double)k, -exponent);
    for (unsigned i = 0; i < DRAWS; i++) {
        const uint64_t number = bench_zipf_draw(&zipf, &random);
        cr_assert_lt(number, count);
        if (number < first)
            found[number]++;
        else
            others++;
    }
    for (uint64_t k = 0; k < first; k++) {
        char what[32];
        snprintf(what, sizeof what, "number %llu", (unsigned long long)k);
        expect_near(found[k], pow((double)k + 1, -exponent) / sum, what);
        told += pow((double)k + 1, -exponent) / sum;
    }
    expect_near(others, fmax(1 - told, 0), "the others");
}

Test(bench_picks, zipf_of_few)
{
    check_zipf(3, 0.99);
}

Test(bench_picks, zipf_of_a_thousand)
{
    check_zipf(1000, 0.99);
}

Test(bench_picks, zipf_of_a_million)
{
    check_zipf(1000000, 0.99);
}

Test(bench_picks, zipf_that_is_steeper)
{
    check_zipf(1000, 1.5);
}

Test(bench_picks, zipf_of_one_is_always_that_one)
{
    const bench_zipf zipf = bench_zipf_for(1, 0.99);
    uint64_t random = seed() | 1;
    for (unsigned i = 0; i < 1000; i++)
        cr_assert_eq(bench_zipf_draw(&zipf, &random), 0);
}

static uint32_t picks[DRAWS];

Test(bench_picks, even_ones_are_even)
{
    uint64_t found[10] = {0};
    bench_pick(BENCH_UNIFORM, 10, seed(), picks, DRAWS);
    for (unsigned i = 0; i < DRAWS; i++) {
        cr_assert_lt(picks[i], 10);
        found[picks[i]]++;
    }
    for (unsigned k = 0; k < 10; k++)
        expect_near(found[k], 0.1, "one of ten");
}

Test(bench_picks, frequent_keys_are_no_neighbours)
{
    static uint64_t found[1000];
    unsigned most = 0, second = 0;
    bench_pick(BENCH_ZIPF, 1000, seed(), picks, DRAWS);
    for (unsigned i = 0; i < DRAWS; i++) {
        cr_assert_lt(picks[i], 1000);
        found[picks[i]]++;
    }
    for (unsigned k = 1; k < 1000; k++)
        most = found[k] > found[most] ? k : most;
    second = most == 0;
    for (unsigned k = 0; k < 1000; k++)
        second = k != most && found[k] > found[second] ? k : second;
    cr_assert_eq(most, 0);     /* number 0 stays where it is */
    cr_assert_eq(second, 647); /* 2147483647 mod 1000 */
}

Test(bench_picks, the_same_seed_picks_the_same)
{
    static uint32_t again[1000];
    bench_pick(BENCH_ZIPF, 1000000, seed(), picks, 1000);
    bench_pick(BENCH_ZIPF, 1000000, seed(), again, 1000);
    for (unsigned i = 0; i < 1000; i++)
        cr_assert_eq(picks[i], again[i]);
    bench_pick(BENCH_ZIPF, 1000000, seed() + 1, again, 1000);
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++)
        same += picks[i] == again[i];
    cr_assert_lt(same, 100); /* the most frequent one meets itself in some places */
}
