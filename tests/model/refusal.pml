/*
 * Published refusals: src/limiter/refusal.c, the table in src/limiter/node.h. One node with one rule, a log whose
 * window is one unit of time: `count` was charged at `newest`, and counts there alone. Calls cost 1 or 2, under one of
 * two plans.
 *
 * Bounds: two callers of NOPS and NOPS2 calls, at time 0 or 1; one process that does OTHERS of: reset, set_limits on
 * plan 0 (from 1 to 2), a sweep at time 1, a migration that raises the segment's floor to 1. Every step is one load or
 * one store, and everybody sees them in one order: the memory orders are argued in docs/design.md, section 5.
 *
 * Asserted, wherever a reader refuses without the lock: at the moment of its first look at the tag the node had no
 * room for this call under the limits that the call uses, at the time at which a lock holder would have decided it (so
 * no reset, raise, drop time or floor that was there when the call began is masked); `remaining` was what it is told,
 * and all fields are of one publication.
 *
 * Twins: KEEP_TAG (tag not cleared before the fields)  SAME_TAG (numbers come back)
 *        NO_VERSION (not compared)                     SAME_VERSION (the plans' versions are counted apart)
 *        RESET_KEEPS, CHARGE_KEEPS, SWEEP_KEEPS (a reset, a charge, a raised drop time does not clear)
 *        NO_UNTIL (its end is not looked at)           NO_FLOOR (compared to now, without the floor)
 *        NO_FROM, NO_GROWS (the whole decision is told before, after the times for which it was worked out)
 *        LATE (a refusal of a late call is published)
 */
#ifndef NOPS
#define NOPS 2
#endif
#ifndef NOPS2
#define NOPS2 1
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#define LIMIT(object) ((object) == 1 -> 1 : 2)         /* limits: 1 and 2 are the plans' first, 3 replaces 1 */
#ifdef SAME_VERSION
#define VERSION(object) ((object) == 3 -> 2 : 1)
#else
#define VERSION(object) (object)
#endif
#define LATER(a, b) ((a) > (b) -> (a) : (b))
#define NEVER 3
#define USED(time, at, charged) ((time) == (at) -> (charged) : 0)
#define FIELD(value) ((tags << 2) | (value))           /* ghost: which publication a field is of */
#define VALUE(field) ((field) & 3)
#define OF(field) ((field) >> 2)

byte plan0 = 1;                         /* limits in force; plan 1 has 2 */
byte floor;                             /* of the segment in which the key is found */
bool lock;
byte count, newest, drop;               /* the rule's state, node->drop */
byte tags;                              /* node->tags */
byte tag, version;                      /* node->refusal; */
byte cost, until, from, grows, remaining;              /* these are FIELDs */

inline weiri_refusal_clear() { tag = 0 }

/* Under the lock; e = the time it was refused at, a = when it would pass. b: a decision was asked for. */
inline weiri_refusal_publish() {
  if
  :: tag != 0 && version == VERSION(limits) && VALUE(cost) < weight && now < VALUE(until)          /* covered */
  :: else ->
     tags++;
#ifndef KEEP_TAG
     weiri_refusal_clear();
#endif
     version = VERSION(limits);
     cost = FIELD(weight);
     until = FIELD(a);
     from = FIELD((wants -> now : NEVER));
     d_step {                           /* when `remaining` grows: when what is charged expires */
       b = USED(e, newest, count);
       grows = FIELD((!wants -> 0 : (b > 0 -> newest + 1 : NEVER)));
     }
     remaining = FIELD((b < LIMIT(limits) -> LIMIT(limits) - b : 0));
#ifdef SAME_TAG
     tag = 1
#else
     tag = tags
#endif
  fi
}

inline fill() {                         /* -> told */
  b = grows;
#ifdef NO_GROWS
  if :: VALUE(b) != 0 -> b = FIELD(NEVER) :: else fi;
#endif
  c = cost;
  told = (VALUE(c) == weight && now < VALUE(b));
  if
  :: told ->
     c = from;
#ifdef NO_FROM
     if :: VALUE(c) == NEVER -> told = false :: else fi
#else
     if :: now < VALUE(c) -> told = false :: else fi
#endif
  :: else
  fi;
  if :: told -> b = remaining :: else fi
}

inline weiri_refusal_covers() {         /* -> refused */
  d_step { seen = tag; at = newest; used = count; e = LATER(LATER(now, newest), LATER(f, drop)) };
  refused = false;
  if
  :: seen == 0
#ifndef NO_VERSION
  :: seen != 0 && version != VERSION(limits)
  :: seen != 0 && version == VERSION(limits) ->
#else
  :: seen != 0 ->
#endif
     a = until;
#ifdef NO_UNTIL
     refused = true;
#else
#ifdef NO_FLOOR
     refused = (now < VALUE(a));
#else
     refused = (LATER(now, f) < VALUE(a));
#endif
#endif
     c = cost;
     refused = (refused && weight >= VALUE(c));
     told = false;
     if
     :: refused && wants -> if :: f > now -> refused = false :: else -> fill(); refused = told fi
     :: else
     fi;
     d_step {
       refused = (refused && tag == seen);
       if
       :: refused ->
          assert(OF(a) == OF(c));
          assert(USED(e, at, used) + weight > LIMIT(limits));
          assert(!told || OF(b) == OF(a));
          assert(!told || VALUE(b) == (USED(e, at, used) < LIMIT(limits) -> LIMIT(limits) - USED(e, at, used) : 0))
       :: else
       fi
     }
  fi;
  seen = 0; a = 0; b = 0; c = 0; e = 0; at = 0; used = 0; told = false
}

inline decide_locked() {
  d_step { b = LATER(f, drop); c = LATER(now, newest); e = LATER(b, c); a = USED(e, newest, count) };
  if
  :: a + weight > LIMIT(limits) ->      /* refuse */
     a = (weight > LIMIT(limits) -> NEVER : newest + 1);
     if
#ifdef LATE
     :: true -> weiri_refusal_publish()
#else
     :: b <= c -> weiri_refusal_publish()
     :: else
#endif
     fi
  :: else ->
#ifndef CHARGE_KEEPS
     weiri_refusal_clear();
#endif
     d_step { count = a + weight; newest = e }
  fi;
  a = 0; b = 0; c = 0; e = 0
}

proctype Caller(byte n) {
  byte limits, weight, now, f, seen, a, b, c, e, at, used;
  bool wants, refused, told;
  do
  :: n > 0 ->
     n--;
     if :: weight = 1 :: weight = 2 fi;
     if :: now = 0 :: now = 1 fi;
     if :: wants = false :: wants = true fi;           /* a decision, or the verdict alone */
     if :: limits = plan0 :: limits = 2 fi;            /* once a call, before the refusal is looked at */
     f = floor;                         /* weiri_table_look */
     weiri_refusal_covers();
     if
     :: refused
     :: else ->
        atomic { !lock -> lock = true };
        decide_locked();
        lock = false
     fi;
     refused = false; weight = 0; limits = 0; now = 0; f = 0; wants = false
  :: else -> break
  od
}

proctype Other(byte n) {
  do
  :: n > 0 ->
     n--;
     if
     :: plan0 = 3                       /* weir_set_limits: one exchange */
     :: floor = 1                       /* a migration: the pointer is copied, the node not looked at */
     :: atomic { !lock -> lock = true };               /* weiri_node_reset */
#ifndef RESET_KEEPS
        weiri_refusal_clear();
#endif
        count = 0;
        lock = false
     :: atomic { !lock -> lock = true };               /* raise_drop: trimmed, or dead */
        if
        :: newest < 1 && drop == 0 ->
#ifndef SWEEP_KEEPS
           weiri_refusal_clear();
#endif
           d_step { count = 0; drop = 1 }
        :: else
        fi;
        lock = false
     fi
  :: else -> break
  od
}

init { atomic { run Caller(NOPS); run Caller(NOPS2); run Other(OTHERS) } }
