/*
 * Checks of plain programs: each that fails is told, and the program ends with 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_CHECK_H
#define WEIR_TESTS_REDIS_CHECK_H

#include <stdint.h>
#include <stdio.h>

static unsigned long checks_made;
static unsigned long checks_failed;

static inline void check(int holds, const char *file, int line, const char *what)
{
    checks_made++;
    if (!holds && checks_failed++ < 20)
        printf("%s:%d: %s\n", file, line, what);
}

#define CHECK(condition) check((condition) != 0, __FILE__, __LINE__, #condition)

/* The same for two whole numbers, which are told. */
static inline void check_equal(uint64_t wanted, uint64_t got, const char *file, int line, const char *what)
{
    checks_made++;
    if (wanted != got && checks_failed++ < 20)
        printf("%s:%d: %s: wanted %ju, got %ju\n", file, line, what, (uintmax_t)wanted, (uintmax_t)got);
}

#define CHECK_EQUAL(wanted, got) check_equal((uint64_t)(wanted), (uint64_t)(got), __FILE__, __LINE__, #got)

/* What main returns. */
static inline int checks_end(void)
{
    printf("%lu checks, %lu failed\n", checks_made, checks_failed);
    return checks_failed != 0 || checks_made == 0;
}

/* First in main: skips the test where there is no server. */
#define NEEDS_REDIS()                                          \
    do {                                                       \
        if (redis_server_missing() != NULL) {                  \
            printf("skipped: %s\n", redis_server_missing());   \
            return 77;                                         \
        }                                                      \
    } while (0)

#endif
