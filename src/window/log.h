/*
 * log: every charge with its stamp, exact. A call at t is accepted iff the charges with stamp in (t-W, t], plus c, are
 * <= L. Contract: docs/semantics.md, section 3, log.
 *
 *   index    ring of chunk pointers, oldest first
 *   chunk    { base: number of its first record, capacity } and its records
 *   home     a first chunk that stands behind the states of the key, rule->ring bytes after this one: see below
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
 * Home. Where the log is one of several states of a key, room for its first few records comes with them: no miss of its
 * own, and no allocation for most keys. A log goes home when it is empty, and when a trim finds that what is left fits;
 * it leaves where it grows out of it, by replacing it as it would any small chunk. So a home in use is the log's only
 * chunk that is not dead. It is never handed out to be freed.
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
    uint16_t index_capacity; /* some hundreds at most: chunks are a growing share of the log */
    uint16_t index_first;    /* where the oldest chunk stands in it */
    uint16_t chunks;         /* chunks in the index */
    uint16_t dead;           /* of these, the oldest ones, without a kept record; the next one holds `first` */
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

/*
 * Gives memory to a log: *chunk of chunk_size bytes and *index of index_size bytes, uninitialised, either may be NULL.
 * Takes what it can use, setting that pointer to NULL; what it does not take stays the caller's. A chunk or an index
 * that it replaces comes back in its place, with its size. Nothing is let go of, whatever the view.
 */
void weiri_log_supply(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, void **chunk,
                      size_t *chunk_size, void **index, size_t *index_size);

/* Records an accepted charge (> 0); weiri_log_needs must ask for nothing. What `view` leaves out is let go. */
void weiri_log_charge(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t charge);

/* The first time >= the view's at which `charge` (<= limit) would be accepted. */
uint64_t weiri_log_opens(const weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t limit,
                         uint64_t charge);
uint64_t weiri_log_expires(const weiri_log *log, const weiri_rule *rule);

/*
 * Trimming a log that holds much more memory than its records fill, since they have become few:
 *   forget  lets go of what does not count at `time`, where that sets memory free or makes a move worthwhile; no later
 *           decision may then run earlier. False: nothing changed.
 *   loose   bytes of a chunk that would hold what is kept; 0: the log fits well enough.
 *   move    copies up to 64 records into that chunk; called again until it is not MORE, while the log may be charged in
 *           between. DONE: the chunk is the log's, the others are dead, and move->chunk is the one it took the place of.
 *           FAILED: the records do not fit; the chunk stays the caller's.
 *   home    moves what is kept to the log's home if it fits there and is not there; returns all chunks that were let go
 *           of, as weiri_log_shed does, or NULL: nothing changed.
 *   drop    takes out the index of a log that needs none any more, or returns NULL.
 */
typedef struct weiri_log_move {
    weiri_chunk *chunk;
    uint32_t copied;
} weiri_log_move;
enum weiri_moved { WEIRI_MOVE_MORE, WEIRI_MOVE_DONE, WEIRI_MOVE_FAILED };

bool weiri_log_forget(weiri_log *log, const weiri_rule *rule, uint64_t time);
weiri_chunk *weiri_log_go_home(weiri_log *log, const weiri_rule *rule);
size_t weiri_log_loose(const weiri_log *log, const weiri_rule *rule);
weiri_log_move weiri_log_move_into(void *memory, size_t size, const weiri_rule *rule);
enum weiri_moved weiri_log_move_some(weiri_log *log, const weiri_rule *rule, weiri_log_move *move);
void *weiri_log_drop_index(weiri_log *log, size_t *size);

/* Forgets the charges, not the time; the memory is then dead and leaves by weiri_log_shed. */
void weiri_log_clear(weiri_log *log, const weiri_rule *rule);

/* Bytes of a log's home. */
size_t weiri_log_home_size(void);

/* Takes all chunks without a kept record out of the log, linked through weiri_chunk_after; NULL where there is none.
 * One empty chunk that the next charge can use stays. `all`: takes every chunk (the log is going away). */
weiri_chunk *weiri_log_shed(weiri_log *log, const weiri_rule *rule, bool all);
weiri_chunk *weiri_chunk_after(const weiri_chunk *shed);
size_t weiri_chunk_size(const weiri_chunk *chunk, const weiri_rule *rule);

#endif
