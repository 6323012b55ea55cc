/*
 * SipHash with 128 bits out, c = 1 and d = 3 as weir uses it (2 and 4 for the published vectors).
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; the 128-bit output as in the
 * authors' reference code.
 */
#ifndef WEIRI_TABLE_SIPHASH_H
#define WEIRI_TABLE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct weiri_hash_key {
    uint64_t word[2];
} weiri_hash_key;

typedef struct weiri_hash {
    uint64_t word[2];
} weiri_hash;

typedef struct weiri_sip {
    uint64_t v0, v1, v2, v3;
} weiri_sip;

static inline uint64_t weiri_sip_rotate(uint64_t x, unsigned by)
{
    return (x << by) | (x >> (64 - by));
}

static inline weiri_sip weiri_sip_round(weiri_sip s)
{
    s.v0 += s.v1;
    s.v1 = weiri_sip_rotate(s.v1, 13) ^ s.v0;
    s.v0 = weiri_sip_rotate(s.v0, 32);
    s.v2 += s.v3;
    s.v3 = weiri_sip_rotate(s.v3, 16) ^ s.v2;
    s.v0 += s.v3;
    s.v3 = weiri_sip_rotate(s.v3, 21) ^ s.v0;
    s.v2 += s.v1;
    s.v1 = weiri_sip_rotate(s.v1, 17) ^ s.v2;
    s.v2 = weiri_sip_rotate(s.v2, 32);
    return s;
}

static inline weiri_sip weiri_sip_start(weiri_hash_key key)
{
    return (weiri_sip){key.word[0] ^ UINT64_C(0x736f6d6570736575), key.word[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                       key.word[0] ^ UINT64_C(0x6c7967656e657261), key.word[1] ^ UINT64_C(0x7465646279746573)};
}

static inline __attribute__((always_inline)) weiri_sip weiri_sip_block(weiri_sip s, uint64_t block, unsigned c)
{
    s.v3 ^= block;
    for (unsigned i = 0; i < c; i++)
        s = weiri_sip_round(s);
    s.v0 ^= block;
    return s;
}

static inline __attribute__((always_inline)) weiri_hash weiri_sip_finish(weiri_sip s, unsigned d)
{
    weiri_hash hash;
    s.v2 ^= 0xee;
    for (unsigned i = 0; i < d; i++)
        s = weiri_sip_round(s);
    hash.word[0] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= 0xdd;
    for (unsigned i = 0; i < d; i++)
        s = weiri_sip_round(s);
    hash.word[1] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    return hash;
}

/* The first output word of SipHash-1-3-128 of `length` <= 15 bytes, given as two little-endian words. */
static inline __attribute__((always_inline)) uint64_t weiri_siphash_short(weiri_hash_key key, uint64_t low,
                                                                         uint64_t high, size_t length)
{
    weiri_sip s = weiri_sip_start(key);
    uint64_t last = low;
    if (length >= 8) {
        s = weiri_sip_block(s, low, 1);
        last = high;
    }
    s = weiri_sip_block(s, last | (uint64_t)length << 56, 1);
    s.v2 ^= 0xee;
    s = weiri_sip_round(weiri_sip_round(weiri_sip_round(s)));
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* Any length, any c and d. */
weiri_hash weiri_siphash(weiri_hash_key key, const void *bytes, size_t length, unsigned c, unsigned d);

#endif
