/*
 * migration: the descriptor that `forward` leads to. Everything but `selected` is constant once published.
 */
#ifndef WEIRI_TABLE_MIGRATION_H
#define WEIRI_TABLE_MIGRATION_H

#include "segment.h"

/* `hash` bits after the first `depth`. Shifts by 64 are undefined, hence two. */
static inline uint64_t weiri_hash_bits(uint64_t hash, unsigned depth, unsigned bits)
{
    return (hash << depth) >> 1 >> (63 - bits);
}

struct weiri_migration {
    uint64_t time;               /* T: what is expired at it is dropped */
    weiri_segment *successor[2]; /* split: by the next hash bit; else: full capacity, and a smaller one or NULL */
    weiri_a32 selected;          /* 0 open, else 1 + the index in `successor`; split: 1 from the start */
    uint32_t small_fits;         /* the smaller one is selected when at most so many are live */
    bool split;
};

/* Where a hash goes on; NULL while the selection is open. */
static inline weiri_segment *weiri_successor(const weiri_segment *segment, const weiri_migration *migration,
                                             uint64_t hash)
{
    if (migration->split)
        return migration->successor[weiri_hash_bits(hash, segment->depth, 1)];
    uint32_t selected = weiri_load_acquire_32(&migration->selected);
    return selected == 0 ? NULL : migration->successor[selected - 1];
}

/* The successor that nobody will ever touch, or NULL. The selection must be fixed. */
static inline weiri_segment *weiri_not_selected(const weiri_migration *migration)
{
    return migration->split ? NULL : migration->successor[2 - weiri_load_acquire_32(&migration->selected)];
}

/*
 * A descriptor and its successors: split, or one of `capacity` and, where small_capacity < capacity, a smaller one.
 * NULL: no memory.
 */
weiri_migration *weiri_migration_new(weiri_memory *memory, const weiri_segment *segment, uint64_t time, bool split,
                                     uint32_t capacity, uint32_t small_capacity);

/* Frees a descriptor that was never published, successors included. */
void weiri_migration_free(weiri_memory *memory, weiri_migration *migration);

/* Frees a segment, and where it has migrated its descriptor and the successor not selected. Nobody reads. */
void weiri_segment_destroy(weiri_memory *memory, weiri_segment *segment);

/* Retires a done segment that no directory entry leads to. */
void weiri_segment_retire(weiri_memory *memory, weiri_segment *segment);

#endif
