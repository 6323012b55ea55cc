#include "subject_tended.h"

#include "round.h"

weir *bench_tended_open(const bench_setup *setup, uint64_t max_lateness_ns, uint64_t sweep_interval_ns)
{
    weir_options options = weir_options_default();
    weir *limiter;
    options.max_lateness_ns = max_lateness_ns;
    options.sweep_interval_ns = sweep_interval_ns;
    return weir_open(&limiter, setup->rules, setup->rule_count, &options) == 0 ? limiter : NULL;
}

static void *open_tended(const bench_setup *setup)
{
    return bench_tended_open(setup, weir_options_default().max_lateness_ns, 0);
}

static void close_tended(void *state)
{
    weir_close(state);
}

static BENCH_INLINED int take_one(void *state, const bench_call *call, weir_decision *decision)
{
    weir_request request = weir_request_for(call->key, call->key_len);
    request.cost = call->cost;
    return weir_take(state, &request, WEIR_NOW, decision);
}

static int take_tended(void *state, const bench_call *call, weir_decision *decision)
{
    return take_one(state, call, decision);
}

static uint64_t bytes_of_tended(void *state)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    return weir_stats(state, &statistics) == 0 ? statistics.bytes : 0;
}

BENCH_ROUND(round_tended, take_one)

const bench_subject bench_tended = {
    .name = "weir-janitor",
    .about = "weir_take on the limiter's own clock, with the janitor",
    .algorithms = 1 << WEIR_LOG | 1 << WEIR_COUNTER | 1 << WEIR_BUCKETS,
    .rules_max = WEIR_RULES_MAX,
    .can = BENCH_CAN_WHOLE | BENCH_CAN_COSTS | BENCH_CAN_THREADS,
    .open = open_tended,
    .close = close_tended,
    .take = take_tended,
    .round = round_tended,
    .bytes = bytes_of_tended,
};
