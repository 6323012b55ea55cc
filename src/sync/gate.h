/*
 * The fork gate: no fork finds a lock of weir held, or a change half made that only its maker could finish.
 *
 * In the child only the forking thread goes on; a lock held by any other would stay locked. So whatever must not be cut
 * in two by a fork is done in one of two ways:
 *
 *   (a) inside a read section, after weiri_gate_is_open() was true in that same section: spinlocks. Where it is not,
 *       the section is left and weiri_gate_wait() called before starting over.
 *   (b) between weiri_gate_hold() and weiri_gate_release(): everything longer, such as waiting for a grace period.
 *
 * The gate is OPEN, CLOSING or CLOSED (or COUNTED, see below). The handler before a fork
 *   1. takes the janitor's lock for starting and stopping: two forks at once come one after the other;
 *      from here until it is over the thread is not cancelled,
 *   2. stores CLOSING, sequentially consistent,
 *   3. waits for a grace period: every section that saw OPEN is over, its locks are free (RCU: a section that did not
 *      see the store began before the wait),
 *   4. waits until nobody holds outside a section of the host's own,
 *   5. takes liburcu's locks: from here on no grace period passes, and none is waited for,
 *   6. stores CLOSED, and waits until nobody holds inside a section of the host's own either,
 *   7. takes the janitor's other lock.
 * Afterwards they are given back in the opposite order: the gate is open again before the next fork can close it.
 * Where a process has several copies of weir, each step is done in all of them before the next (copies.h).
 *
 * A holder adds itself, then looks at the gate, both sequentially consistent (with 2 and 6: either the handler sees it
 * or it sees the handler); it goes on where the gate is OPEN or COUNTED, and else backs
 * out and waits.
 *
 * A thread inside a read section of the host's own cannot wait for a gate that is CLOSING: step 3 waits for that
 * section, and at step 5 whoever has liburcu's lock may be waiting for it. It goes on as a holder of the second kind,
 * which takes locks but never waits for a grace period. Once the gate is CLOSED nobody waits for read sections, so there
 * it can wait as others do. Holders of the first kind may wait for grace periods, hence 4 before 5.
 *
 * Where the kernel refuses the membarrier call that step 3 needs, nobody can tell which sections are over. Then the
 * first fork gives them a fifth of a second, while a section takes microseconds, and from there on the gate is COUNTED
 * instead of OPEN: way (a) is gone, and who takes a lock is a holder, for whom later forks wait by step 6, without 3.
 *
 * What is not kept whole: a thread that vanishes between reserving room for a key and claiming its cell takes one place
 * of max_keys with it, in the child.
 */
#ifndef WEIRI_SYNC_GATE_H
#define WEIRI_SYNC_GATE_H

#include "rcu.h"

enum weiri_gate_state { WEIRI_GATE_OPEN = 0, WEIRI_GATE_CLOSING = 1, WEIRI_GATE_CLOSED = 2, WEIRI_GATE_COUNTED = 3 };

extern weiri_a32 weiri_gate;

/* Acquire: what is done under a lock taken afterwards is not moved before the look. */
static inline bool weiri_gate_is_open(void)
{
    return weiri_load_acquire_32(&weiri_gate) == WEIRI_GATE_OPEN;
}

/*
 * Outside weir's own read sections: waits until the gate is open. True where the caller, being inside a section of the
 * host's own or before a counted gate, has become a holder instead: it may take locks, and calls
 * weiri_gate_release(true) when it is through.
 */
bool weiri_gate_wait(void);

/*
 * Inside a read section, for locks that are only tried: is the gate open, or counted? Never waits. *holding: the caller
 * has become a holder, and calls weiri_gate_release(true) when it is through.
 */
bool weiri_gate_pass(bool *holding);

/* Waits until it may be a holder, and is. Returns which kind, for weiri_gate_release: true inside a section of the
 * host's own. */
bool weiri_gate_hold(void);
void weiri_gate_release(bool inside);

/* May this thread enter read sections? Registers it the first time; false where there is no memory for that. */
bool weiri_gate_register(void);

static inline bool weiri_gate_ready(void)
{
    return weiri_rcu_known() || weiri_gate_register();
}

/* What one other part of the library, the janitor, does around a fork. */
typedef struct weiri_gate_handlers {
    void (*before)(void);  /* while the gate is open */
    void (*prepare)(void); /* when it is closed and nobody holds */
    void (*parent)(void);  /* while it is still closed */
    void (*child)(void);
    void (*after)(void);   /* in both, when it is open again: undoes `before` */
} weiri_gate_handlers;

/* Installs the fork handlers, once a process. 0, -ENOMEM, or -EBUSY: another release of weir has done so. */
int weiri_gate_install(const weiri_gate_handlers *janitor);

#endif
