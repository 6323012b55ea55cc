/*
 * torture: everything at once, for as long as one likes. A round is one limiter of one shape (inline counter, wide
 * counter, logs, buckets, several rules with costs, plans) in one kind of time, attacked by four threads a core until
 * the round's calls are used up. Attacks the guarantees
 *
 *   A, B, C   the ledger and its judge: what was accepted, and what is held afterwards (judge.c, ending.c)
 *   F         memory against live keys, at the end of a round (ending.c)
 *   G         every block comes back whole, to its limiter, once; nothing touches a freed one (quarantine.c, watcher.c)
 *   H         no call fails in a way that is not documented, whatever the allocator and the clock do
 *
 * The threads: askers (a hot key, many keys, keys that come and go, all of them; singly, in batches, peeks, resets),
 * two tenders (sweeps, weir_each, limits, resets, reclaims, forced migrations), a watcher (a reader that walks the
 * table itself and holds what it found), an opener (limiters of its own that come and go; in every other round a second
 * watcher). None lives long: each is replaced by a new thread again and again, so that liburcu registers and forgets
 * readers all the time. A signal stops them wherever they are (shake.c).
 *
 * Time: frozen; given by the caller, jumping both ways; a custom clock, jumping; the real one, with the janitor. In all
 * but the first callers are late, by up to four windows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TORTURE_TORTURE_H
#define WEIR_TORTURE_TORTURE_H

#include "ledger.h"
#include "quarantine.h"

enum { TORTURE_RULES = 3, TORTURE_PLANS = 3, HOT_KEYS = 4, MANY_KEYS = 1000, ANCHORS = 12 };

/* Keys by number: hot ones, anchors (charged before the threads start), many, and from FIRST_CHURN on new ones. */
enum { FIRST_ANCHOR = HOT_KEYS, FIRST_MANY = FIRST_ANCHOR + ANCHORS, FIRST_CHURN = FIRST_MANY + MANY_KEYS };

/* --- shapes.c: what a limiter is made of --- */

typedef struct torture_shape {
    const char *name;
    weir_rule rules[TORTURE_RULES];
    size_t count;
    uint32_t plans;
    uint64_t plan_limits[TORTURE_PLANS * TORTURE_RULES]; /* plan by plan */
    uint64_t max_limit;                                  /* of weir_options */
    uint64_t longest;                                    /* window */
    bool nodes;                                          /* states do not fit a cell */
} torture_shape;

enum { TORTURE_SHAPES = 10 };

/* Shape `number`, with windows of about `unit` ns; `single`: one plan alone. */
torture_shape torture_shape_of(unsigned number, uint64_t unit, bool single);

/* The largest limit of a rule that is set before the end of a round. */
uint64_t torture_largest(const torture_shape *shape, unsigned rule);

/* Is an accepted call of this cost recorded in any rule? */
bool torture_records(const torture_shape *shape, uint64_t cost);

/* --- round.c: one limiter under attack --- */

enum torture_time { TIME_FROZEN, TIME_GIVEN, TIME_CUSTOM, TIME_REAL, TORTURE_TIMES };

typedef struct torture_round {
    uint64_t seed;
    unsigned number;
    torture_shape shape;
    enum torture_time time;
    uint64_t unit;     /* the windows are about so long, ns */
    uint64_t lateness; /* max_lateness_ns */
    bool exact;        /* frozen, one plan, costs of 1, no resets, limits stay: exactly L are accepted */
    bool resets, changes, forced, admits;
    bool swift; /* the clock runs ten times as fast, and the tenders mostly sweep: keys come and go */
    bool janitor;
    uint64_t max_keys, fail_one_in;
    uint64_t calls; /* of each asker */
    unsigned threads;

    weir *limiter;
    quarantine_account account;
    _Atomic uint64_t clock;  /* of all but the real time */
    _Atomic uint64_t ticket; /* orders the calls, see judge.c */
    _Atomic uint64_t floor;  /* no floor is above this: the largest drop time that anybody asked for */
    _Atomic uint64_t newborn;
    _Atomic uint64_t asking; /* askers that are not through */
    _Atomic bool full[HOT_KEYS];
    ledger ledgers[THREADS_MAX];
} torture_round;

/* Makes round `number` of this seed, runs it and judges it. `calls`: of all threads together, about. */
void torture_run(uint64_t seed, unsigned number, uint64_t calls);

/* What stands in fault messages. */
const char *torture_describe(const torture_round *round);

/* --- moment.c: when a call is made --- */

typedef struct moment {
    uint64_t now;       /* passed to weir; WEIR_NOW too */
    uint64_t low, high; /* what that means lies between */
} moment;

void moment_options(torture_round *round, weir_options *options);
moment moment_pick(torture_round *round, uint64_t *random); /* and moves the clock on, or makes it jump */
void moment_called(torture_round *round, moment *at);       /* right after the call: fills what WEIR_NOW meant */
uint64_t moment_floor(torture_round *round);                /* no floor met so far is above this */
uint64_t moment_clock(torture_round *round);

/* A number that orders calls as they began and ended. */
uint64_t moment_ticket(torture_round *round);

/* --- the threads --- */

/* One life of a thread: a thread of its own. */
typedef struct life {
    torture_round *round;
    unsigned index; /* whose ledger */
    uint64_t random;
    uint64_t calls; /* an asker's calls that are left */
    unsigned keys;  /* an asker's keys, enum of asker.c */
    uint64_t asked, accepted, refused, unrecorded, looks;
} life;

void asker_live(life *self);   /* asker.c */
void tender_live(life *self);  /* tender.c */
void watcher_live(life *self); /* watcher.c */
void opener_live(life *self);  /* opener.c */

/* One call about key `number`, with its entry in the ledger. */
void asker_take(life *self, uint64_t number);
void asker_reset(life *self, uint64_t number);

/* A key that may be there. */
uint64_t asker_any_key(life *self);

/* --- ending.c: the threads are gone, memory is there: is what is held what was accepted? --- */
void ending_check(torture_round *round);

/* --- fault.c --- */

/* Says what is wrong, in which round and with which seed, prints the histogram, and ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) void fault(const char *format, ...);
void fault_unless(const char *what, uint64_t wanted, uint64_t got);
void fault_watch(void);                            /* signals */
void fault_in(const torture_round *round_or_null); /* what it will say */

/* --- shake.c --- */
void shake_start(void); /* from the main thread, before there are others */
void shake_me(void);    /* this thread may be stopped anywhere from now on */

/* --- torture.c --- */

typedef struct torture_counts {
    _Atomic uint64_t rounds, calls, accepted, refused, unrecorded, batches, peeks, resets, sweeps, walks, limits, keys;
    _Atomic uint64_t splits, compactions, swept, helped, died, jumps, late, opened, held, looks, inside, judged,
        settled;
    _Atomic uint64_t shaken;
} torture_counts;
extern torture_counts torture_told;

static inline void tell(_Atomic uint64_t *what, uint64_t amount)
{
    atomic_fetch_add_explicit(what, amount, memory_order_relaxed); /* orders nothing that a sanitizer should see */
}

void torture_print(void);

#endif
