/*
 * SipHash-1-3 of short keys, four at once in the lanes of vector registers (AVX2) where the processor has them, else one
 * after the other: the same values as weiri_siphash_short.
 */
#ifndef WEIRI_TABLE_SIPHASH_LANES_H
#define WEIRI_TABLE_SIPHASH_LANES_H

#include "identity.h"

/* `words` as from weiri_key_words, lengths up to WEIRI_KEY_INLINE. */
void weiri_siphash_shorts(weiri_hash_key key, const weiri_pair *words, const uint8_t *lengths, size_t count,
                          uint64_t *hashes);

#endif
