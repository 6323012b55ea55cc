/*
 * Every atomic operation that weir uses, by name, and the only place outside src/sync's other files where a memory order
 * is chosen. Shared words have types of their own, so that no plain access compiles by accident.
 *
 * The names carry the order: _relaxed, _acquire, _release, _ordered (sequentially consistent); a read-modify-write is
 * acq_rel unless named otherwise.
 *
 * Sixteen bytes. A weiri_a128 is replaced whole, by a 16-byte compare-and-swap, and read as two 8-byte words. C11 knows
 * no such mixture; it holds on the machines we build for:
 *   x86-64   LOCK CMPXCHG16B is a single, locked access to an aligned 16-byte block: every other access, of 8 bytes
 *            too, is ordered before or after it (Intel SDM vol. 3A, 9.1.2; AMD APM vol. 2, 7.3.2). Loads are acquire.
 *   aarch64  CASPAL, or a loop of LDXP or LDAXP with STLXP. References are to the Arm ARM, DDI 0487.
 *     1. A swap that succeeds writes both words as one single-copy atomic access (B2.2.1: where the Store-Exclusive of
 *        a pair succeeds; CASP: where it writes). An 8-byte load is single-copy atomic too. So a word is read from
 *        before a swap or from after it, and both words have the swaps in the same coherence order (B2.2.2).
 *     2. Who reads a word that a swap wrote, and then in order the other word, reads what that swap or a later one
 *        wrote there. Else the second load would come before the swap, the swap before the first load, and the first
 *        load before the second: a cycle in Ordered-before (B2.3). "In order" is what the acquire of the first load
 *        gives, LDAR or LDAPR; relaxed loads of two words have no order.
 *     3. What a swap has read is no such access until it has written: LDXP of two doublewords is two accesses, and a
 *        STLXP that succeeds after it tells that nobody has written between. So a swap that fails may have seen one
 *        word from before another's swap and one from after it. That it fails is right: at one of these moments
 *        something else stood there. The torn value is not returned, callers read again.
 * The compiler's __sync operation is used, on x86-64 with -mcx16: it is inlined, or on aarch64 calls one of libgcc's
 * outline helpers, which look for CASP at run time; gcc's __atomic would call libatomic.
 *
 * weiri_cas_128 acquires, where it fails too, and releases where it succeeds; more must not be asked of it. gcc's
 * helper __aarch64_cas16_sync ends its loop with DMB ISH, on both ways out. But clang's, __aarch64_cas16_acq_rel, has
 * LDAXP and STLXP alone, after which a load may overtake the store; and CASPAL, in both, is a full barrier where it
 * writes, but only acquires where it does not. That the failure acquires is needed: who loses a claim may have seen the
 * winner in word 1 alone, and must find word 0 when it reads again.
 *
 * tests/model/orders.c looks at every execution that the Arm model allows of these operations as they are used here.
 * ThreadSanitizer's runtime may emulate the swap by two plain stores under a lock, so there reads are 16-byte
 * operations as well.
 */
#ifndef WEIRI_SYNC_ATOMIC_H
#define WEIRI_SYNC_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "hook.h"

#if defined(__SANITIZE_THREAD__)
#define WEIRI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIRI_TSAN 1
#endif
#endif
#ifndef WEIRI_TSAN
#define WEIRI_TSAN 0
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "weir needs a 16-byte compare-and-swap whose parts can be read singly: x86-64 or aarch64"
#endif

typedef struct weiri_a32 {
    uint32_t word;
} weiri_a32;

typedef struct weiri_a64 {
    uint64_t word;
} weiri_a64;

typedef struct weiri_apointer {
    void *word;
} weiri_apointer;

__extension__ typedef unsigned __int128 weiri_whole; /* gcc and clang have it; no standard does */

/* A value of sixteen bytes, and a shared place for one. */
typedef struct weiri_pair {
    uint64_t word[2];
} weiri_pair;

typedef struct weiri_a128 {
    _Alignas(16) uint64_t word[2];
} weiri_a128;

static inline bool weiri_pair_equal(weiri_pair a, weiri_pair b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

static inline uint32_t weiri_load_relaxed_32(const weiri_a32 *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_RELAXED);
}

static inline uint32_t weiri_load_acquire_32(const weiri_a32 *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_ACQUIRE);
}

static inline void weiri_store_release_32(weiri_a32 *a, uint32_t value)
{
    WEIRI_HOOK(WEIRI_STORE, a);
    __atomic_store_n(&a->word, value, __ATOMIC_RELEASE);
}

static inline bool weiri_cas_32(weiri_a32 *a, uint32_t expected, uint32_t desired)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_compare_exchange_n(&a->word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Sequentially consistent, for a store (or an update) followed by a look at another word: of two threads that do this the
 * other way round, one at least sees the other's. */
static inline uint32_t weiri_load_ordered_32(const weiri_a32 *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_SEQ_CST);
}

static inline void weiri_store_ordered_32(weiri_a32 *a, uint32_t value)
{
    WEIRI_HOOK(WEIRI_STORE, a);
    __atomic_store_n(&a->word, value, __ATOMIC_SEQ_CST);
}

static inline void weiri_add_ordered_32(weiri_a32 *a, uint32_t amount)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    __atomic_add_fetch(&a->word, amount, __ATOMIC_SEQ_CST);
}

static inline uint64_t weiri_load_relaxed_64(const weiri_a64 *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_RELAXED);
}

static inline uint64_t weiri_load_acquire_64(const weiri_a64 *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_ACQUIRE);
}

static inline void weiri_store_relaxed_64(weiri_a64 *a, uint64_t value)
{
    WEIRI_HOOK(WEIRI_STORE, a);
    __atomic_store_n(&a->word, value, __ATOMIC_RELAXED);
}

static inline void weiri_store_release_64(weiri_a64 *a, uint64_t value)
{
    WEIRI_HOOK(WEIRI_STORE, a);
    __atomic_store_n(&a->word, value, __ATOMIC_RELEASE);
}

static inline bool weiri_cas_64(weiri_a64 *a, uint64_t expected, uint64_t desired)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_compare_exchange_n(&a->word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* For statistics, which order nothing. */
static inline uint32_t weiri_add_relaxed_32(weiri_a32 *a, uint32_t amount)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_add_fetch(&a->word, amount, __ATOMIC_RELAXED);
}

static inline uint64_t weiri_add_relaxed_64(weiri_a64 *a, uint64_t amount)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_add_fetch(&a->word, amount, __ATOMIC_RELAXED);
}

static inline void weiri_sub_relaxed_64(weiri_a64 *a, uint64_t amount)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    __atomic_fetch_sub(&a->word, amount, __ATOMIC_RELAXED);
}

static inline void *weiri_load_acquire_pointer(const weiri_apointer *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_ACQUIRE);
}

static inline void *weiri_load_relaxed_pointer(const weiri_apointer *a)
{
    WEIRI_HOOK(WEIRI_LOAD, a);
    return __atomic_load_n(&a->word, __ATOMIC_RELAXED);
}

static inline void weiri_store_release_pointer(weiri_apointer *a, void *value)
{
    WEIRI_HOOK(WEIRI_STORE, a);
    __atomic_store_n(&a->word, value, __ATOMIC_RELEASE);
}

static inline void *weiri_exchange_pointer(weiri_apointer *a, void *value)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_exchange_n(&a->word, value, __ATOMIC_ACQ_REL);
}

static inline bool weiri_cas_pointer(weiri_apointer *a, void *expected, void *desired)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    return __atomic_compare_exchange_n(&a->word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Replaces sixteen bytes if they are `expected`. Acquires, and where it succeeds releases; no full barrier. */
static inline bool weiri_cas_128(weiri_a128 *a, weiri_pair expected, weiri_pair desired)
{
    WEIRI_HOOK(WEIRI_UPDATE, a);
    weiri_whole old = ((weiri_whole)expected.word[1] << 64) | expected.word[0];
    weiri_whole new = ((weiri_whole)desired.word[1] << 64) | desired.word[0];
    return __sync_bool_compare_and_swap((weiri_whole *)(void *)a->word, old, new);
}

#if WEIRI_TSAN
static inline weiri_pair weiri_load_whole_128(const weiri_a128 *a)
{
    weiri_whole *place = (weiri_whole *)(uintptr_t)a->word; /* swapping 0 for 0 writes nothing new */
    weiri_whole value = __sync_val_compare_and_swap(place, 0, 0);
    return (weiri_pair){{(uint64_t)value, (uint64_t)(value >> 64)}};
}
#endif

/*
 * Reads a place that goes once from zero to its final value, whose word 0 is not zero: word 0 first, acquire, then
 * word 1, which is final once word 0 is seen (2 above).
 */
static inline weiri_pair weiri_load_once_128(const weiri_a128 *a)
{
#if WEIRI_TSAN
    return weiri_load_whole_128(a);
#else
    weiri_pair pair;
    WEIRI_HOOK(WEIRI_LOAD, a);
    pair.word[0] = __atomic_load_n(&a->word[0], __ATOMIC_ACQUIRE);
    WEIRI_HOOK(WEIRI_LOAD, a);
    pair.word[1] = __atomic_load_n(&a->word[1], __ATOMIC_RELAXED);
    return pair;
#endif
}

/*
 * Reads a place whose word 0 never comes back to a value with another word 1 in between unseen (the cell's states, see
 * table/segment.h): word 0, word 1, word 0 again; equal word 0s mean that the pair stood there at one moment. Word 1 is
 * read from the swap that gave word 0 or from a later one, since word 0 is acquired; and the second word 0 from the
 * swap that gave word 1 or from a later one, since word 1 is acquired (2 above, twice). So the swap that gave word 1
 * lies between two that wrote the same word 0, and wrote it too; of the one word 0 that does come back, and what may be
 * read beside it, see limiter/node.h. The second reading need order nothing, and cannot be early: it stands behind both
 * acquires. Lock-free: a repetition means that somebody's swap succeeded.
 */
static inline weiri_pair weiri_load_snapshot_128(const weiri_a128 *a)
{
#if WEIRI_TSAN
    return weiri_load_whole_128(a);
#else
    weiri_pair pair;
    do {
        WEIRI_HOOK(WEIRI_LOAD, a);
        pair.word[0] = __atomic_load_n(&a->word[0], __ATOMIC_ACQUIRE);
        WEIRI_HOOK(WEIRI_LOAD, a);
        pair.word[1] = __atomic_load_n(&a->word[1], __ATOMIC_ACQUIRE);
        WEIRI_HOOK(WEIRI_LOAD, a);
    } while (pair.word[0] != __atomic_load_n(&a->word[0], __ATOMIC_RELAXED));
    return pair;
#endif
}

#endif
