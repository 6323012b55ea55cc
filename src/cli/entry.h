/* What a reader makes of a line: an entry, or a fault. */
#ifndef WEIRI_CLI_ENTRY_H
#define WEIRI_CLI_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* One call to replay. The key is the reader's: copy it before the next line. */
typedef struct weiri_entry {
    uint64_t time; /* ns since 1970, at most WEIR_TIME_MAX */
    uint64_t cost;
    const char *key;
    size_t key_len; /* at most WEIR_KEY_MAX */
} weiri_entry;

/* Why there is none: a reason in words, and the bytes that it is about, the reader's too. */
typedef struct weiri_fault {
    const char *reason;
    const char *text;
    size_t len;
} weiri_fault;

#endif
