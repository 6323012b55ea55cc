/*
 * A world for random traces: a limiter with manual time, the oracle beside it, and random rules, plans, keys and times
 * for both. The property tests walk through it and say what each step must hold.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_WORLD_H
#define WEIR_TESTS_WORLD_H

#include <weir/weir.h>

#include "../support/allocator.h"
#include "../support/decision.h"
#include "../support/oracle.h"
#include "../support/random.h"

#define WORLD_KEYS  320
#define WORLD_PLANS 3

struct world_key {
    unsigned char bytes[300];
    size_t length;
    weir_identity identity;
};

struct world {
    random_source random;
    test_allocator memory;
    weir_rule rules[3];
    size_t rule_count;
    uint32_t plans; /* 0: none given */
    uint64_t max_limit;
    uint64_t limits[WORLD_PLANS * 3];
    uint64_t max_lateness_ns;
    uint64_t scale;    /* ns; windows and pauses are around it */
    bool deep;         /* as the shape says */
    uint64_t pause;    /* ns, most of the time, between two calls */
    uint64_t now;      /* the newest time any call has named */
    uint64_t lateness; /* how late a call may be, at most */
    uint64_t clock;    /* what the limiter's own clock shows, where it has one: whatever is put here */
    uint64_t last_remaining; /* of the last answer: the most telling cost to ask for next */
    struct world_key keys[WORLD_KEYS];
    size_t key_count;
    weir *limiter;
    struct oracle *oracle;
    uint64_t step;
    char wrong[200]; /* empty: all is well */
};

/* max_lateness_ns UINT64_MAX: endless, and calls may be late at will; else random_lateness of the scale. */
struct world_shape {
    bool endless;       /* nothing is ever dropped */
    bool beyond;        /* calls may be later than max_lateness */
    bool many_keys;     /* rather hundreds of keys than a handful */
    bool fixed_limits;  /* no plans, no weir_set_limits */
    bool deep;          /* one key or two, and logs of hundreds of records */
    bool own_clock;     /* WEIR_CLOCK_CUSTOM, which reads world->clock; else manual time */
    uint64_t max_keys;  /* as in the options; a call that is flagged for it is not for world_compare */
    uint32_t when_full; /* as in the options */
};

/* Opens a world; where that fails, `wrong` says so. world_close checks that all memory came back. */
void world_open(struct world *world, const struct world_shape *shape, random_source random);
void world_close(struct world *world);

/* Says what is wrong, unless something was wrong before. */
__attribute__((format(printf, 2, 3))) void world_wrong(struct world *world, const char *format, ...);

/* A time for the next call: usually a little later, at times much later, the same, or late. Moves world->now. */
uint64_t world_time(struct world *world);

/* A request about a random key, by its bytes or its identity, with a telling cost and any plan. */
weir_request world_request(struct world *world, size_t *key);

/* Compares an answer with the oracle's, in every field. */
void world_compare(struct world *world, const char *call, const weir_decision *wanted, const weir_decision *got);

/* Random calls, each answered by both sides. Where memory fails, world_set_limits and world_each may do nothing. */
void world_take(struct world *world);
void world_take_verdict(struct world *world);
void world_take_batch(struct world *world);
void world_peek(struct world *world);
void world_reset(struct world *world);
void world_set_limits(struct world *world);
void world_each(struct world *world);

/* One of the above, in a sensible mixture. */
void world_any_call(struct world *world);

/*
 * Runs `standard` traces (scaled by WEIR_TEST_SCALE) and prints what went wrong with seed and number of the trace;
 * WEIR_TRACE runs one of them alone. Returns the exit status.
 */
int world_main(const char *name, uint64_t standard, void (*run)(random_source random, char wrong[200]));

#endif
