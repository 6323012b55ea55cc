/*
 * arena: where the counted limiters live, so that their lines are known from all others. Blocks never share a line, and
 * each begins at the same distance from a line's start: an allocator may put them anywhere, and how many lines a call
 * meets depends on it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_COUNTING_ARENA_H
#define WEIR_TESTS_COUNTING_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/types.h>

enum { ARENA_LINE = 64, ARENA_STEP = 16, ARENA_SIZE = 64 << 20 };

extern unsigned char arena[ARENA_SIZE];

/* Thread-local, so that they are no shared lines: the arena is for one thread. */
extern _Thread_local uint64_t arena_blocks;   /* asked for so far */
extern _Thread_local size_t arena_used;       /* bytes of it that have been given out */
extern _Thread_local unsigned arena_distance; /* of what needs no more alignment: multiples of ARENA_STEP */

/* NULL where it is used up. Nothing is ever given out again. */
void *arena_allocate(size_t alignment, size_t size);

static inline bool arena_holds(const void *place)
{
    return (uintptr_t)place - (uintptr_t)arena < ARENA_SIZE;
}

/* For weir_options.allocator. */
weir_allocator arena_allocator(void);

#endif
