/*
 * Pools: src/sync/pool.{h,c}. REGIONS regions of two blocks; an address that was unmapped is mapped again.
 *
 *   Taker    takes a block, or finds the lock held or no memory; gives it back
 *   Tender   steps of weiri_pool_tend_some, with one block put back a step
 *
 * Bounds: TAKERS takers of NOPS blocks, TENDERS tenders of NTENDS steps. The lists under the lock are sets here, from
 * which any region may be taken: more runs than the code has. Memory orders are argued in the comments of pool.c.
 *
 * Asserted: a block is had by one; no link is read, nor a region touched, where nothing is mapped; a block put back is
 * of a region that was taken over; what is unmapped has no block that anybody has; at the end, when all is given back,
 * tending unmaps every region.
 *
 * Twins: POP_UNLOCKED (ABA; with a tender also a link read in an unmapped region)
 *        TAKE_OVER_FIRST (before what was given is taken)
 *        WAITING_UNMAPPED (while it is laid)  LINK_LATE (written after the push)
 *        EMPTY_KEPT (emptied while it was laid, and left there)
 */
#ifndef REGIONS
#define REGIONS 2
#endif
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef NOPS
#define NOPS 2
#endif
#ifndef TENDERS
#define TENDERS 1
#endif
#ifndef NTENDS
#define NTENDS 2
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#define SEEN(n) assert(WITNESS != n)
#define NONE 0                          /* blocks and regions are numbered from 1 */
#define BLOCKS (2 * REGIONS)
#define OF(b) (((b) + 1) / 2)
#define FIRST(r) (2 * (r) - 1)

byte given, next[BLOCKS + 1];           /* stack of blocks, and their links */
byte mapped, next_mapped[REGIONS + 1];  /* stack of regions */
bool lock;
byte back;
bool all[REGIONS + 1], partial[REGIONS + 1], brim[REGIONS + 1], filled[REGIONS + 1], waits[REGIONS + 1];
byte live[REGIONS + 1], untouched[REGIONS + 1];        /* untouched: blocks never taken. brim: the list `full` */
bool spare[BLOCKS + 1];
bool there[REGIONS + 1];                /* ghost: mapped */
bool had[BLOCKS + 1];                   /* ghost: somebody has it */

#define SPARES(r) (spare[FIRST(r)] || spare[FIRST(r) + 1] || untouched[r] > 0)

inline take_over() {                    /* the exchange, then the list, which nobody else sees */
  atomic {
    r = mapped;
    mapped = NONE;
    do
    :: r != NONE ->
       assert(there[r]);
       all[r] = true;
       partial[r] = true;
       r = next_mapped[r];
       if :: r != NONE -> SEEN(1) :: else fi
    :: else -> break
    od
  }
}

inline region_take() {                  /* of r -> b */
  assert(there[r] && SPARES(r));
  if
  :: spare[FIRST(r)] -> b = FIRST(r); spare[b] = false
  :: spare[FIRST(r) + 1] -> b = FIRST(r) + 1; spare[b] = false
  :: else -> b = FIRST(r) + 2 - untouched[r]; untouched[r]--
  fi;
  live[r]++
}

inline pop_given() {                    /* -> b */
  do
  :: b = given;
     if
     :: b == NONE -> break
     :: else ->
        d_step { assert(there[OF(b)]); n = next[b] };
        if
        :: atomic { given == b -> given = n }; break
        :: atomic { given != b -> SEEN(2) }
        fi
     fi
  od
}

inline take_listed() {                  /* take_locked after pop_given found nothing */
  if
  :: !(partial[1] || partial[REGIONS]) -> take_over()
  :: else
  fi;
  atomic {
    if
    :: partial[1] -> r = 1
    :: partial[REGIONS] -> r = REGIONS
    :: !(partial[1] || partial[REGIONS]) -> r = NONE
    fi;
    if
    :: r != NONE ->
       region_take();
       if
       :: SPARES(r)
       :: else ->
          partial[r] = false;
          if
          :: !filled[r] -> filled[r] = true; waits[r] = true; brim[r] = true
          :: else
          fi
       fi
    :: else
    fi
  }
}

inline take_new() {
  atomic {
    if
    :: !there[1] -> r = 1
    :: !there[REGIONS] -> r = REGIONS
    :: there[1] && there[REGIONS] -> r = NONE          /* no memory */
    fi;
    if
    :: r != NONE ->
       there[r] = true; all[r] = false; partial[r] = false; brim[r] = false; filled[r] = false; waits[r] = false;
       spare[FIRST(r)] = false; spare[FIRST(r) + 1] = false; untouched[r] = 2; live[r] = 0;
       region_take()
    :: else
    fi
  };
  do
  :: r == NONE -> break
  :: r != NONE ->
     n = mapped;
     next_mapped[r] = n;
     if
     :: atomic { mapped == n -> mapped = r }; break
     :: mapped != n
     fi
  od
}

inline weiri_pool_take() {              /* -> b */
  b = NONE;
  got = false;
#ifdef POP_UNLOCKED
  pop_given();
#endif
  if
  :: b == NONE ->
     atomic {
       if
       :: !lock -> lock = true; got = true
       :: else
       fi
     };
     if
     :: got ->
#ifndef POP_UNLOCKED
        pop_given();
#endif
        if :: b == NONE -> take_listed() :: else fi;
        lock = false;
        if :: b == NONE -> take_new() :: else fi
     :: else
     fi
  :: else
  fi
}

inline weiri_pool_give() {
  do
  :: n = given;
     assert(had[b] && there[OF(b)]);
#ifndef LINK_LATE
     next[b] = n;
#endif
     if
     :: atomic { given == n -> given = b; had[b] = false }; break
     :: given != n
     fi
  od
#ifdef LINK_LATE
  ; next[b] = n
#endif
}

proctype Taker() {
  byte b, n, r, ops;
  bool got;
  do
  :: ops < NOPS ->
     ops++;
     weiri_pool_take();
     if
     :: b != NONE ->
        d_step { assert(!had[b] && there[OF(b)]); had[b] = true };
        weiri_pool_give()
     :: else
     fi
  :: else -> break
  od
}

#define LOCK(l) atomic { !l -> l = true }

inline let_go() { partial[r] = false; all[r] = false; e = r }

inline region_unmap() {
  d_step {
    assert(there[e] && !had[FIRST(e)] && !had[FIRST(e) + 1] && !waits[e]);
    there[e] = false
  }
}

inline put_back_some() {                /* -> some, e */
  LOCK(lock);
#ifdef TAKE_OVER_FIRST
  take_over();
#endif
  if
  :: back == NONE -> atomic { back = given; given = NONE }
  :: else
  fi;
#ifndef TAKE_OVER_FIRST
  take_over();
#endif
  atomic {
    e = NONE;
    some = back != NONE;
    if
    :: some ->
       b = back;
       r = OF(b);
       assert(there[r] && all[r]);
       back = next[b];
       assert(!spare[b]);
       spare[b] = true;
       live[r]--;
       partial[r] = true;
       if
#ifdef WAITING_UNMAPPED
       :: live[r] == 0 -> let_go()
#else
       :: live[r] == 0 && !waits[r] -> let_go()
#endif
       :: else
       fi
    :: else
    fi
  };
  lock = false;
  if :: e != NONE -> region_unmap() :: else fi
}

inline lay_one() {                      /* -> some */
  atomic {
    !lock;                              /* held for one step that nobody else sees */
    if
    :: brim[1] -> r = 1
    :: brim[REGIONS] -> r = REGIONS
    :: !(brim[1] || brim[REGIONS]) -> r = NONE
    fi;
    brim[r] = false
  };
  some = r != NONE;
  e = NONE;
  if
  :: some ->
     assert(there[r]);                  /* madvise */
     atomic {
       !lock;
       waits[r] = false;
       if
#ifndef EMPTY_KEPT
       :: live[r] == 0 -> SEEN(3); let_go()
#endif
       :: else
       fi
     };
     if :: e != NONE -> region_unmap() :: else fi
  :: else
  fi
}

inline weiri_pool_tend_some() {         /* -> some */
  put_back_some();
  if :: !some -> lay_one() :: else fi
}

proctype Tender() {
  byte b, r, e, ops;
  bool some;
  do
  :: ops < NTENDS -> ops++; weiri_pool_tend_some()
  :: else -> break
  od
}

init {
  byte b, r, e;
  bool some;
  atomic {
    do :: b < TAKERS -> run Taker(); b++ :: else -> break od;
    do :: e < TENDERS -> run Tender(); e++ :: else -> break od
  };
  _nr_pr == 1;                          /* all of them have ended */
  do
  :: weiri_pool_tend_some(); if :: !some -> break :: else fi
  od;
  for (r : 1 .. REGIONS) { assert(!there[r]) }
}
