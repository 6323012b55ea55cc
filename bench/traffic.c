#include "traffic.h"

enum {
    STEP = 100,          /* ns from call to call, where time goes on */
    LIVE = 4,            /* records a key in a log's steady traffic, where there are many keys */
    LIVE_HOT = 1024,     /* in all, where there are few */
    STRAGGLERS = 512,    /* a thread that was stopped in the middle of its stretch comes late with as many calls */
    LIMIT_MIXED = 16,
    LIMIT_REFUSED = 1000,
    BUCKETS = 10,
    COSTS = 16           /* 1 to so many; a power of two */
};

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Records a key that are live at a time, in an allowed log. */
static uint64_t live(const bench_contest *contest)
{
    return at_least(LIVE, LIVE_HOT / contest->keys);
}

/* A log whose calls each let go of about one record and add one. */
static void allow_log(const bench_contest *contest, unsigned threads, bench_plan *plan)
{
    const uint64_t stragglers = contest->keys < LIVE_HOT ? (uint64_t)STRAGGLERS * threads : 0;
    plan->step = STEP;
    plan->passes = (unsigned)live(contest);
    plan->pass_step = contest->keys * STEP;
    plan->rule[0].window_ns = live(contest) * contest->keys * STEP;
    plan->rule[0].limit = (4 * live(contest) + stragglers) * (plan->cost_mask + 1);
}

/* A limit that is not reached, within one window; charged in the window before too. */
static void allow_counts(bench_plan *plan)
{
    plan->step = 1;
    plan->rule[0].window_ns = WEIR_HOUR;
    plan->rule[0].limit = UINT32_MAX - 1;
    plan->begin -= WEIR_HOUR;
    plan->passes = 2;
    plan->pass_step = WEIR_HOUR;
}

/* As many calls pass as `limit` in a window allows, and twice as many come. */
static void mix(const bench_contest *contest, bench_plan *plan)
{
    const uint64_t limit = at_least(LIMIT_MIXED, LIVE_HOT / contest->keys);
    const uint64_t mean_cost = plan->cost_mask / 2 + 1; /* to within a half */
    plan->step = STEP;
    plan->rule[0].window_ns = 2 * limit * contest->keys * STEP;
    plan->rule[0].limit = limit * mean_cost;
}

/* More rules of the same kind: longer windows that allow as much the longer, and more. */
static void more_rules(const bench_contest *contest, bench_plan *plan)
{
    for (unsigned i = 1; i < contest->rules; i++) {
        plan->rule[i] = plan->rule[0];
        plan->rule[i].window_ns *= i + 1;
        if (plan->rule[i].limit < UINT32_MAX / WEIR_RULES_MAX)
            plan->rule[i].limit *= i + 1;
    }
}

bench_plan bench_plan_for(const bench_contest *contest, unsigned threads)
{
    const bool log = contest->algorithm == WEIR_LOG;
    bench_plan plan = {.begin = 1000 * WEIR_HOUR, .cost_mask = contest->costs ? COSTS - 1 : 0};
    plan.rule[0] = (weir_rule){.algorithm = contest->algorithm,
                               .meter = contest->costs || !log ? WEIR_PER_COST : WEIR_PER_REQUEST,
                               .window_ns = WEIR_HOUR,
                               .limit = log && contest->keys > LIVE_HOT ? LIMIT_MIXED : LIMIT_REFUSED,
                               .buckets = contest->algorithm == WEIR_BUCKETS ? BUCKETS : 0};
    if (contest->traffic == BENCH_ALLOWED && log)
        allow_log(contest, threads, &plan);
    else if (contest->traffic == BENCH_ALLOWED)
        allow_counts(&plan);
    else if (contest->traffic == BENCH_MIXED)
        mix(contest, &plan);
    more_rules(contest, &plan);
    return plan;
}
