/*
 * The name of a rule's key in Redis:
 *
 *     {prefix:key}suffix         {weir:user%20name}0lr60000000
 *
 * What the limiter's caller gave stands between the braces, percent-encoded: so it is never empty, holds no brace, and
 * is all that Redis Cluster looks at to find the slot, which all rules of a key thus share. A colon stands plain in a
 * key and encoded in a prefix, so the first one ends the prefix, and no two pairs of prefix and key are one name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_KEY_H
#define WEIRI_REDIS_KEY_H

#include <stddef.h>

#include "redis/rules.h"

/* Writes the encoded bytes, at most 3 x length, and returns their end. `colons`: they stand plain. */
char *weiri_redis_encode(char *to, const void *bytes, size_t length, bool colons);

/* The bytes of what `weiri_redis_tag` writes. */
size_t weiri_redis_tag_length(const weiri_redis_rules *rules, const void *key, size_t key_len);

/* Writes "{prefix:key}", which begins the names of all rules, and returns its end. */
char *weiri_redis_tag(const weiri_redis_rules *rules, const void *key, size_t key_len, char *to);

#endif
