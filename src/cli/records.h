/* All records of a replay, compactly: 24 bytes each, and every key once. */
#ifndef WEIRI_CLI_RECORDS_H
#define WEIRI_CLI_RECORDS_H

#include <stdbool.h>

#include "entry.h"

typedef struct weiri_record {
    uint64_t time;
    uint64_t cost;
    uint32_t key;   /* index into weiri_records.key */
    uint32_t order; /* in which it was read: makes every sort stable */
} weiri_record;

_Static_assert(sizeof(weiri_record) == 24, "a gigabyte of log must fit in memory");

typedef struct weiri_key {
    const char *bytes;
    uint32_t len;
} weiri_key;

struct weiri_name; /* a key in the hash table that finds it */

typedef struct weiri_records {
    weiri_record *record;
    weiri_key *key;
    size_t count, room;
    size_t keys, key_room;
    uint64_t late; /* records older than the one before, in the order read */
    struct weiri_name *names;
} weiri_records;

/* Copies what it needs of the entry. Ends the program where there is no memory, or at 2^32-1 records. */
void weiri_records_add(weiri_records *records, const weiri_entry *entry);

/* By time; records of one time stay in the order read. */
void weiri_records_sort(weiri_records *records);

void weiri_records_free(weiri_records *records);

#endif
