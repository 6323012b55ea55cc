#include "identity.h"

#include <string.h>

/* Up to eight bytes as a little-endian word, without reading past them. */
static inline uint64_t load_part(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (count == 8) {
        memcpy(&word, bytes, 8);
        return word;
    }
    if (count >= 4) { /* two overlapping halves */
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + count - 4, 4);
        return low | (uint64_t)high << (8 * (count - 4));
    }
#endif
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void identify_long(weiri_hash_key key, const void *bytes, size_t length, weir_identity *identity)
{
    weiri_hash hash = weiri_siphash(key, bytes, length, 1, 3);
    identity->hash = hash.word[0] & ~UINT64_C(0xff);
    identity->word[0] = identity->hash | WEIRI_MARK_HASHED;
    identity->word[1] = hash.word[1];
}

void weiri_identify(weiri_hash_key key, const void *bytes, size_t length, weir_identity *identity)
{
    if (length > WEIRI_KEY_INLINE) {
        identify_long(key, bytes, length, identity);
        return;
    }
    uint64_t low = load_part(bytes, length < 8 ? length : 8);
    uint64_t high = length > 8 ? load_part((const unsigned char *)bytes + 8, length - 8) : 0;
    identity->word[0] = low << 8 | (length + 1);
    identity->word[1] = high << 8 | low >> 56;
    identity->hash = weiri_siphash_short(key, low, high, length);
}

uint64_t weiri_identity_hash(weiri_hash_key key, weiri_pair identity)
{
    uint64_t mark = identity.word[0] & 0xff;
    if (mark == WEIRI_MARK_HASHED)
        return identity.word[0] & ~UINT64_C(0xff);
    uint64_t low = identity.word[0] >> 8 | identity.word[1] << 56;
    return weiri_siphash_short(key, low, identity.word[1] >> 8, (size_t)mark - 1);
}

size_t weiri_identity_bytes(weiri_pair identity, unsigned char bytes[16])
{
    uint64_t mark = identity.word[0] & 0xff;
    uint64_t low = identity.word[0], high = identity.word[1];
    size_t length = 16;
    if (mark != WEIRI_MARK_HASHED) {
        low = identity.word[0] >> 8 | identity.word[1] << 56;
        high = identity.word[1] >> 8;
        length = (size_t)mark - 1;
    }
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)((i < 8 ? low >> (8 * i) : high >> (8 * (i - 8))) & 0xff);
    return length;
}
