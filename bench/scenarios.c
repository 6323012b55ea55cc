#include "scenario.h"

#include "scenarios/scenarios.h"

const bench_scenario *const bench_scenarios[] = {
    &bench_hot_key,
    &bench_many_keys,
    &bench_batch,
    &bench_oversubscribed,
    &bench_churn,
    &bench_growth,
    &bench_janitor,
    &bench_memory,
    &bench_rules,
    &bench_targets,
    NULL,
};

const bench_scenario *bench_scenario_named(const char *name)
{
    for (const bench_scenario *const *at = bench_scenarios; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

static bool is_able(const bench_subject *subject, const bench_needs *needs)
{
    return bench_subject_counts_by(subject, needs->algorithm) && subject->rules_max >= needs->rules &&
           (subject->can & needs->can) == needs->can && (subject->keys_max == 0 || subject->keys_max >= needs->keys) &&
           (!needs->sweep || subject->sweep);
}

unsigned bench_choose(const bench_options *options, const bench_subject *const *own, const bench_needs *needs,
                      const bench_subject *chosen[BENCH_SUBJECTS_MAX])
{
    unsigned count = 0, own_count = 0;
    while (own[own_count])
        own_count++;
    const bench_subject *const *from = options->subject_count > 0 ? options->subjects : own;
    const unsigned from_count = options->subject_count > 0 ? options->subject_count : own_count;
    for (unsigned i = 0; i < from_count && count < BENCH_SUBJECTS_MAX; i++)
        if (is_able(from[i], needs))
            chosen[count++] = from[i];
    return count;
}
