#include "../round.h"
#include "baselines.h"
#include "lfht.h"

static void *open_lfht(const bench_setup *setup)
{
    return lfht_open(setup->rules, setup->keys, WEIR_SECOND);
}

static void close_lfht(void *state)
{
    lfht_close(state);
}

static BENCH_INLINED int take(void *state, const bench_call *call, weir_decision *decision)
{
    return lfht_take(state, call->key, call->key_len, call->cost, call->now, decision);
}

static int take_lfht(void *state, const bench_call *call, weir_decision *decision)
{
    return take(state, call, decision);
}

static void sweep_lfht(void *state, uint64_t now)
{
    lfht_sweep(state, now);
}

BENCH_ROUND(round_lfht, take)

const bench_subject bench_lfht = {
    .name = "lfht",
    .about = "liburcu's lock-free hash table (cds_lfht, presized), a counter charged by compare-and-swap",
    .algorithms = 1 << WEIR_COUNTER,
    .rules_max = 1,
    .can = BENCH_CAN_WHOLE | BENCH_CAN_COSTS | BENCH_CAN_THREADS,
    .open = open_lfht,
    .close = close_lfht,
    .take = take_lfht,
    .round = round_lfht,
    .sweep = sweep_lfht,
};
