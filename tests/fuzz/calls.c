/*
 * Attacks A, B, C and F with one thread: the input decides how a limiter is made, every call on it and every time, and
 * each answer is held against the oracle, in every field. Segments are split, rebuilt and swept in between, time moves
 * both ways, and where the input says so memory fails or the table is full: an answer that bears no flag is then still
 * the oracle's, and one that bears it recorded nothing.
 *
 * Input: a byte for what may happen, a byte for the shape of the world, then what world.c and the steps below draw.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../property/ledger.h"
#include "fuzz.h"
#include "limiter/testing.h"

enum kind {
    ENDLESS, /* nothing is dropped */
    WITHIN,  /* no call is later than max_lateness */
    BEYOND,  /* calls are as late as they like: the ledger checks */
    SCARCE   /* memory fails, or keys are limited */
};

enum { BATCH = 70 };

static struct world world;
static enum kind kind;
static struct world_shape shape;

/* ---- where memory fails or the table is full ---- */

static uint64_t keys_held(void)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};

    if (weir_stats(world.limiter, &statistics) != 0)
        world_wrong(&world, "stats failed");
    return statistics.keys;
}

/* A call that bears a flag: the oracle would have let it through, and the flag has its reason. */
static void check_unrecorded(const weir_request *request, uint64_t now, const weir_decision *got, uint64_t failed)
{
    weir_decision wanted;

    if (oracle_peek(world.oracle, request, now, &wanted) != 1)
        world_wrong(&world, "a refusal is flagged %" PRIu32, got->flags);
    if (got->verdict != (shape.when_full == WEIR_FULL_ADMIT) || got->retry_after_ns != 0)
        world_wrong(&world, "flagged, and the verdict is %d", got->verdict);
    if (got->flags == WEIR_NO_MEMORY && world.memory.failed == failed)
        world_wrong(&world, "flagged as without memory, but none failed");
    if (got->flags == WEIR_TABLE_FULL && (shape.max_keys == 0 || keys_held() != shape.max_keys))
        world_wrong(&world, "flagged as full with %" PRIu64 " keys", keys_held());
    if (got->flags != WEIR_NO_MEMORY && got->flags != WEIR_TABLE_FULL)
        world_wrong(&world, "flags %" PRIu32, got->flags);
}

static void check_scarce(const weir_request *request, uint64_t now, const weir_decision *got, uint64_t failed)
{
    weir_decision wanted;

    if (got->flags != 0) {
        check_unrecorded(request, now, got, failed);
        return;
    }
    oracle_take(world.oracle, request, now, &wanted);
    world_compare(&world, "take", &wanted, got);
}

static void scarce_take(void)
{
    weir_request request = world_request(&world, NULL);
    uint64_t now = world_time(&world), failed = world.memory.failed;
    weir_decision got;
    int verdict;

    memset(&got, 0xee, sizeof got);
    verdict = weir_take(world.limiter, &request, now, &got);
    if (verdict != got.verdict)
        world_wrong(&world, "take: result %d, verdict %d", verdict, got.verdict);
    check_scarce(&request, now, &got, failed);
}

/* The verdict alone does not tell the flag: it may differ where something failed meanwhile, or the table is full. */
static void scarce_verdict(void)
{
    weir_request request = world_request(&world, NULL);
    uint64_t now = world_time(&world), failed = world.memory.failed;
    int wanted = oracle_peek(world.oracle, &request, now, NULL);
    int verdict;

    if (shape.when_full == WEIR_FULL_ADMIT) /* nobody could tell whether it was recorded */
        return;
    verdict = weir_take(world.limiter, &request, now, NULL);
    if (verdict == 1)
        oracle_take(world.oracle, &request, now, NULL);
    if (verdict != wanted && (verdict == 1 || (world.memory.failed == failed && keys_held() != shape.max_keys)))
        world_wrong(&world, "take, verdict alone: wanted %d, got %d", wanted, verdict);
}

static void scarce_batch(void)
{
    size_t count = (size_t)random_below(&world.random, random_one_in(&world.random, 4) ? BATCH : 6);
    uint64_t now = world_time(&world), failed = world.memory.failed;
    weir_request requests[BATCH];
    weir_decision got[BATCH];
    int64_t accepted;

    for (size_t i = 0; i < count; i++)
        requests[i] = world_request(&world, NULL);
    accepted = weir_take_batch(world.limiter, requests, count, now, NULL, got);
    for (size_t i = 0; i < count; i++) {
        accepted -= got[i].verdict;
        if (got[i].flags == WEIR_TABLE_FULL && shape.max_keys != 0)
            continue; /* how many keys there were at that moment, nobody knows now */
        check_scarce(&requests[i], now, &got[i], failed);
    }
    if (accepted != 0)
        world_wrong(&world, "batch: %" PRId64 " more accepted than verdicts say", accepted);
}

static void draw_failure(void)
{
    test_allocator_relent(&world.memory);
    switch (random_below(&world.random, 4)) {
    case 0:
        world.memory.fail_at = 1 + random_below(&world.random, 8);
        break;
    case 1:
        world.memory.fail_from = 1 + random_below(&world.random, 8);
        break;
    case 2:
        world.memory.random = random_below(&world.random, 256);
        world.memory.fail_percent = random_below(&world.random, 101);
        break;
    default:
        break;
    }
}

static void scarce_call(void)
{
    world.step++;
    switch (random_below(&world.random, 12)) {
    case 0:
        scarce_verdict();
        break;
    case 1:
        scarce_batch();
        break;
    case 2:
        world_peek(&world);
        break;
    case 3:
        world_reset(&world);
        break;
    case 4:
        world_set_limits(&world);
        break;
    case 5:
        world_each(&world);
        break;
    case 6:
        draw_failure();
        break;
    default:
        scarce_take();
    }
}

/* ---- between the calls ---- */

static void sweep(void)
{
    uint64_t most = random_one_in(&world.random, 3) ? random_between(&world.random, 1, 100) : 0;
    uint64_t now = random_one_in(&world.random, 4) ? world_time(&world) : world.now;
    int result = weir_sweep(world.limiter, now, most);

    if (result != 1 && !(result == 0 && most != 0))
        world_wrong(&world, "sweep: result %d", result);
}

/* A clock shows any time of the past, or the newest, or none at all. Only what is not later than all calls is shown:
 * a call at the clock's time must not be one from the future. */
static void set_clock(void)
{
    world.clock = random_one_in(&world.random, 8) ? UINT64_MAX - random_below(&world.random, 2) : world_time(&world);
}

static void call_by_clock(void)
{
    weir_request request = world_request(&world, NULL);
    weir_decision wanted, got;
    uint64_t now;
    int verdict;

    memset(&got, 0xee, sizeof got);
    if (shape.own_clock && random_one_in(&world.random, 2))
        world.clock = world_time(&world);
    now = weir_now(world.limiter);
    if (now != (shape.own_clock && world.clock <= WEIR_TIME_MAX ? world.clock : WEIR_NOW))
        world_wrong(&world, "the clock shows %" PRIu64, now);
    if (now == WEIR_NOW) {
        verdict = weir_take(world.limiter, &request, WEIR_NOW, &got);
        if (verdict != -EINVAL || got.verdict != (int32_t)0xeeeeeeee)
            world_wrong(&world, "without a clock: %d", verdict);
        return;
    }
    /* The clock may have stood for long: what is later than max_lateness, the oracle does not know. */
    if (world.max_lateness_ns != UINT64_MAX && world.now > now && world.now - now > world.max_lateness_ns)
        return;
    if (random_one_in(&world.random, 2)) {
        request = weir_request_for(request.key, request.key_len);
        verdict = weir_allow(world.limiter, request.key, request.key_len);
        if (verdict != oracle_take(world.oracle, &request, now, NULL))
            world_wrong(&world, "allow: %d", verdict);
        return;
    }
    verdict = weir_take(world.limiter, &request, WEIR_NOW, &got);
    if (verdict != oracle_take(world.oracle, &request, now, &wanted))
        world_wrong(&world, "take by the clock: %d", verdict);
    world_compare(&world, "take by the clock", &wanted, &got);
}

static void check_stats(void)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    uint64_t charged = 0, known = 0;

    if (weir_stats(world.limiter, &statistics) != 0)
        world_wrong(&world, "stats failed");
    if (statistics.bytes != world.memory.bytes || statistics.retired_bytes > statistics.bytes)
        world_wrong(&world, "stats tell of %" PRIu64 " bytes, %" PRIu64 " are held", statistics.bytes,
                    (uint64_t)world.memory.bytes);
    if (shape.max_keys != 0 && statistics.keys > shape.max_keys)
        world_wrong(&world, "%" PRIu64 " keys", statistics.keys);
    if (kind == BEYOND)
        return;
    for (size_t i = 0; i < world.key_count; i++) {
        charged += oracle_is_charged(world.oracle, world.keys[i].bytes, world.keys[i].length, world.now);
        known += oracle_knows(world.oracle, world.keys[i].bytes, world.keys[i].length);
    }
    if (statistics.keys < charged || statistics.keys > known)
        world_wrong(&world, "%" PRIu64 " keys, of %" PRIu64 " known and %" PRIu64 " charged", statistics.keys, known,
                    charged);
}

/* The verdict alone is found on another way than the whole decision, and is the same however late the call. */
static void peek_twice(void)
{
    weir_request request = world_request(&world, NULL);
    uint64_t now = world_time(&world);
    weir_decision whole;
    int alone = weir_peek(world.limiter, &request, now, NULL);

    if (weir_peek(world.limiter, &request, now, &whole) != whole.verdict || whole.verdict != alone)
        world_wrong(&world, "peek: %d, the verdict alone %d", whole.verdict, alone);
}

static void between_calls(void)
{
    switch (random_below(&world.random, 8)) {
    case 0:
        sweep();
        break;
    case 1:
        check_stats();
        break;
    case 2:
        if (shape.own_clock)
            set_clock();
        break;
    case 3:
        if (kind == ENDLESS || kind == WITHIN)
            call_by_clock();
        break;
    case 4:
        if (random_one_in(&world.random, 16) && weir_reclaim(world.limiter) != 0)
            world_wrong(&world, "reclaim failed");
        break;
    case 5:
        peek_twice();
        break;
    case 6:
        weiri_test_freeze(world.limiter, random_next(&world.random), world.now);
        break;
    default:
        weiri_test_migrate(world.limiter, random_next(&world.random), world.now);
    }
}

/* ---- the whole ---- */

static void choose(random_source *random)
{
    uint64_t form = random_below(random, 256);

    kind = (enum kind)random_below(random, 4);
    shape = (struct world_shape){
        .endless = kind == ENDLESS || (kind == SCARCE && form & 1),
        .beyond = kind == BEYOND,
        .fixed_limits = kind == BEYOND,
        .many_keys = (form >> 1 & 3) == 3,
        .deep = kind != BEYOND && (form >> 3 & 3) == 3,
        .own_clock = form >> 5 & 1,
        .max_keys = kind == SCARCE && form >> 6 & 1 ? random_below(random, 24) : 0,
        .when_full = kind == SCARCE && form >> 7 ? WEIR_FULL_ADMIT : WEIR_FULL_REFUSE,
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    random_source random = fuzz_random(&bytes);

    choose(&random);
    uint64_t rarity = random_between(&random, 1, 8);
    ledger_begin();
    world_open(&world, &shape, random);
    while (bytes.left > 0 && world.step < LEDGER_STEPS && world.wrong[0] == '\0') {
        if (random_one_in(&random, rarity))
            between_calls();
        if (kind == BEYOND)
            ledger_step(&world);
        else if (kind == SCARCE)
            scarce_call();
        else
            world_any_call(&world);
    }
    test_allocator_relent(&world.memory);
    check_stats();
    world_close(&world);
    FUZZ_HOLDS(world.wrong[0] == '\0', "%s", world.wrong);
    return 0;
}
