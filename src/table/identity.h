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

#include <weir/types.h>

#include "../sync/atomic.h"
#include "siphash.h"

enum { WEIRI_MARK_HASHED = 0x20, WEIRI_MARK_SEALED = 0xff, WEIRI_KEY_INLINE = 15 };

static inline weiri_pair weiri_identity_pair(const weir_identity *identity)
{
    return (weiri_pair){{identity->word[0], identity->word[1]}};
}

/* `owner` is left to the caller. */
void weiri_identify(weiri_hash_key key, const void *bytes, size_t length, weir_identity *identity);

/* The hash of an identity found in a cell. */
uint64_t weiri_identity_hash(weiri_hash_key key, weiri_pair identity);

/* The key's bytes (up to 15), or the 16 bytes of a hashed identity; returns how many. */
size_t weiri_identity_bytes(weiri_pair identity, unsigned char bytes[16]);

#endif
