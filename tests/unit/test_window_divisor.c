/*
 * SPDX-License-Identifier: MIT
 */
#include "support/random.h"
#include "window/divisor.h"
#include "window_states.h"

static void check(uint64_t n, uint64_t divisor, weiri_divisor by)
{
    EQUALS(weiri_divide(n, by), n / divisor, "%" PRIu64 " / %" PRIu64, n, divisor);
}

/* Where a quotient may go wrong: right before and at the multiples. */
static void check_around(uint64_t n, uint64_t divisor)
{
    weiri_divisor by = weiri_divisor_make(divisor);
    uint64_t multiple = n / divisor * divisor;
    check(n, divisor, by);
    check(multiple, divisor, by);
    check(multiple > 0 ? multiple - 1 : 0, divisor, by);
    check(0, divisor, by);
    check(1, divisor, by);
    check(WEIR_TIME_MAX, divisor, by);
    check(WEIR_TIME_MAX / divisor * divisor, divisor, by);
    check(WEIR_TIME_MAX / divisor * divisor - 1, divisor, by);
}

Test(window_divisor, small_numbers_divide_exactly_by_small_divisors)
{
    for (uint64_t divisor = 1; divisor <= 300; divisor++) {
        weiri_divisor by = weiri_divisor_make(divisor);
        for (uint64_t n = 0; n <= 1000; n++)
            check(n, divisor, by);
    }
}

Test(window_divisor, powers_of_two_and_their_neighbours_divide_exactly)
{
    for (unsigned bits = 0; bits <= 62; bits++) {
        for (int64_t off = -2; off <= 2; off++) {
            uint64_t divisor = (UINT64_C(1) << bits) + (uint64_t)off;
            if (divisor == 0 || divisor > WEIR_WINDOW_MAX)
                continue;
            for (unsigned shift = 0; shift <= 62; shift++) {
                check_around(UINT64_C(1) << shift, divisor);
                check_around((UINT64_C(2) << shift) - 1, divisor);
            }
        }
    }
}

Test(window_divisor, random_numbers_of_every_size_divide_exactly)
{
    random_source source = random_from(random_seed("window_divisor"), 0);
    for (uint64_t i = random_scaled(300000); i > 0; i--)
        check_around(random_sized(&source, 63), random_sized(&source, 62));
}
