/*
 * identity: a key of any length in sixteen bytes, and the hash that finds its place.
 *
 *   word 0   | 7 key bytes, or 56 bits of hash | mark |     mark = length + 1 (1 ... 16), or HASHED
 *   word 1   | 8 key bytes, or 64 bits of hash        |
 *
 * Keys of up to 15 bytes are kept whole, so they are told apart by every byte and the length. Longer ones are told apart
 * by 120 bits of SipHash-1-3-128 under the limiter's random key. Word 0 of a key is never 0 (EMPTY) nor SEALED.
 *
 * The hash of a hashed key is word 0 without its mark, so that a migration can place every key from its identity alone;
 * nobody may look at the lowest 8 bits of a hash.
 */
#ifndef WEIRI_TABLE_IDENTITY_H
#define WEIRI_TABLE_IDENTITY_H

#include <string.h>
#include <weir/types.h>

#include "../sync/atomic.h"
#include "siphash.h"

enum { WEIRI_MARK_HASHED = 0x20, WEIRI_MARK_SEALED = 0xff, WEIRI_KEY_INLINE = 15 };

static inline weiri_pair weiri_identity_pair(const weir_identity *identity)
{
    return (weiri_pair){{identity->word[0], identity->word[1]}};
}

/* Eight bytes, little-endian. */
static inline uint64_t weiri_load_block(const unsigned char *bytes)
{
    uint64_t block;
    memcpy(&block, bytes, sizeof block);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    block = __builtin_bswap64(block);
#endif
    return block;
}

/* Fewer than eight, without reading past them: two overlapping halves, or the first, the middle one and the last. */
static inline uint64_t weiri_load_part(const unsigned char *bytes, size_t count)
{
    if (count >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, sizeof low);
        memcpy(&high, bytes + count - sizeof high, sizeof high);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        low = __builtin_bswap32(low);
        high = __builtin_bswap32(high);
#endif
        return low | (uint64_t)high << (8 * (count - 4));
    }
    if (count == 0)
        return 0;
    return bytes[0] | (uint64_t)bytes[count / 2] << (8 * (count / 2)) | (uint64_t)bytes[count - 1] << (8 * (count - 1));
}

/* A key of up to 15 bytes as two little-endian words, zeros behind it. */
static inline weiri_pair weiri_key_words(const void *key, size_t length)
{
    const unsigned char *bytes = key;
    if (length < 8)
        return (weiri_pair){{weiri_load_part(bytes, length), 0}};
    /* The last eight bytes overlap the first; a shift by 64 is undefined, hence two. */
    return (weiri_pair){{weiri_load_block(bytes), weiri_load_block(bytes + length - 8) >> (8 * (15 - length)) >> 8}};
}

/* The identity of a key of up to 15 bytes whose hash is known, `owner` left to the caller. */
static inline void weiri_identity_short(weiri_pair words, size_t length, uint64_t hash, weir_identity *identity)
{
    identity->word[0] = words.word[0] << 8 | (length + 1);
    identity->word[1] = words.word[1] << 8 | words.word[0] >> 56;
    identity->hash = hash;
}

/* The identity of a key of more than 15 bytes, `owner` left 0. */
weir_identity weiri_identity_long(weiri_hash_key key, const void *bytes, size_t length);

/* The identity of any key, `owner` left to the caller. Inlined, so that a call can keep it in registers. */
static inline __attribute__((always_inline)) void weiri_identify(weiri_hash_key key, const void *bytes, size_t length,
                                                                 weir_identity *identity)
{
    if (length > WEIRI_KEY_INLINE) {
        weir_identity hashed = weiri_identity_long(key, bytes, length);
        identity->word[0] = hashed.word[0];
        identity->word[1] = hashed.word[1];
        identity->hash = hashed.hash;
        return;
    }
    weiri_pair words = weiri_key_words(bytes, length);
    weiri_identity_short(words, length, weiri_siphash_short(key, words.word[0], words.word[1], length), identity);
}

/* The hash of an identity found in a cell. */
uint64_t weiri_identity_hash(weiri_hash_key key, weiri_pair identity);

/* The key's bytes (up to 15), or the 16 bytes of a hashed identity; returns how many. */
size_t weiri_identity_bytes(weiri_pair identity, unsigned char bytes[16]);

#endif
