/*
 * Memory of one run: handed out in order, never twice, so that a run's addresses are the same each time it is repeated.
 * What is freed is filled with poison; at the end of the run it must be poison still, and all of it freed. A pointer
 * read from it leads nowhere. With AddressSanitizer the heap is used instead, and reads are found where they happen.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_ARENA_H
#define WEIR_TESTS_SCHEDULE_ARENA_H

#include <weir/types.h>

/* Empties it. */
void arena_reset(void);

weir_allocator arena_allocator(void);

/* The allocation that fails, counted from the reset, from 1; 0: none. */
void arena_fail_at(uint64_t allocation);

/* Has it? */
bool arena_failed(void);

/* Allocations since the reset. */
uint64_t arena_allocations(void);

/* NULL, or what is wrong: a block not freed, freed twice, of another size, or written after it was freed. */
const char *arena_verdict(void);

#endif
