/*
 * A closed fork gate is waited for by whoever takes a lock, outside weir's own read sections, and by nobody else:
 * guarantees E and G. (That the gate itself waits for sections and holders is shown by test_sync_gate; that no fork
 * goes wrong, by fork and forks.)
 *
 * SPDX-License-Identifier: MIT
 */
#include <weir/weir.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/sync/gate.h"
#include "alone.h"

#define NOW WEIR_SECOND

static weir *limiter;
static uint64_t waits;
static unsigned outer; /* read sections of the host's own, around a call */
static const uint32_t *holders[2]; /* where holders are counted; [1]: those inside a section of the host's own */

static void set_gate(enum weiri_gate_state state)
{
    weiri_gate.word = state;
}

/* A fork is over as soon as somebody waits for it. */
static void open_when_waited_for(enum weiri_access access, const void *place)
{
    (void)place;
    if (access != WEIRI_PAUSE)
        return;
    alone_want("read sections while the gate is waited for", outer, alone_nesting);
    waits++;
    set_gate(WEIRI_GATE_OPEN);
}

static void find_holders(enum weiri_access access, const void *place)
{
    if (access == WEIRI_UPDATE)
        holders[outer] = place;
}

static void find_both(void)
{
    for (outer = 0; outer < 2; outer++) {
        if (outer)
            weiri_rcu_enter();
        alone_hook = find_holders;
        weiri_gate_release(weiri_gate_hold());
        alone_hook = NULL;
        if (outer)
            weiri_rcu_leave();
    }
}

/* --- what is called --- */

static const weir_request hot = {.key = "hot", .key_len = 3}, full = {.key = "full", .key_len = 4};

static int take(void)
{
    return weir_take(limiter, &hot, NOW, NULL);
}

static int take_covered(void)
{
    return weir_take(limiter, &full, NOW, NULL);
}

static int take_new(void)
{
    static unsigned char name;
    weir_request request = {.key = &name, .key_len = 1};
    name++;
    return weir_take(limiter, &request, NOW, NULL);
}

static int peek(void)
{
    return weir_peek(limiter, &hot, NOW, NULL);
}

static int batch(void)
{
    return (int)weir_take_batch(limiter, &hot, 1, NOW, NULL, NULL);
}

static int reset(void)
{
    return weir_reset(limiter, &hot);
}

static int sweep(void)
{
    return weir_sweep(limiter, NOW + WEIR_MINUTE, 0); /* when there is something to sweep */
}

static int visit(void *argument, const weir_key *key)
{
    (void)argument;
    (void)key;
    return 0;
}

static int each(void)
{
    return weir_each(limiter, NOW, visit, NULL);
}

static int set_limits(void)
{
    return weir_set_limits(limiter, 0, &(uint64_t){20}, 1);
}

static int reclaim(void)
{
    return weir_reclaim(limiter);
}

struct act {
    const char *name;
    int (*act)(void);
    int result;
    bool inside; /* may be called inside a read section */
    bool waits;  /* on a limiter with nodes; with one small counter only what takes a lock of the limiter's own */
    bool always;
};

static const struct act acts[] = {
    {"take", take, 1, true, true, false},
    {"take, refused as published", take_covered, 0, true, false, false},
    {"take, a new key", take_new, 1, true, false, false},
    {"peek", peek, 1, true, true, false},
    {"batch", batch, 1, true, true, false},
    {"reset", reset, 0, true, true, false},
    {"each", each, 0, true, true, false},
    {"sweep", sweep, 1, true, true, false},
    {"set_limits", set_limits, 0, true, true, true},
    {"reclaim", reclaim, 0, false, true, true},
};

static void fill(uint32_t algorithm)
{
    const weir_rule rule = {.limit = 20, .window_ns = 10 * WEIR_SECOND, .algorithm = algorithm,
                            .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    alone_want("open", 0, (uint64_t)weir_open(&limiter, &rule, 1, &options));
    alone_want("take", 1, (uint64_t)take());
    for (unsigned i = 0; i < 20; i++)
        alone_want("take of the full key", 1, (uint64_t)take_covered());
    alone_want("the first refusal, which is published", 0, (uint64_t)take_covered());
}

/* One act, where the gate is as told, inside a section of the host's own or not. */
static void perform(const struct act *act, bool nodes, enum weiri_gate_state gate, bool inside)
{
    fill(nodes ? WEIR_LOG : WEIR_COUNTER);
    outer = inside;
    if (inside)
        weiri_rcu_enter();
    waits = 0;
    set_gate(gate);
    alone_hook = open_when_waited_for;
    int result = act->act();
    alone_hook = NULL;
    set_gate(WEIRI_GATE_OPEN);
    alone_want(act->name, (uint64_t)act->result, (uint64_t)result);
    /* Inside, while it is closing, one goes on: the fork waits for the section. */
    bool locks = act->always || (nodes && act->waits);
    bool should = locks && !(inside && gate == WEIRI_GATE_CLOSING);
    if (waits != should)
        fprintf(stderr, "%s, with %s, gate %d, %s:\n", act->name, nodes ? "nodes" : "cells", (int)gate,
                inside ? "inside" : "outside");
    alone_want("waits", should, waits);
    alone_want("holders that are left", 0, *holders[0] + *holders[1]);
    if (inside)
        weiri_rcu_leave();
    alone_want("close", 0, (uint64_t)weir_close(limiter));
}

static void perform_all(void)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        for (unsigned nodes = 0; nodes < 2; nodes++)
            for (unsigned inside = 0; inside < (acts[i].inside ? 2 : 1); inside++) {
                perform(&acts[i], nodes, WEIRI_GATE_CLOSING, inside);
                perform(&acts[i], nodes, WEIRI_GATE_CLOSED, inside);
            }
}

/* --- becoming a holder while a fork closes the gate --- */

static unsigned at, close_at;
static bool closed, seen;

/* At one point the handler of a fork closes the gate and looks whether it sees a holder. */
static void close_once(enum weiri_access access, const void *place)
{
    open_when_waited_for(access, place);
    if (at++ != close_at || access == WEIRI_PAUSE)
        return;
    closed = true;
    set_gate(WEIRI_GATE_CLOSED);
    seen = *holders[0] != 0;
}

/* Wherever that is: the handler has seen the holder, or the holder has waited for it. */
static void hold_against_a_fork(void)
{
    outer = 0;
    for (closed = true; closed; close_at++) {
        waits = at = 0;
        closed = seen = false;
        alone_hook = close_once;
        bool inside = weiri_gate_hold();
        alone_hook = NULL;
        alone_want("holders", 1, *holders[0]);
        if (closed && !seen)
            alone_want("a holder that the fork did not see waits for it", 1, waits);
        set_gate(WEIRI_GATE_OPEN);
        weiri_gate_release(inside);
    }
    if (close_at < 3)
        alone_want("points in becoming a holder", 2, close_at - 1);
}

/* --- a thread that a fork finds between two instructions of becoming a holder --- */

/* It adds itself when the handler has looked at the holders for the last time but one; it would back out next. */
static void add_late(enum weiri_access access, const void *place)
{
    if (access == WEIRI_LOAD && place == holders[1])
        (*(uint32_t *)(uintptr_t)holders[0])++;
}

static void leave_it_behind(void)
{
    int status = -1;
    fill(WEIR_LOG);
    alone_hook = add_late;
    pid_t child = fork();
    alone_hook = NULL;
    if (child == 0) /* where that thread is not, and nobody will back out */
        _exit((int)(*holders[0] + *holders[1]));
    alone_want("holders of the parent: that thread", 1, *holders[0]);
    (*(uint32_t *)(uintptr_t)holders[0])--;
    waitpid(child, &status, 0);
    alone_want("holders of the child", 0, (uint64_t)status);
    alone_want("close", 0, (uint64_t)weir_close(limiter));
}

int main(void)
{
    find_both();
    perform_all();
    hold_against_a_fork();
    leave_it_behind();
    puts("whoever takes a lock waits for the gate");
    return 0;
}
