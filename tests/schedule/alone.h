/*
 * The build with hooks (src/sync/hook.h) and one thread: read sections are counted, and a test is told of every
 * operation on a shared word before it happens, so that it can do there what another thread might.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_ALONE_H
#define WEIR_TESTS_SCHEDULE_ALONE_H

#include <inttypes.h>

#include "../../src/sync/rcu.h"

extern unsigned alone_nesting;  /* of read sections */
extern uint64_t alone_sections; /* outermost ones begun */

extern bool alone_refused; /* a grace period cannot be had, though it looked as if */

/* Told of every access, where it is set. What it does itself is not told. */
extern void (*alone_hook)(enum weiri_access access, const void *place);

/*
 * Runs `call`; before its operation number `point`, from 0, `other` is run. Where that would wait for what it has
 * interrupted, it is given up: it must not have changed anything before it first waits. False: `call` has fewer points.
 */
bool alone_interrupted(unsigned point, void (*call)(void), void (*other)(void));

/* Says what was wanted and got, and ends the program, unless they are the same. */
void alone_want(const char *what, uint64_t wanted, uint64_t got);

#endif
