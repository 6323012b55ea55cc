#include "identity.h"

weir_identity weiri_identity_long(weiri_hash_key key, const void *bytes, size_t length)
{
    weiri_hash hash = weiri_siphash(key, bytes, length, 1, 3);
    uint64_t place = hash.word[0] & ~UINT64_C(0xff);
    return (weir_identity){.word = {place | WEIRI_MARK_HASHED, hash.word[1]}, .hash = place};
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
