/*
 * Random calls far later than max_lateness, and what must hold of their answers: guarantee B, and that lateness is
 * flagged only where it may be.
 *
 * What effective times can be known from outside? Those of one key and rule never fall, whatever is dropped between:
 * a key is dropped at a time T past the end of all its windows, and starts anew no earlier than T. So with t' the stamp
 * of its charge before,
 *     without WEIR_LATE   t = max(now, t'), exactly: had the floor been above `now`, the flag would say so
 *     with WEIR_LATE      max(now, t') <= t <= max(now, t', F), where F = newest time named by any call less
 *                         max_lateness: no floor is ever above F
 * and where t' is known as an interval only, so is t. Each accepted charge i gets such an interval [low, high].
 * Charge j, recorded before i, is surely in i's window if low(j) > high(i) - W, as then t(j) > t(i) - W. The sum of
 * those must be within the limit: never stricter than B, and exactly B where no call of the key was flagged.
 * For a counter the times are indices of aligned windows, and what is surely in the same window is within the limit.
 *
 * Further, an answer without WEIR_LATE is the oracle's, as long as the oracle knows the stamps of the key's charges.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_LEDGER_H
#define WEIR_TESTS_LEDGER_H

#include "world.h"

/* Steps that there is room for. */
#define LEDGER_STEPS 700

/* Empties the ledger, of which there is one, for a world just opened: with limits that stay as they are. */
void ledger_begin(void);

/* A take, a peek, a reset or a sweep of that world, checked. */
void ledger_step(struct world *world);

#endif
