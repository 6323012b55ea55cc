/*
 * What several of this folder need.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_BASICS_H
#define WEIR_TESTS_BASICS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What was allocated; ends the process where that is NULL. */
static inline void *must(void *memory)
{
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* A bijection that spreads every bit over all: the finaliser of SplitMix64 (Steele, Lea, Flood, 2014). */
static inline uint64_t mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

#endif
