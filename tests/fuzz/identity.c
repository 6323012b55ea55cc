/*
 * Attacks D: keys are told apart. SipHash against a second writing of it from the paper, byte by byte; identities
 * against the rule in words: short keys are their own bytes and length, long ones 120 bits of the hash.
 *
 * Input: 16 bytes of hash key, a byte that says where the first key ends, two keys.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "table/identity.h"

static uint64_t rotated(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], unsigned rounds)
{
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13);
        v[3] = rotated(v[3], 16);
        v[1] ^= v[0];
        v[3] ^= v[2];
        v[0] = rotated(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotated(v[1], 17);
        v[3] = rotated(v[3], 21);
        v[1] ^= v[2];
        v[3] ^= v[0];
        v[2] = rotated(v[2], 32);
    }
}

/* The message is its bytes, zeroes up to one less than a multiple of eight, and the length's lowest byte. */
static void reference(const uint64_t key[2], const uint8_t *bytes, size_t length, unsigned c, unsigned d,
                      uint64_t out[2])
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t padded = (length + 8) / 8 * 8;

    v[1] ^= 0xee; /* 128 bits out */
    for (size_t block = 0; block < padded; block += 8) {
        uint64_t m = 0;

        for (size_t i = 0; i < 8; i++) {
            size_t at = block + i;
            uint64_t byte = at < length ? bytes[at] : at == padded - 1 ? length & 0xff : 0;

            m |= byte << (8 * i);
        }
        v[3] ^= m;
        sip_rounds(v, c);
        v[0] ^= m;
    }
    v[2] ^= 0xee;
    sip_rounds(v, d);
    out[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    sip_rounds(v, d);
    out[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void check_hash(weiri_hash_key key, const uint8_t *bytes, size_t length, unsigned c, unsigned d)
{
    weiri_hash got = weiri_siphash(key, bytes, length, c, d);
    uint64_t wanted[2];

    reference(key.word, bytes, length, c, d, wanted);
    FUZZ_HOLDS(got.word[0] == wanted[0] && got.word[1] == wanted[1], "SipHash-%u-%u-128 of %zu bytes", c, d, length);
}

/* The identity of a key, with all that can be told about one alone. */
static weir_identity check_identity(weiri_hash_key key, const uint8_t *bytes, size_t length)
{
    weir_identity identity = {{1, 2}, 3, 4};
    uint64_t hash[2];
    unsigned char back[16];
    size_t count;

    weiri_identify(key, bytes, length, &identity);
    reference(key.word, bytes, length, 1, 3, hash);
    FUZZ_HOLDS(identity.owner == 4, "the owner is the caller's");
    FUZZ_HOLDS((identity.hash ^ hash[0]) >> 8 == 0, "the place of a key of %zu bytes is not its hash's", length);
    FUZZ_HOLDS(weiri_identity_hash(key, weiri_identity_pair(&identity)) == identity.hash,
               "a migration would put a key of %zu bytes elsewhere", length);
    FUZZ_HOLDS(identity.word[0] != 0 && (identity.word[0] & 0xff) != WEIRI_MARK_SEALED, "EMPTY or SEALED");
    count = weiri_identity_bytes(weiri_identity_pair(&identity), back);
    if (length <= 15) {
        FUZZ_HOLDS((identity.word[0] & 0xff) == length + 1, "the mark of a key of %zu bytes", length);
        FUZZ_HOLDS(count == length && memcmp(back, bytes, length) == 0, "the bytes of a key of %zu", length);
    } else {
        FUZZ_HOLDS(identity.word[0] == ((hash[0] & ~UINT64_C(0xff)) | WEIRI_MARK_HASHED), "word 0 of a hashed key");
        FUZZ_HOLDS(identity.word[1] == hash[1], "word 1 of a hashed key");
        FUZZ_HOLDS(count == 16 && memcmp(back, identity.word, 16) == 0, "the 16 bytes of a hashed key");
    }
    return identity;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    weiri_hash_key key = {{fuzz_number(&bytes, 8), fuzz_number(&bytes, 8)}};
    size_t end = (size_t)fuzz_number(&bytes, 1) % (bytes.left + 1);
    uint8_t *one = fuzz_copy(bytes.at, end);
    uint8_t *other = fuzz_copy(bytes.at + end, bytes.left - end);
    size_t lengths[2] = {end, bytes.left - end};
    weir_identity a = check_identity(key, one, lengths[0]);
    weir_identity b = check_identity(key, other, lengths[1]);
    bool same_key = lengths[0] == lengths[1] && memcmp(one, other, lengths[0]) == 0;
    bool same_identity = a.word[0] == b.word[0] && a.word[1] == b.word[1];

    FUZZ_HOLDS(same_key == same_identity, "two keys of %zu and %zu bytes", lengths[0], lengths[1]);
    FUZZ_HOLDS(!same_key || a.hash == b.hash, "one key in two places");
    check_hash(key, one, lengths[0], 1, 3);
    check_hash(key, other, lengths[1], 2, 4);
    free(one);
    free(other);
    return 0;
}
