#include "picks.h"

#include <math.h>

#include "measure.h"

/* The hat x^-s, its integral and that one's inverse; s is not 1. */
static double hat(double x, double s)
{
    return pow(x, -s);
}

static double integral(double x, double s)
{
    return (pow(x, 1 - s) - 1) / (1 - s);
}

static double inverse(double area, double s)
{
    return pow(1 + area * (1 - s), 1 / (1 - s));
}

bench_zipf bench_zipf_for(uint64_t count, double exponent)
{
    bench_zipf made = {.exponent = exponent, .count = count};
    made.at_first = integral(1.5, exponent) - 1; /* the first number's bar is taken whole: its area is 1 */
    made.at_last = integral((double)count + 0.5, exponent);
    made.always = 2 - inverse(integral(2.5, exponent) - hat(2, exponent), exponent);
    return made;
}

uint64_t bench_zipf_draw(const bench_zipf *zipf, uint64_t *random)
{
    for (;;) {
        const double share = (double)(bench_random(random) >> 11) * 0x1p-53;
        const double area = zipf->at_last + share * (zipf->at_first - zipf->at_last);
        const double x = inverse(area, zipf->exponent);
        double k = floor(x + 0.5);
        k = fmin(fmax(k, 1), (double)zipf->count);
        if (k - x <= zipf->always || area >= integral(k + 0.5, zipf->exponent) - hat(k, zipf->exponent))
            return (uint64_t)k - 1;
    }
}

/* A bijection on the numbers below `keys`: neighbours in frequency are none in number. */
static uint64_t spread(uint64_t number, uint64_t keys)
{
    enum { STEP = 2147483647 }; /* a prime that no number of keys in question is a multiple of */
    return keys % STEP == 0 ? number : number * STEP % keys;
}

void bench_pick(enum bench_picking picking, uint64_t keys, uint64_t seed, uint32_t *picks, size_t count)
{
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    if (picking == BENCH_UNIFORM) {
        for (size_t i = 0; i < count; i++)
            picks[i] = (uint32_t)bench_below(&random, keys);
        return;
    }
    const bench_zipf zipf = bench_zipf_for(keys, 0.99);
    for (size_t i = 0; i < count; i++)
        picks[i] = (uint32_t)spread(bench_zipf_draw(&zipf, &random), keys);
}
