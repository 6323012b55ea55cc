/*
 * Guarantees F and H where the kernel refuses membarrier, so that after the first fork the gate is counted: calls still
 * drop what has expired, with nobody else to do it. A full table of expired keys takes as many new ones, again and
 * again; a table without max_keys does not grow with the traffic. First the same with a gate that is open.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <sys/wait.h>

#include "../support/seccomp.h"

enum { LIMIT = 5, MOST = 500, KEYS = 4000, ROUNDS = 20, APART = 3, FEW = 10 };

#define WINDOW WEIR_SECOND

static uint64_t calls_made;

/* One round: `keys` new keys, each charged once. All that came before has expired. Returns how many were recorded. */
static uint64_t charge_round(weir *limiter, uint64_t round, uint64_t keys, uint32_t may_flag)
{
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < keys; i++) {
        test_key key = key_number(round * KEYS + i);
        weir_request request = request_for(&key, 1);
        weir_decision decision;
        int verdict = weir_take(limiter, &request, WEIR_SECOND + round * APART * WINDOW, &decision);
        if (decision.flags != 0 && decision.flags != may_flag)
            failed("round %" PRIu64 ", key %" PRIu64 ": flags %#x", round, i, (unsigned)decision.flags);
        want_equal("verdict", decision.flags == 0, (uint64_t)verdict);
        recorded += decision.flags == 0;
    }
    calls_made += keys;
    return recorded;
}

/* Nobody sweeps. A call that finds the table full looks for expired keys in its own segment and one more, so that a few,
 * one in FEW at most, are turned away before there is room again. */
static void check(enum kind kind, uint64_t max_keys, uint64_t first_round)
{
    rule_set set = rule_set_of(kind, LIMIT, WINDOW);
    weir_options options = weir_options_manual();
    options.max_keys = max_keys;
    options.max_lateness_ns = 0;
    weir *limiter = opened(&set, &options);
    uint64_t keys = max_keys ? max_keys : KEYS, fewest = keys, most = 0;
    for (uint64_t round = first_round; round < first_round + ROUNDS; round++) {
        uint64_t recorded = charge_round(limiter, round, keys, max_keys ? WEIR_TABLE_FULL : 0);
        uint64_t held = stats_of(limiter).keys;
        fewest = recorded < fewest ? recorded : fewest;
        most = held > most ? held : most;
    }
    printf("%-16s max_keys %3" PRIu64 ": at least %" PRIu64 " recorded of %" PRIu64 ", at most %" PRIu64 " held\n",
           set.name, max_keys, fewest, keys, most);
    if (fewest < keys - keys / FEW)
        failed("%s: wanted a full table to fill again, got %" PRIu64 " of %" PRIu64, set.name, fewest, keys);
    want_at_most("keys held, expired ones among them", max_keys ? max_keys : 2 * keys, most);
    want_done("weir_close", weir_close(limiter));
}

static void check_all(uint64_t from)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        check(kind, MOST, from);
        check(kind, 0, from);
    }
}

static void fork_once(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        failed("fork: %s", strerror(errno));
}

int main(void)
{
    check_all(0);
    if (!refuse_membarrier()) {
        printf("refill: skipped: membarrier is not there, or no filter may take it away here\n");
        return TEST_SKIPPED;
    }
    fork_once();
    check_all(ROUNDS);
    printf("refill: %" PRIu64 " calls\n", calls_made);
    return 0;
}
