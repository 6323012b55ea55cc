#define _GNU_SOURCE 1 /* threads' processors */
#include "speed.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "subject.h"

enum {
    ROUND_CALLS = 100000,
    HOT_CALLS = 500000, /* of each thread */
    LOG_LIMIT = 16,
    LOG_LIVE = 4, /* records a key in steady traffic: far enough from the limit that hardly a call is refused */
    LOG_STEP = 100
};

/* What is measured, and the round that is due. */
typedef struct contest {
    bench_subject side[BENCH_SIDES];
    weir_rule rule;
    bench_work work;
    uint64_t start;
    bench_tally last;
    uint64_t calls, accepted;
    int wrong;
} contest;

static void open_sides(contest *race)
{
    race->side[BENCH_WEIR] = bench_weir(&race->rule);
    race->side[BENCH_SHARDED] = bench_sharded(&race->rule);
    for (unsigned i = 0; i < BENCH_SIDES; i++)
        if (!race->side[i].state)
            _Exit(1); /* a process of its own: bench_apart tells */
}

static void close_sides(contest *race)
{
    for (unsigned i = 0; i < BENCH_SIDES; i++)
        race->side[i].close(race->side[i].state);
}

/*
 * A limit that accepted calls do not reach. A counter's calls all fall in one of its windows; a log's are spread so
 * that each call lets go of about one record and adds one.
 */
static weir_rule rule_for(uint32_t algorithm, uint64_t keys)
{
    if (algorithm == WEIR_LOG)
        return (weir_rule){.algorithm = WEIR_LOG,
                           .limit = LOG_LIMIT,
                           .window_ns = keys * LOG_LIVE * LOG_STEP,
                           .meter = WEIR_PER_REQUEST};
    return (weir_rule){
        .algorithm = WEIR_COUNTER, .limit = 1000000, .window_ns = WEIR_HOUR, .meter = WEIR_PER_COST};
}

/* --- one thread, many keys --- */

/* Every key is known and charged, in the window before too. */
static void prepare(contest *race)
{
    const uint64_t window = race->rule.window_ns;
    const uint64_t passes = race->rule.algorithm == WEIR_LOG ? LOG_LIVE : 1;
    uint64_t now = 1000 * window - window / passes;
    for (uint64_t pass = 0; pass <= passes; pass++, now += window / passes)
        for (unsigned i = 0; i < BENCH_SIDES; i++)
            bench_each_once(&race->side[i], race->work.keys, race->work.key_len, now);
    race->start = now - window / passes;
}

static double race_round(void *argument, unsigned contender, unsigned round)
{
    contest *race = argument;
    bench_work work = race->work;
    work.seed = (round + 1) * UINT64_C(0x9e3779b97f4a7c15);
    work.now = race->start + round * work.calls * work.step;
    const bench_subject *subject = &race->side[contender];
    bench_tally tally = subject->round(subject->state, &work);
    if (contender > 0 && (tally.accepted != race->last.accepted || tally.answers != race->last.answers))
        race->wrong++;
    race->wrong += tally.errors > 0;
    race->last = tally;
    race->calls += work.calls;
    race->accepted += tally.accepted;
    return tally.cpu_ns / (double)work.calls;
}

static void run_race(contest *race, bool refused, bool whole, double seconds, bench_speed_row *row)
{
    race->calls = race->accepted = 0;
    race->wrong = 0;
    race->work.whole = whole;
    *row = (bench_speed_row){.refused = refused, .whole = whole};
    unsigned rounds = bench_interleave(race_round, race, BENCH_SIDES, seconds, row->side);
    race->start += rounds * race->work.calls * race->work.step;
    double share = (double)race->accepted / (double)race->calls;
    row->share = refused ? 1 - share : share;
    row->wrong = race->wrong;
}

static void speed(const void *given, void *made)
{
    const bench_speed_parameters *parameters = given;
    bench_speed *result = made;
    contest race = {.rule = rule_for(parameters->algorithm, parameters->keys),
                 .work = {.keys = parameters->keys,
                          .key_len = parameters->key_len,
                          .calls = ROUND_CALLS,
                          .step = parameters->algorithm == WEIR_LOG ? LOG_STEP : 1}};
    open_sides(&race);
    prepare(&race);
    run_race(&race, false, false, parameters->seconds, &result->row[0]);
    run_race(&race, false, true, parameters->seconds, &result->row[1]);
    for (unsigned i = 0; i < BENCH_SIDES; i++)
        bench_use_up(&race.side[i], parameters->keys, parameters->key_len, race.start);
    race.work.step = 0; /* nothing opens again */
    run_race(&race, true, false, parameters->seconds, &result->row[2]);
    run_race(&race, true, true, parameters->seconds, &result->row[3]);
    close_sides(&race);
}

int bench_measure_speed(const bench_speed_parameters *parameters, bench_speed *result)
{
    return bench_apart(speed, parameters, result, sizeof *result);
}

/* --- one key, one thread or two --- */

typedef struct striker {
    pthread_t thread;
    unsigned number;
    pthread_barrier_t *barrier;
    const bench_subject *subject;
    bench_work work;
    double begin, end;
} striker;

/* To the `number`th processor that this process may use: threads that just woke would share one for a while. */
static void settle(unsigned number)
{
    cpu_set_t allowed, own;
    if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
        return;
    CPU_ZERO(&own);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_SET(cpu, &own);
        pthread_setaffinity_np(pthread_self(), sizeof own, &own); /* where it fails, the scheduler chooses */
        return;
    }
}

static void *strike(void *argument)
{
    striker *hammer = argument;
    settle(hammer->number);
    bench_work one = hammer->work;
    one.calls = 1; /* what a thread pays once, it pays before */
    hammer->subject->round(hammer->subject->state, &one);
    pthread_barrier_wait(hammer->barrier);
    hammer->begin = bench_wall_ns();
    hammer->subject->round(hammer->subject->state, &hammer->work);
    hammer->end = bench_wall_ns();
    return NULL;
}

/* ns a call: from the first thread's beginning to the last one's end, over all calls. */
static double strike_together(const bench_subject *subject, const bench_work *work, unsigned threads)
{
    striker hammers[2];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        hammers[i] = (striker){.number = i, .barrier = &barrier, .subject = subject, .work = *work};
        if (pthread_create(&hammers[i].thread, NULL, strike, &hammers[i]) != 0)
            _Exit(1);
    }
    double begin = 0, end = 0;
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(hammers[i].thread, NULL);
        begin = i == 0 || hammers[i].begin < begin ? hammers[i].begin : begin;
        end = hammers[i].end > end ? hammers[i].end : end;
    }
    pthread_barrier_destroy(&barrier);
    return (end - begin) / (double)(threads * work->calls);
}

/* Contenders: each side with one thread, then each side with two. */
static double hot_round(void *argument, unsigned contender, unsigned round)
{
    contest *race = argument;
    (void)round;
    race->work.now += race->work.step * HOT_CALLS; /* a log lets go of what was charged before */
    return strike_together(&race->side[contender % BENCH_SIDES], &race->work, 1 + contender / BENCH_SIDES);
}

static void run_hot(contest *race, bool refused, double seconds, bench_hot_row *row)
{
    bench_summary summaries[2 * BENCH_SIDES];
    bench_interleave(hot_round, race, 2 * BENCH_SIDES, seconds, summaries);
    row->refused = refused;
    for (unsigned i = 0; i < BENCH_SIDES; i++) {
        row->one[i] = summaries[i];
        row->two[i] = summaries[BENCH_SIDES + i];
    }
}

/* Limits that accepted calls do not reach, even where a log's clock stands still because its first thread does. */
static weir_rule hot_rule(uint32_t algorithm)
{
    weir_rule rule = rule_for(algorithm, 1);
    rule.limit = algorithm == WEIR_LOG ? 4 * HOT_CALLS : UINT32_MAX;
    rule.window_ns = algorithm == WEIR_LOG ? 1000 * LOG_STEP : rule.window_ns;
    return rule;
}

static void hot(const void *given, void *made)
{
    const bench_hot_parameters *parameters = given;
    bench_hot *result = made;
    contest race = {.rule = hot_rule(parameters->algorithm)};
    race.work = (bench_work){.seed = 1,
                             .keys = 1,
                             .key_len = 8,
                             .calls = HOT_CALLS,
                             .now = 1000 * race.rule.window_ns,
                             .step = parameters->algorithm == WEIR_LOG ? LOG_STEP : 0};
    open_sides(&race);
    run_hot(&race, false, parameters->seconds, &result->row[0]);
    race.work.step = 0;
    for (unsigned i = 0; i < BENCH_SIDES; i++)
        bench_use_up(&race.side[i], 1, 8, race.work.now);
    run_hot(&race, true, parameters->seconds, &result->row[1]);
    close_sides(&race);
}

int bench_measure_hot(const bench_hot_parameters *parameters, bench_hot *result)
{
    return bench_apart(hot, parameters, result, sizeof *result);
}
