/*
 * Guarantee F, to the byte: after the keys have expired, one sweep made max_lateness later and one reclaim leave at
 * most
 *
 *     64 KiB + 160 a live key (nodes: + 192, 112 for a second rule, and 8 a bucket) + 8 (with costs 16) a live record
 *            + 6 x most keys ever
 *
 * with no key, with some keys alive, after one record each or many; and it stays so round after round. (The contract
 * says 8 x most keys, after any length of time; what has not lasted long, as here, leaves less, and is held to that.)
 * What weir_stats tells is what the allocator counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#define WINDOW   (10 * WEIR_SECOND)
#define LATENESS WEIR_SECOND

enum { LIMIT = 100 };

static uint64_t checks_made, calls_made, least_slack = UINT64_MAX;

struct load {
    unsigned kept_one_in; /* 0: no key stays */
    unsigned early;       /* records a key makes that then expire */
    unsigned late;        /* records a kept key makes that stay */
};

static const struct load loads[] = {
    {2, 1, 1},  {2, 1, 5},   {2, 1, 9},   {2, 1, 33},  {2, 1, 40},    {10, 1, 1},
    {10, 5, 5}, {10, 40, 1}, {10, 1, 40}, {100, 1, 5}, {100, 40, 40}, {100, 40, 1},
};

static void charge(weir *limiter, uint64_t number, uint64_t now, unsigned times)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    for (unsigned i = 0; i < times; i++)
        if (weir_take(limiter, &request, now, NULL) != 1)
            failed("key %" PRIu64 " at %" PRIu64 ": wanted every charge accepted", number, now);
    calls_made += times;
}

/* The first time at which nothing charged at t counts any more, plus lateness: then a sweep must forget it. */
static uint64_t forgotten_from(const rule_set *set, uint64_t t)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < set->count; i++) {
        const weir_rule *rule = &set->rules[i];
        uint64_t width = rule->buckets ? (rule->window_ns + rule->buckets - 1) / rule->buckets : 0;
        uint64_t end = rule->algorithm == WEIR_LOG       ? t + rule->window_ns
                       : rule->algorithm == WEIR_COUNTER ? (t / rule->window_ns + 2) * rule->window_ns
                                                         : t / width * width + width - 1 + rule->window_ns;
        latest = end > latest ? end : latest;
    }
    return latest + LATENESS;
}

static uint64_t bound(const rule_set *set, uint64_t live, uint64_t records, uint64_t peak)
{
    uint64_t key = 160, record = 0;
    for (size_t i = 0; i < set->count; i++) {
        key += 8 * set->rules[i].buckets;
        if (set->rules[i].algorithm == WEIR_LOG)
            record += set->rules[i].meter == WEIR_PER_COST ? 16 : 8;
    }
    key += set->inline_state ? 0 : 192 + 112 * (set->count - 1);
    return 65536 + live * key + records * record + 6 * peak;
}

static uint64_t bytes_of(const rule_set *set, const weir *limiter, const test_heap *heap)
{
    weir_statistics stats = stats_of(limiter);
    if (stats.bytes != heap->bytes)
        failed("%s: weir_stats tells %" PRIu64 " bytes, the allocator %" PRIu64, set->name, stats.bytes, heap->bytes);
    return stats.bytes;
}

static uint64_t swept_at(const rule_set *set, weir *limiter, const test_heap *heap, uint64_t now, uint64_t keys)
{
    int swept = weir_sweep(limiter, now, 0);
    if (swept != 1)
        failed("%s: weir_sweep: wanted 1, got %d", set->name, swept);
    (void)bytes_of(set, limiter, heap);
    want_done("weir_reclaim", weir_reclaim(limiter));
    weir_statistics stats = stats_of(limiter);
    if (stats.keys != keys || stats.retired_bytes != 0)
        failed("%s: wanted %" PRIu64 " keys and nothing retired, got %" PRIu64 " keys, %" PRIu64 " bytes retired",
               set->name, keys, stats.keys, stats.retired_bytes);
    return bytes_of(set, limiter, heap);
}

static void within(const rule_set *set, const struct load *load, uint64_t most, uint64_t bytes)
{
    if (bytes > most)
        failed("%s, 1 in %u kept, %u early records, %u late: wanted at most %" PRIu64 " bytes, got %" PRIu64, set->name,
               load->kept_one_in, load->early, load->late, most, bytes);
    least_slack = most - bytes < least_slack ? most - bytes : least_slack;
    checks_made++;
}

static weir *open_counted(const rule_set *set, test_heap *heap)
{
    weir_options options = weir_options_manual();
    options.max_lateness_ns = LATENESS;
    heap_use(heap, &options);
    return opened(set, &options);
}

/* All keys come at once and expire, three times; the sweep of one ns before forgets none of them. */
static void all_expire(enum kind kind, uint64_t keys)
{
    test_heap heap = {0};
    rule_set set = rule_set_of(kind, LIMIT, WINDOW);
    weir *limiter = open_counted(&set, &heap);
    uint64_t now = 0, first = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t number = 0; number < keys; number++)
            charge(limiter, number, now, 1);
        want_equal("keys charged", keys, stats_of(limiter).keys);
        (void)bytes_of(&set, limiter, &heap);
        now = forgotten_from(&set, now);
        (void)swept_at(&set, limiter, &heap, now - 1, keys);
        uint64_t bytes = swept_at(&set, limiter, &heap, now, 0);
        within(&set, &(struct load){0, 1, 0}, bound(&set, 0, 0, keys), bytes);
        first = round ? first : bytes;
        if (bytes > first)
            failed("%s: wanted memory flat at %" PRIu64 " bytes, got %" PRIu64 " in round %u", set.name, first, bytes,
                   round);
    }
    closed_clean(limiter, &heap, set.name);
}

/* Some keys are charged again before the sweep: those stay, whole, and cost what they hold. */
static void some_stay(enum kind kind, uint64_t keys, const struct load *load)
{
    test_heap heap = {0};
    rule_set set = rule_set_of(kind, LIMIT, WINDOW);
    weir *limiter = open_counted(&set, &heap);
    uint64_t start = 1000 * WINDOW, live = 0, sweep = forgotten_from(&set, start);
    for (uint64_t number = 0; number < keys; number++)
        charge(limiter, number, start, load->early);
    for (uint64_t number = 0; number < keys; number += load->kept_one_in, live++)
        charge(limiter, number, sweep - LATENESS, load->late);
    uint64_t bytes = swept_at(&set, limiter, &heap, sweep, live);
    within(&set, load, bound(&set, live, live * load->late, keys), bytes);
    for (uint64_t number = 0; number < keys; number += load->kept_one_in) {
        test_key key = key_number(number);
        weir_request request = request_for(&key, 1);
        weir_decision decision;
        int verdict = weir_peek(limiter, &request, sweep, &decision);
        if (verdict != 1 || decision.remaining != LIMIT - load->late)
            failed("%s: key %" PRIu64 " after the sweep: wanted remaining %u, got %" PRIu64, set.name, number,
                   LIMIT - load->late, decision.remaining);
    }
    closed_clean(limiter, &heap, set.name);
}

int main(void)
{
    uint64_t many = scaled(100000, 2000), some = scaled(20000, 1000);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        all_expire((enum kind)kind, many);
        for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
            some_stay((enum kind)kind, some, &loads[i]);
    }
    printf("expiry: %" PRIu64 " keys, %" PRIu64 " calls, %" PRIu64 " bounds held, the closest by %" PRIu64 " bytes\n",
           many, calls_made, checks_made, least_slack);
    return 0;
}
