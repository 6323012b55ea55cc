/*
 * Reading the halves of a cell by words: weiri_load_once_128 and weiri_load_snapshot_128 of src/sync/atomic.h;
 * statements T4 and T6 of docs/design.md.
 *
 * An identity goes from {0, 0} to a key once, both words together; word 0 of a key is never 0. A state is { index,
 * counts }; the index only grows. Written here: window 1, a reset, a late call, window 1 again.
 *
 * Bounds: one writer of that sequence, one reader. Everybody sees the steps in one order: that word 1's load stays
 * between the two of word 0 on the machine is argued in src/sync/atomic.h.
 *
 * Asserted: no other key is read than was written; a pair that is accepted stood there at one moment of the reading.
 *
 * Twins: WORD_1_FIRST (the word that may be 0 is read first, T4)
 *        RESET_DROPS (a reset takes the index away, so that the late call brings an old one back, T6)
 */
byte identity0, identity1;      /* the key {1, 2}; {1, 0} is another key, which nobody claims */
byte index1, counts;            /* 1 + window index, 0: nothing charged; current * 4 + previous */
bool reading;
bool stood[64];                 /* ghost: the pairs that stood there since the reading began */

inline store(a, b) { d_step { index1 = a; counts = b; if :: reading -> stood[a * 16 + b] = true :: else fi } }

proctype Writer() {
  d_step { identity0 = 1; identity1 = 2 };      /* weiri_claim */
  store(2, 1 * 4 + 0);          /* window 1: a charge */
  store(2, 2 * 4 + 0);          /* another */
#ifdef RESET_DROPS
  store(0, 0);                  /* reset */
  store(1, 1 * 4 + 0);          /* a late call: window 0 */
  store(2, 1 * 4 + 1)           /* window 1, with the one before */
#else
  store(2, 0);                  /* reset: the index stays, so the late call is lifted to window 1 */
  store(2, 1 * 4 + 0);
  store(2, 2 * 4 + 0)
#endif
}

proctype Reader() {
  byte a, b, again;
#ifdef WORD_1_FIRST
  b = identity1; a = identity0;
#else
  a = identity0; b = identity1;
#endif
  assert(!(a == 1 && b == 0));
  d_step { reading = true; stood[index1 * 16 + counts] = true };
  a = index1; b = counts; again = index1;
  if :: a == again && a != 0 -> assert(stood[a * 16 + b]) :: else fi
}

init { atomic { run Writer(); run Reader() } }
