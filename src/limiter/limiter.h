/*
 * limiter: what a weir is made of, and what its parts need of each other.
 *
 *   options.c  what open is asked for, checked       open.c     open, close
 *   limits.c   set_limits                            clock.c    now
 *   call.c     allow, take, peek, reset, identify, prefetch: the way in and out
 *   batch.c    batches, in phases
 *   cell.c     one inline counter: lock-free         node.c     everything else: a node behind the cell, and its lock
 *   refusal.c  a node's published refusal            quick.c    the commonest charge on a node
 *   supplies.c memory of a node's logs               sweep.c    sweep, reclaim
 *   each.c     each, stats                           janitor.c  the process's one thread
 *
 * A request flows down once: call.c -> table look -> cell.c or node.c (decide, publish) -> decision.
 */
#ifndef WEIRI_LIMITER_LIMITER_H
#define WEIRI_LIMITER_LIMITER_H

#include <pthread.h>
#include <weir/weir.h>

#include "../sync/gate.h"
#include "../sync/memory.h"
#include "../sync/rcu.h"
#include "../table/migrate.h"
#include "../table/table.h"
#include "../window/decide.h"

/* The limits of one plan: immutable, replaced whole, so that no decision sees a mixture. */
typedef struct weiri_limits {
    weiri_retired retired;
    uint64_t version; /* no two of a limiter are equal */
    uint64_t limit[WEIR_RULES_MAX];
} weiri_limits;

struct weir {
    /* Read by every call, written by none. */
    weiri_rules rules;
    uint64_t owner; /* marks identities */
    bool nodes;     /* states are nodes, else one inline counter */
    bool one_log;   /* there is one rule, a log */
    bool costs;     /* some rule charges the cost */
    uint32_t plans;
    uint32_t when_full;
    uint32_t clock;
    uint64_t (*clock_read)(void *argument);
    void *clock_argument;
    uint64_t max_lateness; /* UINT64_MAX: endless */
    weiri_apointer *plan;  /* plans pointers to weiri_limits */
    weiri_table table;
    weiri_memory memory;
    weiri_a64 sweep_at; /* hash where the next bounded sweep goes on */
    /* set_limits alone, inside a hold of the gate */
    pthread_mutex_t limits_lock;
    uint64_t last_version;
    /* The janitor's, under its lock (janitor.c). */
    bool tended;  /* has a janitor; set by open */
    bool closing;
    uint64_t sweep_interval;
    uint64_t next_sweep; /* CLOCK_MONOTONIC, ns */
    uint64_t hurried;    /* when somebody found its retired memory crowded; UINT64_MAX: nobody */
    struct weir *next_tended;
};

/* One call on its way down. */
typedef struct weiri_ask {
    weir *limiter;
    const weir_identity *identity;
    uint64_t now;
    uint64_t cost;
    const weiri_limits *limits;
    bool peek;
    bool holding; /* a holder of the fork gate: locks need no look at it */
    bool slow;    /* the table was changed: see to retired memory afterwards */
} weiri_ask;

/* Results of a call beside 1 and 0, inside the library. */
enum {
    WEIRI_CLOSED_GATE = -1000, /* leave the read section, wait for the gate, start over */
    WEIRI_NOT_QUICK = -1001    /* not the common case: nothing was done, take the general way */
};

/* --- clock.c --- */
bool weiri_read_clock(const weir *limiter, uint64_t *now); /* false: none, or out of range */

/* A time that may be WEIR_NOW, resolved. False: out of range, or no clock. */
static inline bool weiri_resolve_now(const weir *limiter, uint64_t *now)
{
    uint64_t clock; /* a variable of its own: `now` stays in a register */
    if (*now != WEIR_NOW)
        return *now <= WEIR_TIME_MAX;
    if (!weiri_read_clock(limiter, &clock))
        return false;
    *now = clock;
    return true;
}

/* What has expired at this time may be dropped: min(now, clock) - max_lateness, never of a caller's future. */
uint64_t weiri_drop_time(const weir *limiter, uint64_t now);

/* --- limits.c --- */
/* `values`: one for each rule. NULL: no memory. */
weiri_limits *weiri_limits_new(weir *limiter, const uint64_t *values);

/* --- call.c --- */
/* After a call that changed the table, outside any read section: wakes the janitor, or reclaims where there is none. */
void weiri_relieve(weir *limiter);

/* A call that cannot be recorded: decided by when_full, flagged. `decision`, if any, is filled as looked at. */
int weiri_unrecorded(const weir *limiter, uint32_t flag, weir_decision *decision);

/* Where a new key can go when `segment` has no place for it. NULL: no memory. */
weiri_segment *weiri_find_room(weiri_ask *ask, weiri_segment *segment);

/*
 * Reserves room in the count of keys, sweeping where there is none: the key's own segment, or if nothing has expired
 * there one other, each time the next. 1: reserved. -1: look again from *segment on, since something was swept, or
 * another call has claimed the very key. 0: looked again, and full.
 */
int weiri_reserve(weiri_ask *ask, weiri_segment **segment, bool *swept);

/* --- cell.c and node.c: 1, 0 or WEIRI_CLOSED_GATE; inside a read section --- */
int weiri_cell_call(weiri_ask *ask, weir_decision *decision);
int weiri_node_call(weiri_ask *ask, weir_decision *decision);
int weiri_cell_reset(weiri_ask *ask, weir_decision *unused);
int weiri_node_reset(weiri_ask *ask, weir_decision *unused);

/* Fetches the node that a cell leads to, if it does. */
void weiri_node_approach(const weiri_cell *cell);
bool weiri_cell_live(const void *limiter, weiri_pair state, uint64_t time);
bool weiri_node_live(const void *limiter, weiri_pair state, uint64_t time);

/* --- sweep.c --- */
enum weiri_swept {
    WEIRI_SWEEP_CLOSED, /* the fork gate is closed, and some were left */
    WEIRI_SWEEP_LIVE,   /* a migration would drop nothing */
    WEIRI_SWEEP_DEAD
};

/* Turns the expired nodes of a segment to FRESH; `trims`: and gives back what live ones no longer need. `holding`: as
 * below. */
enum weiri_swept weiri_sweep_nodes(weir *limiter, weiri_segment *segment, uint64_t time, bool trims, bool holding);

/* Sweeps one segment, where the last bounded sweep stopped. Inside a read section. */
void weiri_sweep_next(weir *limiter, uint64_t time, bool holding);

/* Sweeps from *hash on; stops at the end (*hash = 0) or after about max_keys keys. Results of weir_sweep. `holding`:
 * the caller is a holder of the fork gate, and sees to retired memory itself. */
int weiri_sweep_some(weir *limiter, uint64_t *hash, uint64_t time, uint64_t max_keys, bool holding);

/* --- janitor.c --- */
int weiri_janitor_add(weir *limiter);     /* 0 or -errno */
void weiri_janitor_remove(weir *limiter); /* returns when the janitor has left the limiter */
bool weiri_janitor_wake(weir *limiter);   /* false: there is none and none can be started */
extern const weiri_gate_handlers weiri_janitor_fork_handlers;

#endif
