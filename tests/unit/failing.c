/*
 * Tests that fail, each in its way, one that is skipped and one that holds: forked.sh compares what forked.c says of
 * them. The first two fail under valgrind alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

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
