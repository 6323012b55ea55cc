#include "siphash_lanes.h"

#ifdef __x86_64__
enum { LANES = 4 };

#define AVX2 __attribute__((target("avx2"), always_inline)) inline

typedef uint64_t lanes __attribute__((vector_size(LANES * 8)));
typedef uint32_t halves __attribute__((vector_size(LANES * 8)));
typedef uint16_t quarters __attribute__((vector_size(LANES * 8)));

typedef struct four {
    lanes v0, v1, v2, v3;
} four;

static AVX2 lanes rotate(lanes x, unsigned by)
{
    return (x << by) | (x >> (64 - by));
}

static AVX2 lanes rotate_32(lanes x)
{
    return (lanes)__builtin_shufflevector((halves)x, (halves)x, 1, 0, 3, 2, 5, 4, 7, 6);
}

static AVX2 lanes rotate_16(lanes x)
{
    return (lanes)__builtin_shufflevector((quarters)x, (quarters)x, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13,
                                          14);
}

static AVX2 void sip_round(four *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate_32(s->v0);
    s->v2 += s->v3;
    s->v3 = rotate_16(s->v3) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate_32(s->v2);
}

static AVX2 void sip_block(four *s, lanes block)
{
    s->v3 ^= block;
    sip_round(s);
    s->v0 ^= block;
}

/* Four keys, all of 8 bytes at least or all shorter: so they have as many blocks. */
static __attribute__((target("avx2"))) void hash_four(weiri_hash_key key, const weiri_pair *words,
                                                      const uint8_t *lengths, uint64_t *hashes)
{
    const weiri_sip from = weiri_sip_start(key);
    four s = {(lanes){0} + from.v0, (lanes){0} + from.v1, (lanes){0} + from.v2, (lanes){0} + from.v3};
    const lanes low = {words[0].word[0], words[1].word[0], words[2].word[0], words[3].word[0]};
    const lanes high = {words[0].word[1], words[1].word[1], words[2].word[1], words[3].word[1]};
    const lanes length = {lengths[0], lengths[1], lengths[2], lengths[3]};
    lanes last = low;
    if (lengths[0] >= 8) {
        sip_block(&s, low);
        last = high;
    }
    sip_block(&s, last | length << 56);
    s.v2 ^= 0xee;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    const lanes hash = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    memcpy(hashes, &hash, sizeof hash);
}

static bool alike(const uint8_t *lengths)
{
    int longer = (lengths[0] >= 8) + (lengths[1] >= 8) + (lengths[2] >= 8) + (lengths[3] >= 8);
    return longer == 0 || longer == LANES;
}
#endif

void weiri_siphash_shorts(weiri_hash_key key, const weiri_pair *words, const uint8_t *lengths, size_t count,
                          uint64_t *hashes)
{
    size_t i = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        for (; i + LANES <= count && alike(lengths + i); i += LANES)
            hash_four(key, words + i, lengths + i, hashes + i);
#endif
    for (; i < count; i++)
        hashes[i] = weiri_siphash_short(key, words[i].word[0], words[i].word[1], lengths[i]);
}
