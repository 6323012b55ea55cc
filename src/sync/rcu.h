/*
 * The one place that names an RCU flavour: liburcu's bp. Any thread may enter; the first time it is registered by the
 * library itself, and unregistered when it exits.
 *
 * The read side is inlined: each of these functions of liburcu is under ten lines, and its licence note allows that
 * from any code. With initial-exec TLS a section costs two stores and no call.
 *
 * ThreadSanitizer cannot see the edges inside liburcu, so they are announced here: everything a reader did before it
 * left happens before what follows a grace period that waited for it.
 *
 * In a build with hooks (hook.h) the watcher is the RCU: it defines all of these.
 */
#ifndef WEIRI_SYNC_RCU_H
#define WEIRI_SYNC_RCU_H

#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE 1
#endif
#include <urcu/urcu-bp.h>

#include "atomic.h"

#if WEIRI_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
extern char weiri_rcu_edge;
#endif

#if WEIRI_HOOKED
void weiri_rcu_enter(void);
void weiri_rcu_leave(void);
bool weiri_rcu_inside(void);
static inline bool weiri_rcu_known(void)
{
    return true;
}
static inline bool weiri_rcu_register(void)
{
    return true;
}
#else
static inline void weiri_rcu_enter(void)
{
    urcu_bp_read_lock();
}

static inline void weiri_rcu_leave(void)
{
#if WEIRI_TSAN
    __tsan_release(&weiri_rcu_edge);
#endif
    urcu_bp_read_unlock();
}

/* Is this thread inside a read section, of the host's own too? Asking does not make it known to liburcu. */
static inline bool weiri_rcu_inside(void)
{
    return URCU_TLS(urcu_bp_reader) && urcu_bp_read_ongoing() != 0;
}

/* Has it been registered? Else it enters by way of weiri_gate_register (gate.h). */
static inline bool weiri_rcu_known(void)
{
    return __builtin_expect(URCU_TLS(urcu_bp_reader) != NULL, 1);
}

/* Registers this thread. False where there is no memory for that: liburcu aborts then, so it is asked for first. */
bool weiri_rcu_register(void);
#endif

/*
 * Waits until every read section that has begun is over. Not inside one. False, and no wait, where the kernel refuses
 * the membarrier call that liburcu would make: liburcu aborts on that, so it is asked first.
 */
bool weiri_rcu_wait(void);

/* Would it wait? */
bool weiri_rcu_can_wait(void);

/* Which liburcu it is: a function that each has of its own. */
#if WEIRI_HOOKED
#define WEIRI_RCU_IDENTITY weiri_rcu_before_fork
#else
#define WEIRI_RCU_IDENTITY urcu_bp_before_fork
#endif

/* liburcu's part of fork. */
void weiri_rcu_before_fork(void);
void weiri_rcu_after_fork_in_parent(void);
void weiri_rcu_after_fork_in_child(void);

#endif
