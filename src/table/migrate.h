/*
 * migrate: a segment's keys move to one or two successors while everybody goes on deciding.
 *
 * The steps, each a function of that name here; docs/design.md has the argument for each, and what breaks without it.
 *
 *   start    one swap publishes a descriptor in `forward`: drop time T, the successors, all allocated before. Nothing is
 *            sealed or frozen before it is seen. Only on a segment whose predecessor is done.
 *   freeze   cell by cell: EMPTY -> SEALED (on failure go on with this same cell: it has just been claimed), then the
 *            state -> FROZEN. What is frozen is final, for every helper the same.
 *   select   a descriptor that may shrink carries a successor of full capacity and a smaller one. When every cell is
 *            frozen the number that is live at T is final, so every counter gets the same; one swap fixes the choice,
 *            and until then nobody copies. The one not selected is never touched.
 *   copy     what is live at T: claim in the successor over its whole probe order, then state UNINIT -> value. Every
 *            step is idempotent; a helper late by generations finds the state no longer UNINIT, and does nothing.
 *   done     set by one swap, whose winner settles the accounts.
 *   publish  see directory.h.
 *
 * Who meets a FROZEN cell of its own key copies that cell alone and goes on in the successor (weiri_advance); a new key
 * enters a successor only after the predecessor is done, so that copies always find room. Nobody waits for a thread
 * that was preempted.
 *
 * Liveness is judged at the descriptor's T by every helper, never at its own time; a successor's floor is
 * max(floor, T), so that what was dropped cannot be charged again at an earlier time: forgetting gives no fresh quota.
 */
#ifndef WEIRI_TABLE_MIGRATE_H
#define WEIRI_TABLE_MIGRATE_H

#include "table.h"

/* What a scan of a segment tells. A hint unless frozen. */
typedef struct weiri_census {
    uint32_t claimed;
    uint32_t live; /* at the time asked for */
} weiri_census;

weiri_census weiri_segment_census(const weiri_table *table, const weiri_segment *segment, uint64_t time);

/* Starts a migration that makes room for a new key. False: no memory, nothing changed. */
bool weiri_make_room(weiri_table *table, weiri_segment *segment, uint64_t time);

/* Starts a migration that drops what is expired at `time` and takes less memory if it can. False: nothing to gain, or no
 * memory. */
bool weiri_compact(weiri_table *table, weiri_segment *segment, uint64_t time);

/* Starts a split, whatever the segment holds; for tests. */
bool weiri_split(weiri_table *table, weiri_segment *segment, uint64_t time);

/* One step along `forward`, which must be set: copies the key's own cell where that is live, else helps in full, and
 * returns the successor. Lock-free. */
weiri_segment *weiri_advance(weiri_table *table, weiri_segment *segment, const weir_identity *identity);

/* Helps until the segment, which has a `forward`, is done. Takes no memory. */
void weiri_complete(weiri_table *table, weiri_segment *segment);

/* Helps in full and publishes; returns the successor for `hash`. */
weiri_segment *weiri_help(weiri_table *table, weiri_segment *segment, uint64_t hash);

#endif
