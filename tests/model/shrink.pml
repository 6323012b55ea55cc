/*
 * Shrinking: a migration that may end in a smaller segment. src/table/migrate.c (select_successor), migration.h;
 * statements T10-T13, T15 and T16 of docs/design.md.
 *
 * A segment of 2 cells goes on in one of 2 cells, or in one of SMALL where at most SMALL are live. The descriptor
 * carries both; `selected` (0 open, 1 full capacity, 2 small) is fixed by one swap after every cell is sealed or
 * frozen. A small segment found full grows to 2 cells, and may shrink again: two generations. No clock: live means
 * charged.
 *
 * Bounds: 2 keys, 2 callers that also sweep, with NOPS1 and NOPS2 steps, a slow helper of the first segment's
 * migration, NSEG segments, limit L. Key 1 is charged at the start. Calls here advance before they decide (the look
 * through frozen cells that comes first in the code is in cell.pml, and here for peeks: PEEK).
 *
 * Asserted: all counters of the live cells get the same number; copies find room; states looked at are the charges
 * made; the successor not selected is never touched; at the end nothing is lost.
 *
 * Twins: EARLY_CHOICE (selected at the start of the migration)      EARLY_SWAP (selected before all is frozen)
 *        OWN_COUNT (each helper goes by its own count)              EARLY_COPY (copies before the selection, T11)
 *        NEW_EARLY (a new key enters before the predecessor is done, T13)
 *        PEEK_BIG (with PEEK: looks at the large successor while the selection is open, T16)
 * WITNESS, expected to fail: 1 the small one is selected, 2 the one of full capacity is, 3 a slow copy meets a cell two
 * generations old, 4 a key's own cell is copied while shrinking.
 */
#ifndef SMALL
#define SMALL 1
#endif
#ifndef L
#define L 2
#endif
#ifndef NSEG
#define NSEG 4
#endif
#ifndef NOPS1
#define NOPS1 1
#endif
#ifndef NOPS2
#define NOPS2 2
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#define EMPTY 0
#define SEALED 4
#define UNINIT 0
#define CLEARED 1
#define FROZEN 8
#define CHARGES(w)  ((((w) & 7) <= 1) -> 0 : (((w) & 7)-1))
#define CHARGED(n)   ((n) + 1)
#define LIVE(w) (((w) & 7) >= 2)
#define CELL(s, i) ((s)*2 + (i))
#define LIVE_IN(s) (LIVE(state[CELL(s, 0)]) + LIVE(state[CELL(s, 1)]))
#define BY_COUNT(s, n) ((small[s] != 0 && (n) <= SMALL) -> small[s] : large[s])

byte identity[NSEG*2], state[NSEG*2], capacity[NSEG];
byte large[NSEG], small[NSEG], selected[NSEG];   /* the descriptor; large 0: none; small 0: it cannot shrink */
bool done[NSEG];
byte segments = 1, directory = 0, finished = 0;
byte truth[3];                             /* ghost: charges on the key since its last reset */
byte owner[3];                             /* ghost: 1 + the one cell of the key that is not frozen; 0: none */

inline weiri_claim(q, k) {                 /* T1 */
  d_step { if :: identity[q] == EMPTY -> identity[q] = k; assert(owner[k] == 0); owner[k] = (q) + 1 :: else fi }
}

inline freeze_all(s) {                     /* T10; starts at cell o. n = how many are live, each final when counted */
  i = 0; n = 0;
  do
  :: i < capacity[s] ->
     q = CELL(s, ((o + i) % capacity[s]));
     x = identity[q];
     if
     :: x == EMPTY -> d_step { if :: identity[q] == EMPTY -> identity[q] = SEALED :: else fi; x = identity[q] }
     :: else
     fi;
     if
     :: x != SEALED ->
        d_step { state[q] = state[q] | FROZEN; if :: owner[x] == q + 1 -> owner[x] = 0 :: else fi;
                 if :: LIVE(state[q]) -> n++ :: else fi }
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0; q = 0; x = 0
}

inline select_successor(s, all) {          /* T11; h = the successor. all: freezes in any case */
#ifdef OWN_COUNT
  d_step { n = LIVE_IN(s); h = BY_COUNT(s, n) };
  if :: all -> freeze_all(s) :: else fi;
#else
#ifdef EARLY_SWAP
  n = LIVE_IN(s); d_step { if :: selected[s] == 0 -> selected[s] = (n <= SMALL -> 2 : 1) :: else fi };
  if :: all -> freeze_all(s) :: else fi;
#else
#ifdef EARLY_CHOICE
  if :: all -> freeze_all(s) :: else fi;
#else
  if
  :: selected[s] == 0 || (all && small[s] == 0) ->
     freeze_all(s);
     d_step {
       if
       :: selected[s] == 0 ->
          selected[s] = (n <= SMALL -> 2 : 1);
          assert(!(WITNESS == 1 && selected[s] == 2)); assert(!(WITNESS == 2 && selected[s] == 1))
       :: else -> assert(small[s] == 0 || selected[s] == (n <= SMALL -> 2 : 1))      /* every counter agrees */
       fi
     }
  :: else
  fi;
#endif
#endif
  h = (selected[s] == 2 -> small[s] : large[s]);
#endif
  n = 0
}

inline copy(h) {                           /* T12: x = key, v = its frozen state */
  c = 0;
  do
  :: c < capacity[h] ->
     y = identity[CELL(h, c)];
     if
     :: y == x -> break
     :: y == EMPTY -> weiri_claim(CELL(h, c), x)
     :: y == SEALED -> assert(false)
     :: else -> c++
     fi
  :: else -> assert(false)                 /* T13: copies find room */
  od;
  skip;
  d_step {
    assert(!(WITNESS == 3 && (state[CELL(h, c)] & FROZEN)));
    if :: state[CELL(h, c)] == UNINIT -> assert(CHARGES(v) == truth[x]); state[CELL(h, c)] = v & 7 :: else fi
  };
  y = 0; c = 0
}

inline weiri_help(s) {                     /* weiri_complete and publish; h = the successor */
  if :: capacity[s] == 2 -> if :: o = 0 :: o = 1 fi :: else fi;
  select_successor(s, !done[s]);
  o = 0;
  if
  :: done[s]
  :: else ->
     i = 0;
     do
     :: i < capacity[s] ->
        d_step { x = identity[CELL(s, i)]; v = state[CELL(s, i)] };
        if :: x != SEALED && (v & FROZEN) && LIVE(v) -> copy(h) :: else fi;
        i++
     :: else -> break
     od;
     done[s] = true
  fi;
  d_step { x = 0; v = 0; i = 0; if :: directory == s -> directory = h :: else fi }
}

inline weiri_advance_own(s, k) {           /* T15: v = the key's frozen live state in s */
#ifdef EARLY_COPY
  h = (selected[s] == 2 -> small[s] : large[s]);
#else
  select_successor(s, false);
#endif
  assert(!(WITNESS == 4 && small[s] != 0));
  x = k; copy(h); x = 0
}

inline start(s, shrinks) {                 /* T9 */
  d_step {
    if
    :: large[s] == 0 && shrinks && segments + 2 <= NSEG ->
       large[s] = segments; capacity[segments] = 2;
       small[s] = segments + 1; capacity[segments + 1] = SMALL; segments = segments + 2;
#ifdef EARLY_CHOICE
       selected[s] = (LIVE_IN(s) <= SMALL -> 2 : 1)
#endif
    :: large[s] == 0 && !shrinks && segments + 1 <= NSEG ->
       large[s] = segments; capacity[segments] = 2; selected[s] = 1; segments++
    :: else
    fi
  }
}

inline call(k, resets) {                   /* weiri_cell_call, weiri_cell_reset */
  s = directory;
  do
  :: c = 0;
     do
     :: c < capacity[s] ->
        if
        :: resets -> d_step { y = identity[CELL(s, c)]; if :: y == EMPTY -> assert(truth[k] == 0) :: else fi }
        :: else -> y = identity[CELL(s, c)]
        fi;
        if
        :: y == k || y == SEALED -> break
        :: y == EMPTY -> if :: resets -> break :: else -> weiri_claim(CELL(s, c), k) fi
        :: else -> c++
        fi
     :: else -> break
     od;
     if
     :: c == capacity[s] ->
        if
        :: resets && large[s] == 0 -> break
        :: else
        fi;
        assert(capacity[s] < 2 || large[s] != 0);
        start(s, false);
        if
        :: large[s] == 0 -> break          /* no memory */
        :: else -> c = 0; weiri_help(s); s = h
        fi
     :: c < capacity[s] && y == EMPTY -> break       /* nothing to reset */
     :: c < capacity[s] && y == k ->
        d_step { v = state[CELL(s, c)]; if :: (v & FROZEN) == 0 -> assert(CHARGES(v) == truth[k]) :: else fi };
        if
        :: v & FROZEN ->
           c = 0; y = 0;
           if
           :: LIVE(v) -> weiri_advance_own(s, k)
           :: else ->
#ifdef NEW_EARLY
              select_successor(s, false)
#else
              weiri_help(s)
#endif
           fi;
           s = h; v = 0
        :: else ->
           if
           :: resets ->
              d_step {
                if
                :: state[CELL(s, c)] == v ->
                   if :: v != UNINIT -> state[CELL(s, c)] = CLEARED :: else fi;
                   truth[k] = 0; v = 255
                :: else
                fi
              };
              if :: v == 255 -> break :: else fi
           :: !resets && CHARGES(v) >= L -> break
           :: else ->
              d_step {
                if
                :: state[CELL(s, c)] == v ->
                   assert(CHARGES(v) == truth[k]); state[CELL(s, c)] = CHARGED(CHARGES(v) + 1);
                   truth[k]++; assert(truth[k] <= L); v = 255
                :: else
                fi
              };
              if :: v == 255 -> break :: else fi
           fi
        fi
     :: else -> c = 0; y = 0;             /* SEALED */
#ifdef NEW_EARLY
        select_successor(s, false);
#else
        weiri_help(s);
#endif
        s = h
     fi
  od;
  s = 0; c = 0; y = 0; v = 0; h = 0
}

/* weiri_table_look (T16): v = the frozen state met so far, which stands while the selection is open. */
inline peek(k) {
  s = directory; v = 0;
  do
  :: c = 0;
     do
     :: c < capacity[s] ->
        d_step { y = identity[CELL(s, c)]; if :: y == EMPTY -> assert(CHARGES(v) == truth[k]) :: else fi };
        if :: y == k || y == SEALED || y == EMPTY -> break :: else -> c++ fi
     :: else -> break
     od;
     if
     :: c < capacity[s] && y == EMPTY -> break
     :: c < capacity[s] && y == k ->
        d_step { x = state[CELL(s, c)];
                 if :: x == UNINIT -> assert(CHARGES(v) == truth[k])
                    :: (x & FROZEN) == 0 && x != UNINIT -> assert(CHARGES(x) == truth[k])
                    :: else fi };
        if :: x & FROZEN -> v = x :: else -> break fi
     :: else
     fi;
     d_step {
       if
       :: large[s] == 0 -> h = 255; assert(CHARGES(v) == truth[k])
       :: large[s] != 0 && selected[s] == 0 ->
#ifdef PEEK_BIG
          h = large[s]
#else
          h = 255; assert(CHARGES(v) == truth[k])
#endif
       :: else -> h = (selected[s] == 2 -> small[s] : large[s])
       fi };
     if :: h == 255 -> break :: else -> s = h fi
  od;
  s = 0; c = 0; y = 0; v = 0; x = 0; h = 0
}

inline weiri_compact() {                   /* a sweep of the segment */
  s = directory;
  do :: large[s] != 0 -> weiri_help(s); s = h :: else -> break od;
  if :: capacity[s] == 2 -> start(s, true) :: else fi;
  if :: large[s] != 0 -> weiri_help(s) :: else fi;
  s = 0; h = 0
}

proctype Caller(byte m; bool second) {
  byte s, c, y, x, v, i, h, n, q, o;
  do
  :: m > 0 ->
     m--;
     if
     :: call(1, 0)
     :: !second -> call(1, 1)
     :: second -> call(2, 0)
     :: second -> call(2, 1)
     :: weiri_compact()
#ifdef PEEK
     :: !second -> peek(1)
     :: !second -> peek(2)
#endif
     fi
  :: else -> break
  od;
  finished++
}

proctype Slow() {
  byte c, y, x, v, i, h, n, q, o;
end: (large[0] != 0);
  weiri_help(0); h = 0;
  finished++
}

init {
  byte k, s, c, y, x, v, i, h, n, q, o;
  atomic {
    capacity[0] = 2;
    identity[0] = 1; state[0] = CHARGED(1); truth[1] = 1; owner[1] = 1;
    run Caller(NOPS1, 0); run Caller(NOPS2, 1);
    run Slow()
  }
  (finished == 2 && large[0] == 0) || (finished == 3);
  atomic {
    s = directory;
    do :: large[s] != 0 -> weiri_help(s); s = h :: else -> break od;
    k = 1;
    do
    :: k <= 2 ->
       c = 0;
       do :: c < capacity[s] && identity[CELL(s, c)] != k -> c++ :: else -> break od;
       if
       :: c < capacity[s] ->
          assert((state[CELL(s, c)] & FROZEN) == 0);
          assert(CHARGES(state[CELL(s, c)]) == truth[k])
       :: else -> assert(truth[k] == 0)
       fi;
       k++
    :: else -> break
    od;
    s = 0;                                 /* what was not selected was never touched */
    do
    :: s < NSEG ->
       if
       :: selected[s] == 1 && small[s] != 0 ->
          assert(identity[CELL(small[s], 0)] == EMPTY && identity[CELL(small[s], 1)] == EMPTY)
       :: selected[s] == 2 -> assert(identity[CELL(large[s], 0)] == EMPTY && identity[CELL(large[s], 1)] == EMPTY)
       :: else
       fi;
       s++
    :: else -> break
    od
  }
}
