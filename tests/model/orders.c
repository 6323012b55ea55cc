/*
 * The memory orders of docs/design.md, section 5, under the memory model of Arm (arm.h). Each row of the table is a
 * program of a few loads and stores, what must never be seen, and whether it is: with the orders of the code it is not;
 * a twin has one of them weakened, and must be found out. Where a twin is not, the comment says what keeps it right.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>

#include "arm.h"

static int r[5]; /* the loads that the claim is about */

/* weiri_load_snapshot_128 beside charges in window 1, then 2, by two threads. */
static void snapshot(int twin)
{
    swap_pair(0, 0, 1, 10, L);
    swap_pair(1, 10, 1, 11, L);
    next_thread();
    swap_pair(1, 11, 2, 20, L);
    next_thread();
    r[0] = load(X0, twin == 1 ? PLAIN : A);
    r[1] = load(X1, twin == 2 ? PLAIN : A);
    r[2] = load(X0, PLAIN);
}

static bool pair_never_was(void)
{
    int word0 = got(r[0]), word1 = got(r[1]);
    return word0 == got(r[2]) && word1 / 10 != word0;
}

/* weiri_load_once_128 beside a claim. */
static void once(int twin)
{
    swap_pair(0, 0, 5, 6, L);
    next_thread();
    if (twin == 2)
        r[1] = load(X1, A);
    r[0] = load(X0, twin == 1 ? PLAIN : A);
    if (twin != 2)
        r[1] = load(X1, PLAIN);
}

static bool mixed_key(void)
{
    return got(r[0]) == 5 && got(r[1]) != 6;
}

/* A claim that loses, and the look after it: seal() and copy() take it that there is an identity then. */
static void lost_claim(int twin)
{
    swap_pair(0, 0, 5, 6, L);
    next_thread();
    r[0] = load_pair(twin == 0 ? A : PLAIN);
    if (twin == 1)
        barrier(); /* gcc: LDXP, and DMB ISH at the end */
    r[1] = load(X0, A);
}

static bool lost_to_nobody(void)
{
    bool failed = got(r[0]) != 0 || got(r[0] + 1) != 0;
    return failed && got(r[1]) == 0;
}

/* `forward` is Y: one thread sets it, another freezes, a third meets what is frozen (word 0 = 3). */
static void frozen(int twin)
{
    swap(Y, 0, 1);
    next_thread();
    load_of(Y, 1, twin == 2 || twin == 3 ? PLAIN : A);
    swap_pair(0, 0, 3, 0, twin == 1 || twin == 3 ? PLAIN : L);
    next_thread();
    r[0] = load(X0, twin == 4 ? PLAIN : A);
    r[1] = load(Y, twin == 5 ? PLAIN : A);
}

static bool nowhere_to_go(void)
{
    return got(r[0]) == 3 && got(r[1]) == 0;
}

/* One helper copies, another finds the copy made and sets `done`, which is Y; a third sees `done`. */
static void done(int twin)
{
    swap_pair(0, 0, 5, 6, L);
    next_thread();
    load_of(X0, 5, twin == 1 || twin == 3 ? PLAIN : A);
    store(Y, 1, twin == 2 || twin == 3 ? PLAIN : L);
    next_thread();
    r[0] = load(Y, twin == 4 ? PLAIN : A);
    r[1] = load(X0, PLAIN);
}

/* The same where who sets it has made the copy. */
static void done_alone(int twin)
{
    swap_pair(0, 0, 5, 6, L);
    store(Y, 1, twin == 1 ? PLAIN : L);
    next_thread();
    r[0] = load(Y, A);
    r[1] = load(X0, PLAIN);
}

static bool no_copy(void)
{
    return got(r[0]) == 1 && got(r[1]) == 0;
}

/* Two publications of a refusal: Y is the tag, which is 0 where nothing holds, Z a field. */
static void refusal(int twin)
{
    store(Z, 1, L);
    store(Y, 1, twin == 4 ? PLAIN : L);
    store(Y, 0, PLAIN);
    store(Z, 2, twin == 1 ? PLAIN : L);
    store(Y, 2, L);
    next_thread();
    r[0] = load(Y, twin == 2 ? PLAIN : A);
    r[1] = load(Z, twin == 3 ? PLAIN : A);
    r[2] = load(Y, PLAIN);
}

static bool torn_refusal(void)
{
    int tag = got(r[0]);
    return tag != 0 && tag == got(r[2]) && got(r[1]) != tag;
}

/* A holder, and the handler before a fork: Y is the number of holders, Z the gate. */
static void gate(int twin)
{
    swap(Y, 0, 1);
    r[0] = load(Z, twin == 1 ? PLAIN : twin == 2 ? Q : A);
    next_thread();
    store(Z, 1, twin == 3 ? PLAIN : L);
    r[1] = load(Y, twin == 4 ? Q : A);
}

static bool neither_sees(void)
{
    return got(r[0]) == 0 && got(r[1]) == 0;
}

/* Z is what is written under a lock, Y the lock, held (2) at first by the one who gives it back. */
static void lock(int twin)
{
    swap(Y, 0, 2);
    store(Z, 1, PLAIN);
    store(Y, 3, twin == 1 ? PLAIN : L); /* 3: free again */
    next_thread();
    load(Y, PLAIN); /* the test before the swap orders nothing */
    if (twin == 2) {
        load_of(Y, 3, PLAIN);
        store(Y, 4, PLAIN);
    } else {
        swap(Y, 3, 4);
    }
    r[0] = load(Z, PLAIN);
}

static bool old_state(void)
{
    return got(r[0]) == 0;
}

static const struct row {
    const char *name;
    void (*program)(int twin);
    bool (*wrong)(void);
    int twin;
    bool found;
} rows[] = {
    {"snapshot: word 0 acquire, word 1 acquire, word 0", snapshot, pair_never_was, 0, false},
    {"snapshot, word 0 relaxed", snapshot, pair_never_was, 1, true},
    {"snapshot, word 1 relaxed", snapshot, pair_never_was, 2, true},
    {"identity: word 0 acquire, word 1", once, mixed_key, 0, false},
    {"identity, word 0 relaxed", once, mixed_key, 1, true},
    {"identity, word 1 first", once, mixed_key, 2, true},
    {"a failed swap, LDAXP", lost_claim, lost_to_nobody, 0, false},
    {"a failed swap, LDXP and DMB", lost_claim, lost_to_nobody, 1, false},
    {"a failed swap, LDXP", lost_claim, lost_to_nobody, 2, true},
    {"FROZEN, then forward", frozen, nowhere_to_go, 0, false},
    {"FROZEN, the swap does not release", frozen, nowhere_to_go, 1, false}, /* what acquired forward comes first */
    {"FROZEN, the freezer read forward relaxed", frozen, nowhere_to_go, 2, false}, /* the swap releases */
    {"FROZEN, neither", frozen, nowhere_to_go, 3, true},
    {"FROZEN, read relaxed", frozen, nowhere_to_go, 4, true},
    {"FROZEN, then forward read relaxed", frozen, nowhere_to_go, 5, false}, /* but what it leads to is not seen */
    {"done after the copies of others", done, no_copy, 0, false},
    {"done, the other's copy seen relaxed", done, no_copy, 1, false}, /* done releases */
    {"done, does not release", done, no_copy, 2, false},              /* what acquired the copy comes first */
    {"done, neither", done, no_copy, 3, true},
    {"done, read relaxed", done, no_copy, 4, true},
    {"done after copies of one's own", done_alone, no_copy, 0, false},
    {"done, own copies, does not release", done_alone, no_copy, 1, true},
    {"refusal", refusal, torn_refusal, 0, false},
    {"refusal, fields stored relaxed", refusal, torn_refusal, 1, true},
    {"refusal, tag read relaxed", refusal, torn_refusal, 2, true},
    {"refusal, fields read relaxed", refusal, torn_refusal, 3, true},
    {"refusal, tag stored relaxed", refusal, torn_refusal, 4, true},
    {"gate: all sequentially consistent", gate, neither_sees, 0, false},
    {"gate, the holder looks relaxed", gate, neither_sees, 1, true},
    {"gate, the holder looks acquire (LDAPR)", gate, neither_sees, 2, true},
    {"gate, the handler stores relaxed", gate, neither_sees, 3, true},
    {"gate, the handler looks acquire (LDAPR)", gate, neither_sees, 4, true},
    {"lock", lock, old_state, 0, false},
    {"lock, given back relaxed", lock, old_state, 1, true},
    {"lock, taken relaxed", lock, old_state, 2, true},
};

int main(void)
{
    bool right = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        findings all = search(rows[i].program, rows[i].twin, rows[i].wrong);
        bool as_told = all.executions > 0 && (all.wrong > 0) == rows[i].found;
        printf("%s: %s: %" PRIu64 " executions, %" PRIu64 " of them wrong, wanted %s\n", as_told ? "ok" : "FAILED",
               rows[i].name, all.executions, all.wrong, rows[i].found ? "some" : "none");
        right = right && as_told;
    }
    return !right;
}
