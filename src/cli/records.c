#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "say.h"

#define uthash_fatal(message) weiri_out_of_memory()
#include <uthash.h>

typedef struct weiri_name {
    UT_hash_handle hh;
    uint32_t number;
    char bytes[];
} weiri_name;

static weiri_name *new_name(weiri_records *records, const weiri_entry *entry)
{
    weiri_name *name = weiri_resize(NULL, 1, sizeof *name + entry->key_len);

    if (records->keys == records->key_room) {
        records->key_room = records->key_room ? records->key_room * 2 : 1024;
        records->key = weiri_resize(records->key, records->key_room, sizeof *records->key);
    }
    name->number = (uint32_t)records->keys;
    if (entry->key_len > 0)
        memcpy(name->bytes, entry->key, entry->key_len);
    records->key[records->keys++] = (weiri_key){name->bytes, (uint32_t)entry->key_len};
    return name;
}

static uint32_t number_of(weiri_records *records, const weiri_entry *entry)
{
    unsigned len = (unsigned)entry->key_len;
    weiri_name *name;

    HASH_FIND(hh, records->names, entry->key, len, name);
    if (!name) {
        name = new_name(records, entry);
        HASH_ADD_KEYPTR(hh, records->names, name->bytes, len, name);
    }
    return name->number;
}

void weiri_records_add(weiri_records *records, const weiri_entry *entry)
{
    if (records->count == UINT32_MAX) {
        weiri_say("more than %u records", UINT32_MAX);
        exit(1);
    }
    if (records->count == records->room) {
        records->room = records->room ? records->room * 2 : 4096;
        records->record = weiri_resize(records->record, records->room, sizeof *records->record);
    }
    if (records->count > 0 && entry->time < records->record[records->count - 1].time)
        records->late++;
    records->record[records->count] = (weiri_record){
        .time = entry->time,
        .cost = entry->cost,
        .key = number_of(records, entry),
        .order = (uint32_t)records->count,
    };
    records->count++;
}

static int by_time(const void *a, const void *b)
{
    const weiri_record *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void weiri_records_sort(weiri_records *records)
{
    if (records->late > 0)
        qsort(records->record, records->count, sizeof *records->record, by_time);
}

void weiri_records_free(weiri_records *records)
{
    weiri_name *name, *next;

    HASH_ITER (hh, records->names, name, next) {
        HASH_DEL(records->names, name);
        free(name);
    }
    free(records->record);
    free(records->key);
}
