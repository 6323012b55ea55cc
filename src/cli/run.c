#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"
#include "say.h"

void weiri_run_choose(weir_rule *chosen, const weir_rule *rules, size_t count,
                      const weiri_choice *choice, uint64_t step)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t steps = (rules[i].window_ns - 1) / step + 1;

        chosen[i] = rules[i];
        chosen[i].algorithm = choice->algorithm;
        chosen[i].buckets = choice->buckets;
        chosen[i].window_ns = steps;
        if (step > 1 && choice->buckets > steps) /* none is shorter than a step */
            chosen[i].buckets = steps;
    }
}

int weiri_run_open(weir **limiter, const weir_rule *rules, size_t count, const weiri_choice *choice,
                   uint64_t step, weir_allocator allocator, char *error, size_t error_size)
{
    weir_options options = weir_options_manual();
    weir_rule chosen[WEIR_RULES_MAX];

    weiri_run_choose(chosen, rules, count, choice, step);
    options.max_lateness_ns = UINT64_MAX; /* the contract's answers, to the letter */
    options.allocator = allocator;
    options.error = error;
    options.error_size = error_size;
    return weir_open(limiter, chosen, count, &options);
}

/* A verdict alone does not tell that memory was lacking, and a replay that goes on without it would be wrong. */
static void *allocate(void *argument, size_t alignment, size_t size)
{
    void *memory;

    (void)argument;
    if (posix_memalign(&memory, alignment, size) != 0)
        weiri_out_of_memory();
    return memory;
}

static void release(void *argument, void *memory, size_t size)
{
    (void)argument, (void)size;
    free(memory);
}

uint64_t weiri_run_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WEIR_SECOND + (uint64_t)now.tv_nsec;
}

static void decide_all(weiri_run *run, const weiri_records *records, uint64_t step, weir *limiter)
{
    for (size_t i = 0; i < records->count; i++) {
        const weiri_record *record = &records->record[i];
        const weiri_key *key = &records->key[record->key];
        weir_request request = weir_request_for(key->bytes, key->len);

        request.cost = record->cost;
        if (weir_take(limiter, &request, record->time / step, NULL) > 0) {
            run->verdicts[i / 8] |= (unsigned char)(1u << i % 8);
            run->accepted++;
        } else {
            run->refused_of[record->key]++;
        }
    }
}

static void *zeroes(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory)
        weiri_out_of_memory();
    return memory;
}

weiri_run weiri_run_all(const weiri_records *records, const weir_rule *rules, size_t count, const weiri_choice *choice,
                        uint64_t step)
{
    const weir_allocator memory = {allocate, release, NULL};
    weir_statistics statistics = {.struct_size = sizeof statistics};
    weiri_run run = {.choice = *choice};
    weir *limiter;

    run.refused_of = zeroes(records->keys + 1, sizeof *run.refused_of);
    run.verdicts = zeroes(records->count / 8 + 1, 1);
    if (weiri_run_open(&limiter, rules, count, choice, step, memory, NULL, 0) != 0)
        weiri_out_of_memory();
    run.elapsed_ns = weiri_run_clock();
    decide_all(&run, records, step, limiter);
    run.elapsed_ns = weiri_run_clock() - run.elapsed_ns;
    weir_stats(limiter, &statistics);
    weir_close(limiter);

    run.bytes = statistics.bytes - statistics.retired_bytes;
    run.refused = records->count - run.accepted;
    for (size_t key = 0; key < records->keys; key++)
        run.keys_refused += run.refused_of[key] > 0;
    return run;
}

bool weiri_run_accepted(const weiri_run *run, size_t record)
{
    return run->verdicts[record / 8] >> record % 8 & 1;
}

void weiri_run_compare(weiri_run *run, const weiri_run *log, const weiri_records *records)
{
    run->compared = true;
    for (size_t i = 0; i < records->count; i++) {
        bool by_log = weiri_run_accepted(log, i), by_this = weiri_run_accepted(run, i);

        if (by_log == by_this)
            continue;
        run->only_log += by_log;
        run->only_this += by_this;
        if (run->disagreements < WEIRI_DISAGREEMENTS_SHOWN)
            run->disagreement[run->disagreements++] = (uint32_t)i;
    }
}

static int most_refused_first(const void *a, const void *b, void *argument)
{
    const uint32_t *refused_of = argument;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (refused_of[x] != refused_of[y])
        return refused_of[x] > refused_of[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

uint32_t *weiri_run_top(const weiri_run *run, const weiri_records *records, uint64_t most, size_t *found)
{
    uint32_t *keys = zeroes(run->keys_refused + 1, sizeof *keys);

    *found = 0;
    for (uint32_t key = 0; key < records->keys; key++)
        if (run->refused_of[key] > 0)
            keys[(*found)++] = key;
    qsort_r(keys, *found, sizeof *keys, most_refused_first, run->refused_of);
    if (*found > most)
        *found = most;
    return keys;
}

void weiri_run_free(weiri_run *run)
{
    free(run->refused_of);
    free(run->verdicts);
}
