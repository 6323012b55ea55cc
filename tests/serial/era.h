/*
 * An era: the life of one limiter, from open to close, and of a few keys on it that several threads hammer in bursts.
 * All calls on these keys are recorded, each key's into one history. What the limiter is like is drawn by lot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_ERA_H
#define WEIR_TESTS_ERA_H

#include "../threads/common.h"

#include "../support/allocator.h"
#include "../support/serial.h"

enum { ERA_THREADS = 4, ERA_KEYS = 3, ERA_FILLERS = 24, ERA_PLANS = 3, ERA_RULES = 3, EVERY_KEY = ERA_KEYS };
enum { LOG_MAX = 512 }; /* a thread's calls in an era */

/* What one thread did: calls on the keys (or, for set_limits, on EVERY_KEY), and when it may have dropped something. */
struct era_log {
    struct serial_call calls[LOG_MAX];
    unsigned key[LOG_MAX];
    size_t count;
    struct serial_floor floors[LOG_MAX];
    size_t floor_count;
};

enum era_lateness {
    ERA_ENDLESS,  /* nothing is dropped */
    ERA_PUNCTUAL, /* no call is later than max_lateness: none may be flagged */
    ERA_BEYOND    /* calls may be */
};

struct era {
    uint64_t random;
    weir_rule rules[ERA_RULES];
    size_t rule_count;
    uint32_t plans;
    uint64_t plan_limits[ERA_PLANS * ERA_RULES];
    uint64_t unit;   /* of costs and limits */
    uint64_t window; /* ns; those of the rules are about this */
    enum era_lateness lateness;
    uint64_t max_lateness;
    uint64_t behind; /* ns: a call is at most so much earlier than `base` */
    bool may_fail;
    bool admits;
    uint64_t rarity; /* of pauses, see disturb.h */
    bool reclaims;   /* memory is given back meanwhile, so that addresses come again */
    test_allocator memory;
    weir *limiter;
    weir_identity keys[ERA_KEYS];
    weir_identity fillers[ERA_FILLERS];
    unsigned key_count;
    unsigned threads;
    unsigned bursts;
    uint64_t base;   /* ns: the time of a burst, moved between two */
    struct era_log logs[ERA_THREADS + 1]; /* the last one: of calls between bursts */
};

/* Sums over all eras. */
struct era_sums {
    uint64_t histories, calls, overlap, late, unrecorded, accepted, refused, splits, compactions, helped, swept;
};

extern _Atomic uint64_t era_stamp; /* the one counter that all stamps come from */

void era_open(struct era *era, uint64_t seed);
void era_close(struct era *era, struct era_sums *sums);

/* One random call of thread `index`, recorded. */
void era_call(struct era *era, unsigned index, uint64_t *random);

/* A peek at each key, of which all is known, by one thread while the others stand still. */
void era_look(struct era *era);

/* Holds a key's history against the oracle; ends the program where there is no serial order. */
void era_check(const struct era *era, unsigned key, struct era_sums *sums);

#endif
