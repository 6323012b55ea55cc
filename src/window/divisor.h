/*
 * Division of a time by a constant without a division: one multiplication and one shift.
 *
 * For n < 2^63 and 1 <= d <= 2^62 let l = ceil(log2 d) and m = ceil(2^(63+l) / d), which fits 64 bits. Then
 * floor(n / d) = floor(n * m / 2^(63+l)) for every such n (Granlund and Montgomery, Division by invariant integers
 * using multiplication, PLDI 1994, theorem 4.2 with N = 63), and n * m / 2^63 is the upper word of 2n * m.
 */
#ifndef WEIRI_WINDOW_DIVISOR_H
#define WEIRI_WINDOW_DIVISOR_H

#include <stdint.h>

__extension__ typedef unsigned __int128 weiri_u128; /* gcc and clang have it; no standard does */

typedef struct weiri_divisor {
    uint64_t multiplier;
    unsigned shift;
} weiri_divisor;

weiri_divisor weiri_divisor_make(uint64_t divisor);

static inline uint64_t weiri_divide(uint64_t n, weiri_divisor by)
{
    return (uint64_t)(((weiri_u128)(2 * n) * by.multiplier) >> 64) >> by.shift;
}

#endif
