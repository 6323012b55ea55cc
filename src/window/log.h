/*
 * log: every charge with its stamp, exact. A call at t is accepted iff the charges with stamp in (t-W, t], plus c, are
 * <= L. Contract: section 3, log.
 *
 *   index    ring of chunk pointers, oldest first
 *   chunk    { base: number of its first record, capacity } and its records
 *   record   per request: stamp. Per cost: stamp and the running total before it
 *
 * Records are numbered 0, 1, 2 ... modulo 2^32 (a log holds fewer than 2^32); [first, next) are the ones kept. All
 * chunks but the last are full of numbers. Growth copies no record, save that up to 64 live records may be moved into
 * one new chunk: a log of few records has one chunk that fits.
 *
 * No memory is allocated or freed here: what a charge needs is asked for with weiri_log_need, supplied, and what became
 * free is taken away with weiri_log_shed. Nothing grows with the limit but the memory: each function takes at most
 * some hundred steps (chunks hold a growing share of the log) plus a binary search.
 *
 * The all-zero state is "nothing charged".
 */
#ifndef WEIRI_WINDOW_LOG_H
#define WEIRI_WINDOW_LOG_H

#include "rule.h"

typedef struct weiri_chunk weiri_chunk;

typedef struct weiri_log {
    uint64_t newest;         /* newest stamp recorded */
    uint64_t total;          /* per cost: running total of all charges ever, modulo 2^64 */
    uint32_t first;          /* the oldest record kept */
    uint32_t next;           /* the number the next record gets */
    union {
        weiri_chunk **index; /* ring of index_capacity pointers, */
        weiri_chunk *only;   /* or, where index_capacity is 0, the place of one chunk: most logs need no index */
    };
    uint32_t index_capacity;
    uint32_t index_first;    /* where the oldest chunk stands in it */
    uint32_t chunks;         /* chunks in the index */
    uint32_t dead;           /* of these, the oldest ones, without a kept record; the next one holds `first` */
} weiri_log;

typedef struct weiri_log_view {
    uint64_t time;  /* max(now, newest, floor) */
    uint64_t used;  /* sum of the charges that count at `time` */
    uint32_t first; /* the oldest record that counts at `time` */
    bool late;
} weiri_log_view;

/* Memory, in bytes, that a charge must be given first; 0 where nothing is needed. */
typedef struct weiri_log_need {
    size_t chunk;
    size_t index;
} weiri_log_need;

weiri_log_view weiri_log_look(const weiri_log *log, const weiri_rule *rule, uint64_t now, uint64_t floor);

/* What recording one charge under `view` needs. */
weiri_log_need weiri_log_needs(const weiri_log *log, const weiri_rule *rule, const weiri_log_view *view);

/* What trimming needs: a chunk for the few live records of a log that holds much more memory than they fill. 0: nothing
 * to gain. `time`: records that do not count at it, and are before it beyond doubt, may go. An index alone is asked for
 * where it has become much too large for the chunks. */
weiri_log_need weiri_log_trim_needs(const weiri_log *log, const weiri_rule *rule, uint64_t time);

/*
 * Gives memory to a log: *chunk of chunk_size bytes and *index of index_size bytes, uninitialised, either may be NULL.
 * Takes what it can use, setting that pointer to NULL; what it does not take stays the caller's. A chunk or an index
 * that it replaces comes back in its place, with its size.
 * `trim`: as weiri_log_trim_needs foresaw, moves the live records into the chunk; `view` is a look at the same time.
 * Without it nothing is let go of, whatever the view.
 */
void weiri_log_supply(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, bool trim, void **chunk,
                      size_t *chunk_size, void **index, size_t *index_size);

/* Records an accepted charge (> 0); weiri_log_needs must ask for nothing. What `view` leaves out is let go. */
void weiri_log_charge(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t charge);

/* The first time >= the view's at which `charge` (<= limit) would be accepted. */
uint64_t weiri_log_opens(const weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t limit,
                         uint64_t charge);
uint64_t weiri_log_expires(const weiri_log *log, const weiri_rule *rule);

/* Forgets the charges, not the time; the memory is then dead and leaves by weiri_log_shed. */
void weiri_log_clear(weiri_log *log, const weiri_rule *rule);

/* Takes all chunks without a kept record out of the log, linked through weiri_chunk_after; NULL where there is none.
 * One empty chunk that the next charge can use stays. `all`: takes every chunk (the log is going away). */
weiri_chunk *weiri_log_shed(weiri_log *log, const weiri_rule *rule, bool all);
weiri_chunk *weiri_chunk_after(const weiri_chunk *shed);
size_t weiri_chunk_size(const weiri_chunk *chunk, const weiri_rule *rule);

#endif
