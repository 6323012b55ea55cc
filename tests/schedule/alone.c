/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

unsigned alone_nesting;
uint64_t alone_sections;
bool alone_refused;
void (*alone_hook)(enum weiri_access access, const void *place);

void alone_want(const char *what, uint64_t wanted, uint64_t got)
{
    if (wanted == got)
        return;
    fprintf(stderr, "FAILED: %s: wanted %" PRIu64 ", got %" PRIu64 "\n", what, wanted, got);
    exit(1);
}

/* --- what the library calls --- */

void weiri_hook(enum weiri_access access, const void *place)
{
    void (*hook)(enum weiri_access access, const void *place) = alone_hook;
    if (!hook)
        return;
    alone_hook = NULL;
    hook(access, place);
    alone_hook = hook;
}

void weiri_rcu_enter(void)
{
    alone_sections += alone_nesting++ == 0;
}

void weiri_rcu_leave(void)
{
    alone_nesting--;
}

bool weiri_rcu_inside(void)
{
    return alone_nesting > 0;
}

bool weiri_rcu_can_wait(void)
{
    return true;
}

bool weiri_rcu_wait(void)
{
    alone_want("read sections around the wait for a grace period", 0, alone_nesting);
    return !alone_refused;
}

void weiri_rcu_before_fork(void) {}
void weiri_rcu_after_fork_in_parent(void) {}
void weiri_rcu_after_fork_in_child(void) {}

/* --- interrupting --- */

static struct {
    unsigned at, point, nesting;
    void (*other)(void);
    bool done;
    jmp_buf away;
} interruption;

static void give_up(enum weiri_access access, const void *place)
{
    (void)place;
    if (access == WEIRI_PAUSE)
        longjmp(interruption.away, 1);
}

static void interrupt(enum weiri_access access, const void *place)
{
    (void)access;
    (void)place;
    if (interruption.at++ != interruption.point)
        return;
    interruption.done = true;
    interruption.nesting = alone_nesting;
    alone_hook = give_up;
    if (setjmp(interruption.away) == 0)
        interruption.other();
    alone_hook = NULL;
    alone_nesting = interruption.nesting;
}

bool alone_interrupted(unsigned point, void (*call)(void), void (*other)(void))
{
    interruption.at = 0;
    interruption.point = point;
    interruption.other = other;
    interruption.done = false;
    alone_hook = interrupt;
    call();
    alone_hook = NULL;
    return interruption.done;
}
