/*
 * What a limiter is opened with, drawn from an input: legal and illegal rules, options and limits; and what types.h
 * says of them, written a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_FUZZ_OPENING_H
#define WEIR_TESTS_FUZZ_OPENING_H

#include <weir/weir.h>

#include "../support/allocator.h"
#include "fuzz.h"

enum { OPENING_PLANS = 3, OPENING_RULES = WEIR_RULES_MAX + 2, OPENING_ROOM = 256 };

#define LIMIT_32 UINT64_C(0xffffffff)
#define LIMIT_63 ((uint64_t)INT64_MAX)

struct opening {
    weir_rule rules[OPENING_RULES];
    size_t rule_count;
    uint64_t limits[OPENING_PLANS * OPENING_RULES];
    union {
        weir_options options;
        char bytes[sizeof(weir_options) + 64]; /* a newer caller's */
    } given;
    char error[OPENING_ROOM]; /* the words go to its front */
    uint64_t clock;           /* what a custom clock shows */
    test_allocator memory;    /* all that is held; small pieces alone are given */
};

/* One of the telling values, or any. */
#define ANY_OF(random, ...) \
    any_of(random, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
uint64_t any_of(random_source *random, const uint64_t *telling, size_t count);
uint64_t any_limit(random_source *random);
uint64_t any_time(random_source *random);

void opening_draw(struct opening *opening, random_source *random);

/* Must weir_open take it? */
bool opening_is_legal(const struct opening *opening);

/* Can weir_open tell what is wrong in words? */
bool opening_has_words(const struct opening *opening);

/* How many plans there are, and what any limit of one rule may be; of a legal opening. */
size_t opening_plans(const struct opening *opening);
uint64_t opening_most(const struct opening *opening, size_t rule);

#endif
