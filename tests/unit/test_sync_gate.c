/*
 * The fork gate: a fork waits for sections that saw the gate open and for holders, and nobody gets in behind it.
 *
 * The handlers of this test stand where the janitor's are.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/seccomp.h"
#include "sync/gate.h"
#include "sync/rcu.h"

static weiri_a32 started; /* the other thread is where it should be */
static weiri_a32 over;    /* what a fork must wait for is over */
static weiri_a32 parent_ran;
static uint32_t at_rest = WEIRI_GATE_OPEN; /* the gate between forks */
static unsigned steps;
static const char *wrong;

static void await(const weiri_a32 *flag, uint32_t value)
{
    while (weiri_load_acquire_32(flag) != value)
        sched_yield();
}

static void expect(bool right, const char *what)
{
    if (!right && !wrong)
        wrong = what;
}

static void before(void)
{
    expect(steps++ == 0, "before is the first");
    expect(weiri_load_acquire_32(&weiri_gate) == at_rest, "before runs while the gate is open");
}

static void prepare(void)
{
    expect(steps++ == 1, "prepare is the second");
    expect(weiri_load_acquire_32(&weiri_gate) == WEIRI_GATE_CLOSED, "prepare runs while the gate is closed");
    expect(weiri_load_acquire_32(&over) == 1, "prepare runs when nobody is in the way");
}

static void parent(void)
{
    expect(steps++ == 2, "parent is the third");
    expect(!weiri_gate_is_open(), "parent runs before the gate opens");
    weiri_store_release_32(&parent_ran, 1);
}

static void child(void)
{
    expect(steps++ == 2, "child is the third");
    expect(!weiri_gate_is_open(), "child runs before the gate opens");
}

static void after(void)
{
    expect(steps++ == 3, "after is the last");
    uint32_t gate = weiri_load_acquire_32(&weiri_gate);
    expect(gate == WEIRI_GATE_OPEN || gate == WEIRI_GATE_COUNTED, "after runs when the gate is open again");
}

static const weiri_gate_handlers handlers = {before, prepare, parent, child, after};

/* Gives others time to run into what they must not get past; nothing depends on how long it takes. */
static void linger(void)
{
    for (unsigned i = 0; i < 200; i++)
        sched_yield();
}

/* Forks; the child must find an open gate that it can go through, hold and release. */
static void fork_and_check(void)
{
    cr_assert_eq(weiri_gate_install(&handlers), 0);
    cr_assert_eq(weiri_gate_install(&handlers), 0); /* once a process, however often */
    steps = 0;
    pid_t pid = fork();
    if (pid == 0) {
        weiri_gate_hold();
        weiri_gate_release(false);
        bool good = !wrong && steps == 4 && weiri_gate_is_open() && !weiri_gate_wait() && weiri_rcu_wait();
        /* Not by _exit: valgrind would look for leaks here, and blame it for what threads that are gone have left. */
        execl(good ? "/bin/true" : "/bin/false", "child", (char *)NULL);
        _exit(2);
    }
    cr_assert_gt(pid, 0);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 0, "the child found something wrong");
    cr_assert_eq(steps, 4);
    cr_assert_null(wrong, "%s", wrong);
    cr_assert(weiri_gate_is_open());
}

/* Forks while another thread runs `work`, which sets `started` when it is in the way. */
static void fork_beside(void *(*work)(void *))
{
    pthread_t thread;
    void *said;

    weiri_store_release_32(&started, 0);
    weiri_store_release_32(&over, 0);
    weiri_store_release_32(&parent_ran, 0);
    cr_assert_eq(pthread_create(&thread, NULL, work, NULL), 0);
    await(&started, 1);
    fork_and_check();
    pthread_join(thread, &said);
    cr_assert_null(said, "%s", (const char *)said);
}

Test(gate, is_open_and_holding_nests)
{
    cr_assert(weiri_gate_is_open());
    cr_assert(!weiri_gate_wait()); /* nothing to wait for, nothing to release */
    weiri_gate_hold();
    weiri_gate_hold();
    cr_assert(weiri_gate_is_open());
    cr_assert(!weiri_gate_wait());
    weiri_gate_release(false);
    weiri_gate_release(false);
    weiri_rcu_enter(); /* a section of the host's own: waiting makes a holder */
    cr_assert(weiri_gate_wait());
    cr_assert(weiri_gate_wait());
    weiri_gate_release(true);
    weiri_gate_release(true);
    weiri_rcu_leave();
    weiri_store_release_32(&over, 1);
    fork_and_check(); /* nobody is left holding: else this would wait for ever */
    fork_and_check();
}

static void *hold_until_closed(void *unused)
{
    (void)unused;
    weiri_gate_hold();
    weiri_gate_hold();
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSING);
    weiri_gate_release(false); /* one of two: not free so far */
    linger();
    weiri_store_release_32(&over, 1);
    weiri_gate_release(false);
    return NULL;
}

Test(gate, a_fork_waits_for_every_holder)
{
    for (unsigned round = 0; round < 5; round++)
        fork_beside(hold_until_closed);
}

static void *stay_in_section(void *unused)
{
    (void)unused;
    weiri_rcu_enter();
    if (!weiri_gate_is_open())
        return "the gate is not open";
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSING);
    linger();
    if (weiri_load_acquire_32(&weiri_gate) != WEIRI_GATE_CLOSING)
        return "the gate closed over a section that had seen it open";
    weiri_store_release_32(&over, 1);
    weiri_rcu_leave();
    return NULL;
}

Test(gate, a_fork_waits_for_sections_that_saw_it_open)
{
    for (unsigned round = 0; round < 5; round++)
        fork_beside(stay_in_section);
}

static void *hold_in_host_section(void *unused)
{
    (void)unused;
    weiri_rcu_enter();
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSING);
    if (!weiri_gate_wait())
        return "inside a section nobody can wait for a gate that is closing";
    weiri_rcu_leave();
    await(&weiri_gate, WEIRI_GATE_CLOSED);
    weiri_store_release_32(&over, 1);
    weiri_gate_release(true);
    return NULL;
}

Test(gate, a_section_of_the_hosts_own_goes_on_as_a_holder_while_it_closes)
{
    for (unsigned round = 0; round < 5; round++)
        fork_beside(hold_in_host_section);
}

/* A holder keeps the gate closed until two others are at it from outside. */
static weiri_a32 trying;

static void *hold_late(void *unused)
{
    (void)unused;
    await(&weiri_gate, WEIRI_GATE_CLOSED);
    weiri_store_release_32(&trying, 1);
    weiri_gate_hold();
    bool waited = weiri_load_acquire_32(&parent_ran) == 1;
    weiri_gate_release(false);
    return waited ? NULL : "a holder got in while the gate was closed";
}

static void *hold_for_the_late_one(void *unused)
{
    pthread_t thread;
    void *said;

    (void)unused;
    weiri_store_release_32(&trying, 0);
    if (pthread_create(&thread, NULL, hold_late, NULL) != 0)
        return "no thread";
    weiri_rcu_enter(); /* a section of the host's own, in which alone one becomes a holder that late */
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSING);
    if (!weiri_gate_wait())
        return "inside a section nobody can wait for a gate that is closing";
    weiri_rcu_leave();
    await(&trying, 1);
    linger();
    weiri_store_release_32(&over, 1);
    weiri_gate_release(true);
    pthread_join(thread, &said);
    return said;
}

Test(gate, nobody_becomes_a_holder_while_it_is_closed)
{
    for (unsigned round = 0; round < 5; round++)
        fork_beside(hold_for_the_late_one);
}

static void *wait_outside(void *unused)
{
    (void)unused;
    weiri_rcu_enter(); /* as a holder, so that it stays closed until this thread looks */
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSING);
    if (!weiri_gate_wait())
        return "inside a section nobody can wait for a gate that is closing";
    weiri_rcu_leave();
    await(&weiri_gate, WEIRI_GATE_CLOSED);
    weiri_store_release_32(&over, 1);
    weiri_gate_release(true);
    if (weiri_gate_wait())
        return "outside any section nobody becomes a holder";
    return weiri_load_acquire_32(&parent_ran) == 1 ? NULL : "waiting ended before the gate was open";
}

Test(gate, waiting_ends_when_it_is_open_again)
{
    for (unsigned round = 0; round < 5; round++)
        fork_beside(wait_outside);
}

/* --- where the kernel refuses membarrier --- */

static pid_t fork_counted(void)
{
    steps = 0;
    pid_t pid = fork();
    if (pid == 0) { /* it goes on counting, and can go through */
        bool holding;
        bool good = !wrong && weiri_load_acquire_32(&weiri_gate) == WEIRI_GATE_COUNTED && weiri_gate_wait() &&
                    weiri_gate_pass(&holding) && holding && !weiri_gate_hold();
        execl(good ? "/bin/true" : "/bin/false", "child", (char *)NULL);
        _exit(2);
    }
    return pid;
}

static void check_counted(pid_t pid)
{
    int status;
    cr_assert_gt(pid, 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child found something wrong");
    cr_assert_null(wrong, "%s", wrong);
    cr_assert_eq(weiri_load_acquire_32(&weiri_gate), WEIRI_GATE_COUNTED);
}

/* What takes a lock in a section: it has become a holder, of which the fork must know. */
static void *hold_counted(void *argument)
{
    bool holding = true, *tries = argument;
    weiri_rcu_enter();
    if (weiri_gate_is_open())
        return "a counted gate lets sections through that nobody counts";
    if (!*tries) {
        weiri_rcu_leave();
        holding = weiri_gate_wait();
        weiri_rcu_enter();
    } else if (!weiri_gate_pass(&holding)) {
        return "a counted gate cannot be passed";
    }
    weiri_store_release_32(&started, 1);
    await(&weiri_gate, WEIRI_GATE_CLOSED); /* no fork waits for the section: by that alone it would be over */
    linger();
    weiri_store_release_32(&over, 1);
    weiri_rcu_leave();
    if (!holding)
        return "a counted gate did not make a holder";
    weiri_gate_release(true);
    return NULL;
}

Test(gate, where_the_kernel_refuses_membarrier_whoever_takes_a_lock_is_waited_for)
{
    bool holding = true;
    cr_assert_eq(weiri_gate_install(&handlers), 0);
    cr_assert(weiri_gate_pass(&holding));
    cr_assert(!holding); /* open */
    if (!refuse_membarrier()) {
        fprintf(stderr, "gate: skipped: membarrier cannot be taken away here\n");
        cr_skip_test("membarrier cannot be taken away here");
    }
    cr_assert(weiri_gate_is_open()); /* nobody has noticed */
    weiri_store_release_32(&over, 1);
    pid_t pid = fork_counted();
    cr_assert_eq(steps, 4);
    check_counted(pid);
    at_rest = WEIRI_GATE_COUNTED;
    for (unsigned round = 0; round < 6; round++) {
        bool tries = round % 2;
        pthread_t thread;
        void *said;
        weiri_store_release_32(&started, 0);
        weiri_store_release_32(&over, 0);
        cr_assert_eq(pthread_create(&thread, NULL, hold_counted, &tries), 0);
        await(&started, 1);
        pid = fork_counted();
        pthread_join(thread, &said);
        cr_assert_null(said, "%s", (const char *)said);
        check_counted(pid);
    }
}
