/* Keys that are filled up to their limit, and what they take then. */
#ifndef WEIRI_CLI_FILLING_H
#define WEIRI_CLI_FILLING_H

#include <stdbool.h>
#include <weir/types.h>

/* Limits beyond it are not tried: each call is a round trip. */
#define WEIRI_FILLING_MAX 1000000

/* One key of a rule in Redis, charged `limit` times at even distances over one window. */
typedef struct weiri_filled {
    uint64_t bytes;       /* MEMORY USAGE, every element looked at */
    uint64_t name_length; /* of its name there */
} weiri_filled;

/* False: Redis could not be asked, which has been told. Either way the key is removed. */
bool weiri_filling_remote(const weir_rule *rule, const char *url, weiri_filled *filled);

/* The same number of charges at the same times, in a limiter of this process that has many such keys: bytes a key. */
double weiri_filling_local(const weir_rule *rule);

#endif
