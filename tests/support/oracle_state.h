/*
 * What the oracle remembers, laid open to those who compare or copy it. Others want oracle.h alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ORACLE_STATE_H
#define WEIR_TESTS_ORACLE_STATE_H

#include "oracle.h"

struct charge {
    uint64_t stamp;
    uint64_t amount;
};

/* What one rule remembers of one key. */
struct history {
    struct charge *charges;
    size_t count;
    size_t room;
    uint64_t newest; /* log, buckets: the newest stamp; counter: the start of the newest window charged */
};

struct subject {
    unsigned char *key;
    size_t key_len;
    struct history histories[WEIR_RULES_MAX];
};

struct oracle {
    weir_rule rules[WEIR_RULES_MAX];
    size_t rule_count;
    uint32_t plans;
    uint64_t *limits; /* plans x rule_count */
    struct subject *subjects;
    size_t subject_count;
    size_t subject_room;
};

/* A key that is not there so far. */
struct subject *oracle_add_subject(struct oracle *oracle, const void *key, size_t key_len);

/* Two numbers that stand for a state. Whatever differs in an answer that is still to come makes them differ, but for a
 * chance of about 2^-128; in which order the same charges came does not. */
struct oracle_print {
    uint64_t word[2];
};

struct oracle_print oracle_print_of(const struct oracle *oracle);

/* `to` becomes what `from` is; both are of the same rules and plans. */
void oracle_assign(struct oracle *to, const struct oracle *from);

struct oracle *oracle_copy(const struct oracle *oracle);

/* The time at which a call at `now` is decided by one rule: section 2. */
uint64_t oracle_effective_time(const struct oracle *oracle, const void *key, size_t key_len, size_t rule, uint64_t now);

#endif
