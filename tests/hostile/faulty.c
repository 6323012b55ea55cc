/*
 * Can AddressSanitizer and UndefinedBehaviorSanitizer see what happens inside the library? This host does what it must
 * not, one thing a run, and weir's own functions then touch what they should not:
 *
 *     faulty freed      statistics of a limiter that was closed
 *     faulty beyond     a key one byte shorter than it says
 *     faulty null       the clock of no limiter
 *     faulty overflow   a signed sum past its range, here
 *     faulty leak       a limiter that nobody closes or knows any more
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

static weir *open_one(void)
{
    rule_set set = rule_set_of(KIND_LOG, 1, WEIR_HOUR);
    weir_options options = weir_options_manual();
    return opened(&set, &options);
}

static void use_freed(void)
{
    weir *limiter = open_one();
    want_done("weir_close", weir_close(limiter));
    (void)stats_of(limiter);
}

static void read_beyond(void)
{
    enum { SAID = 64 };
    char *key = malloc(SAID - 1);
    weir_identity identity;
    weir *limiter = open_one();
    memset(key, 'k', SAID - 1);
    want_done("weir_identify", weir_identify(limiter, key, SAID, &identity));
    free(key);
    want_done("weir_close", weir_close(limiter));
}

static void use_nothing(void)
{
    weir *volatile nothing = NULL;
    (void)!weir_now(nothing);
}

static void overflow(void)
{
    volatile int largest = INT32_MAX;
    largest = largest + 1;
}

static void open_and_forget(void *unused, unsigned index)
{
    (void)unused;
    (void)index;
    (void)open_one();
}

/* In a thread that ends: no stack may keep the pointer. */
static void leak(void)
{
    run_threads(1, open_and_forget, NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } faults[] = {
        {"freed", use_freed}, {"beyond", read_beyond}, {"null", use_nothing}, {"overflow", overflow}, {"leak", leak},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        if (argc == 2 && strcmp(argv[1], faults[i].name) == 0)
            faults[i].act();
    return 0;
}
