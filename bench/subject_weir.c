#include "subject_weir.h"

#include <stdlib.h>

#include "round.h"

/* `identities`: of each key number, made before anything is measured; NULL where calls bring bytes. */
typedef struct asker {
    weir *limiter;
    weir_identity *identities;
} asker;

enum {
    ALGORITHMS = 1 << WEIR_LOG | 1 << WEIR_COUNTER | 1 << WEIR_BUCKETS,
    ABILITIES = BENCH_CAN_WHOLE | BENCH_CAN_COSTS | BENCH_CAN_THREADS,
    IDENTITIES_MAX = 16384 /* half a MiB: what a server's connections hold is not in the way of the table */
};

weir *bench_weir_of(void *of)
{
    const asker *self = of;
    return self->limiter;
}

static void close_weir(void *of)
{
    asker *self = of;
    weir_close(self->limiter);
    free(self->identities);
    free(self);
}

static void *open_weir(const bench_setup *setup)
{
    const weir_options options = weir_options_manual();
    asker *made = calloc(1, sizeof *made);
    if (made && weir_open(&made->limiter, setup->rules, setup->rule_count, &options) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}

static void *open_identified(const bench_setup *setup)
{
    bench_key key = {{0}};
    asker *made = open_weir(setup);
    if (!made)
        return NULL;
    made->identities = calloc(setup->keys, sizeof *made->identities);
    for (uint64_t i = 0; i < setup->keys; i++) {
        bench_key_write(&key, setup->key_len, i);
        if (!made->identities || weir_identify(made->limiter, key.byte, setup->key_len, &made->identities[i]) != 0) {
            close_weir(made);
            return NULL;
        }
    }
    return made;
}

static void sweep_weir(void *of, uint64_t now)
{
    asker *self = of;
    weir_sweep(self->limiter, now, 0);
    weir_reclaim(self->limiter);
}

static uint64_t bytes_of_weir(void *of)
{
    asker *self = of;
    weir_statistics statistics = {.struct_size = sizeof statistics};
    return weir_stats(self->limiter, &statistics) == 0 ? statistics.bytes : 0;
}

/* --- one call --- */

static BENCH_INLINED int take_one(void *of, const bench_call *call, weir_decision *decision)
{
    const asker *self = of;
    weir_request request = weir_request_for(call->key, call->key_len);
    request.cost = call->cost;
    return weir_take(self->limiter, &request, call->now, decision);
}

static BENCH_INLINED int take_identified(void *of, const bench_call *call, weir_decision *decision)
{
    const asker *self = of;
    const weir_request request = {.identity = &self->identities[call->number], .cost = call->cost};
    return weir_take(self->limiter, &request, call->now, decision);
}

static int take_weir(void *of, const bench_call *call, weir_decision *decision)
{
    return take_one(of, call, decision);
}

BENCH_ROUND(round_weir, take_one)
BENCH_ROUND(round_identified, take_identified)

/* --- batches --- */

typedef struct batch {
    bench_key key[BENCH_BATCH_MAX];
    weir_request request[BENCH_BATCH_MAX];
    weir_decision decision[BENCH_BATCH_MAX];
    int verdict[BENCH_BATCH_MAX];
} batch;

/* Requests for the calls from `done` on, as far as they fill a batch. */
static BENCH_INLINED unsigned gather(batch *made, const bench_work *work, uint64_t done)
{
    const uint64_t left = work->calls - done;
    const unsigned count = left < work->batch ? (unsigned)left : work->batch;
    for (unsigned i = 0; i < count; i++) {
        bench_key_write(&made->key[i], work->key_len, work->picks[(work->first + done + i) & work->mask]);
        made->request[i].cost = 1 + ((done + i) & work->cost_mask);
    }
    return count;
}

static inline void gather_room(batch *made, unsigned i, size_t key_len)
{
    made->key[i] = (bench_key){{0}};
    made->request[i] = weir_request_for(made->key[i].byte, key_len);
}

static void round_batch(void *of, const bench_work *work, bench_tally *tally)
{
    const asker *self = of;
    bench_tally sum = *tally;
    batch made;
    for (unsigned i = 0; i < work->batch; i++)
        gather_room(&made, i, work->key_len);
    for (uint64_t done = 0; done < work->calls;) {
        uint64_t begin = 0;
        bench_between(work);
        const unsigned count = gather(&made, work, done);
        if (work->latency)
            begin = bench_ticks();
        const int64_t accepted = weir_take_batch(self->limiter, made.request, count, work->now + done * work->step,
                                                 made.verdict, work->whole ? made.decision : NULL);
        if (work->latency)
            bench_histogram_add(work->latency, bench_ticks() - begin);
        for (unsigned i = 0; i < count; i++)
            bench_count(&sum, made.verdict[i], work->whole ? &made.decision[i] : NULL);
        sum.errors += accepted < 0;
        done += count;
    }
    *tally = sum;
}

/* --- keys known before their answers are needed --- */

enum { AHEAD = 8 }; /* calls; a power of two */

typedef struct arrivals {
    bench_key key;
    weir_identity identity[AHEAD];
} arrivals;

/* The key of call `number` becomes known: it is identified, and what it needs is on its way. */
static BENCH_INLINED void arrive(const asker *self, arrivals *made, const bench_work *work, uint64_t number,
                                 bench_tally *sum)
{
    weir_identity *identity = &made->identity[number % AHEAD];
    const weir_request request = {.identity = identity};
    bench_key_write(&made->key, work->key_len, work->picks[(work->first + number) & work->mask]);
    sum->errors += weir_identify(self->limiter, made->key.byte, work->key_len, identity) != 0;
    weir_prefetch(self->limiter, &request);
}

static BENCH_INLINED void answer(const asker *self, const arrivals *made, const bench_work *work, uint64_t number,
                                 bool whole, bench_tally *sum)
{
    weir_decision decision, *asked = whole ? &decision : NULL;
    const weir_request request = {.identity = &made->identity[number % AHEAD], .cost = 1 + (number & work->cost_mask)};
    const uint64_t now = work->now + (number - number % work->batch) * work->step;
    bench_count(sum, weir_take(self->limiter, &request, now, asked), asked);
}

/* One request at a time, with what comes between its arrival and its answer; both are timed. */
static void answer_each(const asker *self, arrivals *made, const bench_work *work, bench_tally *sum)
{
    for (uint64_t i = 0; i < work->calls; i++) {
        const uint64_t arrival = bench_ticks();
        arrive(self, made, work, i, sum);
        const uint64_t arrived = bench_ticks();
        bench_between(work);
        const uint64_t begin = bench_ticks();
        answer(self, made, work, i, work->whole, sum);
        if (work->latency)
            bench_histogram_add(work->latency, arrived - arrival + bench_ticks() - begin);
    }
}

/* Some requests under way, answered in the order in which they came. `whole` is a constant. */
static BENCH_INLINED void answer_in_turn(const asker *self, arrivals *made, const bench_work *work, bool whole,
                                         bench_tally *sum)
{
    for (uint64_t i = 0; i < AHEAD && i < work->calls; i++)
        arrive(self, made, work, i, sum);
    for (uint64_t i = 0; i < work->calls; i++) {
        answer(self, made, work, i, whole, sum);
        if (i + AHEAD < work->calls)
            arrive(self, made, work, i + AHEAD, sum);
    }
}

static void round_prefetch(void *of, const bench_work *work, bench_tally *tally)
{
    const asker *self = of;
    bench_tally sum = *tally;
    arrivals made = {.key = {{0}}};
    if (work->walk || work->clock || work->latency)
        answer_each(self, &made, work, &sum);
    else if (work->whole)
        answer_in_turn(self, &made, work, true, &sum);
    else
        answer_in_turn(self, &made, work, false, &sum);
    *tally = sum;
}

#define WEIR_SUBJECT(called, told, more, most, opener, rounder)                                                    \
    {                                                                                                              \
        .name = called, .about = told, .algorithms = ALGORITHMS, .rules_max = WEIR_RULES_MAX,                      \
        .can = ABILITIES | (more), .keys_max = most, .open = opener, .close = close_weir, .take = take_weir,       \
        .round = rounder, .sweep = sweep_weir, .bytes = bytes_of_weir                                              \
    }

const bench_subject bench_weir =
    WEIR_SUBJECT("weir", "weir_take, one call after the other", 0, 0, open_weir, round_weir);
const bench_subject bench_weir_batch =
    WEIR_SUBJECT("weir-batch", "weir_take_batch", BENCH_CAN_BATCH, 0, open_weir, round_batch);
const bench_subject bench_weir_identity =
    WEIR_SUBJECT("weir-identity", "weir_take with an identity that weir_identify made before, once for each key", 0,
                 IDENTITIES_MAX, open_identified, round_identified);
const bench_subject bench_weir_prefetch =
    WEIR_SUBJECT("weir-prefetch", "weir_identify and weir_prefetch some calls before weir_take", 0, 0, open_weir,
                 round_prefetch);
