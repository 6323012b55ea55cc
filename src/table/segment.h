/*
 * segment: a line of header and a power of two of cells; where a key is looked for.
 *
 *   header   capacity, depth, prefix, floor; forward -> migration; done
 *   cell     { identity : 16 bytes, state : 16 bytes }, each half replaced whole by a 16-byte compare-and-swap
 *
 *   identity    EMPTY --claim--> a key's, for ever            UNINIT --first charge--> value <--charges, reset-->
 *                 |                                  state:      |                      |
 *                 +------seal--> SEALED, for ever                +---------freeze-------+--> FROZEN, for ever
 *
 * Word 0 of a state keeps bit 0 for FROZEN and is otherwise the limiter's; {0, 0} is UNINIT, and nobody stores it.
 *
 * What is relied on (see docs/design.md for the proofs):
 *  S1  A key claims the first EMPTY cell of its probe order, and identities never go back to EMPTY. So a look that meets
 *      the key, EMPTY, SEALED or the end has seen enough: the key cannot stand further on. One cell a key.
 *  S2  A state is changed only by a swap that expects it without FROZEN; FROZEN and SEALED come only after `forward` is
 *      set. So who sees them sees `forward` (the swap releases, the reading acquires).
 *  S3  Word 0 of a state never returns to an earlier value with another word 1 between (a counter's index only grows, a
 *      node's address is not used again while a reader could hold it), for weiri_load_snapshot_128; save FRESH, beside
 *      which any word 1 between two drop times does, since beside nodes it only grows (limiter/node.h).
 *  S4  A segment gets new identities, and a migration of its own, only after its predecessor is done.
 */
#ifndef WEIRI_TABLE_SEGMENT_H
#define WEIRI_TABLE_SEGMENT_H

#include "../sync/atomic.h"
#include "../sync/memory.h"
#include "identity.h"

/* Tests build the library with tiny segments. A capacity is 0 or a power of two from MIN. */
#ifndef WEIRI_CAPACITY_MIN
#define WEIRI_CAPACITY_MIN 8
#endif
#ifndef WEIRI_CAPACITY_MAX
#define WEIRI_CAPACITY_MAX 64 /* beyond it a segment is split; larger ones are a last resort */
#endif
#ifndef WEIRI_PROBES
#define WEIRI_PROBES 16 /* how far from its first place a key may be claimed; copies go anywhere */
#endif

#define WEIRI_FROZEN UINT64_C(1)

typedef struct weiri_cell {
    weiri_a128 identity;
    weiri_a128 state;
} weiri_cell;

typedef struct weiri_migration weiri_migration;

typedef struct weiri_segment {
    weiri_retired retired;
    weiri_apointer forward; /* weiri_migration, or NULL; set once */
    uint64_t prefix;        /* the hash bits all its keys share, at the top; zeros below */
    uint64_t floor;         /* no decision here runs earlier, ns */
    uint32_t capacity;
    uint8_t depth;  /* number of those bits */
    uint8_t lead;   /* bytes of its memory before it, or WEIRI_POOLED */
    weiri_a32 done; /* 1: everything live is in the successors */
    weiri_cell cell[];
} weiri_segment;

_Static_assert(sizeof(weiri_cell) == 32, "two cells a line");
_Static_assert(sizeof(weiri_segment) == 64, "the header is one line");

static inline bool weiri_uninit(weiri_pair state)
{
    return (state.word[0] | state.word[1]) == 0;
}

static inline weiri_pair weiri_thawed(weiri_pair state)
{
    state.word[0] &= ~WEIRI_FROZEN;
    return state;
}

/*
 * The memory a segment takes. One with cells begins on a line, so that a line holds two whole cells; it is placed so in
 * memory of the alignment that every allocator gives without loss: the C library's aligned allocation leaves holes that
 * its like does not fit in again, and a growing table took a third more. In a large table those of the largest usual
 * capacity come from a pool, where they are on lines by themselves.
 */
enum { WEIRI_LINE = 64, WEIRI_SEGMENT_ALIGNMENT = 16, WEIRI_POOLED = 0xff };

/* What it fills itself, and what it may take from an allocator. */
static inline size_t weiri_segment_fills(uint32_t capacity)
{
    return sizeof(weiri_segment) + (size_t)capacity * sizeof(weiri_cell);
}

static inline size_t weiri_segment_size(uint32_t capacity)
{
    size_t placing = capacity == 0 ? 0 : WEIRI_LINE - WEIRI_SEGMENT_ALIGNMENT;
    return placing + weiri_segment_fills(capacity);
}

/* What it takes, wherever it comes from. */
static inline size_t weiri_segment_takes(const weiri_segment *segment)
{
    return segment->lead == WEIRI_POOLED ? weiri_segment_fills(segment->capacity)
                                         : weiri_segment_size(segment->capacity);
}

static inline weiri_migration *weiri_forward(const weiri_segment *segment)
{
    return weiri_load_acquire_pointer(&segment->forward); /* its fields and successors were written before it was set */
}

static inline bool weiri_done(const weiri_segment *segment)
{
    return weiri_load_acquire_32(&segment->done) != 0; /* all copies were made before it was set */
}

/* How many cells a new claim may look at. A quarter of an oversized segment, so that it cannot outgrow its keys. */
static inline uint32_t weiri_probes(uint32_t capacity)
{
    if (capacity <= WEIRI_CAPACITY_MAX)
        return capacity < WEIRI_PROBES ? capacity : WEIRI_PROBES;
    return capacity / 4 > WEIRI_PROBES ? capacity / 4 : WEIRI_PROBES;
}

/* The first cell of a key's probe order. The lowest 8 bits of a hash are no hash. */
static inline uint32_t weiri_first_cell(const weiri_segment *segment, uint64_t hash)
{
    return (uint32_t)(hash >> 8) & (segment->capacity - 1);
}

/* Cell i of the order that begins at `first`: line by line, wrapping round; of the first line, `first` itself first. */
static inline weiri_cell *weiri_probed_cell(weiri_segment *segment, uint32_t first, uint32_t i)
{
    uint32_t odd = first & 1; /* a line holds two cells: for an odd one each pair comes the other way round */
    return &segment->cell[(first - odd + (i ^ odd)) & (segment->capacity - 1)];
}

/* Fetches the header, and the line where a look begins in a segment of the largest usual capacity: both at once. */
static inline void weiri_segment_prefetch(const weiri_segment *segment, uint64_t hash)
{
    uintptr_t cells = (uintptr_t)segment + sizeof *segment;
    __builtin_prefetch(segment);
    __builtin_prefetch((const void *)(cells + ((hash >> 8) & (WEIRI_CAPACITY_MAX - 1)) * sizeof(weiri_cell)));
}

enum weiri_found {
    WEIRI_HELD,   /* `cell` is the key's */
    WEIRI_FREE,   /* the key is not here; `cell` is the first EMPTY one */
    WEIRI_SEALED, /* the key is not here, nor will it be */
    WEIRI_FULL    /* the key is not here, and no EMPTY cell is among the first weiri_probes */
};

typedef struct weiri_finding {
    enum weiri_found found;
    weiri_cell *cell;
} weiri_finding;

/* One cell after the other. */
static inline weiri_finding weiri_find_in_order(weiri_segment *segment, weiri_pair identity, uint32_t first)
{
    for (uint32_t i = 0; i < segment->capacity; i++) {
        weiri_cell *cell = weiri_probed_cell(segment, first, i);
        weiri_pair here = weiri_load_once_128(&cell->identity);
        if (weiri_pair_equal(here, identity))
            return (weiri_finding){WEIRI_HELD, cell};
        if (here.word[0] == 0)
            return i < weiri_probes(segment->capacity) ? (weiri_finding){WEIRI_FREE, cell}
                                                       : (weiri_finding){WEIRI_FULL, NULL};
        if (here.word[0] == WEIRI_MARK_SEALED)
            return (weiri_finding){WEIRI_SEALED, NULL};
    }
    return (weiri_finding){WEIRI_FULL, NULL};
}

/* Is the key in this cell? 1 or 0, without a branch. */
static inline uint32_t weiri_holds(const weiri_cell *cell, weiri_pair identity)
{
    weiri_pair here = weiri_load_once_128(&cell->identity);
    return ((here.word[0] ^ identity.word[0]) | (here.word[1] ^ identity.word[1])) == 0;
}

/* Looks on the first line of a key's order, for a key that begins at `first`; then on all. */
static inline __attribute__((always_inline)) weiri_finding weiri_find_from(weiri_segment *segment, weiri_pair identity,
                                                                           uint32_t first)
{
    uint32_t own = weiri_holds(&segment->cell[first], identity);
    uint32_t other = weiri_holds(&segment->cell[first ^ 1], identity);
    if (own | other)
        return (weiri_finding){WEIRI_HELD, &segment->cell[first ^ other]};
    return weiri_find_in_order(segment, identity, first);
}

/*
 * Looks without claiming. Whether FULL holds for ever is not said: cells may be EMPTY beyond the probes.
 * Most keys are on their first line, in one of two cells: which one cannot be predicted, so that is no branch. Most
 * segments are of the largest usual capacity: that is a branch, so that the cells' address does not wait for the header.
 */
static inline __attribute__((always_inline)) weiri_finding weiri_find(weiri_segment *segment, weiri_pair identity,
                                                                      uint64_t hash)
{
    if (segment->capacity == WEIRI_CAPACITY_MAX)
        return weiri_find_from(segment, identity, (uint32_t)(hash >> 8) & (WEIRI_CAPACITY_MAX - 1));
    if (segment->capacity == 0)
        return (weiri_finding){WEIRI_FULL, NULL};
    return weiri_find_from(segment, identity, weiri_first_cell(segment, hash));
}

/* Claims an EMPTY cell. False: somebody else claimed or sealed it; look again. */
static inline bool weiri_claim(weiri_cell *cell, weiri_pair identity)
{
    return weiri_cas_128(&cell->identity, (weiri_pair){{0, 0}}, identity);
}

/* A segment without keys, or NULL. */
weiri_segment *weiri_segment_new(weiri_memory *memory, uint32_t capacity, uint64_t prefix, uint8_t depth,
                                 uint64_t floor);

/* Frees one segment alone; `forward` and successors are the migration's. */
void weiri_segment_free(weiri_memory *memory, weiri_segment *segment);

#endif
