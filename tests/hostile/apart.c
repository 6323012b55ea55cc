/*
 * Guarantee D, "told apart by every byte and the length": keys made to be mistaken for one another. Zeros, and ones, of
 * every length around the bounds; keys that differ in one byte at the front, in the middle or at the end; keys that are
 * the identity of another key, or the identity of that; keys that look like a mark of the table. All of them go into
 * one limiter, in an order of the run's, and each is accepted exactly to its limit; a walk shows each once, the short
 * ones byte by byte. Every way of keeping a key's state; an identity of one limiter is nothing to another.
 *
 * By chance two of the long keys meet with less than n^2 / 2 * 2^-120 < 2^-90.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"
#include "table/identity.h"

enum { LIMIT = 3, KEYS_MAX = 8192 };

#define NOW (1000 * WEIR_SECOND)

typedef struct hostile_key {
    unsigned char *bytes;
    size_t size;
    uint64_t shown; /* by a walk */
    weir_identity identity;
} hostile_key;

static hostile_key keys[KEYS_MAX];
static size_t key_count;
static uint64_t calls_made;

/* In memory of just that size, so that a sanitizer sees a byte read beyond. */
static unsigned char *add(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy || key_count == KEYS_MAX)
        failed("no room for another key");
    if (size)
        memcpy(copy, bytes, size);
    keys[key_count++] = (hostile_key){.bytes = copy, .size = size};
    return copy;
}

static int by_bytes(const void *a, const void *b)
{
    const hostile_key *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63,
                               64, 65, 255, 256, 257, 4096, 65534, 65535};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

/* The same byte throughout, at every length; then one byte changed: the first, the last, the one in the middle. */
static void add_uniform(void)
{
    static unsigned char bytes[WEIR_KEY_MAX];
    static const unsigned char fill[] = {0, 0xff, 1, 0x10, WEIRI_MARK_HASHED, 'k'};
    for (size_t f = 0; f < sizeof(fill); f++)
        for (size_t i = 0; i < SIZES; i++) {
            size_t size = sizes[i], places[] = {0, size / 2, size - 1};
            memset(bytes, fill[f], size);
            add(bytes, size);
            for (size_t place = 0; place < 3 && size > 0; place++) {
                bytes[places[place]] ^= 0x80;
                add(bytes, size);
                bytes[places[place]] ^= 0x80;
            }
        }
}

/* One bit of difference, anywhere, around the length at which keys are hashed. */
static void add_single_bits(void)
{
    for (size_t size = 14; size <= 18; size++)
        for (size_t bit = 0; bit < 8 * size; bit++) {
            unsigned char bytes[18];
            memset(bytes, 'b', size);
            bytes[bit / 8] ^= (unsigned char)(1 << (bit % 8));
            add(bytes, size);
        }
}

/* The identity's words as bytes, the way they stand in a cell and the way weir_each shows them; cut short as well. */
static void add_looks_of(const weir *limiter, const void *bytes, size_t size, unsigned depth)
{
    weir_identity identity;
    unsigned char stored[24], shown[16];
    want_done("weir_identify", weir_identify(limiter, bytes, size, &identity));
    memcpy(stored, identity.word, 16);
    memcpy(stored + 16, &identity.hash, 8);
    size_t shown_size = weiri_identity_bytes(weiri_identity_pair(&identity), shown);
    add(stored, 15);
    add(stored + 1, 15);
    add(stored + 8, 8);
    add(stored, 24);
    add(shown, shown_size);
    unsigned char *again = add(stored, 16);
    if (depth > 1)
        add_looks_of(limiter, again, 16, depth - 1);
}

/* Marks of the table in the places where identities have theirs. */
static void add_marks(void)
{
    static const unsigned char marks[] = {0, 1, 15, 16, 17, WEIRI_MARK_HASHED, WEIRI_MARK_SEALED};
    for (size_t i = 0; i < sizeof(marks); i++)
        for (size_t size = 1; size <= 17; size++)
            for (size_t at = 0; at < size; at += size > 1 ? size - 1 : 1) {
                unsigned char bytes[17] = {0};
                bytes[at] = marks[i];
                add(bytes, size);
            }
}

static void drop_doubles(void)
{
    size_t kept = 0;
    qsort(keys, key_count, sizeof(*keys), by_bytes);
    for (size_t i = 0; i < key_count; i++) {
        if (kept > 0 && by_bytes(&keys[kept - 1], &keys[i]) == 0)
            free(keys[i].bytes);
        else
            keys[kept++] = keys[i];
    }
    key_count = kept;
}

static void make_keys(const weir *limiter)
{
    add_uniform();
    add_single_bits();
    add_marks();
    for (size_t i = 0, first = key_count; i < first; i += 7)
        add_looks_of(limiter, keys[i].bytes, keys[i].size, 3);
    drop_doubles();
    for (size_t i = 0; i < key_count; i++)
        want_done("weir_identify", weir_identify(limiter, keys[i].bytes, keys[i].size, &keys[i].identity));
}

static void free_keys(void)
{
    for (size_t i = 0; i < key_count; i++)
        free(keys[i].bytes);
    key_count = 0;
}

static int tick_off(void *unused, const weir_key *shown)
{
    (void)unused;
    for (size_t i = 0; i < key_count; i++) {
        const weir_identity *own = &keys[i].identity;
        if (own->word[0] != shown->identity.word[0] || own->word[1] != shown->identity.word[1])
            continue;
        bool hashed = keys[i].size > WEIRI_KEY_INLINE;
        want_equal("hashed", hashed, shown->hashed);
        want_equal("length of a key shown", hashed ? 16 : keys[i].size, shown->key_len);
        if (!hashed && keys[i].size && memcmp(shown->key, keys[i].bytes, keys[i].size) != 0)
            failed("key %zu of %zu bytes is shown with other bytes", i, keys[i].size);
        want_equal("hash of an identity shown", own->hash, shown->identity.hash);
        want_equal("owner of an identity shown", own->owner, shown->identity.owner);
        keys[i].shown++;
        return 0;
    }
    failed("weir_each shows a key that nobody charged");
}

static void walk(weir *limiter)
{
    want_done("weir_each", weir_each(limiter, NOW, tick_off, NULL));
    for (size_t i = 0; i < key_count; i++)
        want_equal("times that a key is shown", 1, keys[i].shown);
}

/* An identity made by `foreign` says nothing here. */
static void refuses_identity_of(const weir *foreign, weir *limiter)
{
    weir_identity theirs;
    want_done("weir_identify", weir_identify(foreign, "key", 3, &theirs));
    weir_request request = {.identity = &theirs, .cost = 1};
    want_equal("an identity of another limiter", (uint64_t)-EINVAL, (uint64_t)weir_take(limiter, &request, NOW, NULL));
}

static void shuffle(uint64_t *random)
{
    for (size_t i = key_count; i > 1; i--) {
        size_t other = random_below(random, i);
        hostile_key swapped = keys[i - 1];
        keys[i - 1] = keys[other];
        keys[other] = swapped;
    }
}

/* In every round each key is asked once, in an order of the round's; by its bytes or by its identity. */
static void charge_all(weir *limiter, const char *name, uint64_t *random)
{
    for (unsigned round = 0; round <= LIMIT; round++) {
        shuffle(random);
        for (size_t i = 0; i < key_count; i++) {
            const hostile_key *key = &keys[i];
            weir_request request = weir_request_for(key->bytes, key->size);
            weir_decision decision;
            if ((i + round) % 2)
                request = (weir_request){.identity = &key->identity, .cost = 1};
            int verdict = weir_take(limiter, &request, NOW, &decision);
            uint64_t left = round < LIMIT ? LIMIT - 1 - round : 0;
            if (verdict != (round < LIMIT) || decision.remaining != left || decision.flags != 0)
                failed("%s, call %u of a key of %zu bytes: wanted %d and %" PRIu64 " remaining, got %d and %" PRIu64
                       ", flags %u",
                       name, round + 1, key->size, round < LIMIT, left, verdict, decision.remaining, decision.flags);
            calls_made++;
        }
    }
}

int main(void)
{
    uint64_t random = seed_of_run();
    size_t most = 0;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rule_set set = rule_set_of((enum kind)kind, LIMIT, WEIR_HOUR);
        weir_options options = weir_options_manual();
        weir *limiter = opened(&set, &options), *foreign = opened(&set, &options);
        make_keys(limiter);
        most = key_count;
        charge_all(limiter, set.name, &random);
        want_equal("keys held", key_count, stats_of(limiter).keys);
        refuses_identity_of(foreign, limiter);
        walk(limiter);
        free_keys();
        want_done("weir_close", weir_close(limiter));
        want_done("weir_close", weir_close(foreign));
    }
    printf("apart: %zu keys, %" PRIu64 " calls\n", most, calls_made);
    return 0;
}
