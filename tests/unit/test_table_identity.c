/*
 * A key of any length in sixteen bytes: told apart, and given back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "table/identity.h"

enum { LONGEST = 20 };

static const weiri_hash_key hash_key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

static weir_identity identified(const void *bytes, size_t length)
{
    weir_identity identity = {{1, 2}, 3, 77};

    weiri_identify(hash_key, bytes, length, &identity);
    cr_assert_eq(identity.owner, 77); /* the caller's */
    return identity;
}

static bool same(const weir_identity *a, const weir_identity *b)
{
    return weiri_pair_equal(weiri_identity_pair(a), weiri_identity_pair(b));
}

Test(identity, keeps_short_keys_whole_behind_a_mark_of_their_length)
{
    weir_identity none = identified(NULL, 0), three = identified("abc", 3), seven = identified("abcdefg", 7);
    weir_identity eight = identified("abcdefgh", 8), fifteen = identified("abcdefghijklmno", 15);

    cr_assert_eq(none.word[0], 1);
    cr_assert_eq(none.word[1], 0);
    cr_assert_eq(three.word[0], UINT64_C(0x63626104));
    cr_assert_eq(three.word[1], 0);
    cr_assert_eq(seven.word[0], UINT64_C(0x6766656463626108));
    cr_assert_eq(seven.word[1], 0);
    cr_assert_eq(eight.word[0], UINT64_C(0x6766656463626109));
    cr_assert_eq(eight.word[1], UINT64_C(0x68));
    cr_assert_eq(fifteen.word[0], UINT64_C(0x6766656463626110));
    cr_assert_eq(fifteen.word[1], UINT64_C(0x6f6e6d6c6b6a6968));
}

Test(identity, of_a_longer_key_is_120_bits_of_its_hash)
{
    const char *key = "abcdefghijklmnop";
    weiri_hash hash = weiri_siphash(hash_key, key, 16, 1, 3);
    weir_identity identity = identified(key, 16);

    cr_assert_eq(identity.word[0], (hash.word[0] & ~UINT64_C(0xff)) | 0x20);
    cr_assert_eq(identity.word[1], hash.word[1]);
    cr_assert_eq(identity.hash, hash.word[0] & ~UINT64_C(0xff));
}

/* One key of each length, in memory of just that length: sanitizers see a byte read beyond. */
static void check_bytes(const unsigned char *bytes, size_t length)
{
    unsigned char *key = malloc(length + 1), back[16];

    cr_assert_not_null(key);
    memcpy(key + 1, bytes, length);
    weir_identity identity = identified(key + 1, length);
    weiri_pair pair = weiri_identity_pair(&identity);
    cr_assert_neq(identity.word[0], 0, "length %zu: EMPTY", length);
    cr_assert_neq(identity.word[0] & 0xff, WEIRI_MARK_SEALED, "length %zu: SEALED", length);
    cr_assert_eq(identity.word[0] & 0xff, length <= 15 ? length + 1 : 0x20);
    cr_assert_eq(weiri_identity_hash(hash_key, pair), identity.hash, "length %zu: the hash of its cell", length);
    if (length <= 15) {
        cr_assert_eq(identity.hash, weiri_siphash(hash_key, key + 1, length, 1, 3).word[0]);
        cr_assert_eq(weiri_identity_bytes(pair, back), length);
        cr_assert_eq(memcmp(back, bytes, length), 0, "length %zu: the bytes back", length);
    } else {
        cr_assert_eq(weiri_identity_bytes(pair, back), 16);
        for (size_t i = 0; i < 16; i++)
            cr_assert_eq(back[i], (unsigned char)(identity.word[i / 8] >> (8 * (i % 8))));
    }
    free(key);
}

Test(identity, gives_back_the_bytes_of_every_length_and_is_never_empty_or_sealed)
{
    random_source random = random_from(random_seed("identity"), 0);
    unsigned char bytes[LONGEST];

    for (size_t length = 0; length <= LONGEST; length++) {
        memset(bytes, 0, sizeof bytes);
        check_bytes(bytes, length);
        memset(bytes, 0xff, sizeof bytes);
        check_bytes(bytes, length);
        for (unsigned round = 0; round < 200; round++) {
            for (size_t i = 0; i < LONGEST; i++)
                bytes[i] = (unsigned char)random_next(&random);
            check_bytes(bytes, length);
        }
    }
}

Test(identity, tells_keys_of_zero_bytes_apart_by_their_length)
{
    static const unsigned char zeros[LONGEST];
    weir_identity all[LONGEST + 1];

    for (size_t length = 0; length <= LONGEST; length++) {
        all[length] = identified(zeros, length);
        for (size_t shorter = 0; shorter < length; shorter++)
            cr_assert(!same(&all[length], &all[shorter]), "%zu and %zu zero bytes", length, shorter);
    }
}

Test(identity, tells_keys_apart_that_differ_in_one_byte_or_a_zero_behind)
{
    unsigned char bytes[LONGEST + 1];

    for (size_t length = 0; length <= LONGEST; length++) {
        memset(bytes, 'k', length);
        bytes[length] = 0;
        weir_identity plain = identified(bytes, length), longer = identified(bytes, length + 1);
        cr_assert(!same(&plain, &longer));
        for (size_t i = 0; i < length; i++)
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[i] ^= (unsigned char)(1U << bit);
                weir_identity other = identified(bytes, length);
                cr_assert(!same(&plain, &other), "length %zu, byte %zu", length, i);
                bytes[i] ^= (unsigned char)(1U << bit);
            }
    }
}

Test(identity, depends_on_the_key_of_the_hash)
{
    static const unsigned char bytes[LONGEST];
    const weiri_hash_key others[] = {{{hash_key.word[0] ^ 1, hash_key.word[1]}},
                                     {{hash_key.word[0], hash_key.word[1] ^ 1}}};

    for (size_t length = 0; length <= LONGEST; length++)
        for (size_t i = 0; i < 2; i++) {
            weir_identity ours = identified(bytes, length), theirs;
            weiri_identify(others[i], bytes, length, &theirs);
            cr_assert_neq(ours.hash, theirs.hash);
            cr_assert_eq(same(&ours, &theirs), length <= 15); /* short ones are the key itself */
        }
}
