/*
 * quarantine: the allocator of the torture. What weir frees is not reused at once: it is filled with poison and kept
 * for some grace periods, so that whoever still reads it finds poison, and whoever still writes to it is found out.
 *
 *   poison   | 0xd1edc0 : 24 | number of the grace period in which it was freed : 32 | 0xfe : 8 |
 *
 * Poison thus tells its own age: the grace periods since it was freed, as counted by quarantine_grace_period. As a
 * pointer it is no address of a process, as a key it bears a mark that no key has, as a time or a charge it is larger
 * than any: nothing of weir looks like it, save the second word of a hashed identity, which is not looked at.
 *
 * How a use after free shows:
 *   a write        on leaving the quarantine the block is not all poison
 *   a read         by the torture's own readers (watcher.c): counted in the histogram, by age
 *   a read by weir one block in some stands alone on a page, which is closed when it is freed: the touch is a fault at
 *                  once; so is poison that is followed as a pointer. fault.c tells the age of both. With
 *                  AddressSanitizer every block is closed.
 *
 * Every block is told from the others by its limiter's account: it must come back to it once, with its size.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TORTURE_QUARANTINE_H
#define WEIR_TORTURE_QUARANTINE_H

#include "../threads/common.h"

/* What one limiter has in use. */
typedef struct quarantine_account {
    _Atomic uint64_t bytes, blocks;
} quarantine_account;

enum { POISON_AGES = 8 }; /* 0 ... 6, and older */

/* Once, before the first limiter. */
void quarantine_start(uint64_t seed);

/* A limiter opened with these options uses the quarantine and has this account. */
void quarantine_use(quarantine_account *account, weir_options *options);

/* One allocation in so many fails from now on; 0: none. */
void quarantine_fail_one_in(uint64_t one_in);

/* Waits for a grace period and counts it, unless another thread is at that. Outside read sections. */
void quarantine_grace_period(void);

/* Checks and really frees all that is in quarantine. No limiter is open. */
void quarantine_empty(void);

/* Is this word poison? Then it is counted in the histogram. */
bool poison_found(uint64_t word);

/* If `address` lies in a closed page of a freed block, counts that and tells the age, else UINT64_MAX. For a signal
 * handler. */
uint64_t poison_touched(uintptr_t address);

/* All that was ever found; must be 0. */
uint64_t poison_total(void);

typedef struct quarantine_counts {
    _Atomic uint64_t allocated, failed, freed, fenced, left, grace_periods;
    _Atomic uint64_t age_left[POISON_AGES];  /* age of blocks when they left: how long they were watched */
    _Atomic uint64_t age_found[POISON_AGES]; /* the histogram that must be empty */
} quarantine_counts;
extern quarantine_counts quarantine_told;

#endif
