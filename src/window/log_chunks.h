/*
 * log_chunks: where the records of a log stand, and how room for one more is made. For log.c, log_chunks.c and
 * log_trim.c alone.
 *
 * A record is one word (stamp) or two (stamp, running total before it).
 *
 * Holds for every log: chunks[dead] holds the number `first` (where dead < chunks), bases grow by the capacities from
 * there on, and numbers told relative to `first` never wrap: next - first < 2^32.
 */
#ifndef WEIRI_WINDOW_LOG_CHUNKS_H
#define WEIRI_WINDOW_LOG_CHUNKS_H

#include "log.h"

enum { WEIRI_LOG_STAMP = 0, WEIRI_LOG_BEFORE = 1 };
enum { WEIRI_LOG_SMALL = 64 }; /* up to this many live records are moved, beyond it chunks are appended */

struct weiri_chunk {
    uint32_t base;     /* number of its first record */
    uint32_t capacity; /* records */
    uint64_t words[];
};

_Static_assert(sizeof(weiri_log) == 40, "with what else a charge touches in a node it fills 64 bytes");
_Static_assert(sizeof(struct weiri_chunk) == 8, "a record costs its words and a small share of 8 bytes");

enum { WEIRI_LOG_HOME_WORDS = 8 }; /* of records: 8 of one word, or 4 of two */

/* A chunk that stands with the states, or NULL. */
static inline weiri_chunk *weiri_log_home(const weiri_log *log, const weiri_rule *rule)
{
    return rule->ring == 0 ? NULL : (weiri_chunk *)(void *)((char *)(uintptr_t)log + rule->ring);
}

/* Words of one record. */
static inline uint32_t weiri_log_words(const weiri_rule *rule)
{
    return rule->meter == WEIR_PER_COST ? 2 : 1;
}

/* Chunks that there are places for. */
static inline uint32_t weiri_log_places(const weiri_log *log)
{
    return log->index_capacity > 0 ? log->index_capacity : 1;
}

/* The place of a chunk in the index, 0: the oldest; `chunks`: the free place after the last. */
static inline weiri_chunk **weiri_log_slot(const weiri_log *log, uint32_t chunk)
{
    if (log->index_capacity == 0)
        return (weiri_chunk **)(uintptr_t)&log->only;
    uint32_t at = log->index_first + chunk;
    return &log->index[at < log->index_capacity ? at : at - log->index_capacity];
}

/* Records in a chunk that is not dead, kept or not: all but the last are full. */
static inline uint32_t weiri_log_filled(const weiri_log *log, uint32_t chunk)
{
    const weiri_chunk *at = *weiri_log_slot(log, chunk);
    return chunk + 1 < log->chunks ? at->capacity : log->next - at->base;
}

/* Is the log at home? The home is its last chunk then, and the others are dead. */
static inline bool weiri_log_at_home(const weiri_log *log, const weiri_rule *rule)
{
    return log->chunks > 0 && *weiri_log_slot(log, log->chunks - 1) == weiri_log_home(log, rule);
}

static inline bool weiri_log_has_room(const weiri_log *log)
{
    if (log->dead == log->chunks)
        return false;
    const weiri_chunk *last = *weiri_log_slot(log, log->chunks - 1);
    return log->next - last->base < last->capacity;
}

/* The words of a kept record. A binary search over the chunks. */
const uint64_t *weiri_log_record(const weiri_log *log, uint32_t words, uint32_t number);

/* Chunks without a record numbered `first` or later; they come first. */
uint32_t weiri_log_dead_at(const weiri_log *log, uint32_t first);

/* Moves the live records, all in the last chunk, which is full, to its beginning. */
void weiri_log_slide(weiri_log *log, uint32_t words);

/* Lets go of the records before `first`. */
void weiri_log_let_go(weiri_log *log, uint32_t first);

/* Lets go of them, and makes room for one record where weiri_log_needs asked for nothing and there is none. */
void weiri_log_make_room(weiri_log *log, const weiri_rule *rule, uint32_t first);

#endif
