/*
 * Published refusals: src/limiter/refusal.c, the table in src/limiter/node.h. One node with one rule, a log whose
 * window is one unit of time: `count` was charged at `newest`, and counts there alone. Calls cost 1 or 2, under one of
 * two plans.
 *
 * Bounds: two callers of NOPS and NOPS2 calls, at time 0 or 1; one process that does OTHERS of: reset, set_limits on
 * plan 0 (from 1 to 2), a sweep at time 1, a migration that raises the segment's floor to 1. Every step is one load or
 * one store, and everybody sees them in one order: the memory orders are argued in docs/design.md, section 5. Which of
 * the two that are published is kept beside a third is left open: any, or none.
 *
 * Asserted, wherever a reader refuses without the lock: at the moment of its first look at the tag the node had no
 * room for this call under the limits that the call uses, at the time at which a lock holder would have decided it (so
 * no reset, raise, drop time or floor that was there when the call began is masked); `remaining`, the end, when
 * `remaining` grows and whether the call is late were what it is told, and all fields are of one publication.
 *
 * Twins: KEEP_TAG (tag not cleared before the fields)  SAME_TAG (numbers come back)
 *        NO_VERSION (not compared)                     SAME_VERSION (the plans' versions are counted apart)
 *        RESET_KEEPS, CHARGE_KEEPS, SWEEP_KEEPS (a reset, a charge, a raised drop time does not clear)
 *        NO_UNTIL (its end is not looked at)           NO_FLOOR (compared to now, without the floor)
 *        NO_FROM, NO_GROWS (the whole decision is told before, after the times for which it was worked out)
 *        NO_HIGH (and at a larger cost than it was)    WIDE (two that end at different times are taken for one)
 *        COSTS, SPAN (two are told by the words of one though they differ in when `remaining` grows, in their end)
 *        LATE (a late call's whole decision is told from its time on, not from the floor)
 *        NOT_LATE (what was worked out for a call that was not late is told to one before the floor)
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
#define NUMBER (tag >> 3)                              /* the tag's, above what holds */
#define FIELD(value) ((NUMBER << 2) | (value))         /* ghost: which publication a field is of */
#define VALUE(field) ((field) & 3)
#define OF(field) ((field) >> 2)
#define HOLDS 7
#define ONE 1
#define COSTS_TOO 2
#define SPAN_TOO 3
#define VERDICT_TOO 4

byte plan0 = 1;                         /* limits in force; plan 1 has 2 */
byte floor;                             /* of the segment in which the key is found */
bool lock;
byte count, newest, drop;               /* the rule's state, node->drop */
byte tag;                               /* node->refusal; */
byte low, until, from, grows, remaining, other[3];     /* these are FIELDs */
byte terms, version, high;              /* one word; `terms` is the FIELD of what is in it but these: late or not */

inline weiri_refusal_clear() {
  if
#ifdef SAME_TAG
  :: (tag & HOLDS) != 0 -> tag = tag - (tag & HOLDS)
#else
  :: (tag & HOLDS) != 0 -> tag = (tag | HOLDS) + 1
#endif
  :: else
  fi
}

/* What whoever has the lock finds: `remaining`, when the call passes, and when `remaining` grows. */
#define REMAINS(time, at, charged) \
  (USED(time, at, charged) < LIMIT(limits) -> LIMIT(limits) - USED(time, at, charged) : 0)
#define OPENS(at) (weight > LIMIT(limits) -> NEVER : (at) + 1)
#define GROWS(time, at, charged) (USED(time, at, charged) > 0 -> (at) + 1 : NEVER)

#ifdef WIDE
#define SAME_END true
#else
#define SAME_END (ku == a)
#endif
#ifdef COSTS
#define SAME_SPAN (kg != 0)
#else
#define SAME_SPAN (kg == rg)
#endif
#ifdef SPAN
#define SAME_COSTS true
#else
#define SAME_COSTS (ku == a)
#endif

/* What stands, for the writer: kl, kh, ku, kf, kg, kr, kv and kt, as read_all reads it. */
inline keep_first() {
  kl = VALUE(low); kh = high; ku = VALUE(until); kf = VALUE(from); kg = VALUE(grows); kr = VALUE(remaining);
  kv = version; kt = VALUE(terms)
}
inline keep_second() {
  keep_first();
  if
  :: (tag & HOLDS) == COSTS_TOO -> kl = VALUE(other[0]); ku = VALUE(other[1]); kh = VALUE(other[2])
  :: (tag & HOLDS) == SPAN_TOO -> kf = VALUE(other[0]); kg = VALUE(other[1]); kr = VALUE(other[2])
  :: (tag & HOLDS) == VERDICT_TOO -> kl = VALUE(other[0]); ku = VALUE(other[1]); kv = VALUE(other[2]); kg = 0; kt = 0
  fi
}

/* Under the lock; e = the time it was refused at, a = when it would pass, l = late, b = the floor. */
inline weiri_refusal_publish() {
  d_step {
     rv = VERSION(limits); rl = weight; rh = weight; rf = NEVER; rg = 0; rr = 0; rt = 0;
     if
     :: wants ->
        rg = GROWS(e, newest, count); rr = REMAINS(e, newest, count); rt = l;
#ifdef LATE
        rf = now;
#else
        rf = (l -> b : now);
#endif
        if :: a == NEVER -> rl = LIMIT(limits) + 1; rh = 3 :: else fi
     :: else
     fi
  };
  holds = ONE;
  if                                    /* kept beside it: nothing, the one that stands, the other one */
  :: true
  :: (tag & HOLDS) != 0 -> d_step { holds = VERDICT_TOO; keep_first() }
  :: (tag & HOLDS) > ONE -> d_step { holds = VERDICT_TOO; keep_second() }
  fi;
  d_step {
     if
     :: holds == VERDICT_TOO && wants && kg != 0 && SAME_SPAN && kv == rv ->      /* same_span */
        if :: kt == rt && kf < rf -> rf = kf :: else fi;
        if
        :: SAME_END && kt == rt ->      /* widen */
           holds = ONE;
           if :: kl < rl -> rl = kl :: else fi;
           if :: kh > rh -> rh = kh :: else fi
        :: else -> holds = COSTS_TOO; kf = kl; kg = ku; kr = kh
        fi
     :: holds == VERDICT_TOO && wants && kg != 0 && !(SAME_SPAN && kv == rv) && SAME_COSTS && kv == rv && kt == rt ->
        holds = SPAN_TOO;               /* same_costs */
        if :: kl < rl -> rl = kl :: else fi;
        if :: kh > rh -> rh = kh :: else fi
     :: holds == VERDICT_TOO && !wants && kg != 0 ->   /* the words go to the decision that there is */
        l = kl; kl = rl; rl = l; l = kv; kv = rv; rv = l; l = ku; ku = a; a = l;
        rh = kh; rf = kf; rg = kg; rr = kr; rt = kt;
        kf = kl; kg = ku; kr = kv
     :: else -> if :: holds == VERDICT_TOO -> kf = kl; kg = ku; kr = kv :: else fi
     fi;
     kl = 0; kh = 0; ku = 0; kv = 0; kt = 0
  };
#ifndef KEEP_TAG
  weiri_refusal_clear();
#endif
  d_step { terms = FIELD(rt); version = rv; high = rh };
  low = FIELD(rl);
  until = FIELD(a);
  grows = FIELD(rg);
  from = FIELD(rf);
  remaining = FIELD(rr);
  if
  :: holds != ONE ->                    /* kf, kg, kr: the three words */
     other[0] = FIELD(kf);
     other[1] = FIELD(kg);
     other[2] = FIELD(kr)
  :: else
  fi;
#ifdef KEEP_TAG
  tag = tag - (tag & HOLDS) + holds;
#else
  tag = tag | holds;
#endif
  holds = 0; rl = 0; rh = 0; rf = 0; rg = 0; rr = 0; rv = 0; rt = 0; kf = 0; kg = 0; kr = 0
}

/* Of what was read: does it refuse, and tell where that is asked for? -> refused */
inline answers() {
#ifdef NO_VERSION
  refused = true;
#else
  refused = (kv == VERSION(limits));
#endif
#ifndef NO_UNTIL
#ifdef NO_FLOOR
  refused = (refused && now < VALUE(a));
#else
  refused = (refused && LATER(now, f) < VALUE(a));
#endif
#endif
  refused = (refused && weight >= VALUE(kl));
  if
  :: wants ->
#ifndef NO_HIGH
     refused = (refused && weight <= kh);
#endif
#ifndef NO_FROM
     refused = (refused && LATER(now, f) >= VALUE(kf));
#endif
#ifdef NO_GROWS
     refused = (refused && VALUE(kg) != 0);
#else
     refused = (refused && LATER(now, f) < VALUE(kg));
#endif
#ifndef NOT_LATE
     refused = (refused && (f <= now || VALUE(kt)));
#endif
  :: else
  fi
}

inline weiri_refusal_covers() {         /* -> refused */
  d_step { seen = tag; at = newest; used = count; b = LATER(f, drop); l = (b > LATER(now, at));
           e = LATER(LATER(now, at), b); b = 0 };
  refused = false;
  if
  :: (seen & HOLDS) == 0
  :: else ->
     d_step { kt = terms; kv = version; kh = high };
     a = until;
     kl = low;
     if
     :: wants -> kf = from; kg = grows; kr = remaining
     :: else
     fi;
     d_step { holds = OF(kt); answers() };
     if
     :: !refused && (seen & HOLDS) > ONE ->
        rl = other[0];
        rf = other[1];
        rg = other[2];
        d_step {
           if
           :: (seen & HOLDS) == COSTS_TOO -> kl = rl; a = rf; kh = VALUE(rg)
           :: (seen & HOLDS) == SPAN_TOO -> kf = rl; kg = rf; kr = rg
           :: (seen & HOLDS) == VERDICT_TOO -> kl = rl; a = rf; kv = VALUE(rg); kg = 0
           fi;
           answers();
           refused = (refused && tag == seen);
           if :: refused -> assert(OF(rl) == holds && OF(rf) == holds && OF(rg) == holds) :: else fi
        }
     :: else
     fi;
     d_step {
        refused = (refused && tag == seen);
        if
        :: refused ->
           assert(OF(a) == holds && OF(kl) == holds);
           assert(USED(e, at, used) + weight > LIMIT(limits));
           assert(!wants || (OF(kf) == holds && OF(kg) == holds && OF(kr) == holds));
           assert(!wants || VALUE(kr) == REMAINS(e, at, used));
           assert(!wants || VALUE(a) == OPENS(at));
           assert(!wants || VALUE(kg) == GROWS(e, at, used));
           assert(!wants || l == (f > now))
        :: else
        fi;
        rl = 0; rf = 0; rg = 0; kl = 0; kh = 0; kf = 0; kg = 0; kr = 0; kv = 0; kt = 0
     }
  fi;
  seen = 0; holds = 0; a = 0; e = 0; at = 0; used = 0; l = 0
}

inline decide_locked() {
  d_step { b = LATER(f, drop); c = LATER(now, newest); e = LATER(b, c); a = USED(e, newest, count) };
  if
  :: a + weight > LIMIT(limits) ->      /* refuse */
     d_step { a = OPENS(newest); l = (b > c) };
     weiri_refusal_publish()
  :: else ->
#ifndef CHARGE_KEEPS
     weiri_refusal_clear();
#endif
     d_step { count = a + weight; newest = e }
  fi;
  a = 0; b = 0; c = 0; e = 0; l = 0
}

proctype Caller(byte n) {
  byte limits, weight, now, f, seen, holds, a, b, c, e, at, used, l;
  byte rl, rh, rf, rg, rr, rv, rt, kl, kh, kf, kg, kr, ku, kv, kt;      /* the new one, and what is kept or was read */
  bool wants, refused;
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
