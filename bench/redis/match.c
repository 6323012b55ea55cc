#include "match.h"

#include <math.h>
#include <stdlib.h>

#include "../crew.h"
#include "../measure.h"

enum { NS, RATE, P50, P99, TRIPS, USED, VALUES };

/* A side at work. */
typedef struct player {
    bench_side side;
    void *state;
    uint64_t wrong;
} player;

typedef struct arena {
    const bench_match *match;
    player players[BENCH_SIDES_MAX];
    player *now; /* whose round it is */
    bench_histogram *latency; /* of each thread */
    uint64_t *failed;
    double round_seconds;
} arena;

static void begin(void *argument, unsigned thread)
{
    arena *at = argument;
    at->latency[thread] = (bench_histogram){.count = 0};
    at->failed[thread] = 0;
    at->now->side.way->ask(at->now->state, thread, NULL); /* wakes up what has slept while others were measured */
}

static uint64_t take_part(void *argument, unsigned thread, const bench_crew *crew)
{
    arena *at = argument;
    const bench_way *way = at->now->side.way;
    void *state = at->now->state;
    uint64_t done = 0;
    do {
        const unsigned asked = way->ask(state, thread, &at->latency[thread]);
        at->failed[thread] += asked == 0;
        done += asked;
    } while (bench_crew_goes_on(crew));
    return done;
}

static bench_crew_result run_crew(arena *at)
{
    const bench_crew_job job = {begin, take_part, at, at->match->threads, at->round_seconds};
    bench_crew_result result;
    if (bench_crew_run(&job, &result) != 0)
        bench_fail("a thread cannot be started");
    if (result.done == 0)
        bench_fail("no call was answered");
    return result;
}

static void play(void *argument, unsigned contender, unsigned round, double *values)
{
    arena *at = argument;
    const unsigned threads = at->match->threads;
    (void)round;
    at->now = &at->players[contender];
    const uint64_t trips = at->now->side.way->trips(at->now->state);
    const bench_crew_result crew = run_crew(at);
    bench_histogram *all = &at->latency[0];
    at->now->wrong += at->failed[0] > 0;
    for (unsigned i = 1; i < threads; i++) {
        bench_histogram_merge(all, &at->latency[i]);
        at->now->wrong += at->failed[i] > 0;
    }
    values[NS] = crew.wall_ns * threads / (double)crew.done;
    values[RATE] = (double)crew.done / crew.wall_ns * 1e9;
    values[P50] = (double)bench_histogram_quantile(all, 0.5) * bench_tick_ns();
    values[P99] = (double)bench_histogram_quantile(all, 0.99) * bench_tick_ns();
    const uint64_t woken = (uint64_t)threads * at->now->side.batch; /* by `begin`, not timed */
    values[TRIPS] = (double)(at->now->side.way->trips(at->now->state) - trips) / (double)(crew.done + woken);
    values[USED] = at->now->side.way->used(at->now->state, 0);
}

static void open_player(arena *at, player *one)
{
    one->state = one->side.way->open(&one->side, at->match->server, at->match->threads);
}

/* A window that so many calls take: how long one takes is tried out. */
static void fit_window(arena *at, player *one)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        open_player(at, one);
        at->now = one;
        const bench_crew_result crew = run_crew(at);
        one->side.way->close(one->state);
        const double each = crew.wall_ns * at->match->threads / (double)crew.done;
        one->side.rule.window_ns = (uint64_t)(each * (double)one->side.window_calls);
    }
}

static bench_row row_of(const arena *at, const bench_samples *samples, unsigned i)
{
    const bench_side *side = &at->players[i].side;
    bench_row row = bench_row_for(at->match->scenario, side->subject, side->algorithm);
    bench_row_word(&row, "calls", side->calls);
    bench_row_word(&row, "over", side->tcp ? "TCP" : "unix socket");
    bench_row_number(&row, "threads", at->match->threads);
    bench_row_number(&row, "batch", side->batch);
    if (side->in_flight > 0)
        bench_row_number(&row, "in flight", side->in_flight);
    bench_row_word(&row, "refusals remembered", side->remember_ns > 0 ? "yes" : "no");
    bench_row_measure(&row, "ns", "ns", bench_samples_summary(samples, i, NS));
    if (i > 0) {
        bench_row_measure(&row, "ratio", "", bench_samples_ratio(samples, i, 0, NS));
        bench_row_measure(&row, "p50 ratio", "", bench_samples_ratio(samples, i, 0, P50));
    }
    bench_row_measure(&row, "rate", "1/s", bench_samples_summary(samples, i, RATE));
    bench_row_measure(&row, "p50", "ns", bench_samples_summary(samples, i, P50));
    bench_row_measure(&row, "p99", "ns", bench_samples_summary(samples, i, P99));
    if (side->way == &bench_by_weir || side->way == &bench_by_loop)
        bench_row_measure(&row, "round trips", "", bench_samples_summary(samples, i, TRIPS));
    if (side->window_calls > 0)
        bench_row_measure(&row, "in the window", "", bench_samples_summary(samples, i, USED));
    row.wrong = at->players[i].wrong;
    return row;
}

void bench_match_run(const bench_match *match, const bench_sink *sink)
{
    bench_samples samples = {.contenders = match->count, .values = VALUES};
    arena at = {.match = match, .round_seconds = fmin(match->seconds / BENCH_ROUNDS_MIN, 0.1)};
    bench_tick_ns();
    at.latency = bench_must(calloc(match->threads, sizeof *at.latency));
    at.failed = bench_must(calloc(match->threads, sizeof *at.failed));
    for (unsigned i = 0; i < match->count; i++) {
        at.players[i].side = match->sides[i];
        if (match->sides[i].window_calls > 0)
            fit_window(&at, &at.players[i]);
        open_player(&at, &at.players[i]);
    }
    if (bench_interleave(play, &at, match->seconds * match->count, &samples) != 0)
        bench_fail("out of memory");
    for (unsigned i = 0; i < match->count; i++) {
        const bench_row row = row_of(&at, &samples, i);
        bench_put(sink, &row);
        at.players[i].side.way->close(at.players[i].state);
    }
    bench_samples_free(&samples);
    free(at.latency);
    free(at.failed);
}
