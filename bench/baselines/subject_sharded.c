#include "../round.h"
#include "baselines.h"
#include "sharded.h"

static void *open_sharded(const bench_setup *setup)
{
    return sharded_open(setup->rules);
}

static void close_sharded(void *state)
{
    sharded_close(state);
}

static BENCH_INLINED int take(void *state, const bench_call *call, weir_decision *decision)
{
    return sharded_take(state, call->key, call->key_len, call->cost, call->now, decision);
}

static int take_sharded(void *state, const bench_call *call, weir_decision *decision)
{
    return take(state, call, decision);
}

BENCH_ROUND(round_sharded, take)

const bench_subject bench_sharded = {
    .name = "sharded",
    .about = "64 shards, each a mutex and a hash table (uthash)",
    .algorithms = 1 << WEIR_LOG | 1 << WEIR_COUNTER,
    .rules_max = 1,
    .can = BENCH_CAN_WHOLE | BENCH_CAN_THREADS,
    .open = open_sharded,
    .close = close_sharded,
    .take = take_sharded,
    .round = round_sharded,
};
