#include "subject.h"

#include "baselines/baselines.h"
#include "subject_weir.h"

const bench_subject *const bench_subjects[] = {
    &bench_weir,
    &bench_weir_batch,
    &bench_weir_identity,
    &bench_weir_prefetch,
    &bench_mutex,
    &bench_sharded,
    &bench_lfht,
    NULL,
};

const bench_subject *bench_subject_named(const char *name)
{
    for (const bench_subject *const *at = bench_subjects; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

uint64_t bench_each_once(const bench_subject *subject, void *state, uint64_t keys, size_t key_len, uint64_t now)
{
    bench_key key = {{0}};
    bench_call call = {.key = key.byte, .key_len = key_len, .cost = 1, .now = now};
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < keys; i++) {
        call.number = (uint32_t)i;
        bench_key_write(&key, key_len, i);
        accepted += subject->take(state, &call, NULL) == 1;
    }
    return accepted;
}

void bench_use_up(const bench_subject *subject, void *state, uint64_t keys, size_t key_len, uint64_t now)
{
    bench_key key = {{0}};
    bench_call call = {.key = key.byte, .key_len = key_len, .now = now};
    for (uint64_t i = 0; i < keys; i++) {
        call.number = (uint32_t)i;
        bench_key_write(&key, key_len, i);
        for (call.cost = UINT64_C(1) << 20; call.cost > 0; call.cost /= 2) /* per request: the first cost does it all */
            while (subject->take(state, &call, NULL) == 1)
                continue;
    }
}
