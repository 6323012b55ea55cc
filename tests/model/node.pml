/*
 * Cells that hold a node: install, charge and reset under the node's lock, sweep (dead, taken out, retired, freed
 * after a grace period), migrate, with a slow helper. src/limiter/{node.c,sweep.c}; rules N1-N5 of src/limiter/node.h
 * and docs/design.md. Nodes are used again once freed, so a pointer kept too long leads to another life of the node.
 *
 * A grace period: a retired node is freed the instant the last read section is left that had begun before.
 *
 * Bounds: KEYS keys, segments of C cells, NSEG of them, NODES nodes, limit L; one caller of NOPS1 calls, resets and
 * (PEEK) peeks, one sweeper of NOPS2 sweeps and migrations (TWO_SWEEPERS: another with one), a helper of the first
 * migration. A node may be swept whenever its lock is free: its expiry is not modelled, nor the drop time, which
 * stays in word 1.
 *
 * Asserted: no node is looked at after it was freed; what it holds is what was charged; each is retired once, by then
 * no cell that is in force holds it; at the end nothing is left private, unfreed or in two cells.
 *
 * Twins: UNINIT_BURIED (UNINIT in place of FRESH, T7)      FOLLOW_FROZEN (a call follows a frozen pointer, N5)
 *        NO_FOLLOW (a sweep does not follow copies, N4)    RETIRE_FIRST (before the cell lets go, N4)
 *        HELPER_JUDGES (a migration may drop a node, N3)   LOOK_FROZEN (with PEEK: no look at the successor, N5)
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
#define NODES 3
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

byte identity[NSEG * C], state[NSEG * C], forward[NSEG];
bool done[NSEG];
byte segments = 1, directory = 0, finished, expected = 2, slow;
#define FREED 0
#define PRIVATE 1
#define INSTALLED 2
#define RETIRED 3
byte life[NODES], charges[NODES], waits[NODES];
byte generation[NODES];                  /* ghost: how often it was freed, modulo 4 */
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

inline weiri_node_retire(n) { d_step { assert(life[n] == INSTALLED); life[n] = RETIRED; waits[n] = sections } }

inline copy(t) {                         /* x = key, w = its frozen state; never looks into the node (N3) */
  j = 0;
  do
  :: j < C ->
     y = identity[CELL(t, j)];
     if
     :: y == x -> break
     :: y == EMPTY -> d_step { if :: identity[CELL(t, j)] == EMPTY -> identity[CELL(t, j)] = x :: else fi }
     :: y == SEALED -> assert(false)
     :: else -> j++
     fi
  :: else -> assert(false)
  od;
  skip;
  d_step { if :: state[CELL(t, j)] == UNINIT -> state[CELL(t, j)] = THAWED(w) :: else fi }
}

inline weiri_complete(s) {
  if
  :: done[s]
  :: else ->
     i = 0;
     do                                  /* freeze_all */
     :: i < C ->
        d_step {
          if
          :: identity[CELL(s, i)] == EMPTY -> identity[CELL(s, i)] = SEALED
          :: identity[CELL(s, i)] != EMPTY && identity[CELL(s, i)] != SEALED ->
             state[CELL(s, i)] = state[CELL(s, i)] | FROZEN
          :: else
          fi
        };
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
        :: x != SEALED && IS_NODE(w) -> t = forward[s]; copy(t)
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

inline weiri_find(k) {                   /* in s; c < C: y says what was met there */
  c = 0;
  do
  :: c < C ->
     y = identity[CELL(s, c)];
     if :: y == k || y == EMPTY || y == SEALED -> break :: else -> c++ fi
  :: else -> break
  od
}
#define HELD(k) (c < C && y == (k))

inline weiri_advance(k) {                /* v = what was met in s: the key's own frozen cell, or nothing */
  if
  :: !done[s] && (v & FROZEN) && IS_NODE(v) -> x = k; w = v; t = forward[s]; copy(t); x = 0; w = 0; t = 0; y = 0; j = 0
  :: else -> weiri_help(s)
  fi;
  s = forward[s]
}

inline weiri_spinlock_lock(n) { VALID(n); d_step { !lock[n] -> VALID(n); lock[n] = true } }
inline weiri_spinlock_unlock(n) { d_step { VALID(n); lock[n] = false } }

inline bury() {                          /* T7: FRESH, not UNINIT */
  d_step { if :: state[CELL(s, c)] == v -> state[CELL(s, c)] = FRESH :: else fi }
}

inline install(k) {                      /* N1; v = what was met. j = 1: charged, 2: no memory */
  d_step {                               /* node_new */
    n = 0;
    do :: n < NODES && life[n] != FREED -> n++ :: else -> break od;
    if :: n < NODES -> life[n] = PRIVATE; dead[n] = false; charges[n] = 1 :: else -> n = 0; j = 2 fi
  };
  if
  :: j == 2
  :: else ->
     d_step {                            /* weiri_claim, where the key has no cell (T3) */
       if
       :: y == EMPTY && identity[CELL(s, c)] == EMPTY -> identity[CELL(s, c)] = k; y = k
       :: else
       fi
     };
     d_step {
       if
       :: y == k && state[CELL(s, c)] == v ->
          state[CELL(s, c)] = NODE(n); life[n] = INSTALLED; assert(truth[k] == 0); truth[k] = 1; j = 1
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
  :: weiri_find(k);
     v = 0;
     if
     :: HELD(k) ->
        d_step { v = state[CELL(s, c)]; if :: IS_NODE(v) -> g = generation[NODE_OF(v)] :: else fi }
     :: else
     fi;
     assert(c < C);                      /* no more keys than cells */
     if
     :: y == SEALED -> weiri_advance(k)
#ifdef FOLLOW_FROZEN
     :: (v & FROZEN) && !IS_NODE(v) -> weiri_advance(k)
     :: IS_NODE(v) ->
#else
     :: v & FROZEN -> weiri_advance(k)
     :: !(v & FROZEN) && IS_NODE(v) ->
#endif
        weiri_spinlock_lock(NODE_OF(v)); /* decide_once */
        if
        :: dead[NODE_OF(v)] ->
           weiri_spinlock_unlock(NODE_OF(v));
           if :: v & FROZEN -> weiri_advance(k) :: else -> bury() fi
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
     :: y != SEALED && !(v & FROZEN) && !IS_NODE(v) ->
        if
        :: resets -> break               /* nothing charged */
        :: else -> install(k); if :: j != 0 -> j = 0; break :: else fi
        fi
     fi
  od;
  s = 0; c = 0; y = 0; v = 0; g = 0;
  leave_section()
}

/* A peek, or a call that a published refusal covers: from a frozen cell the pointer is followed only where the
 * successor's cell was seen, later in this section, absent or UNINIT (N5). */
inline peek(k) {
  enter_section();
  v = 0;
  do                                     /* weiri_table_look */
  :: weiri_find(k);
     if
     :: HELD(k) ->
        d_step { w = state[CELL(s, c)]; if :: IS_NODE(w) -> g = generation[NODE_OF(w)] :: else fi };
        if
        :: w & FROZEN -> v = w; s = forward[s];
#ifdef LOOK_FROZEN
           if :: IS_NODE(v) -> break :: else fi
#endif
        :: w == UNINIT -> break
        :: else -> v = w; break
        fi
     :: c < C && y == SEALED -> s = forward[s]
     :: else -> break
     fi
  od;
  if
  :: IS_NODE(v) -> d_step { VALID(NODE_OF(v)); assert(dead[NODE_OF(v)] || charges[NODE_OF(v)] == truth[k]) }
  :: else
  fi;
  s = 0; c = 0; y = 0; v = 0; g = 0; w = 0;
  leave_section()
}

inline weiri_table_settled() { do :: forward[s] != 0 -> weiri_help(s); s = forward[s] :: else -> break od }

inline take_out(k) {                     /* N4; v = the cell's state when the node was judged */
#ifdef RETIRE_FIRST
  weiri_node_retire(NODE_OF(v));
#endif
  do
  :: d_step { if :: state[CELL(s, c)] == v -> state[CELL(s, c)] = FRESH :: else fi; j = state[CELL(s, c)] };
     if
#ifdef NO_FOLLOW
     :: true -> break
#else
     :: !(j & FROZEN) || THAWED(j) != v -> break         /* the authoritative cell holds it no more */
     :: else ->
        j = 0;
        weiri_help(s); s = forward[s];
        weiri_find(k);
        if :: !HELD(k) -> break :: else fi
#endif
     fi
  od;
  j = 0;
#ifndef RETIRE_FIRST
  weiri_node_retire(NODE_OF(v))
#endif
}

inline sweep_node(k) {
  enter_section();
  weiri_table_settled();
  weiri_find(k);
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
  d_step { if :: forward[s] == 0 && segments < NSEG -> forward[s] = segments; segments++ :: else fi };     /* start */
  if :: forward[s] != 0 -> weiri_help(s) :: else fi;
  s = 0;
  leave_section()
}

proctype Caller(byte me; byte n_ops) {
  byte s, c, y, x, v, w, t, i, j, n, g;
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
  byte s, c, y, x, v, w, t, i, j, g;
  do
  :: n_ops > 0 ->
     n_ops--;
     if
     :: sweep_node(1)
#if KEYS > 1
     :: sweep_node(2)
#endif
     :: weiri_compact()
     fi
  :: else -> break
  od;
  finished++
}

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
    run Caller(0, NOPS1); run Sweeper(1, NOPS2); run Slow(2);
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
