/*
 * Read sections and grace periods, as weir uses liburcu.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "../support/seccomp.h"
#include "sync/rcu.h"

static void await(const weiri_a32 *flag, uint32_t value)
{
    while (weiri_load_acquire_32(flag) != value)
        sched_yield();
}

Test(rcu, a_thread_knows_whether_it_is_inside_however_deep)
{
    cr_assert(!weiri_rcu_inside());
    for (unsigned depth = 0; depth < 3; depth++) {
        weiri_rcu_enter();
        cr_assert(weiri_rcu_inside());
    }
    for (unsigned depth = 0; depth < 3; depth++) {
        cr_assert(weiri_rcu_inside());
        weiri_rcu_leave();
    }
    cr_assert(!weiri_rcu_inside());
    cr_assert(weiri_rcu_can_wait());
    cr_assert(weiri_rcu_wait());
}

struct reader {
    weiri_a32 entered, told, left;
};

static void *read_for_a_while(void *argument)
{
    struct reader *reader = argument;

    cr_assert(!weiri_rcu_inside()); /* another thread's section is not this one's */
    weiri_rcu_enter();
    weiri_store_release_32(&reader->entered, 1);
    await(&reader->told, 1);
    for (unsigned i = 0; i < 200; i++) /* the other one is about to wait: let it get there */
        sched_yield();
    weiri_store_release_32(&reader->left, 1);
    weiri_rcu_leave();
    return NULL;
}

Test(rcu, waits_for_sections_that_have_begun)
{
    for (unsigned round = 0; round < 5; round++) {
        struct reader reader = {{0}, {0}, {0}};
        pthread_t thread;

        cr_assert_eq(pthread_create(&thread, NULL, read_for_a_while, &reader), 0);
        await(&reader.entered, 1);
        weiri_store_release_32(&reader.told, 1);
        cr_assert(weiri_rcu_wait());
        cr_assert_eq(weiri_load_acquire_32(&reader.left), 1);
        pthread_join(thread, NULL);
    }
}

Test(rcu, where_the_kernel_refuses_membarrier_does_not_wait_and_does_not_abort)
{
    cr_assert(weiri_rcu_wait()); /* liburcu has found it there, and relies on it */
    if (!refuse_membarrier()) {
        fprintf(stderr, "rcu: skipped: membarrier cannot be taken away here\n");
        cr_skip_test("membarrier cannot be taken away here");
    }
    cr_assert(!weiri_rcu_can_wait());
    cr_assert(!weiri_rcu_wait());
    weiri_rcu_enter(); /* reading goes on */
    cr_assert(weiri_rcu_inside());
    weiri_rcu_leave();
}
