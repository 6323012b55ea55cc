/*
 * The copies of weir in a process: plug-ins that libweir.a is linked into, each with all of weir to itself, and
 * libweir.so beside them. They fork together.
 *
 * Why: where each had fork handlers of its own, the first would take liburcu's locks, which all share, and the second
 * then wait for a grace period that never passes, with nobody left to give the locks back. So one copy leads. It alone
 * acts around a fork, and does each step (gate.h) in every copy before it does the next one in any:
 *
 *   1. What a step of one copy waits for, holders and sections, lets go as it does with that copy alone: no step of
 *      another is in its way but those before it, and a thread that waits at one gate holds nothing that another copy's
 *      steps wait for. Copies with the same liburcu also agree on who is inside a read section.
 *   2. Liburcu's locks are taken when every copy is through with its grace period, once each: a copy may have a
 *      liburcu of its own. They are given back in the opposite order, since each keeps the mask of signals it found.
 *   3. The leader's janitor lock is the first to be taken and the last to be given back: forks come one after the
 *      other, and what the handlers keep between them is under it.
 *   4. A fork that nobody leads and the first weir_open do not meet: the child could find the loader's lock taken, or
 *      weir's and liburcu's. The handler counts itself in `not_led` before it looks at `searching`, the opener itself in
 *      `searching` before it looks at `not_led`; the handler waits, and leads where it finds a leader then, the opener
 *      backs out. So that no fork begins unnoticed before, the handlers are registered when the code is loaded, and once
 *      more by the first weir_open: those come before the locks of the host's allocator, as types.h says. They tell by
 *      `mine` what has been done. Not noticed are forks that begin before a plug-in with libweir.a is first opened.
 *   5. A fork reads the list once. A copy puts itself on it, then looks whether a fork is on, and waits until it is
 *      over; the handler says that one is on, then reads the list (each side one word ordered after the other): either
 *      it finds the copy, or the copy waits. Not inside a read section of the host's, for which the fork may be waiting.
 *
 * Finding each other: their names are hidden, and no loader would tell a plug-in another's. So each copy has an ELF
 * note (name "weir", type the version of the record below, description the distance to the record), which the linker keeps
 * and the loader shows. The leader is the first that asks; who asks later finds it among all that are loaded. Asking is
 * serialised by the lock under which the loader shows them. That one is only waited for with nothing of weir's held: a
 * constructor of the host's that calls weir_open does so under the loader's locks. A copy that leads or follows stays
 * loaded (stay.h).
 *
 * A copy whose record is of another version cannot be joined. Where one is in use, weir_open fails with -EBUSY.
 */
#ifndef WEIRI_SYNC_COPIES_H
#define WEIRI_SYNC_COPIES_H

#include "atomic.h"

/* What is done around a fork, in this order; in the child without `parent` steps and the other way round. */
typedef enum weiri_fork_step {
    WEIRI_FORK_BEFORE,
    WEIRI_FORK_CLOSING,
    WEIRI_FORK_SECTIONS,
    WEIRI_FORK_HOLDERS,
    WEIRI_FORK_RCU, /* once for each liburcu, as are the others with this name */
    WEIRI_FORK_CLOSED,
    WEIRI_FORK_PREPARE,
    WEIRI_FORK_PARENT,
    WEIRI_FORK_PARENT_OPEN,
    WEIRI_FORK_PARENT_RCU,
    WEIRI_FORK_CHILD_RCU,
    WEIRI_FORK_CHILD,
    WEIRI_FORK_CHILD_OPEN,
    WEIRI_FORK_AFTER
} weiri_fork_step;

/* Joins the copies of the process, `step` being this one's part. 0, -ENOMEM or -EBUSY. Any number of times. */
int weiri_copies_join(void (*step)(weiri_fork_step step));

#endif
