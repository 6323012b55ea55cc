/*
 * The fork gate: src/sync/gate.{h,c}; the numbers of the steps are those of gate.h.
 *
 *   Forker   before_fork, the fork, after_fork_in_parent
 *   Own      a decision in a section of weir's own, which takes a spinlock: (a) in gate.h
 *   Outside  a holder that waits for a grace period, as weiri_reclaim does: (b)
 *   Inside   a decision in a read section of the host's own: becomes a holder of the second kind
 *   Host     waits for a grace period, knowing nothing of weir, with liburcu's lock held
 *
 * Bounds: FORKS forkers, NOPS rounds of each of the others. Not here: a fork from inside a read section, the child,
 * `turn` of the janitor. REFUSED: the kernel refuses the grace period; that the time which the first fork gives to sections is
 * enough for them is assumed, not shown.
 *
 * Asserted: at a fork the gate is CLOSED, no lock is held and nobody holds; and no state in which all wait for ever.
 *
 * Twins: URCU_AFTER_CLOSED (liburcu's lock taken after CLOSED, both kinds of holders waited for together: a deadlock)
 *        HOLDERS_AFTER_URCU (5 before 4: a deadlock)  NO_LOOK (gate not looked at before a lock)
 *        NO_GRACE (3 left out)  OPEN_LATE (gate opened again after the next fork may begin)
 *        with REFUSED: STAYS_OPEN (OPEN again after the first fork)  UNCOUNTED (no holder at a counted gate)
 */
#ifndef FORKS
#define FORKS 2
#endif
#ifndef NOPS
#define NOPS 1
#endif
#define OPEN 0
#define CLOSING 1
#define CLOSED 2
#define COUNTED 3

byte gate = OPEN;
byte holders[2];                        /* [1]: inside a section of the host's own */
bool life;                              /* the janitor's lock for starting and stopping */
bool urcu;                              /* liburcu's lock: who has it waits for a grace period, or forks */
byte sections, waited;                  /* bit p: process p is in one; ... and the grace period waits for it */
bool spinlock;
bool counted;                           /* no grace period to be had: COUNTED stands for OPEN */
byte holding;                           /* ghost: holders that went on; the counts show those too that back out */

#define MUTEX_LOCK(m) atomic { !m -> m = true }
#define ENTER(p) sections = sections | (1 << p)
#define LEAVE(p) d_step { sections = sections & ~(1 << p); waited = waited & ~(1 << p) }

inline weiri_rcu_wait() {
#ifndef REFUSED
  atomic { !urcu -> urcu = true; waited = sections };
  waited == 0;
  urcu = false
#else
  skip
#endif
}

inline wait_for_sections() {
#ifndef REFUSED
  weiri_rcu_wait()
#else
  if
  :: counted
  :: !counted ->
     waited = sections;                 /* time enough for these */
     waited == 0;
     counted = true
  fi
#endif
}

#ifdef STAYS_OPEN
#define REOPENED OPEN
#else
#define REOPENED (counted -> COUNTED : OPEN)
#endif

inline use_spinlock() {
  MUTEX_LOCK(spinlock);
  spinlock = false
}

#define LETS_IN(inside) (gate == OPEN || gate == COUNTED || (gate == CLOSING && inside))

inline weiri_gate_hold(inside) {        /* each round of the loop is try_hold; the look and the ghost are one step */
  do
  :: holders[inside]++;
     if
     :: d_step { LETS_IN(inside) -> holding++ }; break
     :: d_step { !LETS_IN(inside) -> skip };
        holders[inside]--;
        if
        :: skip                         /* tries again at once, in vain or not */
        :: skip -> LETS_IN(inside)      /* or not before it is of use: so waiting for ever is an end state */
        fi
     fi
  od
}

inline weiri_gate_release(inside) { d_step { holding--; holders[inside]-- } }

proctype Forker() {
  MUTEX_LOCK(life);                     /* 1 */
  gate = CLOSING;                       /* 2 */
#ifndef NO_GRACE
  wait_for_sections();                  /* 3 */
#endif
#ifdef URCU_AFTER_CLOSED
  gate = CLOSED;
  holders[0] == 0;
  holders[1] == 0;
  MUTEX_LOCK(urcu);
#else
#ifndef HOLDERS_AFTER_URCU
  holders[0] == 0;                      /* 4 */
#endif
  MUTEX_LOCK(urcu);                     /* 5 */
#ifdef HOLDERS_AFTER_URCU
  holders[0] == 0;
#endif
  gate = CLOSED;                        /* 6 */
  holders[1] == 0;
#endif
  assert(gate == CLOSED && !spinlock && holding == 0); /* the fork */
#ifdef OPEN_LATE
  urcu = false;
  life = false;
  gate = REOPENED
#else
  gate = REOPENED;
  urcu = false;
  life = false
#endif
}

proctype Own(byte p; byte n) {
  do
  :: n > 0 ->
     n--;
     do
     :: ENTER(p);
#ifdef NO_LOOK
        use_spinlock(); LEAVE(p); break
#else
        if
        :: gate == OPEN -> use_spinlock(); LEAVE(p); break
        :: gate != OPEN -> LEAVE(p);                         /* weiri_gate_wait */
           if
           :: gate == OPEN
           :: gate == COUNTED ->
#ifndef UNCOUNTED
              weiri_gate_hold(1);
#endif
              ENTER(p); use_spinlock(); LEAVE(p);
#ifndef UNCOUNTED
              weiri_gate_release(1);
#endif
              break
           fi
        :: gate == COUNTED ->                                /* weiri_gate_pass, for a lock that is only tried */
           holders[1]++;
           if
           :: d_step { LETS_IN(1) -> holding++ };
              if
              :: atomic { !spinlock -> spinlock = true }; spinlock = false
              :: spinlock
              fi;
              weiri_gate_release(1)
           :: d_step { !LETS_IN(1) -> skip }; holders[1]--
           fi;
           LEAVE(p); break
        fi
#endif
     od
  :: else -> break
  od
}

proctype Outside(byte n) {
  do
  :: n > 0 ->
     n--;
     weiri_gate_hold(0);
     weiri_rcu_wait();
     weiri_gate_release(0)
  :: else -> break
  od
}

proctype Inside(byte p; byte n) {
  do
  :: n > 0 ->
     n--;
     ENTER(p);                          /* the host's; weir's own is nested in it and adds nothing */
     if
     :: gate == OPEN -> use_spinlock()
     :: gate != OPEN ->
        weiri_gate_hold(1);             /* weiri_gate_wait, inside */
        use_spinlock();
        weiri_gate_release(1)
     fi;
     LEAVE(p)
  :: else -> break
  od
}

proctype Host(byte n) {
  do
  :: n > 0 -> n--; weiri_rcu_wait()
  :: else -> break
  od
}

init {
  byte i;
  atomic {
    do :: i < FORKS -> run Forker(); i++ :: else -> break od;
    run Own(0, NOPS); run Outside(NOPS); run Inside(1, NOPS); run Host(NOPS)
  }
}
