#include "../round.h"
#include "baselines.h"
#include "locked.h"

enum {
    ALGORITHMS = 1 << WEIR_LOG | 1 << WEIR_COUNTER | 1 << WEIR_BUCKETS,
    ABILITIES = BENCH_CAN_WHOLE | BENCH_CAN_COSTS | BENCH_CAN_THREADS
};

static void *open_mutex(const bench_setup *setup)
{
    return locked_open(0, setup->rules, (unsigned)setup->rule_count, WEIR_SECOND);
}

static void *open_sharded(const bench_setup *setup)
{
    return locked_open(6, setup->rules, (unsigned)setup->rule_count, WEIR_SECOND);
}

static void close_locked(void *state)
{
    locked_close(state);
}

static BENCH_INLINED int take(void *state, const bench_call *call, weir_decision *decision)
{
    return locked_take(state, call->key, call->key_len, call->cost, call->now, decision);
}

static int take_locked(void *state, const bench_call *call, weir_decision *decision)
{
    return take(state, call, decision);
}

static void sweep_locked(void *state, uint64_t now)
{
    locked_sweep(state, now);
}

BENCH_ROUND(round_locked, take)

#define LOCKED_SUBJECT(called, told, opener)                                                                          \
    {                                                                                                                 \
        .name = called, .about = told, .algorithms = ALGORITHMS, .rules_max = WEIR_RULES_MAX, .can = ABILITIES,       \
        .open = opener, .close = close_locked, .take = take_locked, .round = round_locked, .sweep = sweep_locked     \
    }

const bench_subject bench_mutex = LOCKED_SUBJECT("mutex", "one mutex and a hash table (uthash)", open_mutex);
const bench_subject bench_sharded =
    LOCKED_SUBJECT("sharded", "64 shards, each a mutex and a hash table (uthash)", open_sharded);
