/*
 * Time on keys that have a node: expiry, the drop time {FRESH, T} of a cell, node->drop, the floor of a segment, and
 * callers however late. src/limiter/{node.c,sweep.c}, src/table/{table.c,migrate.c}; `Drop time`, N1-N4, T16-T18 of
 * docs/design.md.
 *
 * One key, one cell a segment, one rule: a log whose window is two units, so that charges at e - 1 and e count at e.
 * What is done under a node's lock is one step. Nodes are not used again here: memory is node.pml's.
 *
 * Bounds: at first there is one node with one charge at 0; times 0 to TIMES - 1, limit L, NSEG segments, NODES nodes;
 * a caller of NOPS1 calls and resets, each at any time, a sweeper of NOPS2 sweeps and migrations, each at any drop
 * time, and a slow helper of the first migration. T19, which bounds drop times, is not needed for what is asserted.
 *
 * Asserted: at each acceptance the charges in the window, by effective stamps and since the last reset, are at most L;
 * the effective time never falls, resets included; word 1 of the cell in force only grows (S3); a node that a sweep
 * passes by for its bound has not expired (N6).
 *
 * Twins: COPY_FORGETS (a copy without the drop time)      FRESH_DIES (a migration drops FRESH whatever its time)
 *        NO_CELL_FLOOR (word 1 not heeded)                NO_NODE_FLOOR (node->drop not heeded: what a trim forgot)
 *        NO_SEGMENT_FLOOR (T18)                           BURY_FORGETS (who finds a node dead keeps the old drop time)
 *        TAKE_OUT_FORGETS (the sweep does)                RESET_FORGETS (a reset forgets the newest stamp)
 *        OWN_TIME (each helper judges FRESH at its own time, T17)
 *        BOUND_FROM_NOW (a sweep counts the bound from its own time, not from the newest charge)
 * WITNESS, expected to fail: 1 a late call is decided by the drop time of a FRESH cell that was copied, 2 by a trim's,
 * 3 a call buries a dead node, 4 a second drop time replaces the first, 5 a bound moves on.
 */
#ifndef L
#define L 2
#endif
#ifndef TIMES
#define TIMES 4
#endif
#ifndef NSEG
#define NSEG 3
#endif
#ifndef NODES
#define NODES 2
#endif
#ifndef NOPS1
#define NOPS1 2
#endif
#ifndef NOPS2
#define NOPS2 2
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#define UNINIT 0
#define FRESH 1
#define FROZEN 8
#define THAWED(w) ((w) & 7)
#define IS_NODE(w) (THAWED(w) >= 2)
#define NODE_OF(w) (THAWED(w) - 2)
#define NODE(n) ((n) + 2)
#define LATER(a, b) ((a) > (b) -> (a) : (b))
#ifdef FRESH_DIES
#define LIVE(w0, w1, time) IS_NODE(w0)
#else
#define LIVE(w0, w1, time) (IS_NODE(w0) || (THAWED(w0) == FRESH && (w1) > (time)))          /* weiri_node_live */
#endif

bool claimed[NSEG], sealed[NSEG], done[NSEG];
byte word0[NSEG], word1[NSEG];            /* the cell's state */
byte forward[NSEG], T[NSEG];              /* the descriptor; forward 0: none */
byte floor[NSEG];
byte segments = 1, directory = 0;

bool dead[NODES];
byte drop[NODES], newest[NODES];          /* node->drop; the log's newest stamp, */
byte now_[NODES], before[NODES];          /* charges at it, and one unit before */
byte nodes;                               /* so many were made */

byte charged[TIMES];                      /* ghost: charges accepted since the last reset, by effective stamp */
byte last;                                /* ghost: the latest effective stamp */
bool was_copied;                          /* ghost: some FRESH was */
bool succeeds[NODES];                     /* ghost: another was dropped before it */

inline any_time(time) {
  if
  :: time = 0
  :: time = 1
  :: time = 2
  :: time = 3
#if TIMES > 4
  :: time = 4
#endif
  fi
}

inline accept(e) {
  d_step {
    assert(e >= last); last = e;
    charged[e]++;
    assert(charged[e] + (e > 0 -> charged[(e) - 1] : 0) <= L)
  }
}

inline swap(cell, a0, a1, b0, b1) {       /* -> ok */
  d_step {
    ok = (word0[cell] == a0 && word1[cell] == a1);
    if :: ok -> assert(b1 >= a1); word0[cell] = b0; word1[cell] = b1 :: else fi
  }
}

inline copy(s) {                          /* w0, w1 = the frozen state */
  d_step {
    if
    :: !claimed[forward[s]] && !sealed[forward[s]] -> assert(!done[s]); claimed[forward[s]] = true
    :: else
    fi
  };
#ifndef OWN_TIME
  assert(claimed[forward[s]]);
#endif
  d_step {
    if
    :: claimed[forward[s]] && word0[forward[s]] == UNINIT ->
       word0[forward[s]] = THAWED(w0);
#ifndef COPY_FORGETS
       word1[forward[s]] = w1;
#endif
       if :: THAWED(w0) == FRESH -> was_copied = true :: else fi
    :: else
    fi
  }
}

inline weiri_help(s) {
  if
  :: done[s]
  :: else ->
     d_step { if :: !claimed[s] -> sealed[s] = true :: else -> word0[s] = word0[s] | FROZEN fi };      /* freeze_all */
     if
     :: claimed[s] ->
        w0 = word0[s]; w1 = word1[s];
#ifdef OWN_TIME
        if :: LIVE(w0, w1, T[s]) :: LIVE(w0, w1, TIMES - 1) :: !LIVE(w0, w1, TIMES - 1) -> w0 = UNINIT fi;
        if :: w0 != UNINIT -> copy(s) :: else fi
#else
        if :: LIVE(w0, w1, T[s]) -> copy(s) :: else fi
#endif
     :: else
     fi;
     done[s] = true
  fi;
  w0 = 0; w1 = 0;
  if :: d_step { if :: directory == s -> directory = forward[s] :: else fi } :: skip fi
}

inline weiri_advance() {
  w0 = word0[s]; w1 = word1[s];
  if
  :: !done[s] && (w0 & FROZEN) && LIVE(w0, w1, T[s]) -> copy(s); w0 = 0; w1 = 0
  :: else -> weiri_help(s)
  fi;
  s = forward[s]
}

/* T16: v0, v1 = what holds for the key, f = the largest floor; q = 1 + the cell to write to, 0: none; held: it is the
 * key's own. */
inline weiri_table_look() {
  t = s; v0 = UNINIT; v1 = 0; f = 0; q = 0; held = false; passed = false;
  do
  :: f = LATER(f, floor[t]);
     if
     :: claimed[t] ->
        d_step { w0 = word0[t]; w1 = word1[t] };
        if
        :: w0 & FROZEN ->
           v0 = THAWED(w0); v1 = w1;
           if
           :: v0 != UNINIT && !LIVE(v0, v1, T[t]) ->
              v0 = UNINIT; v1 = 0;
              f = LATER(f, T[t])
           :: else
           fi
        :: !(w0 & FROZEN) && w0 == UNINIT && passed -> break
        :: else -> v0 = w0; v1 = w1; q = t + 1; held = true; break
        fi
     :: !claimed[t] && !sealed[t] -> if :: !passed -> q = t + 1 :: else fi; break
     :: else
     fi;
     if :: forward[t] != 0 -> t = forward[t]; passed = true :: else -> break fi
  od;
  t = 0; w0 = 0; w1 = 0; passed = false
}

inline cell_floor() {                     /* beside a node stands its bound: its floor is drop[] */
#ifdef NO_CELL_FLOOR
  skip
#else
  if :: !IS_NODE(v0) -> f = LATER(f, v1) :: else fi
#endif
}

inline decide_locked() {                  /* n = the node, f = the floor; ok: not dead */
  d_step {
    ok = !dead[n];
    if
    :: ok ->
#ifndef NO_NODE_FLOOR
       assert(!(WITNESS == 2 && drop[n] > LATER(LATER(now, newest[n]), f)));
       f = LATER(f, drop[n]);
#endif
       f = LATER(LATER(now, newest[n]), f);
       if                                 /* weiri_log_look */
       :: f == newest[n] + 1 -> before[n] = now_[n]; now_[n] = 0
       :: f > newest[n] + 1 -> before[n] = 0; now_[n] = 0
       :: else
       fi;
       if
       :: now_[n] + before[n] < L -> now_[n]++; newest[n] = f; t = 1
       :: else ->                         /* refused: the look changed nothing */
          if :: f == newest[n] + 1 -> now_[n] = before[n]; before[n] = 0 :: else fi
       fi
    :: else
    fi
  };
  if :: t == 1 -> accept(f); t = 0 :: else fi
}

inline weiri_node_call() {
  any_time(now);
  s = directory;
  do
  :: weiri_table_look();
     cell_floor();
     if
     :: IS_NODE(v0) && q == 0 -> weiri_advance()
     :: IS_NODE(v0) && q != 0 ->
        n = NODE_OF(v0);
        decide_locked();
        if
        :: ok -> break
        :: else ->                        /* bury */
           assert(WITNESS != 3);
#ifdef BURY_FORGETS
           swap(q - 1, v0, v1, FRESH, v1)
#else
           swap(q - 1, v0, v1, FRESH, drop[n])
#endif
        fi
     :: !IS_NODE(v0) && q == 0 -> assert(forward[s] != 0); weiri_advance()           /* weiri_find_room */
     :: else ->                           /* install */
        if :: nodes == NODES -> break :: else fi;
        if
        :: !held -> d_step { if :: !claimed[q - 1] && !sealed[q - 1] -> claimed[q - 1] = true; held = true :: else fi }
        :: else
        fi;
        if
        :: held ->
           assert(!(WITNESS == 1 && v0 == FRESH && was_copied && v1 > now && v1 == f));
           f = LATER(now, f);
           d_step {                       /* N1: charged before it is found */
             ok = (word0[q - 1] == v0 && word1[q - 1] == v1);
             if
             :: ok ->
                n = nodes; nodes++;
                newest[n] = f; now_[n] = 1; word0[q - 1] = NODE(n);
                drop[n] = v1; word1[q - 1] = f + 2; succeeds[n] = (v0 == FRESH);
                assert(f + 2 >= v1);
                assert(f >= last); last = f; charged[f]++;
                assert(charged[f] + (f > 0 -> charged[f - 1] : 0) <= L)
             :: else
             fi
           };
           if :: ok -> break :: else fi
        :: else
        fi
     fi
  od;
  s = 0; n = 0; v0 = 0; v1 = 0; f = 0; q = 0; held = false; ok = false; now = 0
}

inline weiri_node_reset() {
  s = directory;
  do
  :: weiri_table_look();
     if
     :: !IS_NODE(v0) -> break
     :: IS_NODE(v0) && q == 0 -> weiri_advance()
     :: else ->
        n = NODE_OF(v0);
        d_step {
          ok = !dead[n];
          if
          :: ok ->
             now_[n] = 0; before[n] = 0; t = 0;
#ifdef RESET_FORGETS
             newest[n] = 0;
#endif
             do :: t < TIMES -> charged[t] = 0; t++ :: else -> break od;
             t = 0
          :: else
          fi
        };
        if :: ok -> break :: else -> swap(q - 1, v0, v1, FRESH, drop[n]) fi
     fi
  od;
  s = 0; n = 0; v0 = 0; v1 = 0; f = 0; q = 0; held = false; ok = false
}

inline weiri_table_settled() { do :: forward[s] != 0 -> weiri_help(s); s = forward[s] :: else -> break od }

inline take_out() {                       /* N4 */
  do
  :: d_step { w0 = word0[s]; w1 = word1[s] };
     if
     :: THAWED(w0) != NODE(n) -> break
     :: THAWED(w0) == NODE(n) && !(w0 & FROZEN) ->
        assert(!(WITNESS == 4 && succeeds[n]));
#ifdef TAKE_OUT_FORGETS
        swap(s, w0, w1, FRESH, w1);
#else
        swap(s, w0, w1, FRESH, drop[n]);
#endif
        if :: ok -> break :: else fi
     :: else ->
        weiri_help(s); s = forward[s];
        if :: !claimed[s] -> break :: else fi
     fi
  od
}

inline sweep_node() {
  any_time(now);
  s = directory;
  weiri_table_settled();
  skip;
  d_step {
    v0 = (claimed[s] -> word0[s] : UNINIT); v1 = word1[s];
    assert(!(IS_NODE(v0) && !(v0 & FROZEN) && v1 > now) || dead[NODE_OF(v0)] || newest[NODE_OF(v0)] + 2 > now)
  };
  if
  :: IS_NODE(v0) && !(v0 & FROZEN) && v1 <= now ->
     n = NODE_OF(v0);
     d_step {
       ok = false;
       if :: !dead[n] && newest[n] + 2 > now -> u = newest[n] + 2 :: else -> u = 0 fi;
#ifdef BOUND_FROM_NOW
       if :: u > 0 -> u = now + 2 :: else fi;
#endif
       if
       :: !dead[n] && newest[n] + 2 <= now -> dead[n] = true; drop[n] = LATER(drop[n], now); ok = true
       :: !dead[n] && newest[n] + 1 == now && before[n] > 0 ->         /* trim_now */
          before[n] = 0; drop[n] = LATER(drop[n], now)
       :: else
       fi
     };
     if
     :: ok -> take_out()
     :: !ok && u > v1 ->                  /* the bound moves on */
        assert(WITNESS != 5);
        swap(s, v0, v1, v0, u)
     :: else
     fi
  :: else
  fi;
  s = 0; n = 0; u = 0; v0 = 0; v1 = 0; w0 = 0; w1 = 0; ok = false; now = 0
}

inline weiri_compact() {
  any_time(now);
  s = directory;
  weiri_table_settled();
  skip;
  d_step {                                /* start: T is fixed here, for all who help */
    if
    :: forward[s] == 0 && segments < NSEG ->
       T[s] = now;
#ifndef NO_SEGMENT_FLOOR
       floor[segments] = LATER(floor[s], now);
#endif
       forward[s] = segments; segments++
    :: else
    fi
  };
  if :: forward[s] != 0 -> weiri_help(s) :: else fi;
  s = 0; now = 0
}

proctype Caller(byte m) {
  byte s, t, v0, v1, w0, w1, f, q, n, now;
  bool held, passed, ok;
  do
  :: m > 0 -> m--; if :: weiri_node_call() :: weiri_node_reset() fi
  :: else -> break
  od
}

proctype Sweeper(byte m) {
  byte s, v0, v1, w0, w1, n, u, now;
  bool ok;
  do
  :: m > 0 -> m--; if :: sweep_node() :: weiri_compact() fi
  :: else -> break
  od
}

proctype Slow() {
  byte w0, w1;
end:
  forward[0] != 0;
  weiri_help(0)
}

init {
  atomic {                                /* one charge at 0 has been made */
    nodes = 1; claimed[0] = true; word0[0] = NODE(0); now_[0] = 1; charged[0] = 1;
    run Caller(NOPS1); run Sweeper(NOPS2); run Slow()
  }
}
