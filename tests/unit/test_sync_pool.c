/*
 * Pools of blocks (guarantees F and G): what a region holds and when it is unmapped, step by step; and what a pool does
 * where it must not wait, or there is no memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/allocator.h"
#include "../support/basics.h"
#include "sync/gate.h"
#include "sync/memory.h"

#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define ASAN 1
#else
#define ASAN 0
#endif

enum { HEADER = 64, AT_ONCE = 64, SIZE = 320 }; /* SIZE: as a segment of a tiny build */

static const size_t sizes[] = {16, 208, SIZE, 2112, 4096};

static size_t fits(size_t size)
{
    return (WEIRI_REGION_SIZE - HEADER) / size;
}

static void *taken(weiri_pool *pool)
{
    void *block = weiri_pool_take(pool);
    cr_assert_not_null(block);
    return block;
}

static char *region_of(const void *block)
{
    return (char *)((uintptr_t)block & ~(WEIRI_REGION_SIZE - 1));
}

/* Is memory mapped at this page? */
static bool is_mapped(void *page)
{
    unsigned char there;
    return mincore(page, 1, &there) == 0;
}

static unsigned tend(weiri_pool *pool)
{
    unsigned steps = 0;
    while (weiri_pool_tend_some(pool))
        steps++;
    return steps;
}

/* `count` blocks, to be freed. */
static void **take_many(weiri_pool *pool, size_t count)
{
    void **blocks = must(calloc(count, sizeof *blocks));
    for (size_t i = 0; i < count; i++)
        blocks[i] = taken(pool);
    return blocks;
}

static void give_many(weiri_pool *pool, void **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        weiri_pool_give(pool, blocks[i]);
}

Test(pool, fills_a_region_to_its_end_with_blocks_that_do_not_overlap)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        weiri_pool pool = {.size = sizes[i]};
        size_t count = fits(sizes[i]);
        bool *seen = must(calloc(count, sizeof *seen));
        void **blocks = take_many(&pool, count);
        cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
        for (size_t j = 0; j < count; j++) {
            size_t place = (size_t)((char *)blocks[j] - region_of(blocks[j])) - HEADER;
            cr_assert_eq(region_of(blocks[j]), region_of(blocks[0]));
            cr_assert_eq(place % sizes[i], 0);
            cr_assert_lt(place / sizes[i], count);
            cr_assert(!seen[place / sizes[i]]);
            seen[place / sizes[i]] = true;
            memset(blocks[j], (int)(j % 251), sizes[i]);
        }
        for (size_t j = 0; j < count; j++)
            for (size_t k = 0; k < sizes[i]; k++)
                cr_assert_eq(((unsigned char *)blocks[j])[k], j % 251);
        void *next = taken(&pool);
        cr_assert_neq(region_of(next), region_of(blocks[0]));
        cr_assert_eq((uintptr_t)next % (sizes[i] % 64 == 0 ? 64 : 16), 0);
        cr_assert_eq(weiri_pool_mapped(&pool), 2 * WEIRI_REGION_SIZE);
        weiri_pool_destroy(&pool);
        free(blocks);
        free(seen);
    }
}

Test(pool, hands_out_first_what_was_given_back_last)
{
    weiri_pool pool = {.size = SIZE};
    void *a = taken(&pool), *b = taken(&pool), *c = taken(&pool);

    weiri_pool_give(&pool, c);
    weiri_pool_give(&pool, a);
    cr_assert_eq(taken(&pool), a);
    cr_assert_eq(taken(&pool), c);
    weiri_pool_give(&pool, b);
    weiri_pool_give(&pool, a);
    cr_assert_eq(tend(&pool), 1);
    cr_assert_eq(taken(&pool), b, "put back after a"); /* of the region's own chain, before what was never taken */
    cr_assert_eq(taken(&pool), a);
    void *d = taken(&pool);
    cr_assert(d != a && d != b && d != c);
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    weiri_pool_destroy(&pool);
}

Test(pool, waits_neither_for_a_fork_nor_for_the_lock)
{
    weiri_pool pool = {.size = SIZE};

    weiri_pool_give(&pool, taken(&pool));
    for (uint32_t state = WEIRI_GATE_CLOSING; state <= WEIRI_GATE_COUNTED; state++) {
        weiri_store_ordered_32(&weiri_gate, state);
        cr_assert_null(weiri_pool_take(&pool));
        cr_assert(weiri_spinlock_try(&pool.lock));
        weiri_spinlock_unlock(&pool.lock);
    }
    weiri_store_ordered_32(&weiri_gate, WEIRI_GATE_OPEN);
    cr_assert(weiri_spinlock_try(&pool.lock));
    cr_assert_null(weiri_pool_take(&pool));
    weiri_spinlock_unlock(&pool.lock);
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    weiri_pool_give(&pool, taken(&pool));
    cr_assert_eq(tend(&pool), 1);
    cr_assert_eq(weiri_pool_mapped(&pool), 0);
}

Test(pool, unmaps_a_region_when_its_last_block_is_put_back)
{
    weiri_pool pool = {.size = SIZE};
    size_t count = fits(SIZE);
    void **blocks = take_many(&pool, count), *other = taken(&pool), *another = taken(&pool);

    cr_assert_eq(tend(&pool), 1); /* the first is laid on large pages */
    give_many(&pool, blocks + 1, count - 1);
    weiri_pool_give(&pool, another);
    tend(&pool);
    cr_assert_eq(weiri_pool_mapped(&pool), 2 * WEIRI_REGION_SIZE);
    weiri_pool_give(&pool, blocks[0]);
    cr_assert_eq(weiri_pool_mapped(&pool), 2 * WEIRI_REGION_SIZE, "given back, and not put back so far");
    cr_assert_eq(tend(&pool), 1);
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    cr_assert(!is_mapped(region_of(blocks[0])));
    cr_assert(is_mapped(region_of(other)));
    void *again = taken(&pool); /* what is left is still in its list */
    cr_assert_eq(again, another);
    weiri_pool_give(&pool, again);
    weiri_pool_give(&pool, other);
    tend(&pool);
    cr_assert_eq(weiri_pool_mapped(&pool), 0);
    cr_assert(!is_mapped(region_of(other)));
    (void)taken(&pool); /* and it begins anew */
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    weiri_pool_destroy(&pool);
    free(blocks);
}

Test(pool, unmaps_regions_in_any_order)
{
    enum { REGIONS = 3 };
    static const unsigned orders[][REGIONS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    size_t count = fits(SIZE);

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        weiri_pool pool = {.size = SIZE};
        void **blocks = take_many(&pool, REGIONS * count);
        for (size_t j = 0; j < REGIONS; j++)
            weiri_pool_give(&pool, blocks[j * count]);
        tend(&pool); /* each has one to spare */
        for (size_t j = 0; j < REGIONS; j++) {
            void **gone = blocks + orders[i][j] * count;
            give_many(&pool, gone + 1, count - 1);
            tend(&pool);
            cr_assert_eq(weiri_pool_mapped(&pool), (REGIONS - 1 - j) * WEIRI_REGION_SIZE);
            cr_assert(!is_mapped(region_of(*gone)));
        }
        free(blocks);
    }
}

Test(pool, puts_back_a_few_blocks_in_a_step_and_unmaps_nothing_that_waits_for_large_pages)
{
    enum { REGIONS = 3 };
    weiri_pool pool = {.size = SIZE};
    size_t count = REGIONS * fits(SIZE);
    void **blocks = take_many(&pool, count);

    give_many(&pool, blocks, count);
    for (size_t i = 0; i < (count + AT_ONCE - 1) / AT_ONCE; i++) {
        cr_assert(weiri_pool_tend_some(&pool));
        cr_assert_eq(weiri_pool_mapped(&pool), REGIONS * WEIRI_REGION_SIZE);
    }
    for (size_t i = REGIONS; i-- > 0;) { /* they are empty, and go as they are laid, one a step */
        cr_assert(weiri_pool_tend_some(&pool));
        cr_assert_eq(weiri_pool_mapped(&pool), i * WEIRI_REGION_SIZE);
    }
    cr_assert(!weiri_pool_tend_some(&pool));
    free(blocks);
}

Test(pool, lays_a_region_on_large_pages_once)
{
    weiri_pool pool = {.size = SIZE, .lays = true};
    size_t count = fits(SIZE);
    void **blocks = take_many(&pool, count - 1);

    cr_assert_eq(tend(&pool), 0, "one block is to spare");
    void *last = taken(&pool);
    memset(last, 7, SIZE);
    cr_assert_eq(tend(&pool), 1);
    for (size_t i = 0; i < SIZE; i++)
        cr_assert_eq(((unsigned char *)last)[i], 7);
    weiri_pool_give(&pool, last);
    cr_assert_eq(tend(&pool), 1);
    cr_assert_eq(taken(&pool), last); /* full again */
    cr_assert_eq(tend(&pool), 0);
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    weiri_pool_destroy(&pool);
    free(blocks);
}

/* In a process that has them off, and where they are on as the machine says. */
Test(pool, asks_for_large_pages_where_they_are_on)
{
    char text[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    bool on = file && fgets(text, sizeof text, file) && !strstr(text, "[never]");

    if (file)
        fclose(file);
    cr_assert_eq(weiri_large_pages_on(), on && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0);
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0)
        cr_assert(!weiri_large_pages_on());
}

Test(pool, destroys_what_was_given_back_put_back_waits_or_was_never_taken_over)
{
    weiri_pool pool = {.size = SIZE};
    size_t count = 4 * fits(SIZE);
    void **blocks = take_many(&pool, count);

    give_many(&pool, blocks, count / 2);
    cr_assert(weiri_pool_tend_some(&pool));    /* some are in their regions, some on their way, */
    weiri_pool_give(&pool, blocks[count - 1]); /* one is given */
    cr_assert_eq(weiri_pool_mapped(&pool), 4 * WEIRI_REGION_SIZE);
    weiri_pool_destroy(&pool);
    for (size_t i = 0; i < count; i++)
        cr_assert(!is_mapped(region_of(blocks[i])));
    pool = (weiri_pool){.size = SIZE};
    void *first = taken(&pool);
    cr_assert_null(pool.all); /* the first region is on the stack */
    weiri_pool_destroy(&pool);
    cr_assert(!is_mapped(region_of(first)));
    free(blocks);
}

Test(pool, goes_on_in_the_child_of_a_fork_between_two_steps)
{
    weiri_pool pool = {.size = SIZE};
    size_t count = 4 * fits(SIZE);
    void **blocks = take_many(&pool, count);
    int status;

    give_many(&pool, blocks, count);
    cr_assert(weiri_pool_tend_some(&pool));
    pid_t child = fork();
    if (child == 0) {
        tend(&pool);
        const char *status_of = weiri_pool_mapped(&pool) == 0 ? "true" : "false";
        execlp(status_of, status_of, (char *)NULL); /* not _exit: valgrind would find leaks of Criterion's threads */
        _exit(2);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    tend(&pool);
    cr_assert_eq(weiri_pool_mapped(&pool), 0);
    free(blocks);
}

/* --- addresses --- */

static size_t pages_of_process(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages;
}

Test(pool, maps_a_region_and_not_a_page_more)
{
    enum { ROUNDS = 20 };
    const char *preloaded = getenv("LD_PRELOAD");
    if (preloaded && strstr(preloaded, "vgpreload")) {
        fprintf(stderr, "pool: skipped: valgrind maps memory for itself\n");
        return; /* not cr_skip_test, which leaks */
    }
    weiri_pool pool = {.size = SIZE};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = fits(SIZE), exact = 0;

    (void)pages_of_process(); /* its buffer is allocated */
    for (size_t i = 0; i < ROUNDS; i++) {
        void *odd = mmap(NULL, (i + 1) * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(odd, MAP_FAILED);
        size_t before = pages_of_process();
        for (size_t j = 0; j < count; j++)
            (void)taken(&pool);
        exact += pages_of_process() - before == WEIRI_REGION_SIZE / page;
    }
    cr_assert_eq(weiri_pool_mapped(&pool), ROUNDS * WEIRI_REGION_SIZE);
    cr_assert_gt(exact, ROUNDS / 2); /* an emulator may map something for itself in between */
    weiri_pool_destroy(&pool);
}

Test(pool, says_so_where_there_is_no_memory)
{
    if (ASAN) {
        fprintf(stderr, "pool: skipped: AddressSanitizer does not live with a limit of addresses\n");
        return; /* not cr_skip_test, which leaks */
    }
    weiri_pool pool = {.size = SIZE};
    size_t count = fits(SIZE);
    void **blocks = take_many(&pool, count);
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit none = {.rlim_cur = pages_of_process() * (size_t)sysconf(_SC_PAGESIZE),
                                .rlim_max = before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
    void *probe = mmap(NULL, WEIRI_REGION_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *missing = weiri_pool_take(&pool);
    weiri_pool_give(&pool, blocks[0]);
    void *there = weiri_pool_take(&pool);
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
    cr_assert_eq(there, blocks[0]);
    if (probe != MAP_FAILED) {
        fprintf(stderr, "pool: skipped: addresses cannot be limited here\n");
        return; /* not cr_skip_test, which leaks */
    }
    cr_assert_null(missing);
    cr_assert_eq(weiri_pool_mapped(&pool), WEIRI_REGION_SIZE);
    cr_assert_neq(region_of(taken(&pool)), region_of(blocks[0]));
    weiri_pool_destroy(&pool);
    free(blocks);
}

#if ASAN
static bool hidden(const char *block)
{
    bool first = __asan_address_is_poisoned(block);
    for (size_t i = 0; i < SIZE; i++)
        cr_assert_eq(__asan_address_is_poisoned(block + i), first);
    return first;
}

Test(pool, hides_what_was_given_back_from_its_users)
{
    weiri_pool pool = {.size = SIZE};
    char *a = taken(&pool), *b = taken(&pool), *c = taken(&pool), *region = region_of(a);

    weiri_pool_give(&pool, a);
    weiri_pool_give(&pool, b);
    cr_assert(hidden(a) && hidden(b) && !hidden(c));
    cr_assert_eq(taken(&pool), b);
    cr_assert(hidden(a) && !hidden(b));
    weiri_pool_give(&pool, b);
    tend(&pool);
    cr_assert(hidden(a) && hidden(b));
    cr_assert_eq(taken(&pool), a);
    cr_assert(!hidden(a) && hidden(b));
    weiri_pool_give(&pool, a);
    weiri_pool_give(&pool, c);
    tend(&pool);
    cr_assert(!is_mapped(region));
    cr_assert_null(__asan_region_is_poisoned(region, WEIRI_REGION_SIZE)); /* for whatever is mapped there next */
}
#endif

/* --- of a limiter's memory --- */

Test(pool, serves_large_memory_of_the_c_library_alone_and_its_bytes_are_counted)
{
    const weir_allocator none = {NULL, NULL, NULL};
    test_allocator counting;
    weiri_memory memory;

    memset(&counting, 0, sizeof counting);
    for (unsigned own = 0; own < 2; own++) {
        weir_allocator callbacks = own ? test_allocator_for(&counting) : none;
        weiri_memory_init(&memory, &callbacks);
        memory.pool[WEIRI_BLOCK_NODE].of.size = 208;
        cr_assert_null(weiri_allocate_block(&memory, WEIRI_BLOCK_NODE), "not large");
        weiri_memory_grew(&memory);
        void *block = weiri_allocate_block(&memory, WEIRI_BLOCK_NODE);
        cr_assert_eq(block == NULL, own);
        cr_assert_null(weiri_allocate_block(&memory, WEIRI_BLOCK_SEGMENT), "no size");
        cr_assert_eq(weiri_sum_read(&memory.bytes), own ? 0 : 208);
        if (block)
            weiri_release_block(&memory, WEIRI_BLOCK_NODE, block);
        cr_assert_eq(weiri_sum_read(&memory.bytes), 0);
        weiri_rcu_enter();
        cr_assert(!weiri_tend_some(&memory));
        weiri_rcu_leave();
        cr_assert_eq(weiri_tend_some(&memory), !own);
        cr_assert(!weiri_tend_some(&memory));
        cr_assert_eq(weiri_pool_mapped(&memory.pool[WEIRI_BLOCK_NODE].of), 0);
        weiri_memory_destroy(&memory);
    }
    cr_assert_eq(counting.calls, 0);
}
