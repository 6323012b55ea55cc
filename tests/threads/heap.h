/*
 * heap.h: an allocator for weir_options that counts what is in use, checks that every block comes back whole with
 * the size it was asked with, and fails at random where told to. Thread-safe; the n-th call fails or not by seed and n.
 *
 *   base ... padding ... { size, alignment ^ mark } | the block, aligned
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_HEAP_H
#define WEIR_TESTS_HEAP_H

#include "common.h"

#define HEAP_MARK UINT64_C(0x5741495257414952)

typedef struct test_heap {
    _Atomic uint64_t bytes;       /* in use, as asked */
    _Atomic uint64_t peak;        /* most bytes ever in use */
    _Atomic uint64_t calls;       /* of allocate */
    _Atomic uint64_t failures;    /* of these, answered NULL */
    _Atomic uint64_t fail_one_in; /* 0: never */
    _Atomic uint64_t fail_from;   /* from this call on every call fails; 0: never */
    uint64_t seed;
} test_heap;

static inline bool heap_fails(test_heap *self)
{
    uint64_t call = atomic_fetch_add(&self->calls, 1) + 1;
    uint64_t one_in = atomic_load(&self->fail_one_in);
    uint64_t from = atomic_load(&self->fail_from);
    bool fails = (from && call >= from) || (one_in && mix(self->seed + call * 7919) % one_in == 0);
    if (fails)
        atomic_fetch_add(&self->failures, 1);
    return fails;
}

static inline void *heap_allocate(void *argument, size_t alignment, size_t size)
{
    test_heap *self = argument;
    if (alignment < 16 || alignment > 4096 || (alignment & (alignment - 1)) != 0 || size == 0)
        failed("allocate: alignment %zu, size %zu", alignment, size);
    if (heap_fails(self))
        return NULL;
    unsigned char *base = aligned_alloc(alignment, alignment + (size + alignment - 1) / alignment * alignment);
    if (!base)
        return NULL;
    memset(base + alignment, 0xA5, size); /* nobody may count on zeroes */
    uint64_t header[2] = {size, alignment ^ HEAP_MARK};
    memcpy(base + alignment - sizeof(header), header, sizeof(header));
    uint64_t bytes = atomic_fetch_add(&self->bytes, size) + size;
    uint64_t peak = atomic_load(&self->peak);
    while (bytes > peak && !atomic_compare_exchange_weak(&self->peak, &peak, bytes))
        continue;
    return base + alignment;
}

static inline void heap_release(void *argument, void *memory, size_t size)
{
    test_heap *self = argument;
    uint64_t header[2];
    if (!memory)
        failed("release: wanted a block, got NULL");
    memcpy(header, (unsigned char *)memory - sizeof(header), sizeof(header));
    size_t alignment = header[1] ^ HEAP_MARK;
    if (alignment < 16 || alignment > 4096)
        failed("release: %p was never allocated, was released before, or was written to in front", memory);
    if (header[0] != size)
        failed("release: block of %" PRIu64 " bytes came back with size %zu", header[0], size);
    memset((unsigned char *)memory - sizeof(header), 0, sizeof(header));
    atomic_fetch_sub(&self->bytes, size);
    free((unsigned char *)memory - alignment);
}

static inline void heap_use(test_heap *self, weir_options *options)
{
    options->allocator = (weir_allocator){heap_allocate, heap_release, self};
}

/* Closes, and wants everything back. */
static inline void closed_clean(weir *limiter, test_heap *self, const char *name)
{
    want_done("weir_close", weir_close(limiter));
    if (atomic_load(&self->bytes) != 0)
        failed("%s: wanted 0 bytes after weir_close, got %" PRIu64, name, atomic_load(&self->bytes));
}

#endif
