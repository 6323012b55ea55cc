#include "gate.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "rcu.h"
#include "spinlock.h"

weiri_a32 weiri_gate;
static weiri_a32 holders[2]; /* [1]: inside a read section of the host's own */
static weiri_apointer others; /* const weiri_gate_handlers */

static uint32_t gate_now(void)
{
    return __atomic_load_n(&weiri_gate.word, __ATOMIC_SEQ_CST); /* after our own entry in `holders`, see gate.h */
}

static void set_gate(uint32_t state)
{
    __atomic_store_n(&weiri_gate.word, state, __ATOMIC_SEQ_CST); /* before looking at `holders` */
}

/* One attempt to become a holder. */
static bool try_hold(bool inside)
{
    __atomic_add_fetch(&holders[inside].word, 1, __ATOMIC_SEQ_CST);
    uint32_t state = gate_now();
    if (state == WEIRI_GATE_OPEN || (state == WEIRI_GATE_CLOSING && inside))
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
    __atomic_sub_fetch(&holders[inside].word, 1, __ATOMIC_SEQ_CST); /* release: the handler sees what the holder did */
}

bool weiri_gate_wait(void)
{
    if (weiri_rcu_inside())
        return weiri_gate_hold();
    for (unsigned attempt = 0; !weiri_gate_is_open(); attempt++)
        weiri_backoff(attempt);
    return false;
}

static const weiri_gate_handlers *handlers(void)
{
    return weiri_load_acquire_pointer(&others);
}

static void wait_for_holders(bool inside)
{
    for (unsigned attempt = 0; __atomic_load_n(&holders[inside].word, __ATOMIC_SEQ_CST) != 0; attempt++)
        weiri_backoff(attempt);
}

static void before_fork(void)
{
    handlers()->before();
    set_gate(WEIRI_GATE_CLOSING);
    /* Where the kernel forbids the grace period, sections of a microsecond are given ten thousand times as long. */
    if (weiri_rcu_inside() || !weiri_rcu_wait())
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    wait_for_holders(false);
    weiri_rcu_before_fork();
    set_gate(WEIRI_GATE_CLOSED);
    wait_for_holders(true);
    handlers()->prepare();
}

static void after_fork_in_parent(void)
{
    handlers()->parent();
    set_gate(WEIRI_GATE_OPEN);
    weiri_rcu_after_fork_in_parent();
    handlers()->after();
}

static void after_fork_in_child(void)
{
    weiri_rcu_after_fork_in_child();
    holders[0].word = holders[1].word = 0; /* nobody else is here */
    handlers()->child();
    set_gate(WEIRI_GATE_OPEN);
    handlers()->after();
}

static int install_result;

static void install(void)
{
    install_result = -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int weiri_gate_install(const weiri_gate_handlers *janitor)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    weiri_store_release_pointer(&others, (void *)(uintptr_t)janitor); /* the same from every caller */
    pthread_once(&once, install);
    return install_result;
}
