/*
 * pool: blocks of one size out of regions of 2 MiB, so that a large table lies on large pages.
 *
 * Whoever goes through millions of keys at random waits for memory, and before that for the translation of the address:
 * with pages of 4 KiB there are more of them than any processor remembers. On pages of 2 MiB a decision among a million
 * keys took 172 ns in place of 205. So once a table is large, its segments and nodes come from here.
 *
 *   region   header | block | block | ... to its end, at a multiple of its size: a block's region is told by its address
 *
 *   take   under the lock: a block given back lately; one of a region with some to spare. Else a new region, mapped
 *          outside the lock
 *   give   pushes the block on a stack, without the lock
 *   tend   who may wait (weir_reclaim, the janitor): puts what was given back into its regions, unmaps empty ones, and
 *          asks the kernel to lay full ones on large pages; in short steps, of which a fork waits for one
 *
 * A page is first touched as a small one, since to clear 2 MiB takes longer than a decision may; large pages are made
 * of small ones when a region is full, by tend alone.
 *
 * The lock is only tried: who fails, or finds the fork gate closed, has to allocate elsewhere. It is taken inside a read
 * section after looking at the gate, or by a holder (gate.h), so that no fork finds it held.
 *
 * The stack of blocks given back is pushed to by anybody; popped, or taken whole, by one thread at a time, which has the
 * lock. So no block leaves it between a pop's look and its swap, let alone comes back: no ABA.
 */
#ifndef WEIRI_SYNC_POOL_H
#define WEIRI_SYNC_POOL_H

#include <stddef.h>

#include "spinlock.h"

#ifndef WEIRI_REGION_BITS
#define WEIRI_REGION_BITS 21
#endif
#define WEIRI_REGION_SIZE ((size_t)1 << WEIRI_REGION_BITS)

typedef struct weiri_region weiri_region;

typedef struct weiri_pool {
    weiri_apointer given;  /* stack of blocks */
    weiri_apointer mapped; /* stack of regions that nobody has taken over so far */
    weiri_spinlock lock;
    bool lays;   /* full regions go on large pages; set before the first take */
    size_t size; /* of a block, a multiple of 16 of which a region has room for two; set before the first take */
    /* Under the lock. */
    struct weiri_given *back;    /* chain: taken from the stack, to be put back */
    weiri_region *all, *partial; /* lists: every region taken over, and of these the ones with blocks to spare */
    weiri_region *full;          /* list: full for the first time, to be laid on large pages */
} weiri_pool;

/* Has who runs this machine, and this process, large pages on? Reads a file. */
bool weiri_large_pages_on(void);

/* A block, uninitialised, or NULL. Inside a read section. */
void *weiri_pool_take(weiri_pool *pool);
void weiri_pool_give(weiri_pool *pool, void *block);

/* One step. False: there was nothing to do. A holder of the fork gate, outside any read section. */
bool weiri_pool_tend_some(weiri_pool *pool);

/* Unmaps everything: nobody uses the pool any more. */
void weiri_pool_destroy(weiri_pool *pool);

/* Bytes mapped, blocks to spare included: for tests, and while nobody uses the pool. */
size_t weiri_pool_mapped(const weiri_pool *pool);

#endif
