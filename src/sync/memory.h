/*
 * Memory of one limiter: the host's allocator or our pools, the bytes in use, and what waits for a grace period.
 *
 * Retiring. What readers may still look at is put on a list, a stack that is only pushed to and taken whole (so no ABA);
 * whoever reclaims takes all of it, waits one grace period, and frees: at once, or a few objects a call from a second
 * such list, since a call that decides has no time for more. An object is retired once, after the last place that a new
 * reader could find it from has been overwritten.
 */
#ifndef WEIRI_SYNC_MEMORY_H
#define WEIRI_SYNC_MEMORY_H

#include <weir/types.h>

#include "atomic.h"
#include "pool.h"

/* A sum kept in parts, so that threads that add do not share a line. */
enum { WEIRI_STRIPES = 8 };
typedef struct weiri_sum {
    struct {
        _Alignas(64) weiri_a64 part;
    } stripe[WEIRI_STRIPES];
} weiri_sum;

void weiri_sum_add(weiri_sum *sum, uint64_t amount); /* modulo 2^64: subtract by adding the negative */
uint64_t weiri_sum_read(const weiri_sum *sum);

typedef struct weiri_memory weiri_memory;
typedef struct weiri_retired weiri_retired;

/* First member of everything that can be retired. */
struct weiri_retired {
    weiri_retired *next;
    void (*destroy)(weiri_memory *memory, weiri_retired *object); /* frees the object and what it owns */
    size_t size;                                                  /* what that gives back, set by weiri_retire */
};

/* What has a pool of its own. */
enum weiri_block { WEIRI_BLOCK_SEGMENT, WEIRI_BLOCK_NODE, WEIRI_BLOCKS };

struct weiri_memory {
    weir_allocator allocator;
    bool pools;      /* they may be used: the allocator is the C library's */
    weiri_a32 large; /* 1: from now on they are */
    weiri_sum bytes; /* in use, retired included */
    _Alignas(64) weiri_apointer retired;
    weiri_apointer ready;    /* a list of those whose grace period is over */
    weiri_a64 retired_bytes; /* on either list, or taken from it and not freed so far */
    struct {
        _Alignas(64) weiri_pool of;
    } pool[WEIRI_BLOCKS];
};

void weiri_memory_init(weiri_memory *memory, const weir_allocator *allocator);

/* Nobody uses it, and everything allocated is released. */
void weiri_memory_destroy(weiri_memory *memory);

/* Uninitialised memory, or NULL. */
void *weiri_allocate(weiri_memory *memory, size_t alignment, size_t size);
void weiri_release(weiri_memory *memory, void *object, size_t size);

/*
 * The same from the pool of such blocks, whose size has been set. NULL: not to be had so, allocate it. Inside a read
 * section once the memory is large.
 */
void *weiri_allocate_block(weiri_memory *memory, enum weiri_block kind);
void weiri_release_block(weiri_memory *memory, enum weiri_block kind, void *block);

/* From now on blocks come from the pools, where they may. */
void weiri_memory_grew(weiri_memory *memory);

/* Puts an object on the list. `size`: what freeing it will give back. */
void weiri_retire(weiri_memory *memory, weiri_retired *object, size_t size);

/* Is more retired than max(1 MiB, a thirty-second of what is in use)? */
bool weiri_memory_crowded(const weiri_memory *memory);

enum { WEIRI_RECLAIMED_AT_ONCE = 256 }; /* more than one call retires: all nodes of two segments */

/*
 * For a caller that has other things to do: frees a few objects whose grace period is over, or where there are none
 * waits for one, so that the next calls find some. Does nothing inside a read section.
 */
void weiri_reclaim_some(weiri_memory *memory);

/* Frees what is on the lists; what another caller has taken off them is freed by that one. 0; -EDEADLK inside a read
 * section; -EPERM where no grace period can be had. */
int weiri_reclaim(weiri_memory *memory);

/* Gives back what the pools need no more, and sees to large pages: one step, of about a millisecond at most. False: there
 * was nothing to do, or this is inside a read section. */
bool weiri_tend_some(weiri_memory *memory);

/* weiri_reclaim without waiting: for an owner that knows that nobody reads. */
void weiri_reclaim_now(weiri_memory *memory);

#endif
