/*
 * Walking, sweeping and counting keys.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/rows.h"

#define KEYS    1000
#define ENDLESS UINT64_MAX

static weir_statistics stats_of(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};

    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    return statistics;
}

/* Key i: its number, and behind it as many bytes as make some keys short and some long. */
static weir_request numbered(uint64_t i, unsigned char room[40])
{
    memset(room, 'x', 40);
    memcpy(room, &i, sizeof i);
    return weir_request_for(room, 8 + i % 5 * 8);
}

static void fill(weir *limiter, uint64_t now)
{
    unsigned char room[40];

    for (uint64_t i = 0; i < KEYS; i++) {
        weir_request request = numbered(i, room);

        request.cost = 1 + i % 3;
        cr_assert_eq(weir_take(limiter, &request, now, NULL), 1);
    }
}

struct walk {
    weir *limiter;
    unsigned seen[KEYS];
    uint64_t visits;
    uint64_t hashed;
    uint64_t stop_after;
};

static int visit(void *argument, const weir_key *key)
{
    struct walk *walk = argument;
    weir_request request = {.identity = &key->identity, .cost = 1};
    weir_decision decision;
    uint64_t i = 0;

    walk->visits++;
    walk->hashed += key->hashed;
    if (key->hashed) {
        cr_assert_eq(key->key_len, 16);
        cr_assert_arr_eq(key->key, key->identity.word, 16);
        while (i < KEYS) {
            unsigned char room[40];
            weir_request candidate = numbered(i, room);
            weir_identity identity;

            cr_assert_eq(weir_identify(walk->limiter, candidate.key, candidate.key_len, &identity), 0);
            if (memcmp(&identity, &key->identity, sizeof identity) == 0)
                break;
            i++;
        }
    } else {
        cr_assert_eq(key->key_len, 8);
        memcpy(&i, key->key, 8);
    }
    cr_assert_lt(i, KEYS, "a key that is none of ours");
    walk->seen[i]++;
    /* Its identity is good for requests, whatever the key's length. */
    cr_assert_eq(weir_peek(walk->limiter, &request, 0, &decision), 1);
    cr_assert_eq(decision.remaining, 5 - (1 + i % 3));
    return walk->visits == walk->stop_after ? 42 : 0;
}

static const weir_rule *rule_of(int which)
{
    static weir_rule rules[3];

    rules[0] = log_rule(5, 10);
    rules[1] = counter_rule(5, 10);
    rules[2] = buckets_rule(5, 10, 5);
    return &rules[which];
}

Test(keys, a_walk_sees_every_key_once_with_an_identity_to_ask_by)
{
    for (int which = 0; which < 3; which++) {
        weir *limiter = manual_limiter(rule_of(which), 1, ENDLESS, NULL);
        struct walk walk = {.limiter = limiter};

        cr_assert_eq(weir_each(limiter, 0, visit, &walk), 0);
        cr_assert_eq(walk.visits, 0);
        fill(limiter, 0);
        cr_assert_eq(weir_each(limiter, 0, visit, &walk), 0);
        cr_assert_eq(walk.visits, KEYS);
        cr_assert_eq(walk.hashed, KEYS / 5 * 4);
        for (int i = 0; i < KEYS; i++)
            cr_assert_eq(walk.seen[i], 1, "key %d", i);
        weir_close(limiter);
    }
}

/* Nobody outside can say where a key will be (D): no two limiters have one secret. */
Test(keys, two_limiters_hash_a_key_differently)
{
    static const char key[] = "a key of more than fifteen bytes";
    weir *one = manual_limiter(rule_of(0), 1, 0, NULL), *two = manual_limiter(rule_of(0), 1, 0, NULL);

    for (size_t length = 0; length < sizeof key; length += 8) {
        weir_identity here, there;
        cr_assert_eq(weir_identify(one, key, length, &here), 0);
        cr_assert_eq(weir_identify(two, key, length, &there), 0);
        cr_assert_neq(here.hash, there.hash, "length %zu", length);
        cr_assert_neq(here.owner, there.owner);
        cr_assert_eq(here.word[1] == there.word[1], length <= 15, "length %zu", length);
    }
    weir_close(one);
    weir_close(two);
}

Test(keys, a_walk_stops_where_the_callback_says_and_tells_its_word)
{
    weir *limiter = manual_limiter(rule_of(1), 1, ENDLESS, NULL);
    struct walk walk = {.limiter = limiter, .stop_after = 7};

    fill(limiter, 0);
    cr_assert_eq(weir_each(limiter, 0, visit, &walk), 42);
    cr_assert_eq(walk.visits, 7);
    weir_close(limiter);
}

static int count(void *argument, const weir_key *key)
{
    (void)key;
    ++*(uint64_t *)argument;
    return 0;
}

Test(keys, a_walk_leaves_out_what_a_sweep_would_drop)
{
    static const uint64_t ends[] = {10, 20, 11}; /* when a charge at 0 leaves log, counter and buckets */

    for (int which = 0; which < 3; which++) {
        weir *limiter = manual_limiter(rule_of(which), 1, 7, NULL);
        uint64_t visits = 0;

        fill(limiter, 0);
        cr_assert_eq(weir_each(limiter, ends[which] + 7 - 1, count, &visits), 0);
        cr_assert_eq(visits, KEYS);
        visits = 0;
        cr_assert_eq(weir_each(limiter, ends[which] + 7, count, &visits), 0);
        cr_assert_eq(visits, 0);
        cr_assert_eq(stats_of(limiter).keys, KEYS);
        weir_close(limiter);
    }
}

Test(keys, a_sweep_drops_at_the_end_of_the_window_and_of_max_lateness)
{
    static const uint64_t ends[] = {10, 20, 11};

    for (int which = 0; which < 3; which++) {
        weir *limiter = manual_limiter(rule_of(which), 1, 7, NULL);

        fill(limiter, 0);
        cr_assert_eq(weir_sweep(limiter, ends[which] + 7 - 1, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, KEYS);
        cr_assert_eq(stats_of(limiter).swept, 0);
        cr_assert_eq(weir_sweep(limiter, ends[which] + 7, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        cr_assert_eq(stats_of(limiter).swept, KEYS);
        weir_close(limiter);
    }
}

Test(keys, a_bounded_sweep_goes_on_where_the_last_one_stopped)
{
    for (int which = 0; which < 3; which++) {
        weir *limiter = manual_limiter(rule_of(which), 1, 0, NULL);
        uint64_t calls = 0;
        uint64_t left = KEYS;
        int result;

        fill(limiter, 0);
        /* Nothing has expired: it gets to the end because it goes on, not because the table shrinks before it. */
        while ((result = weir_sweep(limiter, 0, 50)) == 0)
            cr_assert_leq(++calls, KEYS);
        cr_assert_eq(result, 1);
        cr_assert_geq(calls, 2);
        cr_assert_eq(stats_of(limiter).keys, KEYS);
        calls = 0;
        do {
            result = weir_sweep(limiter, 100, 50);
            cr_assert(result == 0 || result == 1);
            uint64_t now_left = stats_of(limiter).keys;
            cr_assert_geq(now_left + 50 + 64, left, "%" PRIu64 " dropped at once", left - now_left);
            left = now_left;
            calls++;
            cr_assert_leq(calls, KEYS);
        } while (result == 0);
        cr_assert_eq(left, 0);
        cr_assert_geq(calls, KEYS / (50 + 64));
        weir_close(limiter);
    }
}

Test(keys, a_swept_key_starts_anew_and_no_earlier_than_the_sweep)
{
    static const struct row log[] = {TAKES(0, 5, 0), SWEEPS(10), TAKES(12, 5, 0), REFUSES(12, 1, 0, 10)};
    weir_request request = weir_request_for("key", 3);
    weir_decision decision;

    for (int which = 0; which < 3; which++) {
        weir *limiter = manual_limiter(rule_of(which), 1, 5, NULL);

        request.cost = 5;
        cr_assert_eq(weir_take(limiter, &request, 0, NULL), 1);
        cr_assert_eq(weir_sweep(limiter, 100, 0), 1);
        cr_assert_eq(stats_of(limiter).keys, 0);
        /* Ninety-nine late, decided at 95: its charge counts for calls within max_lateness of the sweep. */
        cr_assert_eq(weir_take(limiter, &request, 1, &decision), 1);
        cr_assert_eq(decision.flags, WEIR_LATE);
        request.cost = 1;
        cr_assert_eq(weir_take(limiter, &request, 100, &decision), 0);
        cr_assert_eq(decision.flags, 0);
        cr_assert_eq(decision.retry_after_ns, which == 0 ? 5 : which == 1 ? 2 : 5);
        weir_close(limiter);
    }
    const char *wrong = rows_wrong_for(*rule_of(0), 0, ROWS(log));
    cr_assert_null(wrong, "%s", wrong);
}

Test(keys, statistics_fill_what_fits)
{
    weir *limiter = manual_limiter(rule_of(1), 1, 0, NULL);
    weir_statistics statistics;

    fill(limiter, 0);
    memset(&statistics, 0x77, sizeof statistics);
    statistics.struct_size = offsetof(weir_statistics, reserved);
    cr_assert_eq(weir_stats(limiter, &statistics), 0);
    cr_assert_eq(statistics.struct_size, offsetof(weir_statistics, reserved));
    cr_assert_eq(statistics.keys, KEYS);
    cr_assert_eq(statistics.reserved[0], UINT64_C(0x7777777777777777));
    cr_assert_eq(statistics.reserved[7], UINT64_C(0x7777777777777777));
    statistics.struct_size = 0;
    cr_assert_eq(weir_stats(limiter, &statistics), -EINVAL);
    struct {
        weir_statistics known;
        uint64_t more[2];
    } newer;
    memset(&newer, 0x77, sizeof newer);
    newer.known.struct_size = sizeof newer;
    cr_assert_eq(weir_stats(limiter, &newer.known), 0);
    cr_assert_eq(newer.known.struct_size, sizeof newer);
    cr_assert_eq(newer.known.keys, KEYS);
    cr_assert_eq(newer.more[0] | newer.more[1], 0); /* nothing is known of them */
    weir_close(limiter);
}

Test(keys, statistics_count_keys_bytes_and_changes_of_the_table)
{
    for (int which = 0; which < 3; which++) {
        test_allocator memory = {0};
        weir_allocator callbacks = test_allocator_for(&memory);
        weir *limiter = manual_limiter(rule_of(which), 1, 0, &callbacks);
        weir_statistics statistics = stats_of(limiter);

        cr_assert_eq(statistics.keys, 0);
        cr_assert_eq(statistics.splits, 0);
        cr_assert_eq(statistics.swept, 0);
        cr_assert_eq(statistics.bytes, memory.bytes);
        fill(limiter, 0);
        statistics = stats_of(limiter);
        cr_assert_eq(statistics.keys, KEYS);
        cr_assert_gt(statistics.splits, 0);
        cr_assert_eq(statistics.bytes, memory.bytes);
        cr_assert_eq(weir_sweep(limiter, 100, 0), 1);
        statistics = stats_of(limiter);
        cr_assert_gt(statistics.compactions, 0);
        cr_assert_gt(statistics.retired_bytes, 0);
        cr_assert_eq(statistics.bytes, memory.bytes);
        cr_assert_eq(weir_reclaim(limiter), 0);
        statistics = stats_of(limiter);
        cr_assert_eq(statistics.retired_bytes, 0);
        cr_assert_eq(statistics.bytes, memory.bytes);
        cr_assert_eq(weir_close(limiter), 0);
        cr_assert_eq(memory.blocks, 0);
    }
}
