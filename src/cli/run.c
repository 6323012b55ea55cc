#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"
#include "say.h"

int weiri_run_open(weir **limiter, const weir_rule *rules, size_t count, const weiri_choice *choice,
                   weir_allocator allocator, char *error, size_t error_size)
{
    weir_options options = weir_options_manual();
    weir_rule chosen[WEIR_RULES_MAX];

    for (size_t i = 0; i < count; i++) {
        chosen[i] = rules[i];
        chosen[i].algorithm = choice->algorithm;
        chosen[i].buckets = choice->buckets;
    }
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

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WEIR_SECOND + (uint64_t)now.tv_nsec;
}

static void decide_all(weiri_run *run, const weiri_records *records, weir *limiter)
{
    for (size_t i = 0; i < records->count; i++) {
        const weiri_record *record = &records->record[i];
        const weiri_key *key = &records->key[record->key];
        weir_request request = weir_request_for(key->bytes, key->len);

        request.cost = record->cost;
        if (weir_take(limiter, &request, record->time, NULL) > 0) {
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

weiri_run weiri_run_all(const weiri_records *records, const weir_rule *rules, size_t count, const weiri_choice *choice)
{
    weir_statistics statistics = {.struct_size = sizeof statistics};
    weiri_run run = {.choice = *choice};
    weir *limiter;

    run.refused_of = zeroes(records->keys + 1, sizeof *run.refused_of);
    run.verdicts = zeroes(records->count / 8 + 1, 1);
    if (weiri_run_open(&limiter, rules, count, choice, (weir_allocator){allocate, release, NULL}, NULL, 0) != 0)
        weiri_out_of_memory();
    run.elapsed_ns = clock_ns();
    decide_all(&run, records, limiter);
    run.elapsed_ns = clock_ns() - run.elapsed_ns;
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
