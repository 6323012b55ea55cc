/*
 * The bound beside a node: before it a sweep need not look at the node. F: it is never later than the node expires, so
 * that nothing expired, nor records that have left, are kept because of it. And what a full table makes of a segment in
 * which nothing has expired.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sweep_bench.h"
#include "window/log_chunks.h"

#define WIDE ((uint64_t)UINT32_MAX + 1) /* a counter of this limit has a node */

static const weir_rule kinds[] = {
    {.limit = 500, .window_ns = WINDOW, .algorithm = WEIR_LOG, .meter = WEIR_PER_COST},
    {.limit = 500, .window_ns = WINDOW, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = 5},
    {.limit = WIDE, .window_ns = WINDOW, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* A charge at `time`, even, counts until here. */
static uint64_t end_of(size_t kind, uint64_t time)
{
    const uint64_t ends[] = {time + WINDOW, time + WINDOW + 1, (time / WINDOW + 2) * WINDOW};
    return ends[kind];
}

static uint64_t bound_of(weir *limiter, const weir_identity *key)
{
    weiri_pair state = spot_of(limiter, key).state;
    cr_assert(weiri_is_node(state));
    return state.word[1];
}

/* Records leave a log before its node expires: who trims looks for them. */
static bool always_looks(size_t kind, bool trims)
{
    return trims && kinds[kind].algorithm == WEIR_LOG;
}

/* Does a sweep as of `time` look at a node? The fork gate is shut: then it may not, and says so. */
static bool looks(weir *limiter, const weir_identity *key, uint64_t time, bool trims)
{
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_CLOSING);
    enum weiri_swept swept = weiri_sweep_nodes(limiter, segment_of(limiter, key), time, trims, false);
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_OPEN);
    cr_assert_neq(swept, WEIRI_SWEEP_DEAD);
    return swept == WEIRI_SWEEP_CLOSED;
}

static weir *open_kind(struct bench *bench, size_t kind, weir_identity *key, uint64_t time)
{
    weir *limiter = bench_open(bench, &kinds[kind], 1, 0);
    *key = key_at(limiter, 0, 1, 1);
    cr_assert_eq(take(limiter, key, 1, time), 1);
    return limiter;
}

Test(bound, of_a_new_node_is_when_it_expires_and_no_sweep_looks_before)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 44);
        uint64_t end = end_of(kind, 44);

        cr_assert_eq(bound_of(limiter, &key), end);
        for (unsigned trims = 0; trims < 2; trims++) {
            cr_assert_eq(looks(limiter, &key, end - 1, trims), always_looks(kind, trims));
            cr_assert(looks(limiter, &key, end, trims));
        }
        cr_assert_eq(weir_sweep(limiter, end - 1, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 1);
        cr_assert_eq(weir_sweep(limiter, end, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        bench_close(&bench);
    }
}

Test(bound, moves_on_when_a_sweep_has_found_the_node_charged_again)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        for (unsigned trims = 0; trims < 2; trims++) {
            struct bench bench;
            weir_identity key;
            weir *limiter = open_kind(&bench, kind, &key, 44);
            uint64_t first = end_of(kind, 44), second = end_of(kind, 60);

            cr_assert_eq(take(limiter, &key, 1, 60), 1);
            cr_assert_eq(bound_of(limiter, &key), first); /* charges do not touch the cell */
            cr_assert_eq(weiri_sweep_nodes(limiter, segment_of(limiter, &key), first, trims, false), WEIRI_SWEEP_LIVE);
            cr_assert_eq(bound_of(limiter, &key), second);
            cr_assert_eq(looks(limiter, &key, second - 1, trims), always_looks(kind, trims));
            cr_assert_eq(weir_sweep(limiter, second - 1, 0), 1);
            cr_assert_eq(stats_of(limiter).keys, 1);
            cr_assert_eq(weir_sweep(limiter, second, 0), 1);
            cr_assert_eq(stats_of(limiter).keys, 0);
            bench_close(&bench);
        }
}

/* Resets keep the time. Where there is none, at time 0 and in a counter's window 0, nothing may be promised. */
Test(bound, holds_for_a_node_that_is_reset)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        for (uint64_t time = 0; time <= 44; time += 44) {
            struct bench bench;
            weir_identity key;
            weir *limiter = open_kind(&bench, kind, &key, time);
            weir_request request = request_for(&key, 1);
            uint64_t end = time == 0 ? 0 : end_of(kind, time);

            cr_assert_eq(bound_of(limiter, &key), end);
            cr_assert_eq(weir_reset(limiter, &request), 0);
            cr_assert_eq(bound_of(limiter, &key), end);
            if (end > 0)
                cr_assert_eq(weir_sweep(limiter, end - 1, 0), 1);
            cr_assert_eq(stats_of(limiter).keys, 1);
            cr_assert_eq(weir_sweep(limiter, end, 0), 1);
            cr_assert_eq(stats_of(limiter).keys, 0);
            bench_close(&bench);
        }
}

Test(bound, of_time_0_is_not_promised_by_a_sweep_either)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 0);
        weir_request request = request_for(&key, 1);

        cr_assert_eq(weir_sweep(limiter, 5, 0), 1);
        cr_assert_eq(bound_of(limiter, &key), 0);
        cr_assert_eq(weir_reset(limiter, &request), 0);
        cr_assert_eq(weir_sweep(limiter, 5, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        bench_close(&bench);
    }
}

Test(bound, of_several_rules_is_that_of_the_last_to_expire)
{
    weir_rule both[] = {kinds[0], kinds[0]};
    for (unsigned longer = 0; longer < 2; longer++) {
        struct bench bench;
        both[longer].window_ns = 100;
        both[1 - longer].window_ns = 10;
        weir *limiter = bench_open(&bench, both, 2, 0);
        weir_identity key = key_at(limiter, 0, 1, 1);

        cr_assert_eq(take(limiter, &key, 1, 44), 1);
        cr_assert_eq(bound_of(limiter, &key), 144);
        cr_assert(!looks(limiter, &key, 143, false));
        cr_assert(looks(limiter, &key, 1, true)); /* to trim the other one */
        bench_close(&bench);
    }
}

Test(bound, does_not_keep_a_sweep_from_a_log_beside_another_rule)
{
    for (unsigned second = 0; second < 2; second++) {
        struct bench bench;
        weir_rule both[2];
        both[second] = kinds[0];
        both[1 - second] = kinds[1];
        weir *limiter = bench_open(&bench, both, 2, 0);
        weir_identity key = key_at(limiter, 0, 1, 1);

        cr_assert_eq(take(limiter, &key, 1, 44), 1);
        cr_assert(!looks(limiter, &key, 45, false));
        cr_assert(looks(limiter, &key, 45, true));
        bench_close(&bench);
    }
}

/* Word 1 only grows, and the node bears the time of the drop. A counter in window 0 promises nothing by itself. */
Test(bound, of_a_node_after_a_dropped_one_is_no_earlier_than_the_drop)
{
    struct bench bench;
    weir_identity key;
    weir *limiter = open_kind(&bench, 2, &key, 0);
    weir_request request = request_for(&key, 1);

    cr_assert_eq(weir_reset(limiter, &request), 0);
    cr_assert_eq(weiri_sweep_nodes(limiter, segment_of(limiter, &key), 5, false, false), WEIRI_SWEEP_DEAD);
    state_is(limiter, &key, WEIRI_FRESH, 5);
    cr_assert_eq(take(limiter, &key, 1, 3), 1);
    cr_assert_eq(bound_of(limiter, &key), 5);
    cr_assert_eq(node_of(limiter, &key)->drop, 5);
    bench_close(&bench);
}

Test(bound, goes_with_the_node_into_a_successor)
{
    for (unsigned split = 0; split < 2; split++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, 0, &key, 44);
        weiri_segment *old = segment_of(limiter, &key);

        cr_assert(split ? weiri_split(&limiter->table, old, 20) : weiri_make_room(&limiter->table, old, 20));
        weiri_segment *now = weiri_help(&limiter->table, old, key.hash);
        cr_assert_eq(segment_of(limiter, &key), now);
        cr_assert_neq(now, old);
        cr_assert_eq(bound_of(limiter, &key), 54);
        bench_close(&bench);
    }
}

/* F: a log may have much to give back before its node expires, whatever was known when it was looked at last. */
Test(bound, does_not_keep_a_sweep_from_records_that_have_left)
{
    struct bench bench;
    weir_identity key;
    weir *limiter = open_kind(&bench, 0, &key, 5);
    const weiri_log *log = weiri_log_of(limiter, node_of(limiter, &key), 0);

    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(take(limiter, &key, 1, 6 + 9 * (i / 2)), 1);
    cr_assert_eq(weir_sweep(limiter, 15, 0), 1);
    cr_assert(weiri_log_at_home(log, &limiter->rules.rule[0]));
    cr_assert_eq(bound_of(limiter, &key), 25);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(take(limiter, &key, 1, 15), 1);
    cr_assert(!weiri_log_at_home(log, &limiter->rules.rule[0]));
    cr_assert_eq(weir_sweep(limiter, 16, 0), 1); /* two have left; with those of 15 it can go home */
    cr_assert(weiri_log_at_home(log, &limiter->rules.rule[0]));
    bench_close(&bench);
}

/* The one key there may be was dropped, but for lack of memory its cell is still claimed: no node, and yet room. */
Test(bound, a_full_table_finds_cells_whose_nodes_have_gone)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 44);
        weir_identity other = key_at(limiter, 0, 2, 2);

        limiter->table.max_keys = 1;
        weiri_store_release_64(&limiter->table.keys, 1);
        cr_assert_eq(take(limiter, &other, 1, end_of(kind, 44) - 1), 0);
        cr_assert_eq(weiri_sweep_nodes(limiter, segment_of(limiter, &key), 70, false, false), WEIRI_SWEEP_DEAD);
        state_is(limiter, &key, WEIRI_FRESH, 70);
        cr_assert_eq(weiri_sweep_nodes(limiter, segment_of(limiter, &key), 69, false, false), WEIRI_SWEEP_LIVE);
        cr_assert_eq(weiri_sweep_nodes(limiter, segment_of(limiter, &key), 70, false, false), WEIRI_SWEEP_DEAD);
        cr_assert_eq(take(limiter, &other, 1, 69), 0); /* what was dropped at 70 is remembered so long */
        cr_assert_eq(take(limiter, &other, 1, 70), 1);
        cr_assert_eq(weiri_table_count(&limiter->table), 1);
        bench_close(&bench);
    }
}

Test(bound, a_full_table_finds_what_has_expired_in_another_segment)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 44);
        weir_identity other = key_at(limiter, UINT64_C(1) << 63, 2, 2);

        cr_assert(weiri_split(&limiter->table, segment_of(limiter, &key), 0));
        weiri_help(&limiter->table, segment_of(limiter, &key), key.hash);
        cr_assert_neq(segment_of(limiter, &key), segment_of(limiter, &other));
        limiter->table.max_keys = 1;
        weiri_store_release_64(&limiter->table.keys, 1);
        cr_assert_eq(take(limiter, &other, 1, end_of(kind, 44) - 1), 0);
        weiri_store_release_64(&limiter->sweep_at, 0);
        cr_assert_eq(take(limiter, &other, 1, end_of(kind, 44)), 1);
        cr_assert_eq(weiri_table_count(&limiter->table), 1);
        bench_close(&bench);
    }
}

/* In the child of a fork, that of a thread that was about to install its node. */
Test(bound, a_full_table_finds_cells_that_were_claimed_and_left)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 44);
        weir_identity lost = key_at(limiter, 0, 2, 2), other = key_at(limiter, 0, 3, 3);
        weiri_finding finding = weiri_find(segment_of(limiter, &key), weiri_identity_pair(&lost), lost.hash);

        cr_assert(weiri_table_reserve(&limiter->table));
        cr_assert(weiri_claim(finding.cell, weiri_identity_pair(&lost)));
        limiter->table.max_keys = 2;
        weiri_store_release_64(&limiter->table.keys, 2);
        cr_assert_eq(take(limiter, &other, 1, 50), 1);
        cr_assert_eq(weiri_table_count(&limiter->table), 2);
        bench_close(&bench);
    }
}

/* Nothing can go there, though it would fit a smaller one: that is a sweep's work. */
Test(bound, a_full_table_leaves_a_segment_alone_where_nothing_has_expired)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct bench bench;
        weir_identity key;
        weir *limiter = open_kind(&bench, kind, &key, 44);
        weir_identity other = key_at(limiter, 0, 2, 2);

        limiter->table.max_keys = 1;
        weiri_store_release_64(&limiter->table.keys, 1);
        cr_assert(weiri_make_room(&limiter->table, segment_of(limiter, &key), 0));
        weiri_segment *roomy = weiri_help(&limiter->table, segment_of(limiter, &key), key.hash);
        uint64_t calls = bench.counting.calls;
        cr_assert_eq(take(limiter, &other, 1, 50), 0);
        cr_assert_eq(bench.counting.calls, calls);
        cr_assert_eq(segment_of(limiter, &key), roomy);
        cr_assert_eq(weir_sweep(limiter, 50, 0), 1);
        cr_assert_neq(segment_of(limiter, &key), roomy);
        cr_assert_eq(stats_of(limiter).keys, 1);
        bench_close(&bench);
    }
}
