/*
 * The event loops that weir has adapters for, as one table: tests go through all that are installed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_LOOPS_H
#define WEIR_TESTS_REDIS_LOOPS_H

#include <stddef.h>
#include <weir/redis.h>

struct loop_kind {
    const char *name;
    void *(*open)(weir_redis_loop *loop); /* an own loop, and *loop filled; ends the process where it cannot */
    void (*turn)(void *host, int wait);   /* one turn; wait 1: until something has happened */
    void (*close)(void *host);            /* and what it has closed asynchronously is closed */
};

extern const struct loop_kind loop_kinds[];
extern const size_t loop_kind_count;

/* Says which loops are not installed. */
void loop_kinds_tell_missing(void);

#endif
