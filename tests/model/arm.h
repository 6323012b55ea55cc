/*
 * arm: the memory model of Arm, as far as weir needs it: every execution that it allows of a few loads and stores.
 *
 * The model is that of the Arm ARM (DDI 0487), B2.3, in the words of its machine-readable form:
 *
 *   internal   po-loc, rf, co and fr have no cycle
 *   external   ob has no cycle: rfe, fre, coe; rmw; from an access to a store po-after it at the same place;
 *              [A|Q];po  po;[L]  [L];po;[A]  po;[DMB ISH];po
 *   atomic     between the load and the store of a swap that succeeded comes no store of another thread
 *   16 bytes   the two words of a swap's store are one single-copy atomic access (B2.2.1): co has such pairs in the
 *              same order in both words, and what is ob-before one of the words is ob-before the other
 *
 * It allows more than any machine: swaps are LDAXP and STLXP, as CASPAL orders more; the two words that LDAXP reads are
 * two loads; dependencies order nothing.
 *
 * Bounds: straight-line code, each swap known to succeed or to fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ARM_H
#define WEIR_TESTS_ARM_H

#include <stdbool.h>
#include <stdint.h>

enum { X0, X1, Y, Z, PLACES };           /* X0 and X1 are the words of one 16-byte place; all are 0 at first */
enum { PLAIN = 0, A = 1, Q = 2, L = 4 }; /* load-acquire (LDAR), load-acquirePC (LDAPR), store-release */

/* A program is written down by calling these in order; a load is known by the number that is returned. */
int load(int place, int order);
int load_of(int place, int value, int order); /* where it returns `value` */
void store(int place, int value, int order);
void barrier(void);
void swap(int place, int expected, int desired); /* succeeds */
void swap_pair(int expected0, int expected1, int desired0, int desired1, int order); /* succeeds; its store's order */
int load_pair(int order); /* of a swap that fails; word 1 has the next number */
void next_thread(void);

/* What a load returned in the execution at hand. */
int got(int load);

typedef struct findings {
    uint64_t executions, wrong;
} findings;

/* Looks at every execution of program(twin). */
findings search(void (*program)(int twin), int twin, bool (*wrong)(void));

#endif
