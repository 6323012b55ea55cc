/*
 * Guarantee F, of a limiter so large that its segments and nodes come from pools: when all keys have expired, a sweep
 * and a reclaim leave at most what the contract says, and give every region of the pools back; where some keys stay,
 * they stay whole, within the bound.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

#include "limiter/limiter.h"

#define WINDOW (10 * WEIR_SECOND)

enum { LIMIT = 100, RECORDS = 20, KEPT_ONE_IN = 50, ROUNDS = 2 };

static const struct {
    enum kind kind;
    uint64_t key, record; /* bytes, as the contract says */
} kinds[] = {{KIND_COUNTER, 160, 0}, {KIND_LOG, 160 + 192, 8}, {KIND_BUCKETS, 160 + 192 + 6 * 8, 0}};

static uint64_t mapped(weir *limiter, enum weiri_block kind)
{
    return weiri_pool_mapped(&limiter->memory.pool[kind].of);
}

static void charge(weir *limiter, uint64_t number, uint64_t now, unsigned times)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    for (unsigned i = 0; i < times; i++)
        if (weir_take(limiter, &request, now, NULL) != 1)
            failed("key %" PRIu64 " at %" PRIu64 ": wanted every charge accepted", number, now);
}

static weir_statistics swept_at(weir *limiter, uint64_t now)
{
    if (weir_sweep(limiter, now, 0) != 1)
        failed("weir_sweep: wanted the end of the table");
    want_done("weir_reclaim", weir_reclaim(limiter));
    return stats_of(limiter);
}

/* Grows to `keys`, of which none is left at `end`: everything is given back. Returns the bytes left. */
static uint64_t all_expire(weir *limiter, const rule_set *set, uint64_t keys, uint64_t start, uint64_t end)
{
    for (uint64_t number = 0; number < keys; number++)
        charge(limiter, number, start, 1);
    uint64_t bytes = stats_of(limiter).bytes;
    if (mapped(limiter, WEIRI_BLOCK_SEGMENT) == 0 || (mapped(limiter, WEIRI_BLOCK_NODE) == 0) != set->inline_state)
        failed("%s: wanted both in pools, got %" PRIu64 " bytes of segments, %" PRIu64 " of nodes", set->name,
               mapped(limiter, WEIRI_BLOCK_SEGMENT), mapped(limiter, WEIRI_BLOCK_NODE));
    if (bytes < mapped(limiter, WEIRI_BLOCK_NODE) / 2)
        failed("%s: weir_stats tells %" PRIu64 " bytes", set->name, bytes);
    weir_statistics stats = swept_at(limiter, end);
    want_equal("keys", 0, stats.keys);
    want_equal("bytes retired", 0, stats.retired_bytes);
    want_at_most("bytes in use without a key", 65536 + 8 * keys, stats.bytes);
    want_equal("bytes mapped for segments", 0, mapped(limiter, WEIRI_BLOCK_SEGMENT));
    want_equal("bytes mapped for nodes", 0, mapped(limiter, WEIRI_BLOCK_NODE));
    return stats.bytes;
}

/* Some make records again, and stay. */
static void some_stay(weir *limiter, size_t which, const rule_set *set, uint64_t keys, uint64_t start, uint64_t later)
{
    uint64_t live = 0;
    for (uint64_t number = 0; number < keys; number++)
        charge(limiter, number, start, 1);
    uint64_t most = mapped(limiter, WEIRI_BLOCK_NODE);
    for (uint64_t number = 0; number < keys; number += KEPT_ONE_IN, live++)
        charge(limiter, number, later, RECORDS);
    weir_statistics stats = swept_at(limiter, later);
    want_equal("live keys", live, stats.keys);
    want_equal("bytes retired with live keys", 0, stats.retired_bytes);
    want_at_most("bytes in use with live keys",
                 65536 + live * (kinds[which].key + RECORDS * kinds[which].record) + 8 * keys, stats.bytes);
    want_at_most("bytes mapped for the nodes that stay", most, mapped(limiter, WEIRI_BLOCK_NODE));
    for (uint64_t number = 0; number < keys; number += KEPT_ONE_IN) {
        test_key key = key_number(number);
        weir_request request = request_for(&key, 1);
        weir_decision decision;
        if (weir_peek(limiter, &request, later, &decision) != 1 || decision.remaining != LIMIT - RECORDS)
            failed("%s, key %" PRIu64 ": wanted remaining %d, got %" PRIu64, set->name, number, LIMIT - RECORDS,
                   decision.remaining);
    }
}

static void grows_and_shrinks(size_t which, uint64_t keys)
{
    rule_set set = rule_set_of(kinds[which].kind, LIMIT, WINDOW);
    weir_options options = weir_options_manual();
    options.max_lateness_ns = 0;
    weir *limiter = opened(&set, &options);
    uint64_t start = 1000 * WINDOW, first = 0;
    for (unsigned round = 0; round < ROUNDS; round++, start += 10 * WINDOW) {
        uint64_t bytes = all_expire(limiter, &set, keys, start, start + 3 * WINDOW);
        if (round > 0)
            want_at_most("bytes without a key, round after round", first, bytes);
        first = bytes;
    }
    some_stay(limiter, which, &set, keys, start, start + 3 * WINDOW);
    (void)all_expire(limiter, &set, keys, start + 10 * WINDOW, start + 13 * WINDOW);
    want_done("weir_close", weir_close(limiter));
}

int main(void)
{
    uint64_t keys = scaled(200000, 150000); /* fewer make no large table */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        grows_and_shrinks(i, keys);
    printf("regions: %" PRIu64 " keys, all given back\n", keys);
    return 0;
}
