#include "siphash.h"

#include <string.h>

/* Eight bytes, little-endian. */
static inline uint64_t load_block(const unsigned char *bytes)
{
    uint64_t block;
    memcpy(&block, bytes, sizeof block);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    block = __builtin_bswap64(block);
#endif
    return block;
}

/* Fewer than eight, and the length above them. */
static inline uint64_t load_last(const unsigned char *bytes, size_t length)
{
    uint64_t block = (uint64_t)length << 56;
    for (size_t i = 0; i < length % 8; i++)
        block |= (uint64_t)bytes[i] << (8 * i);
    return block;
}

/* Inlined, so that constant rounds are unrolled. */
static inline __attribute__((always_inline)) weiri_hash hash(weiri_hash_key key, const unsigned char *bytes,
                                                             size_t length, unsigned c, unsigned d)
{
    weiri_sip s = weiri_sip_start(key);
    size_t whole = length & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        s = weiri_sip_block(s, load_block(bytes + i), c);
    s = weiri_sip_block(s, load_last(bytes + whole, length), c);
    return weiri_sip_finish(s, d);
}

weiri_hash weiri_siphash(weiri_hash_key key, const void *bytes, size_t length, unsigned c, unsigned d)
{
    return c == 1 && d == 3 ? hash(key, bytes, length, 1, 3) : hash(key, bytes, length, c, d);
}
