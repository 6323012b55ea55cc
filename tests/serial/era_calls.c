/* SPDX-License-Identifier: MIT */
#include "era.h"

#include "limiter/testing.h"
#include "disturb.h"

_Atomic uint64_t era_stamp = 1;

static uint64_t stamp(void)
{
    return atomic_fetch_add(&era_stamp, 1);
}

/* ---- One call, its stamps, and slow motion now and then ---- */

/* What a thread is about to do. */
struct doing {
    struct era *era;
    struct era_log *log;
    uint64_t *random;
    uint64_t now;
    uint64_t called;
};

static void begin(struct doing *doing)
{
    bool alone = doing->log == &doing->era->logs[ERA_THREADS];

    doing->called = stamp();
    disturb_begin(alone ? 0 : doing->era->rarity, random_next(doing->random));
}

static uint64_t end(void)
{
    disturb_end();
    return stamp();
}

/* Something may have been dropped, as expired at this call's time less max_lateness. */
static void note_floor(const struct doing *doing)
{
    struct era_log *log = doing->log;

    if (doing->now > doing->era->max_lateness)
        log->floors[log->floor_count++] = (struct serial_floor){doing->now - doing->era->max_lateness, doing->called};
}

static void note_call(const struct doing *doing, const struct serial_call *call, unsigned key, uint64_t returned)
{
    struct era_log *log = doing->log;

    log->calls[log->count] = *call;
    log->calls[log->count].thread = (unsigned)(log - doing->era->logs);
    log->calls[log->count].called = doing->called;
    log->calls[log->count].returned = returned;
    log->key[log->count++] = key;
}

/* ---- The kinds of calls ---- */

static uint64_t any_cost(const struct doing *doing)
{
    uint64_t cost = random_below(doing->random, 4) * doing->era->unit;

    return random_below(doing->random, 8) == 0 ? cost + 1 : cost;
}

/* A take or a peek; `index` from key_count on is a filler's, which nobody looks at. */
static void ask(struct doing *doing, unsigned index, enum serial_verb verb)
{
    struct era *era = doing->era;
    struct serial_call call = {.verb = verb, .now = doing->now, .cost = any_cost(doing)};
    bool hot = index < era->key_count;
    weir_request request = {.identity = hot ? &era->keys[index] : &era->fillers[index - era->key_count]};
    weir_decision *decision = verb == SERIAL_TAKE || verb == SERIAL_PEEK ? &call.answer : NULL;
    uint64_t returned;

    if (era->plans > 0)
        call.plan = (uint32_t)random_below(doing->random, era->plans);
    request.cost = call.cost;
    request.plan = call.plan;
    begin(doing);
    call.verdict = verb == SERIAL_TAKE || verb == SERIAL_TAKE_VERDICT
                       ? weir_take(era->limiter, &request, call.now, decision)
                       : weir_peek(era->limiter, &request, call.now, decision);
    returned = end();
    want_at_most("a take or peek", 1, (uint64_t)(int64_t)call.verdict);
    note_floor(doing);
    if (hot)
        note_call(doing, &call, index, returned);
}

/* Several takes in one call: one after the other, so all between the same two stamps. */
static void ask_batch(struct doing *doing)
{
    struct era *era = doing->era;
    weir_request requests[4] = {0};
    weir_decision decisions[4];
    int verdicts[4];
    unsigned key[4];
    uint64_t returned;
    int64_t accepted = 0;
    int64_t result;

    for (unsigned i = 0; i < 4; i++) {
        key[i] = (unsigned)random_below(doing->random, era->key_count);
        requests[i].identity = &era->keys[key[i]];
        requests[i].cost = any_cost(doing);
        requests[i].plan = era->plans > 0 ? (uint32_t)random_below(doing->random, era->plans) : 0;
    }
    bool whole = random_below(doing->random, 2) == 0;

    begin(doing);
    result = weir_take_batch(era->limiter, requests, 4, doing->now, verdicts, whole ? decisions : NULL);
    returned = end();
    note_floor(doing);
    for (unsigned i = 0; i < 4; i++) {
        struct serial_call call = {.verb = whole ? SERIAL_TAKE : SERIAL_TAKE_VERDICT,
                                   .now = doing->now,
                                   .cost = requests[i].cost,
                                   .plan = requests[i].plan,
                                   .verdict = verdicts[i]};

        if (whole)
            call.answer = decisions[i];
        note_call(doing, &call, key[i], returned);
        accepted += verdicts[i];
    }
    want_equal("accepted of a batch", (uint64_t)accepted, (uint64_t)result);
}

static void reset(struct doing *doing)
{
    struct serial_call call = {.verb = SERIAL_RESET};
    unsigned key = (unsigned)random_below(doing->random, doing->era->key_count);
    weir_request request = {.identity = &doing->era->keys[key]};
    uint64_t returned;

    begin(doing);
    want_done("weir_reset", weir_reset(doing->era->limiter, &request));
    returned = end();
    note_call(doing, &call, key, returned);
}

static void set_limits(struct doing *doing)
{
    struct era *era = doing->era;
    struct serial_call call = {.verb = SERIAL_SET_LIMITS};
    uint64_t returned;
    int result;

    if (era->plans > 0)
        call.plan = (uint32_t)random_below(doing->random, era->plans);
    for (size_t i = 0; i < era->rule_count; i++)
        call.limits[i] = era->unit * (1 + random_below(doing->random, 6));
    begin(doing);
    result = weir_set_limits(era->limiter, call.plan, call.limits, era->rule_count);
    returned = end();
    if (result == -ENOMEM && era->may_fail)
        return; /* nothing changed */
    want_done("weir_set_limits", result);
    note_call(doing, &call, EVERY_KEY, returned);
}

static void sweep(struct doing *doing)
{
    begin(doing);
    want_at_most("weir_sweep", 1, (uint64_t)(int64_t)weir_sweep(doing->era->limiter, doing->now, 0));
    (void)end();
    note_floor(doing);
}

static void migrate(struct doing *doing)
{
    uint64_t random = random_next(doing->random);

    begin(doing);
    weiri_test_migrate(doing->era->limiter, random, doing->now);
    (void)end();
    note_floor(doing);
}

/* ---- Which of them ---- */

/* Most at one and the same time, some a little later, some late. */
static uint64_t any_time(const struct era *era, uint64_t *random)
{
    uint64_t back;

    switch (random_below(random, 8)) {
    case 0:
        return era->base + random_below(random, era->window + 1);
    case 1:
        back = random_below(random, era->behind + 1);
        return back > era->base ? 0 : era->base - back;
    default:
        return era->base;
    }
}

static void ask_any(struct doing *doing, uint64_t roll)
{
    unsigned key = (unsigned)random_below(doing->random, doing->era->key_count);

    ask(doing, key,
        roll < 30   ? SERIAL_TAKE
        : roll < 45 ? SERIAL_TAKE_VERDICT
        : roll < 52 ? SERIAL_PEEK
                    : SERIAL_PEEK_VERDICT);
}

void era_call(struct era *era, unsigned index, uint64_t *random)
{
    struct doing doing = {.era = era, .log = &era->logs[index], .random = random};
    uint64_t roll = random_below(random, 100);

    if (doing.log->count + 4 > LOG_MAX || doing.log->floor_count + 1 > LOG_MAX)
        failed("the log of a thread is full");
    doing.now = any_time(era, random);
    if (roll < 58)
        ask_any(&doing, roll);
    else if (roll < 64)
        ask_batch(&doing);
    else if (roll < 69)
        reset(&doing);
    else if (roll < 74)
        set_limits(&doing);
    else if (roll < 79)
        sweep(&doing);
    else if (roll < 91)
        migrate(&doing);
    else if (roll < 99 || !era->reclaims)
        ask(&doing, era->key_count + (unsigned)random_below(random, ERA_FILLERS), SERIAL_TAKE);
    else
        want_done("weir_reclaim", weir_reclaim(era->limiter));
}

void era_look(struct era *era)
{
    uint64_t random = era->base;
    struct doing doing = {.era = era, .log = &era->logs[ERA_THREADS], .random = &random};

    doing.now = era->base;
    for (unsigned key = 0; key < era->key_count; key++)
        ask(&doing, key, SERIAL_PEEK);
}
