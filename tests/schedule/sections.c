/*
 * Read sections are short: one decision, or 64 of a batch, or one segment of a walk or a sweep, and none while the
 * host's own visitor runs. A grace period, and with it what is retired, waits for no more: guarantees E and F. Where
 * the kernel refuses it in the last moment, nothing that was retired is lost: G.
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <errno.h>
#include <stdio.h>

#include "alone.h"

enum { KEYS = 200, SECTION = 64 };

/* The number of sections since it was last asked for. */
static uint64_t sections_now(void)
{
    uint64_t had = alone_sections;
    alone_want("nothing is left entered", 0, alone_nesting);
    alone_sections = 0;
    return had;
}

/* What looks at all keys leaves its section after each segment. Most have eight cells at most; where chance has put
 * many keys together some are larger, so that once in a hundred runs there were half as many. */
static void want_each_segment(const char *what)
{
    const uint64_t least = (KEYS - 1) / WEIRI_CAPACITY_MAX / 8;
    uint64_t had = sections_now();
    if (had < least)
        alone_want(what, least, had);
}

static int visit(void *argument, const weir_key *key)
{
    uint64_t *seen = argument;
    alone_want("a visitor runs outside sections", 0, alone_nesting);
    *seen += key->key_len == 2;
    return 0;
}

static void check(uint32_t algorithm)
{
    weir_rule rule = {.limit = 5, .window_ns = WEIR_SECOND, .algorithm = algorithm, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    weir *limiter;
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    sections_now();

    unsigned char keys[KEYS][2];
    weir_request requests[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i][0] = (unsigned char)i;
        keys[i][1] = 'k';
        requests[i] = weir_request_for(keys[i], 2);
    }
    requests[70].flags = 1; /* a request that is refused as wrong does not change that */
    int64_t accepted = weir_take_batch(limiter, requests, KEYS, WEIR_SECOND, NULL, NULL);
    alone_want("accepted", KEYS - 1, (uint64_t)accepted);
    alone_want("sections of a batch of 200", (KEYS + SECTION - 1) / SECTION, sections_now());
    accepted = weir_take_batch(limiter, requests, SECTION, WEIR_SECOND, NULL, NULL);
    alone_want("accepted again", SECTION, (uint64_t)accepted);
    alone_want("sections of a batch of 64", 1, sections_now());

    alone_want("take", 1, (uint64_t)weir_take(limiter, &requests[0], WEIR_SECOND, NULL));
    alone_want("sections of a take", 1, sections_now());
    alone_want("reset", 0, (uint64_t)weir_reset(limiter, &requests[0]));
    alone_want("sections of a reset", 1, sections_now());

    uint64_t seen = 0;
    alone_want("each", 0, (uint64_t)weir_each(limiter, WEIR_SECOND, visit, &seen));
    alone_want("keys seen", KEYS - 1, seen);
    want_each_segment("a walk");
    alone_want("sweep", 1, (uint64_t)weir_sweep(limiter, 10 * WEIR_SECOND, 0));
    want_each_segment("a sweep");
    alone_want("close", 0, (uint64_t)weir_close(limiter));
}

static uint64_t retired_bytes(const weir *limiter)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    alone_want("stats", 0, (uint64_t)weir_stats(limiter, &statistics));
    return statistics.retired_bytes;
}

/* Between the question whether it can be had and the wait, a grace period is forbidden. */
static void lose_the_grace_period(void)
{
    weir_rule rule = {.limit = 5, .window_ns = WEIR_SECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    weir *limiter;
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    alone_refused = true;
    for (unsigned i = 0; i < 3; i++)
        alone_want("set_limits", 0, (uint64_t)weir_set_limits(limiter, 0, &(uint64_t){7}, 1));
    uint64_t retired = retired_bytes(limiter);
    alone_want("something is retired", 1, retired > 0);
    alone_want("reclaim, refused", (uint64_t)-EPERM, (uint64_t)weir_reclaim(limiter));
    alone_want("retired bytes that are kept", retired, retired_bytes(limiter));
    alone_refused = false;
    alone_want("reclaim", 0, (uint64_t)weir_reclaim(limiter));
    alone_want("retired bytes", 0, retired_bytes(limiter));
    alone_want("close", 0, (uint64_t)weir_close(limiter));
}

int main(void)
{
    check(WEIR_COUNTER);
    check(WEIR_LOG);
    lose_the_grace_period();
    puts("sections are short");
    return 0;
}
