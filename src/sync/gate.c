#include "gate.h"

#include <errno.h>
#include <time.h>

#include "cancel.h"
#include "copies.h"
#include "rcu.h"
#include "spinlock.h"

weiri_a32 weiri_gate;
/* On a line of their own: every call reads the gate. */
static struct {
    _Alignas(64) weiri_a32 of[2]; /* [1]: inside a read section of the host's own */
} holders;
static weiri_apointer others; /* const weiri_gate_handlers */
static bool counted;          /* no grace period to be had: COUNTED stands for OPEN. Of the handlers alone */
static int cancel;            /* how the thread that forks was to be cancelled. Of the handlers alone */

/* One attempt to become a holder. */
static bool try_hold(bool inside)
{
    weiri_add_ordered_32(&holders.of[inside], 1);
    uint32_t state = weiri_load_ordered_32(&weiri_gate); /* after our own entry in `holders`, see gate.h */
    if (state == WEIRI_GATE_OPEN || state == WEIRI_GATE_COUNTED || (state == WEIRI_GATE_CLOSING && inside))
        return true;
    weiri_gate_release(inside);
    return false;
}

bool weiri_gate_hold(void)
{
    bool inside = weiri_rcu_inside();
    for (unsigned attempt = 0; !try_hold(inside); attempt++)
        weiri_backoff(attempt);
    return inside;
}

void weiri_gate_release(bool inside)
{
    weiri_add_ordered_32(&holders.of[inside], UINT32_MAX); /* less one; release: the handler sees what the holder did */
}

/* As a holder: liburcu has a lock in it that its own fork handlers leave out. */
bool weiri_gate_register(void)
{
    bool inside = weiri_gate_hold();
    bool registered = weiri_rcu_register();
    weiri_gate_release(inside);
    return registered;
}

bool weiri_gate_wait(void)
{
    if (weiri_rcu_inside())
        return weiri_gate_hold();
    /* Known to liburcu by now, so that a holder does not wait for its lock. */
    for (unsigned attempt = 0; !weiri_gate_is_open(); attempt++) {
        if (weiri_load_ordered_32(&weiri_gate) == WEIRI_GATE_COUNTED && try_hold(true))
            return true;
        weiri_backoff(attempt);
    }
    return false;
}

bool weiri_gate_pass(bool *holding)
{
    *holding = weiri_load_ordered_32(&weiri_gate) == WEIRI_GATE_COUNTED && try_hold(true);
    return *holding || weiri_gate_is_open();
}

static const weiri_gate_handlers *handlers(void)
{
    return weiri_load_acquire_pointer(&others);
}

static void wait_for_holders(bool inside)
{
    for (unsigned attempt = 0; weiri_load_ordered_32(&holders.of[inside]) != 0; attempt++)
        weiri_backoff(attempt);
}

/* Waits until every section that saw the gate open is over; where there is no telling, gives them time. */
static void wait_for_sections(void)
{
    bool inside = weiri_rcu_inside(); /* which is not allowed */
    if (counted || (!inside && weiri_rcu_wait()))
        return;
    counted = !inside;
    struct timespec rest = {.tv_nsec = 200000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) /* a signal came; a filter may refuse it for good */
        continue;
}

/* This copy's part in a fork, which the leader of the copies has it do. */
static void step(weiri_fork_step step)
{
    switch (step) {
    case WEIRI_FORK_BEFORE:
        handlers()->before();
        cancel = weiri_no_cancel_begin(); /* sleeps, and so may handlers that the host installed first */
        return;
    case WEIRI_FORK_CLOSING:
        weiri_store_ordered_32(&weiri_gate, WEIRI_GATE_CLOSING); /* before looking at `holders` */
        return;
    case WEIRI_FORK_SECTIONS:
        wait_for_sections();
        return;
    case WEIRI_FORK_HOLDERS:
        wait_for_holders(false);
        return;
    case WEIRI_FORK_RCU:
        weiri_rcu_before_fork();
        return;
    case WEIRI_FORK_CLOSED:
        weiri_store_ordered_32(&weiri_gate, WEIRI_GATE_CLOSED);
        wait_for_holders(true);
        return;
    case WEIRI_FORK_PREPARE:
        handlers()->prepare();
        return;
    case WEIRI_FORK_PARENT:
        handlers()->parent();
        return;
    case WEIRI_FORK_PARENT_RCU:
        weiri_rcu_after_fork_in_parent();
        return;
    case WEIRI_FORK_CHILD_RCU:
        weiri_rcu_after_fork_in_child();
        return;
    case WEIRI_FORK_CHILD:
        holders.of[0].word = holders.of[1].word = 0; /* nobody else is here */
        handlers()->child();
        return;
    case WEIRI_FORK_PARENT_OPEN:
    case WEIRI_FORK_CHILD_OPEN:
        weiri_store_ordered_32(&weiri_gate, counted ? WEIRI_GATE_COUNTED : WEIRI_GATE_OPEN);
        return;
    case WEIRI_FORK_AFTER:
        weiri_no_cancel_end(cancel);
        handlers()->after();
        return;
    }
}

int weiri_gate_install(const weiri_gate_handlers *janitor)
{
    weiri_store_release_pointer(&others, (void *)(uintptr_t)janitor); /* the same from every caller */
    return weiri_copies_join(step);
}
