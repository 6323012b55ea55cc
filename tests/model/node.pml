/*
 * Cells that hold a node: install, charge and reset under the node's lock, sweep (dead, taken out, retired, freed
 * after a grace period), migrate, with a slow helper. src/limiter/{node.c,sweep.c}, src/table/{table.c,migrate.c};
 * rules N1-N5 of src/limiter/node.h and docs/design.md. Nodes are used again once freed, so a pointer kept too long
 * leads to another life of the node.
 *
 * A grace period: a retired node is freed the instant the last read section is left that had begun before.
 *
 * Bounds: KEYS keys, segments of C cells, NSEG of them, NODES nodes, limit L; one caller of NOPS1 calls, resets and
 * (PEEK) peeks, one sweeper of NOPS2 sweeps and migrations (TWO_SWEEPERS: another with one; MOVER: it only sweeps, and
 * another process migrates MOVER times), a helper of the first migration (NO_SLOW: none). INSTALLED_FIRST: the key has
 * a node at the beginning. A node may be swept whenever its lock is free, and each migration may carry FRESH or not
 * (CARRIES: it does): expiry and drop times are in node_time.pml.
 *
 * Asserted: no node is looked at after it was freed; what it holds is what was charged; each is retired once, by then
 * no cell that is in force holds it; a copy never brings back a node that was retired; a helper of a segment that is
 * done changes nothing, nor one that is late by two generations; at the end nothing is left private, unfreed or in two
 * cells.
 *
 * Twins: UNINIT_BURIED (UNINIT in place of FRESH, T7)      LOOK_FROZEN (a frozen pointer is followed at once, N5)
 *        NO_FOLLOW (a sweep does not follow copies, N4)    RETIRE_FIRST (before the cell lets go, N4)
 *        HELPER_JUDGES (a migration may drop a node, N3)   COPY_OVER (a copy replaces what is there, T12)
 *        FOLLOW_ONE (a sweep follows one migration, N4)
 *        NO_COPY (a call goes on in the successor before the copy is made, T15)
 * WITNESS, expected to fail: 1 a helper meets a cell that is two generations old, both migrations being done, 2 a sweep
 * follows a node through two migrations, 3 a call copies its own cell while a sweep takes the dead node out, 4 the
 * same, and that sweep has followed one migration already.
 */
#ifndef L
#define L 2
#endif
#ifndef C
#define C 1
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef NSEG
#define NSEG 3
#endif
#ifndef NOPS1
#define NOPS1 2
#endif
#ifndef NOPS2
#define NOPS2 3
#endif
#ifndef NODES
#define NODES 3
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#define EMPTY 0
#define SEALED 3
#define UNINIT 0
#ifdef UNINIT_BURIED
#define FRESH 0
#else
#define FRESH 1
#endif
#define FROZEN 8
#define THAWED(w) ((w) & 7)
#define IS_NODE(w) (THAWED(w) >= 2)
#define NODE_OF(w) (THAWED(w) - 2)
#define NODE(n) ((n) + 2)
#define CELL(s, i) ((s) * C + (i))
#define LIVE(s, w) (IS_NODE(w) || (FRESH != UNINIT && THAWED(w) == FRESH && carries_fresh[s]))

byte identity[NSEG * C], state[NSEG * C], forward[NSEG];
bool done[NSEG];
bool carries_fresh[NSEG];                /* the descriptor: is the drop time of FRESH after T? */
byte segments = 1, directory = 0, finished, expected = 2, slow;
#define FREED 0
#define PRIVATE 1
#define INSTALLED 2
#define RETIRED 3
byte life[NODES], charges[NODES], waits[NODES];
byte generation[NODES];                  /* ghost: how often it was freed, modulo 4 */
byte hops;                               /* ghost: migrations that a sweep under way has followed */
bool lock[NODES], dead[NODES];
byte sections;                           /* bit p: process p is in a read section */
byte truth[KEYS + 1];                    /* ghost: what is charged on the key */

#define VALID(n) assert(life[n] != FREED && generation[n] == g)

inline enter_section() { d_step { sections = sections | (1 << me); s = directory } }

inline leave_section() {                 /* and the earliest freeing there can be */
  d_step {
    sections = sections & ~(1 << me);
    i = 0;
    do
    :: i < NODES ->
       if
       :: life[i] == RETIRED ->
          waits[i] = waits[i] & ~(1 << me);
          if
          :: waits[i] == 0 ->
             life[i] = FREED; generation[i] = (generation[i] + 1) & 3; charges[i] = 0; dead[i] = false; assert(!lock[i])
          :: else
          fi
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

inline weiri_node_retire(n) {            /* no cell that is in force holds it; frozen ones: see copy */
  d_step {
    assert(life[n] == INSTALLED);
    j = 0;
    do
    :: j < NSEG * C -> assert(state[j] != NODE(n)); j++
    :: else -> break
    od;
    j = 0;
    life[n] = RETIRED; waits[n] = sections
  }
}

/* x = key, w = its frozen state; never looks into the node (N3). `own`: made by a call for its own key (T15). */
inline copy(s, t, own) {
  j = 0;
  do
  :: j < C ->
     y = identity[CELL(t, j)];
     if
     :: y == x -> break
     :: y == EMPTY ->
        d_step { if :: identity[CELL(t, j)] == EMPTY -> assert(!done[s]); identity[CELL(t, j)] = x :: else fi }
     :: y == SEALED -> assert(false)
     :: else -> j++
     fi
  :: else -> assert(false)
  od;
  skip;
  d_step {
    assert(!(WITNESS == 1 && done[s] && done[t] && (state[CELL(t, j)] & FROZEN)));
    if
#ifdef COPY_OVER
    :: !(state[CELL(t, j)] & FROZEN) ->
#else
    :: state[CELL(t, j)] == UNINIT ->
#endif
       assert(!done[s]);
       assert(!IS_NODE(w) || life[NODE_OF(w)] == INSTALLED);
       assert(!(own && WITNESS == 3 && IS_NODE(w) && dead[NODE_OF(w)]));
       assert(!(own && WITNESS == 4 && IS_NODE(w) && dead[NODE_OF(w)] && hops > 0));
       state[CELL(t, j)] = THAWED(w)
    :: else
    fi
  }
}

inline weiri_complete(s) {
  if
  :: done[s]
  :: else ->
     i = 0;
     do                                  /* freeze_all */
     :: i < C ->
        d_step { if :: identity[CELL(s, i)] == EMPTY -> identity[CELL(s, i)] = SEALED :: else fi };
        if
        :: identity[CELL(s, i)] != SEALED -> d_step { state[CELL(s, i)] = state[CELL(s, i)] | FROZEN }
        :: else
        fi;
        i++
     :: else -> break
     od;
     i = 0;
     do                                  /* copy_all */
     :: i < C ->
        d_step { x = identity[CELL(s, i)]; w = state[CELL(s, i)] };
        if
#ifdef HELPER_JUDGES
        :: x != SEALED && IS_NODE(w) -> skip
#endif
        :: x != SEALED && LIVE(s, w) -> t = forward[s]; copy(s, t, false)
        :: else
        fi;
        i++
     :: else -> break
     od;
     done[s] = true
  fi;
  i = 0; j = 0; x = 0; w = 0; t = 0; y = 0
}

inline weiri_help(s) {                   /* publishing may be left out: the lock was taken (T22) */
  weiri_complete(s);
  if :: d_step { if :: directory == s -> directory = forward[s] :: else fi } :: skip fi
}

inline weiri_find(s, k) {                /* c < C: y says what was met there */
  c = 0;
  do
  :: c < C ->
     y = identity[CELL(s, c)];
     if :: y == k || y == EMPTY || y == SEALED -> break :: else -> c++ fi
  :: else -> break
  od
}
#define HELD(k) (c < C && y == (k))

inline weiri_advance(k) {                /* T15: one step from s on */
#ifndef NO_COPY
  weiri_find(s, k);
  if :: HELD(k) && !done[s] -> w = state[CELL(s, c)] :: else -> w = 0 fi;
  if
  :: (w & FROZEN) && LIVE(s, w) -> x = k; t = forward[s]; copy(s, t, true)
  :: else -> weiri_help(s)
  fi;
#endif
  s = forward[s]; x = 0; w = 0; t = 0; y = 0; j = 0; c = 0
}

/* T16, N5: from s on, without a store. v = what holds for the key, g = the life of the node it leads to; q = 1 + the
 * cell to write to, 0: none; held: it is the key's own. */
inline weiri_table_look(k) {
  t = s; v = UNINIT; q = 0; held = false; passed = false;
  do
  :: weiri_find(t, k);
     if
     :: HELD(k) ->
        d_step { w = state[CELL(t, c)]; if :: IS_NODE(w) -> g = generation[NODE_OF(w)] :: else fi };
        if
        :: w & FROZEN -> v = (LIVE(t, w) -> THAWED(w) : UNINIT)
        :: !(w & FROZEN) && w == UNINIT && passed -> break           /* what was frozen stands until it is copied */
        :: else -> v = w; q = CELL(t, c) + 1; held = true; break
        fi
     :: c < C && y == EMPTY -> if :: !passed -> q = CELL(t, c) + 1 :: else fi; break
     :: else                             /* SEALED */
     fi;
#ifdef LOOK_FROZEN
     if :: IS_NODE(v) -> break :: else fi;
#endif
     if :: forward[t] != 0 -> t = forward[t]; passed = true :: else -> break fi
  od;
  t = 0; w = 0; y = 0; c = 0; passed = false
}

inline weiri_spinlock_lock(n) { VALID(n); d_step { !lock[n] -> VALID(n); lock[n] = true } }
inline weiri_spinlock_unlock(n) { d_step { VALID(n); lock[n] = false } }

inline bury() {                          /* T7: FRESH, not UNINIT */
  d_step { if :: state[q - 1] == v -> state[q - 1] = FRESH :: else fi }
}

inline install(k) {                      /* N1; v = what was met. j = 1: charged, 2: no memory */
  d_step {                               /* node_new, charge_private */
    n = 0;
    do :: n < NODES && life[n] != FREED -> n++ :: else -> break od;
    if :: n < NODES -> life[n] = PRIVATE; dead[n] = false; charges[n] = 1 :: else -> n = 0; j = 2 fi
  };
  if
  :: j == 2
  :: else ->
     if
     :: !held ->                         /* T3 */
        d_step { if :: identity[q - 1] == EMPTY -> identity[q - 1] = k; held = true :: else fi }
     :: else
     fi;
     d_step {
       if
       :: held && state[q - 1] == v ->
          state[q - 1] = NODE(n); life[n] = INSTALLED; assert(truth[k] == 0); truth[k] = 1; j = 1
       :: else -> life[n] = FREED; charges[n] = 0
       fi;
       n = 0
     }
  fi
}

/* weiri_node_call and weiri_node_reset */
inline call(k, resets) {
  enter_section();
  do
  :: weiri_table_look(k);
     if
     :: IS_NODE(v) && !resets -> d_step { VALID(NODE_OF(v)) }        /* weiri_refusal_covers: N5 */
     :: else
     fi;
     if
     :: IS_NODE(v) && q == 0 -> weiri_advance(k)
     :: IS_NODE(v) && q != 0 ->
        weiri_spinlock_lock(NODE_OF(v)); /* decide_once */
        if
        :: dead[NODE_OF(v)] ->
           weiri_spinlock_unlock(NODE_OF(v));
           bury()
        :: else ->
           if
           :: resets -> d_step { charges[NODE_OF(v)] = 0; truth[k] = 0 }
           :: !resets && charges[NODE_OF(v)] < L ->
              d_step { assert(charges[NODE_OF(v)] == truth[k]); charges[NODE_OF(v)]++; truth[k]++ }
           :: else -> assert(charges[NODE_OF(v)] == truth[k])        /* refused */
           fi;
           weiri_spinlock_unlock(NODE_OF(v));
           break
        fi
     :: else ->
        if
        :: resets -> break               /* nothing charged */
        :: !resets && q == 0 ->          /* weiri_find_room: no more keys than cells, so there is a way on */
           assert(forward[s] != 0);
           weiri_advance(k)
        :: else -> install(k); if :: j != 0 -> j = 0; break :: else fi
        fi
     fi
  od;
  s = 0; v = 0; g = 0; q = 0; held = false;
  leave_section()
}

inline peek(k) {                         /* where nothing is published it takes the lock, past a frozen cell too */
  enter_section();
  weiri_table_look(k);
  if
  :: IS_NODE(v) -> d_step { VALID(NODE_OF(v)); assert(dead[NODE_OF(v)] || charges[NODE_OF(v)] == truth[k]) }
  :: else
  fi;
  s = 0; v = 0; g = 0; q = 0; held = false;
  leave_section()
}

inline weiri_table_settled() { do :: forward[s] != 0 -> weiri_help(s); s = forward[s] :: else -> break od }

inline take_out(k) {                     /* N4; v = the cell's state when the node was judged, c in s */
#ifdef RETIRE_FIRST
  weiri_node_retire(NODE_OF(v));
#endif
  do
  :: q = state[CELL(s, c)];
     if
     :: THAWED(q) != v -> break          /* the authoritative cell holds it no more: buried before any freeze */
     :: THAWED(q) == v && !(q & FROZEN) ->
        d_step { if :: state[CELL(s, c)] == v -> state[CELL(s, c)] = FRESH; q = 0 :: else fi };
        if :: q == 0 -> break :: else fi
     :: else ->
#ifdef NO_FOLLOW
        break;
#endif
#ifdef FOLLOW_ONE
        if :: hops > 0 -> break :: else fi;
#endif
        q = 0;
        hops++;
        assert(!(WITNESS == 2 && hops == 2));
        weiri_help(s); s = forward[s];
        weiri_find(s, k);
        if :: !HELD(k) -> break :: else fi
     fi
  od;
  q = 0; hops = 0;
#ifndef RETIRE_FIRST
  weiri_node_retire(NODE_OF(v))
#endif
}

inline sweep_node(k) {
  enter_section();
  weiri_table_settled();
  weiri_find(s, k);
  if
  :: HELD(k) ->
     d_step { v = state[CELL(s, c)]; if :: IS_NODE(v) -> g = generation[NODE_OF(v)] :: else fi };
     if
     :: !(v & FROZEN) && IS_NODE(v) ->
        weiri_spinlock_lock(NODE_OF(v));
        if
        :: dead[NODE_OF(v)] -> weiri_spinlock_unlock(NODE_OF(v))      /* another sweep is at it */
        :: else ->
           d_step { dead[NODE_OF(v)] = true; truth[k] = 0 };
           weiri_spinlock_unlock(NODE_OF(v));
           take_out(k)
        fi
     :: else                             /* frozen: whoever sweeps the successor will see to it */
     fi
  :: else
  fi;
  s = 0; c = 0; y = 0; v = 0; g = 0; j = 0;
  leave_section()
}

inline weiri_compact() {
  enter_section();
  weiri_table_settled();
  skip;
#ifdef CARRIES
  carries = true;
#else
  if :: carries = false :: carries = true fi;
#endif
  d_step {                               /* start */
    if
    :: forward[s] == 0 && segments < NSEG -> carries_fresh[s] = carries; forward[s] = segments; segments++
    :: else
    fi
  };
  carries = false;
  if :: forward[s] != 0 -> weiri_help(s) :: else fi;
  s = 0;
  leave_section()
}

proctype Caller(byte me; byte n_ops) {
  byte s, c, y, x, v, w, t, i, j, n, g, q;
  bool held, passed;
  do
  :: n_ops > 0 ->
     n_ops--;
     if
     :: call(1, false)
     :: call(1, true)
#if KEYS > 1
     :: call(2, false)
#endif
#ifdef PEEK
     :: peek(1)
#endif
     fi
  :: else -> break
  od;
  finished++
}

proctype Sweeper(byte me; byte n_ops) {
  byte s, c, y, x, v, w, t, i, j, g, q;
  bool carries;
  do
  :: n_ops > 0 ->
     n_ops--;
     if
     :: sweep_node(1)
#if KEYS > 1
     :: sweep_node(2)
#endif
#ifndef MOVER
     :: weiri_compact()
#endif
     fi
  :: else -> break
  od;
  finished++
}

#ifdef MOVER
proctype Mover(byte me; byte n_ops) {
  byte s, y, x, w, t, i, j;
  bool carries;
  do
  :: n_ops > 0 -> n_ops--; weiri_compact()
  :: else -> break
  od;
  finished++
}
#endif

proctype Slow(byte me) {
  byte y, x, w, t, i, j;
end:
  d_step { (forward[0] != 0 && !done[0]) -> sections = sections | (1 << me); slow = 1 };
  weiri_help(0);
  leave_section();
  slow = 2
}

init {
  byte c, s, n, m;
  atomic {
#ifdef INSTALLED_FIRST
    identity[0] = 1; state[0] = NODE(0); life[0] = INSTALLED; charges[0] = 1; truth[1] = 1;
#endif
    run Caller(0, NOPS1); run Sweeper(1, NOPS2);
#ifndef NO_SLOW
    run Slow(2);
#endif
#ifdef MOVER
    run Mover(3, MOVER); expected++;
#endif
#ifdef TWO_SWEEPERS
    run Sweeper(3, 1); expected++
#endif
  }
end:
  (finished == expected && slow != 1);
  d_step {
    s = directory;
    do :: forward[s] != 0 -> s = forward[s] :: else -> break od;
    c = 0;
    do
    :: c < C -> assert(!IS_NODE(state[CELL(s, c)]) || life[NODE_OF(state[CELL(s, c)])] == INSTALLED); c++
    :: else -> break
    od;
    n = 0;
    do
    :: n < NODES ->
       assert(life[n] != PRIVATE && life[n] != RETIRED);
       if
       :: life[n] == INSTALLED ->
          assert(!dead[n] && !lock[n]);
          c = 0; m = 0;
          do
          :: c < C ->
             if
             :: identity[CELL(s, c)] != EMPTY && identity[CELL(s, c)] != SEALED && state[CELL(s, c)] == NODE(n) ->
                m++;
                assert(charges[n] == truth[identity[CELL(s, c)]])
             :: else
             fi;
             c++
          :: else -> break
          od;
          assert(m == 1)
       :: else
       fi;
       n++
    :: else -> break
    od
  }
}
