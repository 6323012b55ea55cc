#include "contest.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "crew.h"
#include "traffic.h"

enum {
    CALLS = 65536,     /* of one thread in a round; powers of two */
    CALLS_LONG = 4096, /* where they take long */
    CALLS_FEW = 512,   /* where there is little time */
    WARM_CALLS = 2048, /* before each round, outside its time, about other keys: other subjects had the caches */
    CHECKED = 1024,    /* calls before the first round */
    STRETCH = 256      /* calls at a time, then a look at the clock and on with the made time */
};

/* A contender at work. Each has a limiter of its own. */
typedef struct side {
    const bench_contender *who;
    void *state;
    _Alignas(64) _Atomic uint64_t now;
} side;

/* A thread's own, apart from others' lines. */
typedef struct own {
    _Alignas(64) bench_tally tally;
    uint64_t calls;
    uint32_t place;
    bench_histogram latency;
} own;

typedef struct arena {
    const bench_contest *contest;
    bench_contest_result *result;
    bench_plan plan;
    side *sides;
    own *threads;
    uint32_t *picks;
    uint32_t pick_count; /* twice the calls: the first half for one thread to warm up, the second to be timed */
    uint32_t calls_each; /* of one thread in a round */
    bench_walk walk;
    double round_seconds;
    double timer_ns;
    bench_tally first; /* of this round: what others must agree with */
    uint64_t calls[BENCH_CONTENDERS_MAX], accepted[BENCH_CONTENDERS_MAX];
    side *side; /* whose round it is */
} arena;

/* --- one thread's part of a round --- */

/* `whole` decisions or verdicts alone. */
static void ask(arena *at, own *self, uint64_t calls, bool whole, bench_histogram *latency)
{
    const bench_contest *contest = at->contest;
    const uint64_t step = at->plan.step;
    const bench_work work = {
        .picks = at->picks,
        .mask = at->pick_count - 1,
        .first = self->place,
        .key_len = contest->key_len,
        .calls = calls,
        .now = step > 0 ? atomic_fetch_add_explicit(&at->side->now, calls * step, memory_order_relaxed)
                        : atomic_load_explicit(&at->side->now, memory_order_relaxed),
        .step = step,
        .cost_mask = at->plan.cost_mask,
        .batch = contest->batch,
        .whole = whole,
        .clock = contest->clock,
        .walk = contest->walk > 0 ? &at->walk : NULL,
        .latency = latency,
    };
    at->side->who->subject->round(at->side->state, &work, &self->tally);
    self->place += (uint32_t)calls;
    self->calls += calls;
}

static void stretch(arena *at, own *self, uint64_t calls, bench_histogram *latency)
{
    ask(at, self, calls, at->contest->whole, latency);
}

/* The same for all: so many calls, to whole batches. */
static uint64_t stretch_of(const bench_contest *contest)
{
    return STRETCH - STRETCH % contest->batch;
}

static void warm_up(void *argument, unsigned thread)
{
    arena *at = argument;
    own *self = &at->threads[thread];
    const uint64_t calls = stretch_of(at->contest);
    const uint64_t enough = at->walk.size > 0 ? calls : at->calls_each < WARM_CALLS ? at->calls_each : WARM_CALLS;
    const uint32_t place = thread * (at->pick_count / at->side->who->threads);
    *self = (own){.place = place};
    for (uint64_t done = 0; done < enough; done += calls)
        stretch(at, self, calls, NULL);
    self->place = place + at->calls_each;
}

static uint64_t take_part(void *argument, unsigned thread, const bench_crew *crew)
{
    arena *at = argument;
    own *self = &at->threads[thread];
    bench_histogram *latency = at->result->latency ? &self->latency : NULL;
    const uint64_t calls = stretch_of(at->contest);
    uint64_t done = 0;
    const bool alone = at->side->who->threads == 1; /* as many calls as everybody's: answers are compared */
    do {
        stretch(at, self, calls, latency);
        done += calls;
    } while (alone ? done < at->calls_each : bench_crew_goes_on(crew));
    return done;
}

/* --- a round --- */

static void agree(arena *at, unsigned contender, const bench_tally *tally)
{
    uint64_t *wrong = &at->result->wrong[contender];
    *wrong += tally->errors > 0;
    if (contender == 0)
        at->first = *tally;
    *wrong += tally->accepted != at->first.accepted || tally->answers != at->first.answers;
}

static void tell_latency(arena *at, unsigned contender, unsigned round, double *values)
{
    const double ns = bench_tick_ns();
    bench_histogram *all = &at->threads[0].latency;
    for (unsigned i = 1; i < at->side->who->threads; i++)
        bench_histogram_merge(all, &at->threads[i].latency);
    values[BENCH_NS] = bench_histogram_mean(all, 0.99) * ns - at->timer_ns;
    values[BENCH_P50] = (double)bench_histogram_quantile(all, 0.5) * ns;
    values[BENCH_P99] = (double)bench_histogram_quantile(all, 0.99) * ns;
    values[BENCH_P999] = (double)bench_histogram_quantile(all, 0.999) * ns;
    values[BENCH_P9999] = (double)bench_histogram_quantile(all, 0.9999) * ns;
    values[BENCH_MAX] = (double)all->max * ns;
    if (round > 0) /* the first one warms up */
        bench_histogram_merge(&at->result->latency[contender], all);
}

static void play(void *argument, unsigned contender, unsigned round, double *values)
{
    arena *at = argument;
    const bench_contest *contest = at->contest;
    bench_crew_result crew;
    bench_tally tally = {0};
    if (contender == 0)
        bench_pick(contest->picking, contest->keys, round + 1, at->picks, at->pick_count);
    at->side = &at->sides[contender];
    const unsigned threads = at->side->who->threads;
    const bench_crew_job job = {warm_up, take_part, at, threads, at->round_seconds};
    if (bench_crew_run(&job, &crew) != 0)
        bench_fail("a thread cannot be started");
    for (unsigned i = 0; i < threads; i++) {
        tally.accepted += at->threads[i].tally.accepted;
        tally.answers += at->threads[i].tally.answers;
        tally.errors += at->threads[i].tally.errors;
        at->calls[contender] += at->threads[i].calls;
    }
    at->accepted[contender] += tally.accepted;
    if (threads == 1 && contest->contender[0].threads == 1)
        agree(at, contender, &tally);
    else
        at->result->wrong[contender] += tally.errors > 0;
    values[BENCH_NS] = (threads == 1 ? crew.cpu_ns : crew.wall_ns * threads) / (double)crew.done;
    values[BENCH_CPU] = crew.cpu_ns / (double)crew.done;
    values[BENCH_RATE] = (double)crew.done / crew.wall_ns * 1e9;
    values[BENCH_LEAST] = bench_crew_least(&crew, threads);
    values[BENCH_MOST] = bench_crew_most(&crew, threads);
    if (at->result->latency)
        tell_latency(at, contender, round, values);
}

/* --- all of them --- */

/* Opens a side's limiter and brings it to where the calls begin. */
static void prepare(const arena *at, side *one)
{
    const bench_contest *contest = at->contest;
    const bench_plan *plan = &at->plan;
    const bench_subject *subject = one->who->subject;
    const bench_setup setup = {plan->rule, contest->rules, contest->keys, contest->key_len};
    one->state = subject->open(&setup);
    if (!one->state)
        bench_fail("a subject cannot be opened");
    uint64_t now = plan->begin;
    for (unsigned pass = 0; pass < plan->passes; pass++, now += plan->pass_step)
        bench_each_once(subject, one->state, contest->keys, contest->key_len, now);
    if (contest->traffic == BENCH_REFUSED)
        bench_use_up(subject, one->state, contest->keys, contest->key_len, now);
    if (subject->sweep) /* what its sweeper would have done meanwhile: nothing has expired, but memory can be seen to */
        subject->sweep(one->state, now);
    atomic_init(&one->now, now);
}

static unsigned most_threads(const bench_contest *contest)
{
    unsigned most = 1;
    for (unsigned i = 0; i < contest->count; i++)
        most = contest->contender[i].threads > most ? contest->contender[i].threads : most;
    return most;
}

static arena set_up(const bench_contest *contest, bench_contest_result *result)
{
    const unsigned threads = most_threads(contest);
    arena made = {.contest = contest, .result = result, .plan = bench_plan_for(contest, threads)};
    made.timer_ns = bench_timer_ns();
    made.calls_each = contest->seconds < 0.2 ? CALLS_FEW : contest->walk > 0 ? CALLS_LONG : CALLS;
    made.pick_count = 2 * made.calls_each;
    made.round_seconds = fmin(fmax(contest->seconds / 10, 0.002), threads > 4 ? 0.2 : 0.02);
    made.picks = bench_must(calloc(made.pick_count, sizeof *made.picks));
    made.sides = bench_must(aligned_alloc(64, contest->count * sizeof *made.sides));
    made.threads = bench_must(aligned_alloc(64, threads * sizeof *made.threads));
    if (contest->walk > 0) {
        unsigned char *memory = bench_must(malloc(contest->walk));
        for (size_t i = 0; i < contest->walk; i++)
            memory[i] = (unsigned char)i; /* pages of its own, not the one of zeroes */
        made.walk = (bench_walk){memory, contest->walk};
    }
    for (unsigned i = 0; i < contest->count; i++) {
        made.sides[i].who = &contest->contender[i];
        prepare(&made, &made.sides[i]);
    }
    return made;
}

/* Before anything is measured, one thread asks each contender the same, decisions as whole as can be. */
static void check(arena *at)
{
    bool whole = true;
    for (unsigned i = 0; i < at->contest->count; i++)
        whole &= (at->contest->contender[i].subject->can & BENCH_CAN_WHOLE) != 0;
    bench_pick(at->contest->picking, at->contest->keys, 1, at->picks, at->pick_count);
    for (unsigned i = 0; i < at->contest->count; i++) {
        own *self = &at->threads[0];
        *self = (own){.place = 0};
        at->side = &at->sides[i];
        for (unsigned done = 0; done < CHECKED; done += STRETCH)
            ask(at, self, stretch_of(at->contest), whole, NULL);
        agree(at, i, &self->tally);
    }
}

static void take_down(arena *at)
{
    for (unsigned i = 0; i < at->contest->count; i++)
        at->sides[i].who->subject->close(at->sides[i].state);
    free((void *)(uintptr_t)at->walk.memory);
    free(at->threads);
    free(at->sides);
    free(at->picks);
}

void bench_contest_run(const bench_contest *contest, bench_contest_result *result)
{
    *result = (bench_contest_result){.samples = {.contenders = contest->count, .values = BENCH_VALUES}};
    bench_tick_ns();
    if (contest->timed || contest->walk > 0)
        result->latency = bench_must(calloc(contest->count, sizeof *result->latency));
    arena all = set_up(contest, result);
    check(&all);
    if (bench_interleave(play, &all, contest->seconds * contest->count, &result->samples) != 0)
        bench_fail("out of memory");
    for (unsigned i = 0; i < contest->count; i++)
        result->accepted[i] = (double)all.accepted[i] / (double)all.calls[i];
    take_down(&all);
}

void bench_contest_free(bench_contest_result *result)
{
    bench_samples_free(&result->samples);
    free(result->latency);
    result->latency = NULL;
}
