/*
 * The end of a round: the threads are gone, all memory is there. B is judged key by key; what weir still holds of each
 * key must be what was accepted (C: no less; nothing twice: no more); then memory against live keys (F).
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

#include "table/segment.h"

enum { LOOKED_AT = 1 << 20 }; /* the limit of the rule that is looked at; the others have more, so it is the one told */

typedef struct bench {
    bound *bounds;
    bound **room;
} bench;

static void raise_limits(torture_round *round, size_t looked_at)
{
    uint64_t limits[TORTURE_RULES];
    for (size_t rule = 0; rule < round->shape.count; rule++)
        limits[rule] = rule == looked_at ? LOOKED_AT : 2 * LOOKED_AT;
    for (uint32_t plan = 0; plan < round->shape.plans; plan++)
        fault_unless("weir_set_limits", 0, (uint64_t)weir_set_limits(round->limiter, plan, limits, round->shape.count));
}

static weir_decision peek_at(torture_round *round, uint64_t number, uint64_t when)
{
    weir_decision decision;
    test_key key = key_number(number);
    weir_request request = request_for(&key, 0);
    if (weir_peek(round->limiter, &request, when, &decision) != 1)
        fault("key %" PRIu64 ": a peek is refused, whatever the limit", number);
    return decision;
}

static size_t key_end(const ledger *all, size_t first)
{
    size_t end = first;
    while (end < all->count && all->entries[end].key == all->entries[first].key)
        end++;
    return end;
}

/* One rule of one key. */
static void check_key(torture_round *round, size_t rule, const ledger_entry *entries, size_t count, const bench *use)
{
    const weir_rule *of = &round->shape.rules[rule];
    uint64_t largest = torture_largest(&round->shape, (unsigned)rule);
    size_t made = judge_bounds(of, entries, count, largest, use->bounds, use->room);
    if (made == 0)
        return;
    tell(&torture_told.judged, 1);
    judge_used wanted = judge_settled(of, use->bounds, made, moment_floor(round));
    judge_rule(of, use->bounds, made, use->room);
    if (round->time == TIME_REAL)
        return; /* all of it has expired by now, and the janitor goes on */
    weir_decision decision = peek_at(round, entries[0].key, wanted.when);
    uint64_t used = LOOKED_AT - decision.remaining;
    if (decision.rule != rule || used < wanted.least || used > wanted.most)
        fault("C: key %u, rule %zu at %" PRIu64 ": %" PRIu64 " to %" PRIu64 " accepted, %" PRIu64 " held",
              entries[0].key, rule, wanted.when, wanted.least, wanted.most, used);
    tell(&torture_told.settled, wanted.least == wanted.most && wanted.least > 0);
}

/* Frozen, costs of 1: every key takes exactly what is left, and the sum is L. */
static void fill(torture_round *round, const ledger_entry *entries, size_t count)
{
    uint64_t accepted = 0, limit = UINT64_MAX, number = entries[0].key;
    for (size_t rule = 0; rule < round->shape.count; rule++)
        limit = round->shape.plan_limits[rule] < limit ? round->shape.plan_limits[rule] : limit;
    for (size_t i = 0; i < count; i++)
        accepted += entries[i].cost;
    if (number < HOT_KEYS && round->full[number])
        fault_unless("B: accepted on a key that refused", limit, accepted);
    if (limit > 100 && number > 0)
        return; /* takes too long for all */
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    while (weir_take(round->limiter, &request, moment_clock(round), NULL) == 1)
        if (++accepted > limit)
            break;
    if (accepted != limit)
        fault("B: key %" PRIu64 ": %" PRIu64 " accepted in all at one time, limit %" PRIu64, number, accepted, limit);
}

static bool charged(const torture_round *round, const ledger_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!entries[i].reset && torture_records(&round->shape, entries[i].cost))
            return true;
    return false;
}

/* Returns how many keys were ever charged. */
static uint64_t check_keys(torture_round *round, const ledger *all)
{
    bench use = {calloc(all->count + 1, sizeof(bound)), calloc(2 * all->count + 1, sizeof(bound *))};
    uint64_t keys = 0;
    if (!use.bounds || !use.room)
        fault("no memory to judge with");
    for (size_t first = 0, end; first < all->count; first = end) {
        end = key_end(all, first);
        keys += charged(round, &all->entries[first], end - first);
    }
    for (size_t rule = 0; rule < round->shape.count; rule++) {
        raise_limits(round, rule);
        for (size_t first = 0, end; first < all->count; first = end) {
            end = key_end(all, first);
            check_key(round, rule, &all->entries[first], end - first, &use);
        }
    }
    free(use.bounds);
    free(use.room);
    tell(&torture_told.keys, keys);
    return keys;
}

static void fill_keys(torture_round *round, const ledger *all)
{
    const torture_shape *shape = &round->shape; /* of one plan */
    fault_unless("set_limits", 0, (uint64_t)weir_set_limits(round->limiter, 0, shape->plan_limits, shape->count));
    for (size_t first = 0, end; first < all->count; first = end) {
        end = key_end(all, first);
        fill(round, &all->entries[first], end - first);
    }
}

/* --- F --- */

static int count_key(void *argument, const weir_key *key)
{
    (void)key;
    ++*(uint64_t *)argument;
    return 0;
}

/* For what only tests do to the table: segments split without need, up to 1024; segments of a few cells. */
static uint64_t slack_of(const torture_round *round, uint64_t ever)
{
    uint64_t forced = round->forced ? 1024 * (64 + 8 * 8) : 0;
    return forced + (WEIRI_CAPACITY_MAX < 64 ? 256 * ever : 0);
}

/* The bound of docs/semantics.md. */
static uint64_t most_bytes(const torture_round *round, uint64_t live, uint64_t records, uint64_t ever, uint64_t slack)
{
    uint64_t key = 160;
    const torture_shape *shape = &round->shape;
    for (size_t rule = 0; rule < shape->count; rule++)
        key += 8 * shape->rules[rule].buckets;
    key += shape->nodes ? 192 + 112 * (shape->count - 1) : 0;
    return 65536 + live * key + records + 6 * ever + slack;
}

/* How many of a key's records may have a stamp later than `oldest`. */
static uint64_t records_of(const ledger_entry *entries, size_t count, uint64_t oldest)
{
    uint64_t records = 0, newest = 0;
    for (size_t i = 0; i < count; i++)
        newest = entries[i].now_high > newest ? entries[i].now_high : newest;
    for (size_t i = 0; i < count; i++)
        records += !entries[i].reset && (newest > oldest || entries[i].floor > oldest);
    return records;
}

/* Bytes of the records that may count at `time` or later. */
static uint64_t record_bytes(const torture_round *round, const ledger *all, uint64_t time)
{
    uint64_t bytes = 0;
    for (size_t rule = 0; rule < round->shape.count; rule++) {
        const weir_rule *of = &round->shape.rules[rule];
        uint64_t largest = torture_largest(&round->shape, (unsigned)rule);
        uint64_t each = (of->meter == WEIR_PER_COST ? 16U : 8U) * (largest > 64 ? 2U : 1U);
        uint64_t oldest = time > of->window_ns ? time - of->window_ns : 0;
        for (size_t first = 0, end; of->algorithm == WEIR_LOG && first < all->count; first = end) {
            end = key_end(all, first);
            uint64_t live = records_of(&all->entries[first], end - first, oldest);
            bytes += each * (live < largest && !round->exact ? live : largest);
        }
    }
    return bytes;
}

static uint64_t swept(torture_round *round, uint64_t now)
{
    int end = weir_sweep(round->limiter, now, 0);
    if (end != 1)
        fault("weir_sweep: %d", end);
    fault_unless("weir_reclaim", 0, (uint64_t)weir_reclaim(round->limiter));
    weir_statistics stats = stats_of(round->limiter);
    if (stats.bytes != round->account.bytes || stats.retired_bytes != 0)
        fault("F: weir_stats tells %" PRIu64 " bytes, %" PRIu64 " retired, the allocator %" PRIu64, stats.bytes,
              stats.retired_bytes, (uint64_t)round->account.bytes);
    return stats.keys;
}

static void check_memory(torture_round *round, const ledger *all, uint64_t ever)
{
    bool endless = round->lateness == UINT64_MAX, stay = round->time == TIME_FROZEN || endless;
    uint64_t slack = slack_of(round, ever), live = 0;
    uint64_t newest = moment_floor(round) + (endless ? 0 : round->lateness); /* no sweep was made later */
    for (size_t i = 0; i < all->count; i++)
        newest = all->entries[i].now_high > newest ? all->entries[i].now_high : newest;
    atomic_store(&round->clock, newest);
    uint64_t keys = swept(round, newest);
    fault_unless("weir_each", 0, (uint64_t)weir_each(round->limiter, newest, count_key, &live));
    if (keys != live)
        fault("F: %" PRIu64 " keys are held after a sweep, weir_each shows %" PRIu64, keys, live);
    if (stay && live != ever)
        fault("C: %" PRIu64 " keys were charged and must be there, weir_each shows %" PRIu64, ever, live);
    uint64_t drop = endless || newest < round->lateness ? 0 : newest - round->lateness;
    uint64_t most = most_bytes(round, live, record_bytes(round, all, drop), ever, slack);
    if (round->account.bytes > most)
        fault("F: %" PRIu64 " keys live, wanted at most %" PRIu64 " bytes, got %" PRIu64, live, most,
              (uint64_t)round->account.bytes);
    if (endless)
        return;
    uint64_t later = newest + 4 * round->shape.longest + round->lateness;
    atomic_store(&round->clock, later);
    fault_unless("F: keys after all have expired", 0, swept(round, later));
    most = most_bytes(round, 0, 0, ever, slack);
    if (round->account.bytes > most)
        fault("F: no key live, wanted at most %" PRIu64 " bytes, got %" PRIu64, most, (uint64_t)round->account.bytes);
}

/* The janitor works on: only that all leave can be waited for. */
static void drain(torture_round *round)
{
    while (stats_of(round->limiter).keys > 0) {
        if (weir_sweep(round->limiter, WEIR_NOW, 0) != 1)
            fault("weir_sweep");
        sched_yield();
    }
}

void ending_check(torture_round *round)
{
    weir_statistics stats = stats_of(round->limiter);
    ledger all = ledger_merge(round->ledgers, round->threads);
    tell(&torture_told.splits, stats.splits);
    tell(&torture_told.compactions, stats.compactions);
    tell(&torture_told.helped, stats.cells_helped);
    uint64_t ever = check_keys(round, &all);
    if (round->exact)
        fill_keys(round, &all);
    if (round->time == TIME_REAL)
        drain(round);
    else
        check_memory(round, &all, ever);
    tell(&torture_told.swept, stats_of(round->limiter).swept);
    free(all.entries);
}
