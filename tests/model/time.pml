/*
 * Time in migrations: callers whose clocks differ, the drop time T of a descriptor, the floor of a successor.
 * src/table/{migrate.c,migration.c}, src/limiter/cell.c; statements T6, T17, T18 of docs/design.md.
 *
 * One key, one cell a segment. Windows 0 and 1; at 1 what was charged in window 0 has expired.
 *
 * Bounds: NSEG segments, limit L, one caller at time 0 and one at time 1, NOPS steps each (a charge or a migration),
 * and a slow helper of the first migration with either clock.
 *
 * Asserted: what is accepted in a window stays within the limit, and the window in which charges are made only grows.
 *
 * Twins: NO_FLOOR (decisions do not heed the segment's floor, T18)
 *        OWN_TIME (each helper judges liveness at its own time, T17)
 */
#ifndef L
#define L 2
#endif
#ifndef NOPS
#define NOPS 3
#endif
#define NSEG 4
#define UNINIT 0
#define FROZEN 16
#define VALUE(w, n) (2 + (w) * 4 + (n))   /* n = 1 to 3 charges in window w */
#define CHARGED(v) (((v) & 15) >= 2)
#define WINDOW(v) (CHARGED(v) -> ((((v) & 15) - 2) / 4) : 0)
#define CHARGES(v) (CHARGED(v) -> ((((v) & 15) - 2) % 4) : 0)
#define LATER(a, b) ((a) > (b) -> (a) : (b))

bool claimed[NSEG], sealed[NSEG], done[NSEG];
byte state[NSEG];
byte forward[NSEG], T[NSEG];              /* the descriptor; 0: none */
byte floor[NSEG];
byte segments = 1, directory = 0;
byte accepted[2];                         /* ghost: by window */
byte newest;                              /* ghost: newest window charged */

inline copy(s) {
  if
  :: !claimed[s]                          /* sealed */
  :: else ->
     v = state[s] & 15;
#ifdef OWN_TIME
     if :: CHARGED(v) && WINDOW(v) >= now ->
#else
     if :: CHARGED(v) && WINDOW(v) >= T[s] ->
#endif
          t = forward[s];
          d_step { if :: !claimed[t] && !sealed[t] -> claimed[t] = true :: else fi };
#ifndef OWN_TIME
          assert(claimed[t]);
#endif
          d_step { if :: claimed[t] && state[t] == UNINIT -> state[t] = v :: else fi }
        :: else
     fi
  fi
}

inline weiri_help(s) {
  if
  :: done[s]
  :: else ->
     d_step { if :: !claimed[s] -> sealed[s] = true :: else -> state[s] = state[s] | FROZEN fi };    /* freeze_all */
     copy(s);
     done[s] = true
  fi;
  v = 0; t = 0;
  d_step { if :: directory == s -> directory = forward[s] :: else fi }            /* weiri_directory_publish */
}

inline weiri_cell_call() {
  s = directory;
  do
  :: d_step { if :: !claimed[s] && !sealed[s] -> claimed[s] = true :: else fi };  /* weiri_find, weiri_claim */
     if
     :: sealed[s] -> weiri_help(s); s = forward[s]
     :: else ->
        v = state[s];
        if
        :: v & FROZEN -> weiri_help(s); s = forward[s]                            /* weiri_advance */
        :: else ->
           e = LATER(now, WINDOW(v));
#ifndef NO_FLOOR
           e = LATER(e, floor[s]);
#endif
           t = (e == WINDOW(v) -> CHARGES(v) : 0);
           if
           :: t >= L -> break
           :: else ->
              d_step {
                if
                :: state[s] == v ->
                   state[s] = VALUE(e, t + 1);
                   accepted[e]++; assert(accepted[e] <= L);
                   assert(e >= newest); newest = e;
                   v = 255
                :: else
                fi
              };
              if :: v == 255 -> break :: else fi
           fi
        fi
     fi
  od;
  v = 0; t = 0; e = 0; s = 0
}

inline weiri_compact() {
  s = directory;
  do :: forward[s] != 0 -> weiri_help(s); s = forward[s] :: else -> break od;
  skip;
  d_step {                                /* start: T is fixed here, for all who help */
    if
    :: forward[s] == 0 && segments < NSEG ->
       T[s] = now; floor[segments] = LATER(floor[s], now); forward[s] = segments; segments++
    :: else
    fi
  };
  if :: forward[s] != 0 -> weiri_help(s) :: else fi;
  s = 0
}

proctype Caller(byte now; byte n) {
  byte s, v, t, e;
  do
  :: n > 0 -> n--; if :: weiri_cell_call() :: weiri_compact() fi
  :: else -> break
  od
}

proctype Slow(byte now) {
  byte v, t;
end:
  forward[0] != 0;
  weiri_help(0)
}

init { atomic { run Caller(0, NOPS); run Caller(1, NOPS); if :: run Slow(0) :: run Slow(1) fi } }
