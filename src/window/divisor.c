/*
 * divisor: the multiplier and shift of one divisor. The proof is in divisor.h.
 */
#include "divisor.h"

weiri_divisor weiri_divisor_make(uint64_t divisor)
{
    unsigned shift = divisor > 1 ? 64U - (unsigned)__builtin_clzll(divisor - 1) : 0;
    weiri_u128 power = (weiri_u128)1 << (63 + shift);
    weiri_divisor by = {(uint64_t)((power + divisor - 1) / divisor), shift};
    return by;
}
