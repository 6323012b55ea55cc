/*
 * serial: is there an order in which the oracle gives the answers that concurrent calls on one key got? Guarantee A.
 *
 * A history is a set of finished calls on one key, each with its stamps (taken from one counter just before it was made
 * and just after it returned), its arguments and its answer. `a` precedes `b` in real time iff a.returned < b.called;
 * all else overlaps. serial_check looks through the orders that agree with real time, until it finds one in which every
 * answer is the oracle's (docs/semantics.md, sections 2 to 4), in every field. If there is none, the history is a proof
 * against the limiter.
 *
 * What is an answer's due:
 *   - not flagged: the oracle's answer at `now`, whatever was dropped;
 *   - WEIR_LATE: the oracle's answer at a floor later than `now` that may have been seen by the call, waits told from
 *     `now`; and that floor alone decides the time of some rule. Verdict alone: either of both;
 *   - WEIR_TABLE_FULL, WEIR_NO_MEMORY: the policy's verdict and retry 0, of a take that has something to record; it is
 *     recorded nowhere. Verdict alone, where `may_fail`: either that, or decided;
 *   - limits: each call uses one set that was in force at some moment of the call, before its decision. A set is in
 *     force from some moment within its set_limits. That is what A and 4.8 say, and less than "set_limits is one more
 *     call in the order": a call may load limits, see them replaced, and then decide after another call that used the
 *     new ones;
 *   - reset: forgets charges, not time.
 *
 * Search: Wing and Gong's, with Lowe's memory of what was tried. Depth first; a step puts one of the calls next in
 * order that no open call precedes. A state of the search is (set of calls in order, oracle's state, limits that open
 * calls may have loaded); no such state is searched twice (they are kept as 128-bit prints). A call that changes
 * nothing wherever it stands (a refusal, a peek), and is answered rightly by the present state, is put in order at once
 * and not elsewhere: an order that has it later stays one when it is moved to here. Finding an order is NP-complete in
 * general; here only accepted charges, resets and changes of limits that overlap branch.
 *
 * M. Herlihy, J. Wing: Linearizability: a correctness condition for concurrent objects. TOPLAS 12(3), 1990.
 * J. Wing, C. Gong: Testing and verifying concurrent objects. JPDC 17, 1993.
 * G. Lowe: Testing for linearizability. Concurrency and Computation 29(4), 2017.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SERIAL_H
#define WEIR_TESTS_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <weir/types.h>

enum serial_verb {
    SERIAL_TAKE,         /* the whole answer is known */
    SERIAL_TAKE_VERDICT, /* asked without a decision: `verdict` alone */
    SERIAL_PEEK,
    SERIAL_PEEK_VERDICT,
    SERIAL_RESET,
    SERIAL_SET_LIMITS
};

/* One finished call. Stamps: from one counter; all different, but that the calls of a batch have the same two. */
struct serial_call {
    enum serial_verb verb;
    unsigned thread; /* who called: shown, never looked at */
    uint64_t called;
    uint64_t returned;
    uint64_t now;                    /* take, peek */
    uint64_t cost;                   /* take, peek */
    uint32_t plan;                   /* take, peek, set_limits */
    int verdict;                     /* take, peek: 1 or 0, what the call returned */
    weir_decision answer;            /* SERIAL_TAKE, SERIAL_PEEK */
    uint64_t limits[WEIR_RULES_MAX]; /* set_limits: one for each rule */
};

/*
 * A time before which no decision may run any more: what was dropped was dropped as expired at it. One for each sweep,
 * migration, and call that may have dropped something, about whatever key: its time less max_lateness, where that is
 * above 0. A call may see it iff it returned after `called`.
 */
struct serial_floor {
    uint64_t time;
    uint64_t called;
};

/* Nothing is charged at first. A limiter with endless max_lateness has no floors. */
struct serial_history {
    const weir_rule *rules;
    size_t rule_count;
    uint32_t plans;              /* 0: one, with the rules' own limits */
    const uint64_t *plan_limits; /* plans x rule_count, as weir_options has them */
    const struct serial_call *calls; /* in any order; hundreds, of which some dozens may overlap */
    size_t count;
    const struct serial_floor *floors;
    size_t floor_count;
    bool may_fail; /* the table may be full or memory short */
    bool admits;   /* then: WEIR_FULL_ADMIT */
};

/*
 * True: there is an order. False: there is none, and `explanation` (`size` bytes, always ended by a 0; NULL where size
 * is 0) says which calls could be put in order before none fitted, what the oracle would have said to those that were
 * next, and lists the history. Ends the process without memory. Where the search would not come to an end (more than 4
 * million states), false, and the explanation says so. Thread-safe: nothing is shared.
 */
bool serial_check(const struct serial_history *history, char *explanation, size_t size);

/* Prints the history as a table, a line a call, in the order of `called`. */
void serial_print(FILE *out, const struct serial_history *history);

/* The largest number of calls that overlap one and the same moment. */
size_t serial_overlap(const struct serial_history *history);

#endif
