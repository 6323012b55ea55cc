/*
 * Guarantee F, "never by traffic": new keys come and expire at an even rate for a long time, and nobody sweeps. What is
 * left in the end, when all has expired and one sweep and one reclaim were made, must be within 64 KiB + 8 bytes for
 * each key of the highest number ever live, however many came by: segments that chance has filled at some moment are
 * split, and never merged again, so there must be a number of keys below which none is split. How often that happened is
 * bounded too, closely: the bytes alone would let some thousand splits pass.
 *
 *     drift [TURNS of all keys (default: 25, scaled by WEIR_TEST_SCALE)]
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

enum { LIMIT = 3, LIVE = 40000, STEP = 1000 };

#define START  (1000 * WEIR_SECOND)
#define WINDOW ((uint64_t)LIVE * STEP)

/*
 * Between what ten runs took, and what ten took in which a segment was split from half full on, not from three quarters:
 *
 *     turns   counter                        log
 *         5   2439 ... 2493, 3349 ... 3407   1801 ... 1842, 2066 ... 2081
 *        25   3501 ... 3557, 4106 ... 4113   2056 ... 2076, 2170 ... 2197
 */
static uint64_t most_splits(const rule_set *set, uint64_t turns)
{
    if (turns <= 5)
        return set->inline_state ? 2800 : 1940;
    if (turns <= 25)
        return set->inline_state ? 3800 : 2120;
    return UINT64_MAX;
}

static void left_after(enum kind kind, uint64_t turns)
{
    test_heap heap = {0};
    rule_set set = rule_set_of(kind, LIMIT, WINDOW);
    weir_options options = weir_options_manual();
    uint64_t now = START, calls = turns * LIVE;
    options.max_lateness_ns = 0;
    heap_use(&heap, &options);
    weir *limiter = opened(&set, &options);
    for (uint64_t call = 0; call < calls; call++, now += STEP) {
        test_key key = key_number(call);
        weir_request request = request_for(&key, 1);
        want_equal("a new key", 1, (uint64_t)weir_take(limiter, &request, now, NULL));
    }
    weir_statistics before = stats_of(limiter);
    /* A counter's charges count to the end of the next window: twice as many keys can be live. */
    uint64_t most = set.inline_state ? 2 * LIVE : LIVE;
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(limiter, now + 3 * WINDOW, 0));
    want_done("weir_reclaim", weir_reclaim(limiter));
    weir_statistics after = stats_of(limiter);
    want_equal("keys left", 0, after.keys);
    printf("%-10s %4" PRIu64 " turns of %d keys: %" PRIu64 " held, %" PRIu64 " splits, %" PRIu64
           " rebuilt; left %.2f bytes for each key of the most live\n",
           set.name, turns, LIVE, before.keys, before.splits, before.compactions,
           ((double)after.bytes - 65536) / (double)most);
    want_at_most("splits", most_splits(&set, turns), before.splits);
    want_at_most("bytes left", 65536 + 8 * most, heap.bytes);
    closed_clean(limiter, &heap, set.name);
}

int main(int argc, char **argv)
{
    uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 10) : scaled(25, 5);
    left_after(KIND_COUNTER, turns);
    left_after(KIND_LOG, turns);
    return 0;
}
