/*
 * tests/support/random.h over the bytes of an input, in the place of random.c: what draws random numbers draws what the
 * fuzzer wrote, and a small change of the input is a small change of the run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

random_source fuzz_random(fuzz_bytes *bytes)
{
    return (random_source){(uintptr_t)bytes};
}

static fuzz_bytes *bytes_of(random_source *source)
{
    return (fuzz_bytes *)(uintptr_t)source->state; /* as fuzz_random put it there */
}

/* Nobody seeds an input; these are for programs that run on their own. */
uint64_t random_seed(const char *name)
{
    fuzz_wrong("%s: an input has no seed", name);
}

random_source random_from(uint64_t seed, uint64_t index)
{
    fuzz_wrong("an input has no trace %llu of seed %llu", (unsigned long long)index, (unsigned long long)seed);
}

uint64_t random_next(random_source *source)
{
    return fuzz_number(bytes_of(source), 8);
}

uint64_t random_below(random_source *source, uint64_t bound)
{
    unsigned count = 0;

    for (uint64_t most = bound > 0 ? bound - 1 : 0; most > 0; most >>= 8)
        count++;
    return bound == 0 ? 0 : fuzz_number(bytes_of(source), count) % bound;
}

uint64_t random_sized(random_source *source, unsigned bits)
{
    unsigned size = (unsigned)random_between(source, 1, bits);
    uint64_t top = UINT64_C(1) << (size - 1);

    return top | (fuzz_number(bytes_of(source), (size + 7) / 8) & (top - 1));
}

uint64_t random_scaled(uint64_t standard)
{
    return standard;
}
