/*
 * A small random source for tests: the same seed gives the same numbers, on every machine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_RANDOM_H
#define WEIR_TESTS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct random_source {
    uint64_t state;
} random_source;

/* WEIR_SEED where it is set (decimal or 0x...), else a fresh seed. Prints "NAME: WEIR_SEED=..." on stderr. */
uint64_t random_seed(const char *name);

/* The source of one trace: seed and index mixed, so that neighbouring traces share nothing. */
random_source random_from(uint64_t seed, uint64_t index);

uint64_t random_next(random_source *source);

/* 0 ... bound-1; bound 0: 0. The bias of the remainder does not matter here. */
uint64_t random_below(random_source *source, uint64_t bound);

/* low ... high, both included. */
static inline uint64_t random_between(random_source *source, uint64_t low, uint64_t high)
{
    uint64_t span = high - low;

    return span == UINT64_MAX ? random_next(source) : low + random_below(source, span + 1);
}

/* True once in `n` times. */
static inline bool random_one_in(random_source *source, uint64_t n)
{
    return random_below(source, n) == 0;
}

/* A number whose size in bits is even: 1 ... 2^bits-1. Small numbers are as likely as huge ones. */
uint64_t random_sized(random_source *source, unsigned bits);

/* `standard` scaled by WEIR_TEST_SCALE (percent, 100 where unset), at least 1. */
uint64_t random_scaled(uint64_t standard);

#endif
