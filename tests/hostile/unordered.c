/*
 * Can ThreadSanitizer see an order that is missing? Two threads charge one key of a log. Built as it is, nothing is to
 * be reported; built with unordered.h before src/limiter/node.c, where the lock is as exclusive as ever but its unlock
 * orders nothing, a data race must be. On x86-64 both behave the same: only the report tells.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

enum { CALLS = 2000 };

static pthread_barrier_t known;

/* A thread's first call makes it known to liburcu, and its end unknown, both under one mutex: that would order two
 * threads of which one is through before the other begins. So both are known before either charges. */
static void charge(void *shared, unsigned index)
{
    weir_request request = weir_request_for("key", 3);
    (void)index;
    if (weir_peek(shared, &request, WEIR_SECOND, NULL) != 1)
        failed("wanted the key to be free");
    pthread_barrier_wait(&known);
    for (unsigned call = 0; call < CALLS; call++)
        if (weir_take(shared, &request, WEIR_SECOND + call, NULL) != 1)
            failed("wanted every charge accepted");
}

int main(void)
{
    rule_set set = rule_set_of(KIND_LOG, 4 * CALLS, WEIR_HOUR);
    weir_options options = weir_options_manual();
    weir *limiter = opened(&set, &options);
    pthread_barrier_init(&known, NULL, 2);
    run_threads(2, charge, limiter);
    pthread_barrier_destroy(&known);
    want_equal("keys held", 1, stats_of(limiter).keys);
    want_done("weir_close", weir_close(limiter));
    return 0;
}
