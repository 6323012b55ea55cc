/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"

enum { SIZE = 4 << 20, BLOCKS = 8192, POISON = 0xdb };

struct block {
    unsigned char *memory;
    size_t size;
    bool freed;
};

static struct {
    _Alignas(4096) unsigned char memory[SIZE];
    size_t used;
    struct block block[BLOCKS];
    size_t blocks;
    uint64_t calls, fail_at;
    bool failed;
    const char *wrong;
} arena;

void arena_reset(void)
{
    arena.used = arena.blocks = 0;
    arena.calls = arena.fail_at = 0;
    arena.failed = false;
    arena.wrong = NULL;
}

void arena_fail_at(uint64_t allocation)
{
    arena.fail_at = allocation;
}

bool arena_failed(void)
{
    return arena.failed;
}

uint64_t arena_allocations(void)
{
    return arena.calls;
}

static void *from_heap(size_t alignment, size_t size)
{
    void *memory;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void *from_arena(size_t alignment, size_t size)
{
    size_t at = (arena.used + alignment - 1) & ~(alignment - 1);
    if (at + size > SIZE)
        return NULL;
    arena.used = at + size;
    return arena.memory + at;
}

static void *allocate(void *argument, size_t alignment, size_t size)
{
    (void)argument;
    if (++arena.calls == arena.fail_at) {
        arena.failed = true;
        return NULL;
    }
    void *memory = FIBER_ASAN ? from_heap(alignment, size) : from_arena(alignment, size);
    if (!memory || arena.blocks == BLOCKS) {
        arena.wrong = "the arena is too small";
        return NULL;
    }
    memset(memory, 0xa5, size); /* nobody is promised zeroes */
    arena.block[arena.blocks++] = (struct block){memory, size, false};
    return memory;
}

static void release(void *argument, void *memory, size_t size)
{
    (void)argument;
    for (size_t i = arena.blocks; i-- > 0;) {
        struct block *block = &arena.block[i];
        if (block->memory != memory || (FIBER_ASAN && block->freed)) /* the heap may hand out an address again */
            continue;
        if (block->freed)
            arena.wrong = "memory is freed twice";
        if (block->size != size)
            arena.wrong = "memory is freed with another size";
        block->freed = true;
        memset(memory, POISON, size);
        if (FIBER_ASAN)
            free(memory);
        return;
    }
    arena.wrong = "memory is freed that was not allocated, or twice";
}

weir_allocator arena_allocator(void)
{
    return (weir_allocator){allocate, release, NULL};
}

static bool intact(const struct block *block)
{
    for (size_t i = 0; i < block->size; i++)
        if (block->memory[i] != POISON)
            return false;
    return true;
}

const char *arena_verdict(void)
{
    for (size_t i = 0; i < arena.blocks; i++) {
        if (!arena.block[i].freed)
            return "memory is left at the end";
        if (!FIBER_ASAN && !intact(&arena.block[i]))
            return "memory is written after it was freed";
    }
    return arena.wrong;
}
