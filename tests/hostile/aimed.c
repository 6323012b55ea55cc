/*
 * Guarantee D, "nor aim keys at one place of the table": an attacker tries millions of keys under a hash key of his
 * own, or on a limiter of his own in the same process, and keeps the thousands whose hashes agree in 12 bits, of those
 * that choose the segment and those that choose the cell. Under the limiter's own random key they must spread as all do.
 *
 * What is asserted, with the chance that a sound library fails it (n = 4096 keys of random hashes):
 *   - no more than 64 keys have the same 8 top bits, nor the same 8 bits above the lowest 8: Binomial(4096, 1/256) has
 *     mean 16; by Chernoff P(X > 64) < e^-16 (e/4)^64 < 2e-18, for 512 places and 7 lists < 1e-14;
 *   - no segment is deeper than 17 bits: that takes 16 keys that agree in 17 bits, 4096^16 / 16! * 2^-255 < 2^-100;
 *   - none has more than 256 cells: that takes 65 keys that agree in the 9 bits that a directory of this size can
 *     always afford, of a mean of 8: < 1e-30; or 65 in one segment that all agree in its next bit: < 2^-50;
 *   - after a sweep, at most 64 KiB + 160 bytes a key (guarantee F).
 * All together less than 1e-12 in a run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"
#include "limiter/limiter.h"

enum { KEYS = 4096, PLACES = 256, MOST_IN_A_PLACE = 64, DEEPEST = 17, MOST_CELLS = 256, LIMITERS = 1000, LIMIT = 3 };

#define NOW  (1000 * WEIR_SECOND)
#define AIM  UINT64_C(0xff00000000000f00) /* 8 bits of the segment, 4 of the cell */
#define AT   UINT64_C(0x5a00000000000300)

typedef struct list {
    const char *name;
    size_t size; /* bytes a key */
    uint64_t keys, tries;
    unsigned char bytes[KEYS][32];
} list;

/* Says where the attacker believes that a key goes. */
typedef uint64_t (*belief)(const void *how, const void *bytes, size_t size);

static uint64_t own_key(const void *how, const void *bytes, size_t size)
{
    weir_identity identity;
    weiri_identify(*(const weiri_hash_key *)how, bytes, size, &identity);
    return identity.hash;
}

static uint64_t own_limiter(const void *how, const void *bytes, size_t size)
{
    weir_identity identity;
    want_done("weir_identify", weir_identify(how, bytes, size, &identity));
    return identity.hash;
}

/* Tries keys until `keys` of them agree; `believes` NULL: takes every key, for comparison. */
static void aim(list *made, size_t size, uint64_t keys, belief believes, const void *how, uint64_t *random)
{
    made->size = size;
    made->keys = made->tries = 0;
    while (made->keys < keys) {
        unsigned char *bytes = made->bytes[made->keys];
        uint64_t salt = random_next(random);
        memset(bytes, 'a', size);
        memcpy(bytes + size - 12, &salt, 8);
        memcpy(bytes + size - 4, &made->tries, 4); /* no two are the same */
        made->tries++;
        if (!believes || (believes(how, bytes, size) & AIM) == AT)
            made->keys++;
    }
}

static weir *open_counter(void)
{
    rule_set set = rule_set_of(KIND_COUNTER, LIMIT, WEIR_HOUR);
    weir_options options = weir_options_manual();
    return opened(&set, &options);
}

/* How full the fullest of 256 places is, by the bits of the hash from `shift` on. */
static uint64_t fullest(const weir *limiter, const list *made, unsigned shift)
{
    uint64_t held[PLACES] = {0}, most = 0;
    for (uint64_t i = 0; i < made->keys; i++) {
        weir_identity identity;
        want_done("weir_identify", weir_identify(limiter, made->bytes[i], made->size, &identity));
        uint64_t here = ++held[identity.hash >> shift & (PLACES - 1)];
        most = here > most ? here : most;
    }
    return most;
}

typedef struct shape_of_table {
    uint64_t segments, deepest, largest, keys, most_keys;
} shape_of_table;

static shape_of_table walk(weir *limiter)
{
    shape_of_table shape = {0};
    uint64_t hash = 0;
    weiri_rcu_enter();
    do {
        weiri_segment *segment = weiri_table_settled(&limiter->table, hash);
        uint64_t claimed = weiri_segment_census(&limiter->table, segment, 0).claimed;
        shape.segments++;
        shape.keys += claimed;
        shape.most_keys = claimed > shape.most_keys ? claimed : shape.most_keys;
        shape.deepest = segment->depth > shape.deepest ? segment->depth : shape.deepest;
        shape.largest = segment->capacity > shape.largest ? segment->capacity : shape.largest;
        hash = weiri_segment_end(segment);
    } while (hash != 0);
    weiri_rcu_leave();
    return shape;
}

static void charge_all(weir *limiter, const list *made)
{
    for (unsigned round = 0; round <= LIMIT; round++)
        for (uint64_t i = 0; i < made->keys; i++) {
            weir_request request = weir_request_for(made->bytes[i], made->size);
            int verdict = weir_take(limiter, &request, NOW, NULL);
            if (verdict != (round < LIMIT))
                failed("%s: call %u of key %" PRIu64 ": got %d", made->name, round + 1, i, verdict);
        }
}

static void spreads(const list *made)
{
    weir *limiter = open_counter();
    want_at_most("keys with the same top bits", MOST_IN_A_PLACE, fullest(limiter, made, 56));
    want_at_most("keys with the same bits for the cell", MOST_IN_A_PLACE, fullest(limiter, made, 8));
    charge_all(limiter, made);
    shape_of_table shape = walk(limiter);
    want_equal("keys in the table", made->keys, shape.keys);
    want_at_most("depth of a segment", DEEPEST, shape.deepest);
    want_at_most("cells of a segment", MOST_CELLS, shape.largest);
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(limiter, NOW, 0));
    want_done("weir_reclaim", weir_reclaim(limiter));
    uint64_t bytes = stats_of(limiter).bytes;
    want_at_most("bytes after a sweep", 65536 + 160 * made->keys, bytes);
    printf("%-34s %8" PRIu64 " tried: %3" PRIu64 " segments, deepest %2" PRIu64 ", at most %" PRIu64
           " keys in one, %.1f bytes a key\n",
           made->name, made->tries, shape.segments, shape.deepest, shape.most_keys,
           (double)bytes / (double)made->keys);
    want_done("weir_close", weir_close(limiter));
}

/* The aim must be true where it is believed, or it proves nothing. */
static void aims_true(weir *target, const list *made)
{
    want_equal("keys where the attacker wants them", made->keys, fullest(target, made, 56));
}

static void attack(list *made, size_t size, const char *name, belief believes, const void *how, uint64_t *random)
{
    made->name = name;
    aim(made, size, scaled(KEYS, 256) < KEYS ? scaled(KEYS, 256) : KEYS, believes, how, random);
    spreads(made);
}

static int by_words(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(uint64_t));
}

/* No two limiters have a word of their secrets in common: by chance 3 * 1000^2 / 2 * 2^-64 < 1e-12. */
static void have_keys_of_their_own(void)
{
    static uint64_t secret[LIMITERS][3];
    for (unsigned i = 0; i < LIMITERS; i++) {
        weir *limiter = open_counter();
        secret[i][0] = limiter->table.hash_key.word[0];
        secret[i][1] = limiter->table.hash_key.word[1];
        secret[i][2] = limiter->owner;
        want_done("weir_close", weir_close(limiter));
    }
    for (unsigned word = 0; word < 3; word++) {
        for (unsigned i = 0; i < LIMITERS; i++) { /* this word to the front */
            uint64_t first = secret[i][0];
            secret[i][0] = secret[i][word];
            secret[i][word] = first;
        }
        qsort(secret, LIMITERS, sizeof(secret[0]), by_words);
        for (unsigned i = 1; i < LIMITERS; i++)
            if (secret[i][0] == secret[i - 1][0])
                failed("two limiters have word %u of their secrets in common", word);
    }
}

/* A short key is its own identity, the same everywhere; its place must not be, and comes from the limiter's key. */
static void short_keys_have_secret_places(const weir *a, const weir *b)
{
    static const unsigned char zeros[WEIRI_KEY_INLINE];
    for (size_t size = 0; size <= WEIRI_KEY_INLINE; size++) {
        weir_identity here, there, by_hand;
        want_done("weir_identify", weir_identify(a, zeros, size, &here));
        want_done("weir_identify", weir_identify(b, zeros, size, &there));
        want_equal("word 0 of a short key", here.word[0], there.word[0]);
        want_equal("word 1 of a short key", here.word[1], there.word[1]);
        if (here.hash >> 8 == there.hash >> 8) /* by chance: 16 * 2^-56 */
            failed("%zu zero bytes: the same place in two limiters", size);
        weiri_identify(a->table.hash_key, zeros, size, &by_hand);
        want_equal("the place of a short key", by_hand.hash, here.hash);
    }
}

int main(void)
{
    static list made;
    uint64_t random = seed_of_run();
    const weiri_hash_key zero = {{0, 0}}, wrong = {{random_next(&random), random_next(&random)}};
    weir *others = open_counter(), *third = open_counter();

    have_keys_of_their_own();
    short_keys_have_secret_places(others, third);
    attack(&made, 24, "long keys, as they come", NULL, NULL, &random);
    attack(&made, 24, "long keys, a wrong hash key", own_key, &wrong, &random);
    attack(&made, 31, "long keys, a hash key of zeros", own_key, &zero, &random);
    attack(&made, 13, "short keys, a wrong hash key", own_key, &wrong, &random);
    attack(&made, 15, "short keys, a hash key of zeros", own_key, &zero, &random);
    attack(&made, 24, "long keys, another limiter's places", own_limiter, others, &random);
    aims_true(others, &made);
    attack(&made, 13, "short keys, another limiter's places", own_limiter, others, &random);
    aims_true(others, &made);
    want_done("weir_close", weir_close(others));
    want_done("weir_close", weir_close(third));
    return 0;
}
