/*
 * ThreadSanitizer sees what liburcu orders, and only that:
 *
 *     edges wait    an object that another thread has read is freed after a grace period: nothing to report
 *     edges now     it is freed without one: under ThreadSanitizer this must be reported
 *
 * The reader tells that it is through by a relaxed store, which orders nothing. So the grace period alone stands between
 * its read and the free, in every run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "sync/memory.h"
#include "sync/rcu.h"

typedef struct object {
    weiri_retired retired;
    uint64_t value;
} object;

static weiri_memory memory;
static weiri_apointer shared;
static weiri_a64 through;
static uint64_t seen;

static void destroy(weiri_memory *owner, weiri_retired *retired)
{
    object *old = (object *)retired;
    old->value = 0;
    weiri_release(owner, old, sizeof(*old));
}

static void *read_once(void *unused)
{
    weiri_rcu_enter();
    const object *current = weiri_load_acquire_pointer(&shared);
    seen = current->value;
    weiri_store_relaxed_64(&through, 1);
    weiri_rcu_leave();
    return unused;
}

int main(int argc, char **argv)
{
    bool wait = argc == 2 && strcmp(argv[1], "wait") == 0;
    const weir_allocator from_libc = {0};
    pthread_t reader;

    weiri_memory_init(&memory, &from_libc);
    object *only = weiri_allocate(&memory, 16, sizeof(*only));
    if (only == NULL)
        return 1;
    only->retired.destroy = destroy;
    only->value = 42;
    weiri_store_release_pointer(&shared, only);
    if (pthread_create(&reader, NULL, read_once, NULL) != 0)
        return 1;
    while (weiri_load_relaxed_64(&through) == 0)
        sched_yield();

    weiri_retire(&memory, &only->retired, sizeof(*only));
    if (wait && weiri_reclaim(&memory) != 0)
        return 1;
    if (!wait)
        weiri_reclaim_now(&memory);
    pthread_join(reader, NULL);
    printf("read %d, %s\n", (int)seen, wait ? "freed after a grace period" : "freed at once");
    return seen != 42 || weiri_sum_read(&memory.bytes) != 0;
}
