#include "subject.h"

#include "baselines/sharded.h"
#include "measure.h"

typedef int (*take_function)(void *state, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                             weir_decision *decision);

/* Inlined into a round of its own for each subject, so that none pays for being one of several. */
static inline __attribute__((always_inline)) bench_tally run(void *state, const bench_work *work, take_function take)
{
    bench_tally tally = {0, 0, 0, 0};
    bench_key key = {{0}};
    weir_decision decision;
    uint64_t random = work->seed, now = work->now;
    double start = bench_cpu_ns();
    for (uint64_t i = 0; i < work->calls; i++) {
        bench_key_write(&key, work->key_len, bench_below(&random, work->keys));
        int verdict = take(state, key.byte, work->key_len, 1, now, work->whole ? &decision : NULL);
        if (work->whole)
            tally.answers += decision.remaining + decision.retry_after_ns + decision.release_after_ns;
        tally.accepted += verdict == 1;
        tally.errors += verdict < 0;
        now += work->step;
    }
    tally.cpu_ns = bench_cpu_ns() - start;
    return tally;
}

static int weir_subject_take(void *state, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                             weir_decision *decision)
{
    weir_request request = weir_request_for(key, key_len);
    request.cost = cost;
    return weir_take(state, &request, now, decision);
}

static bench_tally weir_subject_round(void *state, const bench_work *work)
{
    return run(state, work, weir_subject_take);
}

static void weir_subject_close(void *state)
{
    weir_close(state);
}

bench_subject bench_weir(const weir_rule *rule)
{
    bench_subject subject = {"weir", NULL, weir_subject_take, weir_subject_round, weir_subject_close};
    weir_options options = weir_options_manual();
    weir *limiter;
    if (weir_open(&limiter, rule, 1, &options) == 0)
        subject.state = limiter;
    return subject;
}

static int sharded_subject_take(void *state, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                                weir_decision *decision)
{
    return sharded_take(state, key, key_len, cost, now, decision);
}

static bench_tally sharded_subject_round(void *state, const bench_work *work)
{
    return run(state, work, sharded_subject_take);
}

static void sharded_subject_close(void *state)
{
    sharded_close(state);
}

bench_subject bench_sharded(const weir_rule *rule)
{
    return (bench_subject){"mutex", sharded_open(rule), sharded_subject_take, sharded_subject_round,
                           sharded_subject_close};
}

uint64_t bench_each_once(const bench_subject *subject, uint64_t keys, size_t key_len, uint64_t now)
{
    bench_key key = {{0}};
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < keys; i++) {
        bench_key_write(&key, key_len, i);
        accepted += subject->take(subject->state, key.byte, key_len, 1, now, NULL) == 1;
    }
    return accepted;
}

void bench_use_up(const bench_subject *subject, uint64_t keys, size_t key_len, uint64_t now)
{
    bench_key key = {{0}};
    for (uint64_t i = 0; i < keys; i++) {
        bench_key_write(&key, key_len, i);
        for (uint64_t cost = UINT64_C(1) << 20; cost > 0; cost /= 2) /* per request: the first cost does it all */
            while (subject->take(subject->state, key.byte, key_len, cost, now, NULL) == 1)
                continue;
    }
}
