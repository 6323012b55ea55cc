/*
 * Cells that hold a counter: looks, claims, charges, resets and cooperative migration over two generations, with a
 * helper that is arbitrarily slow. src/table/{segment.h,table.c,migrate.c}, src/limiter/cell.c; statements T1-T3,
 * T7-T16, T22 of docs/design.md. No clock: there is one window, and live means charged; time is in time.pml.
 *
 *   identity[]  EMPTY | key | SEALED        state[]  UNINIT | 1 + charges | FROZEN
 *
 * Three processes: two callers, the second of which also sweeps (or, with K3, fills segments), and a helper of the
 * first segment's migration. Successors have the same capacity; rebuild and split.
 *
 * Bounds: segments of C = 2 cells, NSEG of them in all, limit L, two keys (K3: three), NOPS1 and NOPS2 calls. Each
 * swap and each load of a half of a cell is one step; everybody sees the steps in one order. The directory's lock is
 * abstracted to publishing that may be left out (directory.pml), reading a half by words too (read.pml). With K3, to
 * keep the search small, publishing is never left out, and to freeze a state is one step, not a loop.
 *
 * Asserted: each state looked at without FROZEN, and each answer of a look, is the number of charges made at that
 * moment; no limit is passed; a key has one cell that is not frozen; copies find room; a helper of a segment that is
 * done changes nothing, nor one that is late by two generations; at the end nothing is lost.
 *
 * Twins: UNINIT_RESET (a reset stores UNINIT, T7)          SKIP_LATE (a cell claimed before it was sealed is left, T10)
 *        NO_COPY (goes on in the successor at once, T15)   DONE_EARLY (done before the copies, T14)
 *        NEW_EARLY (with K3: a new key enters a successor before its predecessor is done, T13)
 *        LOOK_FROZEN (a look believes a frozen state, T16) COPY_OVER (a copy replaces what is there, T12)
 * WITNESS, expected to fail: a helper does meet a cell that is two generations old, both migrations being done.
 *
 * Progress (guarantee E): searched for runs in which steps are made for ever and no operation completes; `progress` is
 * where one does. Nothing is assumed of the scheduler: a process may be left out for ever at any step, in the middle of
 * a migration too, and whatever waits for it in a loop is then such a run. No operation waits otherwise: each `if` and
 * `do` in one has a way on. FOREVER: the callers go on for ever, but for NOPS2 sweeps, which are no progress; NO_SPLIT
 * and NO_SLOW leave out splits, and the slow helper.
 *
 * Twins: WAIT_DONE (waits for another's copy, T15)         WAIT_LOCK (waits for the directory's lock, T22)
 *        STALE_CLAIM, STALE_CHARGE (a swap that failed is tried again without a look, T2, T8)
 */
#ifndef L
#define L 2
#endif
#ifndef NSEG
#define NSEG 5
#endif
#ifndef NOPS1
#define NOPS1 2
#endif
#ifndef NOPS2
#define NOPS2 2
#endif
#define C 2
#define EMPTY 0
#define SEALED 4
#define UNINIT 0
#define FROZEN 8
#ifdef UNINIT_RESET
#define CLEARED UNINIT
#else
#define CLEARED 1                          /* a counter at 0: what a reset stores */
#endif
#define THAWED(w) ((w) & 7)
#define CHARGES(w) (THAWED(w) <= 1 -> 0 : THAWED(w) - 1)
#define CHARGED(n) ((n) + 1)
#define LIVE(w) (THAWED(w) >= 2)
#define CELL(s, i) ((s) * C + (i))
/* The next bit of the hash: at depth 0 it parts {1, 3} from {2}, at depth 1 key 1 from 3. */
#define BIT(s, k) ((k) == 2 || ((k) == 3 && depth[s] > 0))
#define SUCCESSOR(s, k) (BIT(s, k) -> successor1[s] : successor0[s])
#define FORWARD(s) (successor0[s] != 0)    /* segment 0 is the first, and nobody's successor */

byte identity[NSEG * C], state[NSEG * C];
byte successor0[NSEG], successor1[NSEG];   /* the descriptor; the same twice where it is no split */
byte depth[NSEG];
bool done[NSEG];
byte segments = 1;
byte directory[4];                         /* by key */
#ifdef WAIT_LOCK
bool locked;
#endif

byte truth[4];                             /* ghost: charges on the key since its last reset */
byte owner[4];                             /* ghost: 1 + the one cell of the key that is not frozen; 0: none */
byte finished;

inline weiri_claim(q, k, late) {           /* T1: EMPTY -> key */
  d_step {
    if :: identity[q] == EMPTY -> identity[q] = k; assert(!(late) && owner[k] == 0); owner[k] = (q) + 1 :: else fi
  }
}

/* T12: x = key, v = its frozen state, t = the successor. Once s is done nothing is changed: whatever a helper late by
 * one generation (s is done) or two (t is done too) still tries must fail. */
inline copy(s) {
  c = 0;
  do
  :: c < C ->
     y = identity[CELL(t, c)];
     if
     :: y == x -> break
     :: y == EMPTY -> weiri_claim(CELL(t, c), x, done[s])
     :: y == SEALED -> assert(false)       /* T1: the key's cell comes before any SEALED one */
     :: else -> c++
     fi
  :: else -> assert(false)                 /* T13: copies find room */
  od;
  skip;
  d_step {
#ifdef WITNESS
    assert(!(done[s] && done[t] && (state[CELL(t, c)] & FROZEN)));
#endif
    if
#ifdef COPY_OVER
    :: !(state[CELL(t, c)] & FROZEN) ->
#else
    :: state[CELL(t, c)] == UNINIT ->
#endif
       assert(!done[s]); assert(CHARGES(v) == truth[x]); state[CELL(t, c)] = THAWED(v)
    :: else
    fi
  }
}

inline freeze_all(s) {                     /* T10 */
  i = 0;
  do
  :: i < C ->
     x = identity[CELL(s, i)];
     if
     :: x == EMPTY ->                      /* seal */
        d_step {
          if
          :: identity[CELL(s, i)] == EMPTY -> identity[CELL(s, i)] = SEALED; x = SEALED
#ifdef SKIP_LATE
          :: else -> x = SEALED
#else
          :: else -> x = identity[CELL(s, i)]
#endif
          fi
        }
     :: else
     fi;
     if
     :: x != SEALED ->                     /* freeze */
#ifdef K3
        d_step {
          state[CELL(s, i)] = state[CELL(s, i)] | FROZEN;
          if :: owner[x] == CELL(s, i) + 1 -> owner[x] = 0 :: else fi
        }
#else
        do
        :: v = state[CELL(s, i)];
           if
           :: v & FROZEN -> break
           :: else ->
              d_step {
                if
                :: state[CELL(s, i)] == v ->
                   state[CELL(s, i)] = v | FROZEN; v = FROZEN;
                   if :: owner[x] == CELL(s, i) + 1 -> owner[x] = 0 :: else fi
                :: else
                fi
              }
              if :: v == FROZEN -> break :: else fi
           fi
        od;
        v = 0
#endif
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline copy_all(s) {
  i = 0;
  do
  :: i < C ->
     d_step { x = identity[CELL(s, i)]; v = state[CELL(s, i)] }      /* both final */
     if :: x != SEALED && (v & FROZEN) && LIVE(v) -> t = SUCCESSOR(s, x); copy(s) :: else fi;
     i++
  :: else -> break
  od
}

inline weiri_directory_publish(s) {        /* T20: exactly the entries that hold s */
#ifdef WAIT_LOCK
  do :: d_step { if :: !locked -> locked = true; c = 1 :: else fi }; if :: c == 1 -> break :: else fi od;
  c = 0;
#endif
  d_step {
    if :: directory[1] == s -> directory[1] = SUCCESSOR(s, 1) :: else fi;
    if :: directory[2] == s -> directory[2] = SUCCESSOR(s, 2) :: else fi;
    if :: directory[3] == s -> directory[3] = SUCCESSOR(s, 3) :: else fi
  }
#ifdef WAIT_LOCK
  locked = false
#endif
}

inline weiri_help(s) {                     /* weiri_complete, then publish */
  if
  :: done[s]
  :: else ->
     freeze_all(s);
#ifdef DONE_EARLY
     done[s] = true;
#endif
     copy_all(s);
     done[s] = true                        /* T14 */
  fi;
  x = 0; v = 0; t = 0; c = 0; y = 0; i = 0;
  skip;
#ifdef K3
  weiri_directory_publish(s)
#else
  if :: weiri_directory_publish(s) :: skip fi            /* T22: not where its lock is taken */
#endif
}

inline weiri_find(s, k) {                  /* T1; c < C: y says what was met there */
  c = 0;
  do
  :: c < C ->
     y = identity[CELL(s, c)];
     if :: y == k || y == EMPTY || y == SEALED -> break :: else -> c++ fi
  :: else -> break
  od
}

inline weiri_advance(k) {                  /* T15: one step from s on */
#ifndef NO_COPY
  weiri_find(s, k);
  if :: c < C && y == k && !done[s] -> v = state[CELL(s, c)] :: else -> v = 0 fi;
  if
#ifdef WAIT_DONE
  :: (v & FROZEN) && LIVE(v) -> do :: done[s] -> break :: else od
#else
  :: (v & FROZEN) && LIVE(v) -> x = k; t = SUCCESSOR(s, k); copy(s)
#endif
#ifndef NEW_EARLY
  :: else -> weiri_help(s)                 /* T13 */
#else
  :: else
#endif
  fi;
#endif
  s = SUCCESSOR(s, k);
  x = 0; v = 0; t = 0; c = 0; y = 0
}

inline start(s, n) {                       /* T9: one swap publishes the descriptor with its successors */
  d_step {
    if
    :: !FORWARD(s) && segments + n <= NSEG ->
       successor0[s] = segments; successor1[s] = segments + n - 1;
       depth[segments] = depth[s] + n - 1; depth[segments + n - 1] = depth[s] + n - 1;
       segments = segments + n
    :: else
    fi
  }
}

#ifdef NO_SPLIT
inline start_any(s) { start(s, 1) }
#else
inline start_any(s) { if :: start(s, 1) :: start(s, 2) fi }
#endif


/* T16: from s on, without a store. v = what holds for the key; q = 1 + the cell to write to, 0: none; held: it is the
 * key's own. Each assertion stands where the answer would be given. */
inline weiri_table_look(k) {
  t = s; v = UNINIT; q = 0; held = false; passed = false;
  do
  :: c = 0;
     do
     :: c < C ->
        d_step {
          y = identity[CELL(t, c)];
          if :: y == EMPTY -> assert(CHARGES(v) == truth[k]) :: else fi
        }
        if :: y == k || y == EMPTY || y == SEALED -> break :: else -> c++ fi
     :: else -> break
     od;
     if
     :: c < C && y == k ->
        d_step {
          x = state[CELL(t, c)];
          if
          :: x == UNINIT -> assert(CHARGES(v) == truth[k])           /* what was frozen stands until it is copied */
          :: x != UNINIT && !(x & FROZEN) -> assert(CHARGES(x) == truth[k])
#ifdef LOOK_FROZEN
          :: x & FROZEN -> assert(CHARGES(x) == truth[k])
#endif
          :: else
          fi
        }
        if
        :: x & FROZEN -> v = THAWED(x)
        :: !(x & FROZEN) && x == UNINIT && passed -> break
        :: else -> v = x; q = CELL(t, c) + 1; held = true; break
        fi;
#ifdef LOOK_FROZEN
        break
#endif
     :: c < C && y == EMPTY -> if :: !passed -> q = CELL(t, c) + 1 :: else fi; break
     :: else                               /* SEALED, or full */
     fi;
     d_step {
       if
       :: FORWARD(t) -> t = SUCCESSOR(t, k); passed = true
       :: else -> t = 255; assert(CHARGES(v) == truth[k])
       fi
     }
     if :: t == 255 -> break :: else fi
  od;
  t = 0; x = 0; y = 0; c = 0; passed = false
}

inline weiri_cell_call(k) {
  s = directory[k];
  do
  :: weiri_table_look(k);
     if
     :: CHARGES(v) >= L -> break           /* refused: nothing was written (T3, T8) */
     :: CHARGES(v) < L && q == 0 ->        /* weiri_find_room */
        v = 0;
        if :: !FORWARD(s) -> start_any(s) :: else fi;
        if :: FORWARD(s) -> weiri_advance(k) :: else -> break fi      /* no memory: unrecorded */
     :: else ->
        if
        :: !held ->                        /* T2 */
#ifdef STALE_CLAIM
           do :: weiri_claim(q - 1, k, false); if :: identity[q - 1] == k -> break :: else fi od;
#else
           weiri_claim(q - 1, k, false);
#endif
           if :: identity[q - 1] == k -> held = true :: else fi
        :: else
        fi;
        if
        :: held ->
#ifdef STALE_CHARGE
           do :: state[q - 1] == v -> break :: else od;
           skip;
#endif
           d_step {                        /* T8: the swap expects the whole snapshot */
             if
             :: state[q - 1] == v ->
                assert(CHARGES(v) == truth[k]); state[q - 1] = CHARGED(CHARGES(v) + 1);
                truth[k]++; assert(truth[k] <= L); v = 255
             :: else
             fi
           }
        :: else
        fi;
        if :: v == 255 -> break :: else fi
     fi
  od;
  s = 0; v = 0; q = 0; held = false
}

inline weiri_cell_reset(k) {
  s = directory[k];
  do
  :: weiri_table_look(k);
     if
     :: v == UNINIT -> break               /* nothing charged */
     :: v != UNINIT && q == 0 -> weiri_advance(k)
     :: else ->
        d_step { if :: state[q - 1] == v -> state[q - 1] = CLEARED; truth[k] = 0; v = 255 :: else fi }
        if :: v == 255 -> break :: else fi
     fi
  od;
  s = 0; v = 0; q = 0; held = false
}

inline sweep_segment(k) {
  s = directory[k];
  do :: FORWARD(s) -> weiri_help(s); s = SUCCESSOR(s, k) :: else -> break od;          /* weiri_table_settled */
  start_any(s);
  if :: FORWARD(s) -> weiri_help(s) :: else fi;
  s = 0
}

proctype Caller(byte n; bool sweeps) {
  byte s, t, c, y, x, v, q, i;
  bool held, passed;
#ifdef FOREVER
  do                                       /* for ever; n sweeps at most, which do not count as progress */
  :: sweeps && n > 0 -> n--; sweep_segment(1)
  :: if
     :: weiri_cell_call(1)
     :: !sweeps -> weiri_cell_reset(1)
     :: sweeps -> weiri_cell_call(2)
     fi;
progress:
     skip
  od
#else
  do
  :: n > 0 ->
     n--;
     if
     :: weiri_cell_call(1)
     :: !sweeps -> weiri_cell_reset(1)
     :: sweeps -> weiri_cell_call(2)
#ifdef K3
     :: sweeps -> weiri_cell_call(3)
#else
     :: sweeps -> sweep_segment(1)
#endif
     fi;
progress:
     skip
  :: else -> break
  od;
  finished++
#endif
}

proctype Slow() {
  byte c, y, x, v, t, i;
end:
  FORWARD(0);
  weiri_help(0);
  finished++
}

init {
  byte k, s, c, y, x, v, t, i;
  atomic { run Caller(NOPS1, false); run Caller(NOPS2, true); 
#ifndef NO_SLOW
run Slow()
#endif
}
  (finished == 2 && !FORWARD(0)) || finished == 3;
  atomic {                                 /* what is not complete is completed; then the key's cell holds the truth */
    k = 1;
    do
    :: k <= 3 ->
       s = directory[k];
       do :: FORWARD(s) -> weiri_help(s); s = SUCCESSOR(s, k) :: else -> break od;
       weiri_find(s, k);
       if
       :: c < C && y == k -> assert(!(state[CELL(s, c)] & FROZEN)); assert(CHARGES(state[CELL(s, c)]) == truth[k])
       :: else -> assert(truth[k] == 0)
       fi;
       k++
    :: else -> break
    od
  }
}
