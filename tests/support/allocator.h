/*
 * An allocator for tests: counts what is held, checks the size of every release, fills memory with rubbish so that
 * nobody relies on zeroes, and fails on demand. Thread-safe.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ALLOCATOR_H
#define WEIR_TESTS_ALLOCATOR_H

#include <stdatomic.h>
#include <stdint.h>
#include <weir/types.h>

typedef struct test_allocator {
    _Atomic uint64_t calls;  /* allocations asked for, failed ones included */
    _Atomic uint64_t failed; /* of these, failed on demand */
    _Atomic uint64_t blocks; /* held now */
    _Atomic uint64_t bytes;  /* held now, as asked */
    _Atomic uint64_t faults; /* bad alignments asked for, releases of a wrong size or of memory not held */
    /* What fails. Counted from the moment it is set: */
    _Atomic uint64_t fail_at;      /* the n-th call from now fails, once; 0: none */
    _Atomic uint64_t fail_from;    /* the n-th call from now fails, and all after it; 0: none */
    _Atomic uint64_t fail_percent; /* so many of a hundred, at random */
    _Atomic uint64_t random;       /* state of that randomness: set it to a seed */
} test_allocator;

/* What goes into weir_options.allocator. `allocator` must outlive the limiter. */
weir_allocator test_allocator_for(test_allocator *allocator);

/* Nothing fails any more. */
void test_allocator_relent(test_allocator *allocator);

#endif
