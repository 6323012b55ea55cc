/*
 * Each baseline of the benchmark answers as weir does: random traffic of one thread (late calls, costs, pauses in which
 * keys expire, sweeps) is put to both, and verdict, remaining, waits and rule must be the same. A benchmark compares
 * like with like only if this holds. Attacks A and B of the baselines, and that they forget: a flood of new keys leaves
 * about as many behind as are live.
 */
#include "../threads/common.h"

#include "../../bench/baselines/lfht.h"
#include "../../bench/baselines/locked.h"
#include "../support/decision.h"

enum { KEYS = 40, CALLS = 30000 };

#define WINDOW   (UINT64_C(1) << 30)
#define LATENESS (WINDOW / 4)

/* A baseline behind one face. */
typedef struct face {
    const char *name;
    void *(*open)(const weir_rule *rules, size_t count);
    int (*take)(void *of, const weir_request *request, uint64_t now, weir_decision *decision);
    void (*sweep)(void *of, uint64_t now);
    uint64_t (*keys)(void *of);
    void (*close)(void *of);
    bool counter_alone;
} face;

static void *open_mutex(const weir_rule *rules, size_t count)
{
    return locked_open(0, rules, (unsigned)count, LATENESS);
}

static void *open_sharded(const weir_rule *rules, size_t count)
{
    return locked_open(6, rules, (unsigned)count, LATENESS);
}

static int take_locked(void *of, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return locked_take(of, request->key, request->key_len, request->cost, now, decision);
}

static void sweep_locked(void *of, uint64_t now)
{
    locked_sweep(of, now);
}

static uint64_t keys_of_locked(void *of)
{
    return locked_keys(of);
}

static void close_locked(void *of)
{
    locked_close(of);
}

static void *open_lfht(const weir_rule *rules, size_t count)
{
    want_equal("rules", 1, count);
    return lfht_open(rules, KEYS, LATENESS);
}

static int take_lfht(void *of, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return lfht_take(of, request->key, request->key_len, request->cost, now, decision);
}

static void sweep_lfht(void *of, uint64_t now)
{
    lfht_sweep(of, now);
}

static uint64_t keys_of_lfht(void *of)
{
    return lfht_keys(of);
}

static void close_lfht(void *of)
{
    lfht_close(of);
}

static const face faces[] = {
    {"mutex", open_mutex, take_locked, sweep_locked, keys_of_locked, close_locked, false},
    {"sharded", open_sharded, take_locked, sweep_locked, keys_of_locked, close_locked, false},
    {"lfht", open_lfht, take_lfht, sweep_lfht, keys_of_lfht, close_lfht, true},
};

/* Limits around what a ring keeps in the entry (64 words), and far beyond. */
typedef struct world {
    const char *name;
    weir_rule rules[4];
    size_t count;
} world;

#define LOG(most, window, charged) {.algorithm = WEIR_LOG, .limit = most, .window_ns = window, .meter = charged}
#define COUNTER(most, window, charged) {.algorithm = WEIR_COUNTER, .limit = most, .window_ns = window, .meter = charged}
#define BUCKETS(most, window, charged)                                                                            \
    {.algorithm = WEIR_BUCKETS, .limit = most, .window_ns = window, .meter = charged, .buckets = 7}

static const world worlds[] = {
    {"counter", {COUNTER(20, WINDOW, WEIR_PER_COST)}, 1},
    {"counter per request", {COUNTER(5, WINDOW / 4, WEIR_PER_REQUEST)}, 1},
    {"log", {LOG(5, WINDOW, WEIR_PER_REQUEST)}, 1},
    {"log of 64", {LOG(64, WINDOW, WEIR_PER_REQUEST)}, 1},
    {"log of 300", {LOG(300, WINDOW, WEIR_PER_REQUEST)}, 1},
    {"log of costs", {LOG(30, WINDOW, WEIR_PER_COST)}, 1},
    {"log of many costs", {LOG(700, WINDOW, WEIR_PER_COST)}, 1},
    {"buckets", {BUCKETS(20, WINDOW, WEIR_PER_COST)}, 1},
    {"two", {LOG(40, WINDOW, WEIR_PER_REQUEST), COUNTER(90, 2 * WINDOW, WEIR_PER_COST)}, 2},
    {"four",
     {LOG(20, WINDOW / 4, WEIR_PER_COST), BUCKETS(60, WINDOW, WEIR_PER_COST), COUNTER(50, WINDOW, WEIR_PER_REQUEST),
      LOG(100, 2 * WINDOW, WEIR_PER_REQUEST)},
     4},
};

static weir *open_weir(const world *of)
{
    weir_options options = weir_options_manual();
    options.max_lateness_ns = LATENESS;
    weir *limiter;
    want_done("weir_open", weir_open(&limiter, of->rules, of->count, &options));
    return limiter;
}

static void compare(const face *who, const world *of, uint64_t call, const weir_decision *wanted,
                    const weir_decision *got)
{
    uint64_t wanted_value = 0, got_value = 0;
    const char *field = decision_difference(wanted, got, &wanted_value, &got_value);
    if (field)
        failed("%s, %s, call %" PRIu64 ": %s: weir says %" PRIu64 ", the baseline %" PRIu64, who->name, of->name, call,
               field, wanted_value, got_value);
}

/* Mostly a little later; at times much, so that keys expire; no call is later than LATENESS behind the newest. All
 * times are multiples of a share of the window, so that its very ends are met. */
static uint64_t next_time(uint64_t *newest, uint64_t *random, uint64_t grain)
{
    const uint64_t kind = random_below(random, 200);
    if (kind == 0)
        *newest += grain * random_below(random, 5 * WINDOW / grain);
    else if (kind <= 20)
        return *newest - grain * random_below(random, LATENESS / grain + 1);
    else if (kind > 60)
        *newest += grain * random_below(random, 3);
    return *newest;
}

static void same(const face *who, const world *of, uint64_t *random)
{
    const uint64_t grain = WINDOW / 256 >> random_below(random, 6); /* a key is called every 40 to 1.25 256ths */
    const uint64_t calls = scaled(CALLS, 1000);
    uint64_t newest = 100 * WINDOW;
    weir *limiter = open_weir(of);
    void *baseline = who->open(of->rules, of->count);
    for (uint64_t i = 0; i < calls; i++) {
        test_key key = key_number(random_below(random, KEYS));
        weir_request request = request_for(&key, random_below(random, random_below(random, 10) == 0 ? 100 : 4));
        uint64_t now = next_time(&newest, random, grain);
        weir_decision wanted, got;
        int verdict = weir_take(limiter, &request, now, &wanted);
        bool whole = random_below(random, 3) > 0;
        want_equal("verdict", (uint64_t)verdict, (uint64_t)who->take(baseline, &request, now, whole ? &got : NULL));
        if (whole)
            compare(who, of, i, &wanted, &got);
        if (random_below(random, 50) == 0)
            who->sweep(baseline, newest);
        if (random_below(random, 50) == 0)
            weir_sweep(limiter, newest, 0);
    }
    who->sweep(baseline, newest + 10 * WINDOW);
    want_equal("keys held when all have expired", 0, who->keys(baseline));
    who->close(baseline);
    want_done("weir_close", weir_close(limiter));
}

/* New keys, each called once, LIVE of them in a window: nobody sweeps but the insertions themselves. */
static void flood(const face *who, const world *of)
{
    enum { LIVE = 2000, TURNS = 20 };
    void *baseline = who->open(of->rules, 1);
    uint64_t most = 0;
    for (uint64_t i = 0; i < LIVE * TURNS; i++) {
        test_key key = key_number(i);
        weir_request request = request_for(&key, 1);
        want_equal("verdict", 1, (uint64_t)who->take(baseline, &request, 100 * WINDOW + i * (WINDOW / LIVE), NULL));
        if (i % LIVE == 0)
            most = who->keys(baseline) > most ? who->keys(baseline) : most;
    }
    /* A counter's key lives for two windows and the lateness, and may then wait for as long for a look. */
    want_at_most("keys held in a flood", 5 * LIVE, most);
    who->close(baseline);
}

int main(void)
{
    uint64_t random = seed_of_run();
    for (size_t i = 0; i < sizeof faces / sizeof *faces; i++) {
        for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
            if (faces[i].counter_alone && (worlds[k].count > 1 || worlds[k].rules[0].algorithm != WEIR_COUNTER))
                continue;
            same(&faces[i], &worlds[k], &random);
        }
        flood(&faces[i], &worlds[0]);
        if (!faces[i].counter_alone)
            flood(&faces[i], &worlds[2]);
    }
    return 0;
}
