/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "basics.h"

uint64_t random_seed(const char *name)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t seed;

    if (given != NULL && *given != '\0')
        seed = strtoull(given, NULL, 0);
    else if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)time(NULL);
    fprintf(stderr, "%s: WEIR_SEED=%" PRIu64 "\n", name, seed);
    return seed;
}

/* splitmix64 (Vigna): a counter and a mixer, every state is good. */
uint64_t random_next(random_source *source)
{
    source->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(source->state);
}

random_source random_from(uint64_t seed, uint64_t index)
{
    random_source mixed = {index};
    random_source source = {seed ^ random_next(&mixed)};

    return source;
}

uint64_t random_below(random_source *source, uint64_t bound)
{
    return bound == 0 ? 0 : random_next(source) % bound;
}

uint64_t random_sized(random_source *source, unsigned bits)
{
    unsigned size = (unsigned)random_between(source, 1, bits);
    uint64_t top = UINT64_C(1) << (size - 1);

    return top | (random_next(source) & (top - 1));
}

uint64_t random_scaled(uint64_t standard)
{
    const char *scale = getenv("WEIR_TEST_SCALE");
    uint64_t percent = scale != NULL && *scale != '\0' ? strtoull(scale, NULL, 10) : 100;
    uint64_t scaled = standard * percent / 100;

    return scaled == 0 ? 1 : scaled;
}
