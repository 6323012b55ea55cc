/*
 * The memory of one limiter: bytes in use, and what waits for a grace period.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../support/allocator.h"
#include "../support/seccomp.h"
#include "sync/memory.h"
#include "sync/rcu.h"

struct bench {
    test_allocator counting;
    weiri_memory memory;
};

static void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    weir_allocator callbacks = test_allocator_for(&bench->counting);
    weiri_memory_init(&bench->memory, &callbacks);
}

static void bench_empty(const struct bench *bench)
{
    cr_assert_eq(bench->counting.blocks, 0);
    cr_assert_eq(bench->counting.faults, 0);
    cr_assert_eq(weiri_sum_read(&bench->memory.bytes), 0);
    cr_assert_eq(weiri_load_relaxed_64(&bench->memory.retired_bytes), 0);
}

Test(memory, a_sum_adds_up_over_threads_and_takes_negative_amounts)
{
    weiri_sum sum;

    memset(&sum, 0, sizeof sum);
    weiri_sum_add(&sum, 10);
    weiri_sum_add(&sum, 0 - UINT64_C(3));
    cr_assert_eq(weiri_sum_read(&sum), 7);
    for (unsigned i = 0; i < WEIRI_STRIPES; i++) /* whichever parts other threads took */
        weiri_add_relaxed_64(&sum.stripe[i].part, i);
    cr_assert_eq(weiri_sum_read(&sum), 7 + 28);
    cr_assert_eq(sizeof sum, WEIRI_STRIPES * 64);
}

Test(memory, counts_bytes_as_they_were_asked_for)
{
    struct bench bench;
    bench_open(&bench);

    void *first = weiri_allocate(&bench.memory, 16, 100), *second = weiri_allocate(&bench.memory, 64, 28);
    cr_assert_eq((uintptr_t)second % 64, 0);
    cr_assert_eq(weiri_sum_read(&bench.memory.bytes), 128);
    cr_assert_eq(bench.counting.bytes, 128);
    bench.counting.fail_at = 1;
    cr_assert_null(weiri_allocate(&bench.memory, 16, 1000));
    cr_assert_eq(weiri_sum_read(&bench.memory.bytes), 128);
    weiri_release(&bench.memory, first, 100);
    cr_assert_eq(weiri_sum_read(&bench.memory.bytes), 28);
    weiri_release(&bench.memory, NULL, 100); /* nothing: the allocator is not asked */
    cr_assert_eq(weiri_sum_read(&bench.memory.bytes), 28);
    weiri_release(&bench.memory, second, 28);
    bench_empty(&bench);
}

Test(memory, comes_from_the_c_library_where_nobody_gives_an_allocator)
{
    weiri_memory memory;
    const weir_allocator none = {NULL, NULL, NULL};

    weiri_memory_init(&memory, &none);
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        unsigned char *object = weiri_allocate(&memory, alignment, 100);
        cr_assert_eq((uintptr_t)object % alignment, 0);
        cr_assert_eq(weiri_sum_read(&memory.bytes), 100);
        memset(object, 1, 100);
        weiri_release(&memory, object, 100);
    }
    cr_assert_eq(weiri_sum_read(&memory.bytes), 0);
}

/* --- retiring --- */

struct object {
    weiri_retired retired;
    unsigned *destroyed;
    const weiri_a32 *must_be_set; /* NULL, or what must have happened when it is destroyed */
    struct object *next;          /* retired by the destruction of this one */
};

static void destroy(weiri_memory *memory, weiri_retired *retired)
{
    struct object *object = (struct object *)(void *)retired;

    ++*object->destroyed;
    if (object->must_be_set)
        cr_assert_eq(weiri_load_acquire_32(object->must_be_set), 1, "destroyed while somebody could read it");
    if (object->next)
        weiri_retire(memory, &object->next->retired, sizeof *object);
    weiri_release(memory, object, sizeof *object);
}

static struct object *object_new(struct bench *bench, unsigned *destroyed)
{
    struct object *object = weiri_allocate(&bench->memory, 16, sizeof *object);

    cr_assert_not_null(object);
    *object = (struct object){.retired.destroy = destroy, .destroyed = destroyed};
    return object;
}

Test(memory, what_is_retired_stays_in_use_until_it_is_reclaimed)
{
    enum { OBJECTS = 10 };
    struct bench bench;
    unsigned destroyed[OBJECTS] = {0};
    bench_open(&bench);

    cr_assert_eq(weiri_reclaim(&bench.memory), 0); /* nothing to do */
    for (unsigned i = 0; i < OBJECTS; i++) {
        weiri_retire(&bench.memory, &object_new(&bench, &destroyed[i])->retired, sizeof(struct object));
        cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), (i + 1) * sizeof(struct object));
    }
    cr_assert_eq(weiri_sum_read(&bench.memory.bytes), OBJECTS * sizeof(struct object));
    cr_assert_eq(bench.counting.blocks, OBJECTS);
    cr_assert_eq(weiri_reclaim(&bench.memory), 0);
    for (unsigned i = 0; i < OBJECTS; i++)
        cr_assert_eq(destroyed[i], 1);
    bench_empty(&bench);
    cr_assert_eq(weiri_reclaim(&bench.memory), 0);
    cr_assert_eq(destroyed[0], 1);
}

Test(memory, what_is_retired_meanwhile_waits_for_the_next_time)
{
    struct bench bench;
    unsigned first = 0, second = 0;
    bench_open(&bench);

    struct object *object = object_new(&bench, &first);
    object->next = object_new(&bench, &second);
    weiri_retire(&bench.memory, &object->retired, sizeof *object);
    cr_assert_eq(weiri_reclaim(&bench.memory), 0);
    cr_assert_eq(first, 1);
    cr_assert_eq(second, 0);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), sizeof *object);
    cr_assert_eq(weiri_reclaim(&bench.memory), 0);
    cr_assert_eq(second, 1);
    bench_empty(&bench);
}

Test(memory, reclaims_a_few_at_once_for_who_has_other_things_to_do)
{
    enum { OBJECTS = 2 * WEIRI_RECLAIMED_AT_ONCE + 5 };
    static const unsigned left[] = {OBJECTS, OBJECTS - WEIRI_RECLAIMED_AT_ONCE, 5, 0, 0};
    struct bench bench;
    unsigned destroyed[OBJECTS] = {0}, other = 0;
    bench_open(&bench);

    for (unsigned i = 0; i < OBJECTS; i++)
        weiri_retire(&bench.memory, &object_new(&bench, &destroyed[i])->retired, sizeof(struct object));
    weiri_rcu_enter();
    weiri_reclaim_some(&bench.memory); /* nothing is ready, and inside a section none is waited for */
    weiri_rcu_leave();
    for (unsigned i = 0; i < sizeof left / sizeof *left; i++) {
        weiri_reclaim_some(&bench.memory); /* the first time they are made ready, no more */
        cr_assert_eq(bench.counting.blocks, left[i]);
        cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), left[i] * sizeof(struct object));
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        cr_assert_eq(destroyed[i], 1);

    for (unsigned i = 0; i < OBJECTS; i++)
        weiri_retire(&bench.memory, &object_new(&bench, &destroyed[i])->retired, sizeof(struct object));
    weiri_reclaim_some(&bench.memory);
    weiri_retire(&bench.memory, &object_new(&bench, &other)->retired, sizeof(struct object));
    cr_assert_eq(weiri_reclaim(&bench.memory), 0); /* both those that are ready and those that are not */
    cr_assert_eq(other, 1);
    bench_empty(&bench);

    weiri_retire(&bench.memory, &object_new(&bench, &other)->retired, sizeof(struct object));
    weiri_reclaim_some(&bench.memory);
    weiri_reclaim_now(&bench.memory);
    cr_assert_eq(other, 2);
    bench_empty(&bench);
}

Test(memory, inside_a_read_section_nothing_is_reclaimed_save_by_an_owner)
{
    struct bench bench;
    unsigned destroyed = 0;
    bench_open(&bench);

    weiri_retire(&bench.memory, &object_new(&bench, &destroyed)->retired, sizeof(struct object));
    weiri_rcu_enter();
    cr_assert_eq(weiri_reclaim(&bench.memory), -EDEADLK);
    cr_assert_eq(destroyed, 0);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), sizeof(struct object));
    weiri_rcu_leave();
    cr_assert_eq(weiri_reclaim(&bench.memory), 0);
    cr_assert_eq(destroyed, 1);
    weiri_retire(&bench.memory, &object_new(&bench, &destroyed)->retired, sizeof(struct object));
    weiri_rcu_enter();
    weiri_reclaim_now(&bench.memory);
    cr_assert_eq(destroyed, 2);
    weiri_rcu_leave();
    bench_empty(&bench);
}

struct reader {
    weiri_a32 entered, told, left;
};

static void await(const weiri_a32 *flag)
{
    while (weiri_load_acquire_32(flag) == 0)
        sched_yield();
}

static void *read_for_a_while(void *argument)
{
    struct reader *reader = argument;

    weiri_rcu_enter();
    weiri_store_release_32(&reader->entered, 1);
    await(&reader->told);
    for (unsigned i = 0; i < 200; i++) /* the other one is about to reclaim: let it get there */
        sched_yield();
    weiri_store_release_32(&reader->left, 1);
    weiri_rcu_leave();
    return NULL;
}

Test(memory, reclaiming_waits_for_who_could_still_read)
{
    for (unsigned round = 0; round < 5; round++) {
        struct bench bench;
        struct reader reader = {{0}, {0}, {0}};
        unsigned destroyed = 0;
        pthread_t thread;
        bench_open(&bench);

        struct object *object = object_new(&bench, &destroyed);
        object->must_be_set = &reader.left;
        cr_assert_eq(pthread_create(&thread, NULL, read_for_a_while, &reader), 0);
        await(&reader.entered);
        weiri_retire(&bench.memory, &object->retired, sizeof *object);
        weiri_store_release_32(&reader.told, 1);
        cr_assert_eq(weiri_reclaim(&bench.memory), 0);
        cr_assert_eq(destroyed, 1);
        pthread_join(thread, NULL);
        bench_empty(&bench);
    }
}

Test(memory, keeps_what_it_cannot_free_where_the_kernel_refuses_a_grace_period)
{
    struct bench bench;
    unsigned destroyed[3] = {0};
    bench_open(&bench);

    cr_assert(weiri_rcu_wait());
    if (!refuse_membarrier()) {
        fprintf(stderr, "memory: skipped: membarrier cannot be taken away here\n");
        cr_skip_test("membarrier cannot be taken away here");
    }
    for (unsigned i = 0; i < 3; i++)
        weiri_retire(&bench.memory, &object_new(&bench, &destroyed[i])->retired, sizeof(struct object));
    cr_assert_eq(weiri_reclaim(&bench.memory), -EPERM);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), 3 * sizeof(struct object));
    cr_assert_eq(bench.counting.blocks, 3);
    weiri_reclaim_now(&bench.memory); /* none is lost */
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(destroyed[i], 1);
    bench_empty(&bench);
}

/* --- many threads --- */

enum { THREADS = 4, EACH = 2000 };

static struct bench shared;
static weiri_a64 all_destroyed;

static void destroy_counted(weiri_memory *memory, weiri_retired *retired)
{
    weiri_add_relaxed_64(&all_destroyed, 1);
    weiri_release(memory, retired, sizeof(struct object));
}

static void *retire_many(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < EACH; i++) {
        struct object *object = weiri_allocate(&shared.memory, 16, sizeof *object);
        *object = (struct object){.retired.destroy = destroy_counted};
        weiri_retire(&shared.memory, &object->retired, sizeof *object);
        if (i % 500 == 0 && weiri_reclaim(&shared.memory) != 0)
            return "weiri_reclaim failed";
    }
    return NULL;
}

Test(memory, of_many_threads_every_object_is_destroyed_once)
{
    pthread_t thread[THREADS];
    void *wrong;
    bench_open(&shared);

    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, retire_many, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &wrong);
        cr_assert_null(wrong);
    }
    cr_assert_eq(weiri_reclaim(&shared.memory), 0);
    cr_assert_eq(weiri_load_relaxed_64(&all_destroyed), THREADS * EACH);
    bench_empty(&shared);
}

Test(memory, is_crowded_beyond_a_mebibyte_and_a_thirty_second_of_what_is_in_use)
{
    static const struct {
        uint64_t retired, bytes;
        bool crowded;
    } cases[] = {
        {0, 0, false},
        {UINT64_C(1) << 20, 0, false}, /* a mebibyte is allowed, whatever is in use */
        {UINT64_C(1) << 20, UINT64_C(1) << 20, false},
        {(UINT64_C(1) << 20) + 1, UINT64_C(1) << 20, true},
        {(UINT64_C(1) << 20) + 1, (UINT64_C(32) << 20) + 31, true},
        {(UINT64_C(1) << 20) + 1, (UINT64_C(32) << 20) + 32, false}, /* a thirty-second is allowed, */
        {UINT64_C(2) << 20, UINT64_C(64) << 20, false},
        {(UINT64_C(2) << 20) + 1, UINT64_C(64) << 20, true}, /* a byte more is not */
        {UINT64_C(1) << 40, (UINT64_C(1) << 45) - 1, true},
        {UINT64_C(1) << 40, UINT64_C(1) << 45, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        bench_open(&bench);
        weiri_store_relaxed_64(&bench.memory.retired_bytes, cases[i].retired);
        weiri_sum_add(&bench.memory.bytes, cases[i].bytes);
        cr_assert_eq(weiri_memory_crowded(&bench.memory), cases[i].crowded, "case %zu", i);
    }
}
