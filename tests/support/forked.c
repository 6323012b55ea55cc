/*
 * A runner in Criterion's place, which starts each test with fork alone. Criterion's starts it with execve, and loads
 * the twenty libraries that it needs itself: under valgrind a second for each test, most of which take a few
 * milliseconds; and under an emulator execve leaves the emulator. Besides, Criterion takes no notice of how a test's
 * process ends: here one that leaks, by a sanitizer's judgement or valgrind's, has failed.
 *
 * The objects are those made for Criterion; this defines all that they ask of its library. A test is still a process of
 * its own. What is not here: fixtures, expected signals and statuses, which fail; timeouts, which are left to meson.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 1, SKIPPED = 77 };

/* Where Criterion's macro puts a pointer to each test of the program; the linker names the two ends. */
extern struct criterion_test *const __start_cr_tst[];
extern struct criterion_test *const __stop_cr_tst[];

struct criterion_options criterion_options; /* read by the assertions: no statistics of those that hold */

/* Shared with the test's process and its children. */
static struct outcome {
    pid_t process; /* the test's */
    bool returned; /* it did not exit half-way */
    bool failed;   /* an assertion, in whichever process */
    bool skipped;
} *outcome;

/* --- what an assertion calls --- */

int cr_asprintf(char **text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vasprintf(text, format, values);
    va_end(values);
    return length;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

/* Criterion puts the parts of the assertion into a sentence. Here the first part, which is the condition, is enough. */
char *cr_translate_assert_msg(int kind, ...)
{
    char *text = NULL;
    va_list parts;
    va_start(parts, kind);
    const char *condition = va_arg(parts, const char *);
    va_end(parts);
    return cr_asprintf(&text, "does not hold: %s", condition) < 0 ? NULL : text;
}

void criterion_send_assert(struct criterion_assert_stats *assertion)
{
    outcome->failed = true;
    fprintf(stderr, "%s:%u: %s\n", assertion->file, assertion->line, assertion->message);
}

void cri_asserts_passed_incr(void)
{
}

void criterion_abort_test(void)
{
    exit(FAILED);
}

void criterion_skip_test(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    outcome->skipped = true;
    exit(SKIPPED);
}

/* --- what a test calls around itself --- */

void criterion_internal_test_setup(void)
{
}

void criterion_internal_test_main(void (*test)(void))
{
    test();
}

void criterion_internal_test_teardown(void)
{
}

/* --- what main calls --- */

struct criterion_test_set *criterion_initialize(void)
{
    return NULL;
}

int criterion_handle_args(int argc, char **argv, bool unknown_is_error)
{
    if (argc == 1 || !unknown_is_error)
        return 1;
    fprintf(stderr, "%s: unknown argument: %s\n", argv[0], argv[1]);
    exit(FAILED);
}

void criterion_finalize(struct criterion_test_set *tests)
{
    (void)tests;
}

/* Does it ask for what this runner does not do? */
static bool asks_for_more(const struct criterion_test *test)
{
    const struct criterion_test_extra_data *data = test->data;
    return data->kind_ != CR_TEST_NORMAL || data->init || data->fini || data->signal || data->exit_code ||
           data->disabled;
}

/* The status that a process of its own ended with; -1 also where the test did not come to its end. */
static int run(const struct criterion_test *test)
{
    int status = -1;
    *outcome = (struct outcome){0};
    pid_t child = asks_for_more(test) ? -1 : fork();
    if (child == 0) {
        outcome->process = getpid();
        test->test();
        outcome->returned |= outcome->process == getpid();
        exit(EXIT_SUCCESS);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    return status == 0 && (outcome->failed || !outcome->returned) ? -1 : status;
}

/* 1: none failed. */
int criterion_run_all_tests(struct criterion_test_set *tests)
{
    int ran = 0, skipped = 0, failed = 0;
    (void)tests;

    outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return 0;
    for (struct criterion_test *const *each = __start_cr_tst; each != __stop_cr_tst; each++) {
        const struct criterion_test *test = *each;
        fprintf(stderr, "%s/%s\n", test->category, test->name); /* one that hangs is the last */
        int status = run(test);
        ran++;
        if (outcome->skipped && WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
            skipped++;
        } else if (status != 0) {
            failed++;
            fprintf(stderr, "%s/%s: failed, status %#x\n", test->category, test->name, (unsigned)status);
        }
    }
    fprintf(stderr, "%d tests, %d skipped, %d failed\n", ran, skipped, failed);
    return ran > 0 && failed == 0;
}

/* Unless the program has its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    struct criterion_test_set *tests = criterion_initialize();
    int none_failed = criterion_handle_args(argc, argv, true) && criterion_run_all_tests(tests);
    criterion_finalize(tests);
    return none_failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
