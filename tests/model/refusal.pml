/*
 * Published refusals: src/limiter/refusal.c, the table in src/limiter/node.h. One node, one rule without time:
 * `count` is what is charged; calls cost 1 or 2.
 *
 * Bounds: two callers of NOPS calls each, one reset, one raise of the limit from 1 to 2. Every step is one load or
 * one store, and everybody sees them in one order: the memory orders are argued in docs/design.md, section 5.
 *
 * Asserted, wherever a reader refuses without the lock: at the moment of its first look at the tag the node had no
 * room for this call under the limits that the call uses (so no reset or raise that was over when the call began is
 * masked), `remaining` was what it is told, and all fields are of one publication.
 *
 * Twins: KEEP_TAG (tag not cleared before the fields)  SAME_TAG (numbers come back)  NO_VERSION (not compared)
 *        RESET_KEEPS, CHARGE_KEEPS (a reset, a charge does not clear)
 */
#ifndef NOPS
#define NOPS 2
#endif
#define LIMIT(version) (version) /* limits of version 1 are 1, of version 2 are 2 */
#define REMAINING(charged) ((charged) < LIMIT(limits) -> LIMIT(limits) - (charged) : 0)
#define FIELD(value) ((tags << 2) | (value)) /* ghost: which publication a field is of */
#define VALUE(field) ((field) & 3)
#define OF(field) ((field) >> 2)

byte plan = 1;                          /* version of the limits in force */
bool lock;
byte count;                             /* the rule's state */
byte tags;                              /* node->tags */
byte tag, version, cost, remaining;     /* node->refusal; the last two are FIELDs */

inline weiri_refusal_clear() { tag = 0 }

inline weiri_refusal_publish() {        /* under the lock */
  if
  :: tag != 0 && version == limits && VALUE(cost) < weight          /* covered: what stands covers more */
  :: else ->
     tags++;
#ifndef KEEP_TAG
     weiri_refusal_clear();
#endif
     version = limits;
     cost = FIELD(weight);
     remaining = FIELD(REMAINING(count));
#ifdef SAME_TAG
     tag = 1
#else
     tag = tags
#endif
  fi
}

inline weiri_refusal_covers() {         /* -> refused */
  d_step { seen = tag; ghost = count };
  refused = false;
  if
  :: seen == 0
#ifndef NO_VERSION
  :: seen != 0 && version != limits
  :: seen != 0 && version == limits ->
#else
  :: seen != 0 ->
#endif
     a = cost;
     if
     :: weight < VALUE(a)
     :: else ->
        b = remaining;
        if
        :: tag == seen ->
           refused = true;
           assert(OF(a) == OF(b));
           assert(ghost + weight > LIMIT(limits));
           assert(VALUE(b) == REMAINING(ghost))
        :: else
        fi
     fi
  fi;
  seen = 0; a = 0; b = 0; ghost = 0
}

inline decide_locked() {
  if
  :: count + weight > LIMIT(limits) -> weiri_refusal_publish()
  :: else ->
#ifndef CHARGE_KEEPS
     weiri_refusal_clear();
#endif
     count = count + weight
  fi
}

proctype Caller(byte n) {
  byte limits, weight, seen, a, b, ghost;
  bool refused;
  do
  :: n > 0 ->
     n--;
     if :: weight = 1 :: weight = 2 fi;
     limits = plan;                     /* once a call, before the refusal is looked at */
     weiri_refusal_covers();
     if
     :: refused
     :: else ->
        atomic { !lock -> lock = true };
        decide_locked();
        lock = false
     fi;
     refused = false; weight = 0; limits = 0
  :: else -> break
  od
}

proctype Reset() {                      /* weiri_node_reset */
  atomic { !lock -> lock = true };
#ifndef RESET_KEEPS
  weiri_refusal_clear();
#endif
  count = 0;
  lock = false
}

proctype Raise() { plan = 2 }           /* weir_set_limits: one exchange */

init { atomic { run Caller(NOPS); run Caller(NOPS); run Reset(); run Raise() } }
