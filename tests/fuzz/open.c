/*
 * Attacks H: rules, options, requests and statistics of any bytes. What types.h says is legal is taken, the rest is
 * -EINVAL with words about it and nothing done; what was opened answers as the oracle does, up to eight rules at the
 * ends of every range.
 *
 * Input: for each field a byte that chooses a telling value or any, and in the latter case its bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../support/decision.h"
#include "../support/oracle.h"
#include "opening.h"

enum { GUARD = 0x7e };

static fuzz_bytes bytes;
static random_source source;
static struct opening opening;
static weir *limiter;

/* ---- opening ---- */

static void check_words(int result)
{
    const weir_options *options = &opening.given.options;
    bool told = opening_has_words(&opening);

    for (size_t i = told ? options->error_size : 0; i < OPENING_ROOM; i++)
        FUZZ_HOLDS(opening.error[i] == GUARD, "written beyond the words, at %zu", i);
    if (!told)
        return;
    FUZZ_HOLDS(memchr(opening.error, '\0', options->error_size) != NULL, "the words have no end");
    if (options->error_size > 1)
        FUZZ_HOLDS((*opening.error != '\0') == (result == -EINVAL), "%d: %s", result, opening.error);
}

static bool opens(void)
{
    uint64_t failed = opening.memory.failed;
    bool wanted = opening_is_legal(&opening);
    int result;

    memset(opening.error, GUARD, sizeof opening.error);
    limiter = (weir *)&opening.memory; /* anything but NULL */
    result = weir_open(&limiter, opening.rules, opening.rule_count, &opening.given.options);
    FUZZ_HOLDS((result == 0) == (limiter != NULL), "result %d", result);
    if (wanted)
        FUZZ_HOLDS(result == 0 || (result == -ENOMEM && opening.memory.failed > failed), "not opened: %d, %.*s", result,
                   OPENING_ROOM, opening.error);
    else
        FUZZ_HOLDS(result == -EINVAL, "opened, or failed otherwise: %d", result);
    check_words(result);
    return result == 0;
}

/* ---- calling ---- */

static struct oracle *oracle;
static bool mirrored; /* the oracle knows all that was charged */
static uint64_t latest;

static bool has_clock(void)
{
    uint32_t clock = opening.given.options.clock;

    return clock == WEIR_CLOCK_CUSTOM ? opening.clock <= WEIR_TIME_MAX : clock != WEIR_CLOCK_MANUAL;
}

static weir_request draw_request(const weir_identity *identities)
{
    static const char key[WEIR_KEY_MAX + 1];
    weir_request request =
        weir_request_for(key, (size_t)ANY_OF(&source, 3, 3, 0, 15, 16, WEIR_KEY_MAX, WEIR_KEY_MAX + 1));

    request.cost = ANY_OF(&source, 1, 2, 0, 10, LIMIT_32, LIMIT_63, LIMIT_63 + 1, UINT64_MAX, 4, 5);
    request.plan = (uint32_t)ANY_OF(&source, 0, 0, 0, 1, 2, 3);
    request.identity = random_below(&source, 8) == 7 ? &identities[random_below(&source, 2)] : NULL;
    if (request.key_len > WEIR_KEY_MAX + 1)
        request.key_len = SIZE_MAX;
    if (random_below(&source, 16) == 15)
        request.key = NULL;
    switch (random_below(&source, 64)) {
    case 1:
        request.flags = (uint32_t)random_next(&source);
        break;
    case 2:
        request.receipt = random_next(&source);
        break;
    case 3:
        request.reserved[random_below(&source, 2)] = random_next(&source);
        break;
    default:
        break;
    }
    return request;
}

static bool legal_request(const weir_request *request, const weir_identity *identities)
{
    bool key = request->key_len <= WEIR_KEY_MAX && (request->key != NULL || request->key_len == 0);

    if (request->identity != NULL)
        key = request->identity == &identities[0];
    return key && request->plan < opening_plans(&opening) && request->flags == 0 && request->receipt == 0 &&
           request->reserved[0] == 0 && request->reserved[1] == 0;
}

/* The oracle is not told of drops: it may be asked as long as nothing is later than max_lateness. */
static bool known_at(uint64_t now)
{
    uint64_t late = latest > now ? latest - now : 0;

    latest = latest > now ? latest : now;
    return opening.given.options.max_lateness_ns == UINT64_MAX || late <= opening.given.options.max_lateness_ns;
}

static void compare(const weir_decision *wanted, const weir_decision *got)
{
    uint64_t wanted_value, got_value;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);

    FUZZ_HOLDS(field == NULL, "%s is %" PRIu64 ", wanted %" PRIu64, field, got_value, wanted_value);
}

static void check_answer(weir_request request, uint64_t now, bool peek, const weir_decision *got)
{
    weir_decision wanted;

    FUZZ_HOLDS((got->flags & ~(uint32_t)(WEIR_LATE | WEIR_TABLE_FULL | WEIR_NO_MEMORY)) == 0, "flags %u", got->flags);
    FUZZ_HOLDS(got->reserved0 == 0 && got->reserved[0] == 0 && got->reserved[1] == 0, "reserved fields are set");
    mirrored = mirrored && known_at(now);
    if (!mirrored || now == WEIR_NOW)
        return;
    if (request.identity != NULL) {
        request.key = "\0\0\0";
        request.key_len = 3;
    }
    if (got->flags != 0) {
        FUZZ_HOLDS(oracle_peek(oracle, &request, now, NULL) == 1, "a refusal is flagged %u", got->flags);
        FUZZ_HOLDS((uint32_t)got->verdict == opening.given.options.when_full, "flagged, and the verdict is %d",
                   got->verdict);
    } else if (peek) {
        oracle_peek(oracle, &request, now, &wanted);
        compare(&wanted, got);
    } else {
        oracle_take(oracle, &request, now, &wanted);
        compare(&wanted, got);
    }
}

static void call(const weir_identity *identities)
{
    weir_request request = draw_request(identities);
    uint64_t now = any_time(&source);
    bool legal_call = now == WEIR_NOW ? has_clock() : now <= WEIR_TIME_MAX;
    bool peek = random_one_in(&source, 4), batch = random_below(&source, 4) == 3;
    weir_decision got, before;
    int verdict = 7;

    legal_call = legal_call && (legal_request(&request, identities) || batch);
    memset(&got, 0xee, sizeof got);
    before = got;
    if (batch) {
        int64_t accepted = weir_take_batch(limiter, &request, 1, now, &verdict, &got);
        FUZZ_HOLDS(legal_call ? accepted == (verdict == 1) : accepted == -EINVAL && verdict == 7, "batch: %d", verdict);
        if (legal_call && !legal_request(&request, identities)) {
            compare(&(weir_decision){.verdict = -EINVAL}, &got);
            FUZZ_HOLDS(verdict == -EINVAL, "batch: %d", verdict);
            return;
        }
    } else {
        verdict = peek ? weir_peek(limiter, &request, now, &got) : weir_take(limiter, &request, now, &got);
        FUZZ_HOLDS(legal_call == (verdict >= 0) && (legal_call || verdict == -EINVAL), "verdict %d", verdict);
    }
    if (!legal_call) {
        FUZZ_HOLDS(memcmp(&got, &before, sizeof got) == 0, "a bad call has an answer");
        return;
    }
    FUZZ_HOLDS(got.verdict == verdict, "verdict %d", verdict);
    check_answer(request, now == WEIR_NOW ? weir_now(limiter) : now, peek && !batch, &got);
}

static void set_limits(void)
{
    uint64_t new[WEIR_RULES_MAX + 1], failed = opening.memory.failed;
    uint32_t plan = (uint32_t)ANY_OF(&source, 0, 1, 2, 3);
    size_t count =
        random_below(&source, 8) == 7 ? (size_t)random_below(&source, WEIR_RULES_MAX + 2) : opening.rule_count;
    bool good = plan < opening_plans(&opening) && count == opening.rule_count;
    int result;

    for (size_t i = 0; i < count; i++) {
        new[i] = any_limit(&source);
        good = good && new[i] >= 1 && (i >= opening.rule_count || new[i] <= opening_most(&opening, i));
    }
    result = weir_set_limits(limiter, plan, new, count);
    if (good)
        FUZZ_HOLDS(result == 0 || (result == -ENOMEM && opening.memory.failed > failed), "limits: %d", result);
    else
        FUZZ_HOLDS(result == -EINVAL, "limits: %d", result);
    if (result == 0)
        oracle_set_limits(oracle, plan, new);
}

/* Any size: no byte beyond it is written, and those that nobody knows are 0. */
static void statistics(void)
{
    size_t size = sizeof(size_t) + (size_t)random_below(&source, 2 * sizeof(weir_statistics));
    unsigned char *exact = malloc(size + sizeof(weir_statistics));
    weir_statistics *told = (weir_statistics *)(void *)exact;
    int result;

    FUZZ_HOLDS(exact != NULL, "no memory");
    memset(exact, GUARD, size + sizeof(weir_statistics));
    memcpy(exact, &size, sizeof size);
    result = weir_stats(limiter, told);
    FUZZ_HOLDS(result == (size < offsetof(weir_statistics, reserved) ? -EINVAL : 0), "%d for %zu bytes", result, size);
    FUZZ_HOLDS(memcmp(exact, &size, sizeof size) == 0, "the size was changed");
    for (size_t i = result == 0 ? offsetof(weir_statistics, reserved) : sizeof size; i < size; i++)
        FUZZ_HOLDS(exact[i] == (result == 0 ? 0 : GUARD), "byte %zu of %zu", i, size);
    for (size_t i = size; i < size + sizeof(weir_statistics); i++)
        FUZZ_HOLDS(exact[i] == GUARD, "byte %zu, beyond %zu", i, size);
    free(exact);
}

static int stop_at(void *argument, const weir_key *key)
{
    (void)key;
    return *(int *)argument;
}

static void walk_and_sweep(void)
{
    uint64_t now = any_time(&source), most = ANY_OF(&source, 0, 1, 2, UINT64_MAX);
    bool good = now == WEIR_NOW ? has_clock() : now <= WEIR_TIME_MAX;
    int code = (int)random_below(&source, 256), result = weir_each(limiter, now, stop_at, &code);

    FUZZ_HOLDS(good ? result == 0 || result == code : result == -EINVAL, "each: %d", result);
    result = weir_sweep(limiter, now, most);
    FUZZ_HOLDS(good ? result == 1 || (result == 0 && most != 0) : result == -EINVAL, "sweep: %d", result);
    if (good)
        known_at(now == WEIR_NOW ? weir_now(limiter) : now);
}

static void call_all(void)
{
    static const weir_identity none;
    weir_identity identities[2] = {none, none};

    FUZZ_HOLDS(weir_identify(limiter, "\0\0\0", 3, &identities[0]) == 0, "no identity");
    identities[1] = identities[0];
    identities[1].owner ^= 1;
    oracle = oracle_open(opening.rules, opening.rule_count, opening.given.options.plans, opening.limits);
    /* A janitor sweeps when it likes, and a clock of the system's shows what it likes. */
    mirrored = opening.given.options.clock == WEIR_CLOCK_MANUAL || opening.given.options.clock == WEIR_CLOCK_CUSTOM;
    latest = 0;
    for (unsigned steps = 0; bytes.left > 0 && steps < 300; steps++)
        switch (random_below(&source, 16)) {
        case 0:
            set_limits();
            break;
        case 1:
            statistics();
            break;
        case 2:
            walk_and_sweep();
            break;
        case 3:
            opening.clock = any_time(&source);
            break;
        default:
            call(identities);
        }
    oracle_close(oracle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes = (fuzz_bytes){data, size};
    source = fuzz_random(&bytes);
    opening_draw(&opening, &source);
    if (opens()) {
        call_all();
        FUZZ_HOLDS(weir_close(limiter) == 0, "not closed");
    }
    FUZZ_HOLDS(opening.memory.blocks == 0 && opening.memory.bytes == 0 && opening.memory.faults == 0,
               "%" PRIu64 " blocks are left, %" PRIu64 " faults", (uint64_t)opening.memory.blocks,
               (uint64_t)opening.memory.faults);
    return 0;
}
