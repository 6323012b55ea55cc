/*
 * Tests that fail, each in its way, one that is skipped and one that holds: forked.sh compares what forked.c says of
 * them. The first two fail under valgrind alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile memory;

Test(failing, leaks)
{
    memory = malloc(10);
    memory = NULL;
}

Test(failing, looks_at_what_was_not_written)
{
    unsigned char *volatile byte = malloc(1);
    if (*byte == 3)
        memory = byte;
    free(byte);
}

Test(failing, asserts)
{
    cr_assert_eq(1, 2);
}

Test(failing, asserts_with_words)
{
    cr_assert_eq(1, 2, "not %d", 3);
}

Test(failing, is_killed)
{
    raise(SIGKILL);
}

Test(failing, ends_half_way)
{
    exit(EXIT_SUCCESS);
}

Test(failing, ends_as_if_skipped)
{
    exit(77);
}

/* Its own end is that of one that holds. */
Test(failing, asserts_in_a_child)
{
    if (fork() == 0)
        cr_assert_eq(4, 5);
    wait(NULL);
}

Test(failing, comes_to_its_end_in_a_child_alone)
{
    if (fork() == 0)
        return;
    wait(NULL);
    exit(EXIT_SUCCESS);
}

Test(failing, has_a_fixture, .init = abort)
{
}

Test(failing, is_skipped)
{
    cr_skip_test("for want of %s", "cause");
}

Test(failing, holds)
{
    cr_assert_eq(1, 1);
}
