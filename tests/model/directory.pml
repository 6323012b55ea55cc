/*
 * Publishing in the directory, doubling it, and retiring what nothing leads to: src/table/directory.c; statements
 * T20-T22 of docs/design.md. Callers follow `forward` where publishing is not done.
 *
 * Segments: 0 splits into 1 and 2, 1 into 3 and 4. Directories 0, 1 and 2 have 1, 2 and 4 entries; a root with one
 * page in the code. What is retired is freed the instant the last read section that had begun is left. Cells are
 * abstracted: to help a segment is to touch it and both successors, then done.
 *
 * Bounds: OTHERS callers of one call each and a first one with NOPS; the lock is waited for here, or publishing left
 * out.
 *
 * Asserted: nothing freed is touched, nothing is retired twice; and after a sweep the directory leads exactly to the
 * segments that hold the keys, all others being retired.
 *
 * Twins: PUBLISH_EQUAL (the segment that was helped: the entries equal to it are replaced, it is retired)
 *        PUBLISH_RANGE (its successors are stored over its whole range, it is retired)
 *        FREE_AT_ONCE (the old directory is freed at the swap)  RETIRE_TWICE (every helper retires)
 * With the first two use NO_FINAL: they are to fail by touching what is freed, not only by what is left over.
 */
#define NSEG 5
#define DIRECTORIES 3
#ifndef NOPS
#define NOPS 1
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
byte successor0[NSEG], successor1[NSEG], depth[NSEG];
bool done[NSEG];
byte entry[DIRECTORIES * 4];
byte directory = 0;
bool lock;
byte life[NSEG + DIRECTORIES];            /* 0 in use, 1 retired, 2 freed; directories come after the segments */
byte waits[NSEG + DIRECTORIES];           /* for whose read section */
byte sections, finished;
#define ENTRY(d, h) ((d) * 4 + ((h) >> (2 - (d))))
#define SUCCESSOR(s, h) ((((h) >> (1 - depth[s])) & 1) -> successor1[s] : successor0[s])
#define TOUCH(object) assert(life[object] != 2)

inline leave_section() {
  d_step {
    sections = sections & ~(1 << me); i = 0;
    do
    :: i < NSEG + DIRECTORIES ->
       if
       :: life[i] == 1 -> waits[i] = waits[i] & ~(1 << me); if :: waits[i] == 0 -> life[i] = 2 :: else fi
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

inline weiri_retire(object) { d_step { assert(life[object] == 0); life[object] = 1; waits[object] = sections } }

inline deepen() {                         /* twice the entries; under the lock */
  d = directory;
  d_step {
    i = 0;
    do :: i < (1 << (d + 1)) -> entry[(d + 1) * 4 + i] = entry[d * 4 + i / 2]; i++ :: else -> break od;
    i = 0
  };
  directory = d + 1;
#ifdef FREE_AT_ONCE
  d_step { life[NSEG + d] = 2 };
#else
  weiri_retire(NSEG + d);
#endif
  d = d + 1
}

inline replace(s) {                       /* every entry that leads to s, one store at a time; under the lock */
  TOUCH(s);
  d = directory;
  if :: successor0[s] != successor1[s] && depth[s] == d -> deepen() :: else fi;
  i = 0;
  do
  :: i < (1 << d) ->
     if :: entry[d * 4 + i] == s -> entry[d * 4 + i] = SUCCESSOR(s, i << (2 - d)) :: else fi;
     i++
  :: else -> break
  od;
  i = 0
}

inline weiri_directory_publish(s, h) {
  atomic { !lock -> lock = true };
#ifdef PUBLISH_EQUAL
  if :: life[s] == 0 -> replace(s); weiri_retire(s) :: else fi;
#else
#ifdef PUBLISH_RANGE
  if
  :: life[s] == 0 ->
     d = directory;
     if :: depth[s] == d -> deepen() :: else fi;
     i = 0;
     do
     :: i < (1 << d) ->
        if :: s == 0 || (s == 1 && (i >> (d - 1)) == 0) -> entry[d * 4 + i] = SUCCESSOR(s, i << (2 - d)) :: else fi;
        i++
     :: else -> break
     od;
     i = 0;
     weiri_retire(s)
  :: else
  fi;
#else
#ifdef RETIRE_TWICE
  replace(s); weiri_retire(s);
#else
  do                                      /* publish_some: ancestors before descendants (T20) */
  :: e = entry[ENTRY(directory, h)];
     if :: done[e] -> replace(e); weiri_retire(e) :: else -> break fi             /* T21 */
  od;
#endif
#endif
#endif
  e = 0; d = 0;
  lock = false
}

inline start(s) {
  d_step {
    if
    :: successor0[s] == 0 && s == 0 -> successor0[0] = 1; successor1[0] = 2; depth[1] = 1; depth[2] = 1
    :: successor0[s] == 0 && s == 1 -> successor0[1] = 3; successor1[1] = 4; depth[3] = 2; depth[4] = 2
    :: else
    fi
  }
}

proctype Caller(byte me; byte n) {
  byte s, e, d, i, h;
  do
  :: n > 0 ->
     n--;
     if :: h = 0 :: h = 1 :: h = 2 fi;
     sections = sections | (1 << me);
     d = directory;
     d_step { TOUCH(NSEG + d); s = entry[ENTRY(d, h)] }; d = 0;                   /* weiri_directory_find */
     do
     :: TOUCH(s);
        if
        :: successor0[s] == 0 ->
           if :: s < 2 -> start(s) :: break fi      /* migrates it, or decides here */
        :: else ->
           if
           :: done[s]
           :: else -> TOUCH(successor0[s]); TOUCH(s); TOUCH(successor1[s]); done[s] = true     /* weiri_complete */
           fi;
           if :: weiri_directory_publish(s, h) :: skip fi;                        /* T22: the lock was taken */
           s = SUCCESSOR(s, h)
        fi
     od;
     s = 0; h = 0;
     leave_section()
  :: else -> break
  od;
  finished++
}

init {
  byte h, s, d, i, e;
  atomic {
    run Caller(0, NOPS);
    do :: i < OTHERS -> i++; run Caller(i, 1) :: else -> break od;
    i = 0
  }
  finished == OTHERS + 1;
#ifndef NO_FINAL
  atomic {                                /* a sweep publishes what is left */
    h = 0;
    do :: h < 4 -> weiri_directory_publish(0, h); h++ :: else -> break od;
    h = 0;
    do
    :: h < 4 ->
       s = entry[ENTRY(directory, h)];
       assert(life[s] == 0 && successor0[s] == 0);
       assert((successor0[0] == 0 && s == 0) || (successor0[0] != 0 && successor0[1] == 0 && s == 1 + h / 2) ||
              (successor0[1] != 0 && ((h == 0 && s == 3) || (h == 1 && s == 4) || (h > 1 && s == 2))));
       h++
    :: else -> break
    od;
    assert((successor0[0] != 0) == (life[0] != 0));
    assert((successor0[1] != 0) == (life[1] != 0));
    assert(life[2] + life[3] + life[4] == 0)
  }
#endif
}
