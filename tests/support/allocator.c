/* SPDX-License-Identifier: MIT */
#include "allocator.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HELD     UINT64_C(0x6865c0de0badcafe)
#define RELEASED UINT64_C(0x7265c0dedeadbeef)

/* Sanitizers end the process over a size beyond all memory, where the C library says NULL. */
#define TOO_MUCH (SIZE_MAX >> 24)

/* Stands right before the memory handed out. */
struct header {
    uint64_t mark;
    uint64_t size;
    uint64_t offset; /* from the start of the block to the memory */
    uint64_t unused;
};

static bool counts_down_to_zero(_Atomic uint64_t *countdown)
{
    uint64_t left = atomic_load(countdown);

    while (left != 0 && !atomic_compare_exchange_weak(countdown, &left, left - 1))
        ;
    return left == 1;
}

static bool must_fail(test_allocator *allocator)
{
    uint64_t percent = atomic_load(&allocator->fail_percent);
    uint64_t from = atomic_load(&allocator->fail_from);

    if (counts_down_to_zero(&allocator->fail_at))
        return true;
    while (from > 1 && !atomic_compare_exchange_weak(&allocator->fail_from, &from, from - 1))
        ;
    if (from == 1)
        return true;
    if (percent == 0)
        return false;
    /* An odd step visits every state; the multiplication spreads it over the high bits. */
    uint64_t z = atomic_fetch_add(&allocator->random, UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (z >> 32) % 100 < percent;
}

static void *allocate(void *argument, size_t alignment, size_t size)
{
    test_allocator *allocator = argument;
    size_t offset = alignment < sizeof(struct header) ? sizeof(struct header) : alignment;
    void *block;

    atomic_fetch_add(&allocator->calls, 1);
    if (alignment < 16 || alignment > 4096 || (alignment & (alignment - 1)) != 0 || size == 0)
        atomic_fetch_add(&allocator->faults, 1);
    if (size > TOO_MUCH || must_fail(allocator)) {
        atomic_fetch_add(&allocator->failed, 1);
        return NULL;
    }
    /* An offset of twice a small alignment keeps both the header and the memory aligned. */
    if (posix_memalign(&block, offset, offset + size) != 0)
        return NULL;
    unsigned char *memory = (unsigned char *)block + offset;
    struct header *header = (struct header *)(void *)memory - 1;
    *header = (struct header){HELD, size, offset, 0};
    memset(memory, 0xa5, size);
    atomic_fetch_add(&allocator->blocks, 1);
    atomic_fetch_add(&allocator->bytes, size);
    return memory;
}

static void release(void *argument, void *memory, size_t size)
{
    test_allocator *allocator = argument;

    if (memory == NULL) {
        atomic_fetch_add(&allocator->faults, 1);
        return;
    }
    struct header *header = (struct header *)memory - 1;
    if (header->mark != HELD || header->size != size) {
        atomic_fetch_add(&allocator->faults, 1);
        return;
    }
    header->mark = RELEASED;
    memset(memory, 0x5a, size);
    atomic_fetch_sub(&allocator->blocks, 1);
    atomic_fetch_sub(&allocator->bytes, size);
    free((unsigned char *)memory - header->offset);
}

weir_allocator test_allocator_for(test_allocator *allocator)
{
    weir_allocator callbacks = {allocate, release, allocator};

    return callbacks;
}

void test_allocator_relent(test_allocator *allocator)
{
    atomic_store(&allocator->fail_at, 0);
    atomic_store(&allocator->fail_from, 0);
    atomic_store(&allocator->fail_percent, 0);
}
