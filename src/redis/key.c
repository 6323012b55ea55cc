/* Names of keys, and their slots. */
#include "redis/key.h"

#include <string.h>

#include "redis/command.h"

#define SLOTS 16384

/* Letters, digits and what no tool, shell or log mistakes; see the header on the colon. */
static bool stands_plain(unsigned char byte, bool colons)
{
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9'))
        return true;
    return byte == '.' || byte == '_' || byte == '~' || byte == '-' || byte == '@' || byte == '/' ||
           (byte == ':' && colons);
}

/* One byte, encoded; returns its end, one or three bytes on. */
static char *encode_byte(char *to, unsigned char byte, bool colons)
{
    static const char digits[] = "0123456789ABCDEF";
    if (stands_plain(byte, colons)) {
        *to++ = (char)byte;
    } else {
        *to++ = '%';
        *to++ = digits[byte >> 4];
        *to++ = digits[byte & 15];
    }
    return to;
}

char *weiri_redis_encode(char *to, const void *bytes, size_t length, bool colons)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        to = encode_byte(to, byte[i], colons);
    return to;
}

size_t weiri_redis_tag_length(const weiri_redis_rules *rules, const void *key, size_t key_len)
{
    const unsigned char *byte = key;
    size_t length = strlen(rules->prefix) + key_len + 3;
    for (size_t i = 0; i < key_len; i++)
        length += stands_plain(byte[i], true) ? 0 : 2;
    return length;
}

char *weiri_redis_tag(const weiri_redis_rules *rules, const void *key, size_t key_len, char *to)
{
    *to++ = '{';
    to = stpcpy(to, rules->prefix);
    *to++ = ':';
    to = weiri_redis_encode(to, key, key_len, true);
    *to++ = '}';
    return to;
}

/* CRC-16/XMODEM, as the specification of Redis Cluster has it: polynomial 0x1021, nothing reflected, from 0. */
static unsigned crc_byte(unsigned crc, unsigned char byte)
{
    crc ^= (unsigned)byte << 8;
    for (int bit = 0; bit < 8; bit++)
        crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    return crc & 0xffff;
}

static unsigned crc_bytes(unsigned crc, const char *byte, size_t length)
{
    for (size_t i = 0; i < length; i++)
        crc = crc_byte(crc, (unsigned char)byte[i]);
    return crc;
}

unsigned weiri_redis_slot(const weiri_redis_rules *rules, const void *key, size_t key_len)
{
    const unsigned char *byte = key;
    unsigned crc = crc_byte(crc_bytes(0, rules->prefix, strlen(rules->prefix)), ':');
    for (size_t i = 0; i < key_len; i++) {
        char encoded[3];
        crc = crc_bytes(crc, encoded, (size_t)(encode_byte(encoded, byte[i], true) - encoded));
    }
    return crc % SLOTS;
}
