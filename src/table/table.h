/*
 * table: key -> cell. Knows nothing of limits: what a state means, and when it has expired, is the caller's to say.
 *
 * Everything is called inside a read section, except init, destroy and count.
 */
#ifndef WEIRI_TABLE_TABLE_H
#define WEIRI_TABLE_TABLE_H

#include "directory.h"

typedef struct weiri_table {
    weiri_directory directory;
    weiri_memory *memory;
    weiri_hash_key hash_key;
    /* Is a state (not UNINIT, FROZEN taken off) still needed at `time`? The same answer from every thread. */
    bool (*live)(const void *context, weiri_pair state, uint64_t time);
    const void *context;
    uint64_t max_keys; /* 0: no bound */
    _Alignas(64) weiri_a64 keys; /* claimed identities, where max_keys is set */
    weiri_sum keys_sum;          /* the same where it is not */
    weiri_sum swept, splits, compactions, helped;
} weiri_table;

/* Where a key stands, as a look found it without storing anything. */
typedef struct weiri_spot {
    weiri_cell *cell; /* the key's, or the EMPTY one that it would claim; NULL where there is none to write to */
    weiri_pair state; /* what holds for the key, FROZEN taken off; UNINIT where nothing is charged */
    uint64_t floor;   /* the largest floor passed on the way */
    bool held;        /* `cell` is the key's own */
} weiri_spot;

bool weiri_table_init(weiri_table *table, weiri_memory *memory);

/* Frees everything; nobody reads. `visit` is called for every state that is not UNINIT. */
void weiri_table_destroy(weiri_table *table, void (*visit)(void *argument, weiri_pair state), void *argument);

/* The whole look: new keys, and migrations under way. */
weiri_spot weiri_table_look_slow(const weiri_table *table, weiri_segment *segment, const weir_identity *identity);

/* Looks for a key from `segment` on, through migrations under way, without a store. The common case is inline: the key's
 * own cell is there, and not frozen. */
static inline weiri_spot weiri_table_look(const weiri_table *table, weiri_segment *segment,
                                          const weir_identity *identity)
{
    weiri_finding finding = weiri_find(segment, weiri_identity_pair(identity), identity->hash);
    if (finding.found == WEIRI_HELD) {
        weiri_pair state = weiri_load_snapshot_128(&finding.cell->state);
        if (!(state.word[0] & WEIRI_FROZEN))
            return (weiri_spot){finding.cell, state, segment->floor, true};
    }
    return weiri_table_look_slow(table, segment, identity);
}

/* Room in the count of keys for one more, and back. */
bool weiri_table_reserve(weiri_table *table);
void weiri_table_unreserve(weiri_table *table, uint64_t keys);
uint64_t weiri_table_count(const weiri_table *table);

/* The segment for a hash after helping every migration on the way; it has no `forward` when looked at. */
weiri_segment *weiri_table_settled(weiri_table *table, uint64_t hash);

/* The first hash after those of `segment`; 0 after the last. */
static inline uint64_t weiri_segment_end(const weiri_segment *segment)
{
    return segment->depth == 0 ? 0 : segment->prefix + (UINT64_C(1) << (64 - segment->depth));
}

#endif
