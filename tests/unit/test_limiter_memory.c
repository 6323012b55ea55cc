/*
 * Memory that runs out while calls are made: each is refused, or admitted by choice, with a flag; nothing is recorded
 * for it, nothing else is harmed, and all is well again once there is memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>

#include "../support/allocator.h"
#include "../support/decision.h"
#include "../support/oracle.h"
#include "../support/random.h"
#include "../support/rows.h"

#define ENDLESS UINT64_MAX

struct bench {
    test_allocator memory;
    weir *limiter;
    struct oracle *oracle;
    uint32_t when_full;
    uint64_t starved; /* calls answered without memory */
};

static const struct {
    weir_rule rules[2];
    size_t count;
} layouts[] = {
    {{{.limit = 20, .window_ns = 100, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST}}, 1},
    {{{.limit = 200, .window_ns = 100, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST}}, 1},
    {{{.limit = 200, .window_ns = 100, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST}}, 1},
    {{{.limit = 20, .window_ns = 100, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 10}}, 1},
    {{{.limit = 50, .window_ns = 100, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST},
      {.limit = 900, .window_ns = 50, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST}},
     2},
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)

static void bench_open(struct bench *bench, size_t layout, uint32_t when_full)
{
    weir_options options = weir_options_manual();

    *bench = (struct bench){.when_full = when_full};
    options.when_full = when_full;
    options.max_lateness_ns = ENDLESS;
    options.allocator = test_allocator_for(&bench->memory);
    cr_assert_eq(weir_open(&bench->limiter, layouts[layout].rules, layouts[layout].count, &options), 0);
    bench->oracle = oracle_open(layouts[layout].rules, layouts[layout].count, 0, NULL);
}

static void bench_close(struct bench *bench)
{
    cr_assert_eq(weir_close(bench->limiter), 0);
    cr_assert_eq(bench->memory.blocks, 0);
    cr_assert_eq(bench->memory.bytes, 0);
    cr_assert_eq(bench->memory.faults, 0);
    oracle_close(bench->oracle);
}

/* One call; the oracle is told of it only where the limiter says that it was recorded. */
static void bench_take(struct bench *bench, uint64_t key, uint64_t cost, uint64_t now)
{
    weir_request request = weir_request_for(&key, sizeof key);
    weir_decision wanted;
    weir_decision got;
    uint64_t wanted_value;
    uint64_t got_value;
    const char *field;
    int verdict;

    request.cost = cost;
    verdict = weir_take(bench->limiter, &request, now, &got);
    if ((got.flags & WEIR_NO_MEMORY) != 0) {
        bench->starved++;
        cr_assert_eq(got.flags, WEIR_NO_MEMORY);
        cr_assert_eq(verdict, bench->when_full == WEIR_FULL_ADMIT);
        cr_assert_eq(got.verdict, verdict);
        cr_assert_eq(got.retry_after_ns, 0);
        /* What the rules refuse needs no memory. */
        cr_assert_eq(oracle_peek(bench->oracle, &request, now, &wanted), 1);
        return;
    }
    cr_assert_eq(oracle_take(bench->oracle, &request, now, &wanted), verdict);
    field = decision_difference(&wanted, &got, &wanted_value, &got_value);
    cr_assert_null(field, "%s wanted %" PRIu64 ", got %" PRIu64, field, wanted_value, got_value);
}

Test(memory, a_third_of_all_allocations_may_fail_at_random)
{
    uint64_t seed = random_seed("memory");

    for (size_t layout = 0; layout < LAYOUTS; layout++)
        for (uint32_t when_full = WEIR_FULL_REFUSE; when_full <= WEIR_FULL_ADMIT; when_full++) {
            random_source random = random_from(seed, layout);
            struct bench bench;
            uint64_t now = 0;

            bench_open(&bench, layout, when_full);
            bench.memory.random = random_next(&random);
            for (int i = 0; i < 4000; i++) {
                bench.memory.fail_percent = i < 2500 ? 33 : 0;
                now += random_below(&random, 3);
                bench_take(&bench, random_below(&random, i % 2 == 0 ? 300 : 3), random_below(&random, 4), now);
            }
            cr_assert_gt(bench.starved, 0);
            cr_assert_gt(bench.memory.failed, 0);
            bench_close(&bench);
        }
}

Test(memory, any_single_allocation_may_fail)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        uint64_t failed = 1;

        for (uint64_t n = 1; failed != 0 && n < 1000; n++) {
            struct bench bench;

            bench_open(&bench, layout, WEIR_FULL_REFUSE);
            bench.memory.fail_at = n;
            for (uint64_t i = 0; i < 300; i++)
                bench_take(&bench, i % 60, 1, i / 10);
            failed = bench.memory.failed;
            /* A failure is told by one call at most: the next one tries again. */
            cr_assert_leq(bench.starved, failed);
            bench_close(&bench);
        }
    }
}

Test(memory, with_none_at_all_the_keys_held_go_on)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        struct bench bench;
        uint64_t starved;

        bench_open(&bench, layout, WEIR_FULL_REFUSE);
        for (uint64_t key = 0; key < 200; key++)
            bench_take(&bench, key, 1, 0);
        bench.memory.fail_from = 1;
        for (uint64_t key = 0; key < 200; key++)
            bench_take(&bench, key, 1, 1);
        /* Each key's first records have their place from the start. */
        cr_assert_eq(bench.starved, 0);
        for (uint64_t key = 1000; key < 3000; key++)
            bench_take(&bench, key, 1, 1);
        starved = bench.starved;
        cr_assert_gt(starved, 0);
        /* A sweep may lack the memory to shrink; it harms nothing. */
        cr_assert_eq(weir_sweep(bench.limiter, 2, 0), 1);
        test_allocator_relent(&bench.memory);
        for (uint64_t key = 0; key < 3000; key++)
            bench_take(&bench, key, 1, 2);
        cr_assert_eq(bench.starved, starved);
        bench_close(&bench);
    }
}

static int count(void *argument, const weir_key *key)
{
    (void)key;
    ++*(uint64_t *)argument;
    return 0;
}

Test(memory, sweeps_walks_and_new_limits_fail_whole_or_not_at_all)
{
    for (size_t layout = 0; layout < LAYOUTS; layout++) {
        weir_rule rule = layouts[layout].rules[0];
        weir_statistics statistics = {.struct_size = sizeof statistics};
        test_allocator memory = {0};
        weir_allocator callbacks = test_allocator_for(&memory);
        weir *limiter = manual_limiter(&rule, 1, 0, &callbacks);
        weir_request request;
        weir_decision decision;
        const uint64_t limit = 7;
        uint64_t visits = 0;
        int result;

        for (uint64_t key = 0; key < 500; key++) {
            request = weir_request_for(&key, sizeof key);
            cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        }
        memory.fail_from = 1;
        result = weir_each(limiter, 0, count, &visits);
        cr_assert(result == 0 || result == -ENOMEM);
        cr_assert(result != 0 || visits == 500);
        result = weir_set_limits(limiter, 0, &limit, 1);
        cr_assert(result == 0 || result == -ENOMEM);
        request = weir_request_for("key", 3);
        cr_assert_eq(weir_peek(limiter, &request, 0, &decision), 1);
        cr_assert_eq(decision.limit, result == 0 ? limit : rule.limit);
        cr_assert_eq(weir_sweep(limiter, 1000, 0), 1);
        test_allocator_relent(&memory);
        cr_assert_eq(weir_sweep(limiter, 1000, 0), 1);
        cr_assert_eq(weir_stats(limiter, &statistics), 0);
        cr_assert_eq(statistics.keys, 0);
        cr_assert_eq(statistics.swept, 500);
        cr_assert_eq(weir_close(limiter), 0);
        cr_assert_eq(memory.blocks, 0);
        cr_assert_eq(memory.faults, 0);
    }
}

Test(memory, a_sweep_that_lacks_memory_to_shrink_still_keeps_late_calls_from_fresh_quota)
{
    const weir_rule rules[] = {log_rule(5, 10), buckets_rule(5, 10, 5)};

    /* Both keep a key in a node, which is dropped at once; only the cell that held it needs memory to go. */
    for (size_t i = 0; i < 2; i++) {
        test_allocator memory = {0};
        weir_allocator callbacks = test_allocator_for(&memory);
        weir *limiter = manual_limiter(&rules[i], 1, 5, &callbacks);
        weir_request request = weir_request_for("key", 3);
        weir_decision decision;

        request.cost = 5;
        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        memory.fail_from = 1;
        cr_assert_eq(weir_sweep(limiter, 100, 0), 1);
        test_allocator_relent(&memory);
        /* Decided at 95, no earlier than the drop less max_lateness: so it counts until 105. */
        cr_assert_eq(weir_take(limiter, &request, 1, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        request.cost = 1;
        cr_assert_eq(weir_take(limiter, &request, 100, &decision), 0);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.retry_after_ns, 5);
        cr_assert_eq(weir_close(limiter), 0);
        cr_assert_eq(memory.blocks, 0);
    }
}
