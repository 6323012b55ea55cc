/*
 * Threads that stop in the middle of a call, wherever that is, while others get on: a call of 200 ns that nothing
 * interrupts overlaps with next to nothing. Where the library is built with -finstrument-functions, its threads pause
 * at random function bounds, those of inlined functions too: so before and after each operation on a shared word.
 * Elsewhere there are no pauses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_DISTURB_H
#define WEIR_TESTS_DISTURB_H

#include <stdatomic.h>
#include <stdint.h>

/* Once, before all else. `progress` is what others move on. */
void disturb_init(const _Atomic uint64_t *progress);

/* The calling thread is within a call from begin to end, and pauses once in about so many function bounds; 0: never. */
void disturb_begin(uint64_t one_in, uint64_t random);
void disturb_end(void);

/* Pauses made so far by all threads. */
uint64_t disturb_pauses(void);

#endif
