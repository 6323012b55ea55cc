#include "contest.h"

bench_contest bench_contest_for(const bench_options *options, uint32_t algorithm)
{
    return (bench_contest){.algorithm = algorithm,
                           .rules = 1,
                           .keys = 1,
                           .key_len = 8,
                           .batch = 1,
                           .whole = options->whole,
                           .clock = options->clock,
                           .seconds = options->seconds};
}

void bench_contest_enter(bench_contest *contest, const bench_subject *const *subjects, unsigned count,
                         unsigned threads)
{
    for (unsigned i = 0; i < count; i++) {
        if (contest->count == BENCH_CONTENDERS_MAX)
            bench_fail("more subjects and numbers of threads than there is room for");
        contest->contender[contest->count++] = (bench_contender){subjects[i], threads};
    }
}

void bench_contest_enter_able(bench_contest *contest, const bench_options *options, const bench_subject *const *own,
                              const bench_list *threads)
{
    const bench_subject *chosen[BENCH_SUBJECTS_MAX];
    bench_needs needs = {.algorithm = contest->algorithm, .rules = contest->rules, .keys = contest->keys};
    needs.can |= contest->costs ? BENCH_CAN_COSTS : 0u;
    needs.can |= contest->whole ? BENCH_CAN_WHOLE : 0u;
    for (unsigned i = 0; i < threads->count; i++) {
        needs.can |= threads->value[i] > 1 ? BENCH_CAN_THREADS : 0u;
        const unsigned count = bench_choose(options, own, &needs, chosen);
        bench_contest_enter(contest, chosen, count, (unsigned)threads->value[i]);
    }
}
