#include "siphash.h"

/* Byte by byte: the same on every byte order; compilers make one load of it. */
static uint64_t load_block(const unsigned char *bytes, size_t count)
{
    uint64_t block = 0;
    for (size_t i = 0; i < count; i++)
        block |= (uint64_t)bytes[i] << (8 * i);
    return block;
}

weiri_hash weiri_siphash(weiri_hash_key key, const void *bytes, size_t length, unsigned c, unsigned d)
{
    const unsigned char *at = bytes;
    weiri_sip s = weiri_sip_start(key);
    size_t whole = length & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        s = weiri_sip_block(s, load_block(at + i, 8), c);
    uint64_t rest = whole < length ? load_block(at + whole, length - whole) : 0;
    s = weiri_sip_block(s, rest | (uint64_t)length << 56, c);
    return weiri_sip_finish(s, d);
}
