/* SPDX-License-Identifier: MIT */
#include "arena.h"

_Alignas(4096) unsigned char arena[ARENA_SIZE];
_Thread_local uint64_t arena_blocks;
_Thread_local size_t arena_used;
_Thread_local unsigned arena_distance;

void *arena_allocate(size_t alignment, size_t size)
{
    size_t line = alignment > ARENA_LINE ? alignment : ARENA_LINE;
    size_t begin = (arena_used + line - 1) / line * line;
    if (alignment < ARENA_LINE)
        begin += arena_distance & ~(alignment - 1);
    if (begin > ARENA_SIZE || size > ARENA_SIZE - begin)
        return NULL;
    arena_used = begin + size;
    arena_blocks++;
    return arena + begin;
}

static void *allocate(void *argument, size_t alignment, size_t size)
{
    (void)argument;
    return arena_allocate(alignment, size);
}

static void release(void *argument, void *memory, size_t size)
{
    (void)argument;
    (void)memory;
    (void)size;
}

weir_allocator arena_allocator(void)
{
    return (weir_allocator){allocate, release, NULL};
}
