/* What --limit and --algorithm say. Pure functions. */
#ifndef WEIRI_CLI_LIMITS_H
#define WEIRI_CLI_LIMITS_H

#include <weir/types.h>

typedef struct weiri_choice {
    uint32_t algorithm; /* enum weir_algorithm */
    uint64_t buckets;
    char name[32];      /* log, counter, buckets:60 */
} weiri_choice;

/*
 * "100/60s", "300000cost/60s". Fills limit, window, meter and name (the text itself) of a rule, the rest is 0. Returns
 * NULL, or why it cannot be read.
 */
const char *weiri_limit_parse(const char *text, weir_rule *rule);

/* "log", "counter", "buckets:60". Returns NULL, or why it cannot be read. */
const char *weiri_choice_parse(const char *text, weiri_choice *choice);

#endif
