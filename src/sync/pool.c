#include "pool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cancel.h"
#include "gate.h"

#if !defined(__SANITIZE_ADDRESS__) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* clang does not say so by itself */
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HIDE(block, size) ASAN_POISON_MEMORY_REGION(block, size)
#define SHOW(block, size) ASAN_UNPOISON_MEMORY_REGION(block, size)
#else
#define HIDE(block, size) ((void)(block), (void)(size))
#define SHOW(block, size) ((void)(block), (void)(size))
#endif

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; an older kernel refuses it */
#endif

/* LeakSanitizer, in a host that has it, looks for pointers in regions only where it is told of them. */
__attribute__((weak)) void __lsan_register_root_region(const void *region, size_t size);
__attribute__((weak)) void __lsan_unregister_root_region(const void *region, size_t size);

enum { BLOCKS_AT_ONCE = 64 }; /* put back under one hold of the lock */

/* The link is first in a block that was given back. */
typedef struct weiri_given {
    struct weiri_given *next;
} spare;

struct weiri_region {
    _Alignas(64) weiri_region *next_of_all;
    weiri_region *previous_of_all;
    weiri_region *next_partial, *previous_partial;
    weiri_region *next; /* on the stack `mapped`, then on the list `full` */
    spare *spares;      /* blocks put back */
    uint32_t untouched; /* offset of the first block never taken */
    uint32_t live;      /* blocks taken, or given and not put back so far */
    bool partial;       /* on that list */
    bool filled;        /* was full, ever */
    bool waits;         /* on the list `full`, or being laid on large pages: not unmapped */
};

/* --- regions --- */

/* Mapped twice as long, and cut to where it begins as it must. */
static weiri_region *region_map(void)
{
    char *from = mmap(NULL, 2 * WEIRI_REGION_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED)
        return NULL;
    size_t before = (0 - (uintptr_t)from) & (WEIRI_REGION_SIZE - 1);
    if (before > 0)
        munmap(from, before);
    munmap(from + before + WEIRI_REGION_SIZE, WEIRI_REGION_SIZE - before);
    if (__lsan_register_root_region)
        __lsan_register_root_region(from + before, WEIRI_REGION_SIZE);
    return (weiri_region *)(void *)(from + before);
}

static void region_unmap(weiri_region *region)
{
    SHOW(region, WEIRI_REGION_SIZE); /* another mapping may come to stand here */
    if (__lsan_unregister_root_region)
        __lsan_unregister_root_region(region, WEIRI_REGION_SIZE);
    munmap(region, WEIRI_REGION_SIZE);
}

static weiri_region *region_of(void *block)
{
    return (weiri_region *)((uintptr_t)block & ~(uintptr_t)(WEIRI_REGION_SIZE - 1));
}

static bool can_spare(const weiri_region *region, size_t size)
{
    return region->spares || region->untouched + size <= WEIRI_REGION_SIZE;
}

/* One of its blocks; there must be some. */
static void *region_take(weiri_region *region, size_t size)
{
    void *block = region->spares;
    if (block) {
        SHOW(block, size);
        region->spares = region->spares->next;
    } else {
        block = (char *)region + region->untouched;
        region->untouched += (uint32_t)size;
    }
    region->live++;
    return block;
}

/* --- lists, under the lock --- */

static void list_partial(weiri_pool *pool, weiri_region *region)
{
    region->partial = true;
    region->previous_partial = NULL;
    region->next_partial = pool->partial;
    if (pool->partial)
        pool->partial->previous_partial = region;
    pool->partial = region;
}

static void unlist_partial(weiri_pool *pool, weiri_region *region)
{
    region->partial = false;
    *(region->previous_partial ? &region->previous_partial->next_partial : &pool->partial) = region->next_partial;
    if (region->next_partial)
        region->next_partial->previous_partial = region->previous_partial;
}

/* Takes over what others have mapped. */
static void take_over(weiri_pool *pool)
{
    for (weiri_region *region = weiri_exchange_pointer(&pool->mapped, NULL), *next; region; region = next) {
        next = region->next;
        region->previous_of_all = NULL;
        region->next_of_all = pool->all;
        if (pool->all)
            pool->all->previous_of_all = region;
        pool->all = region;
        list_partial(pool, region);
    }
}

static void let_go(weiri_pool *pool, weiri_region *region)
{
    unlist_partial(pool, region);
    *(region->previous_of_all ? &region->previous_of_all->next_of_all : &pool->all) = region->next_of_all;
    if (region->next_of_all)
        region->next_of_all->previous_of_all = region->previous_of_all;
}

/* --- take and give --- */

static void *pop_given(weiri_pool *pool)
{
    spare *block;
    do {
        block = weiri_load_acquire_pointer(&pool->given); /* its link was written before it was pushed */
        if (!block)
            return NULL;
        SHOW(block, sizeof *block);
    } while (!weiri_cas_pointer(&pool->given, block, block->next));
    SHOW(block, pool->size);
    return block;
}

static void *take_locked(weiri_pool *pool)
{
    void *block = pop_given(pool);
    if (block)
        return block;
    if (!pool->partial)
        take_over(pool);
    weiri_region *region = pool->partial;
    if (!region)
        return NULL;
    block = region_take(region, pool->size);
    if (can_spare(region, pool->size))
        return block;
    unlist_partial(pool, region);
    if (!region->filled) {
        region->filled = region->waits = true;
        region->next = pool->full;
        pool->full = region;
    }
    return block;
}

/* A block of a region of its own, which others may take over. */
static void *take_new(weiri_pool *pool)
{
    weiri_region *region = region_map();
    if (!region)
        return NULL;
    region->untouched = sizeof *region; /* all else is 0 */
    void *block = region_take(region, pool->size), *top;
    do {
        top = weiri_load_relaxed_pointer(&pool->mapped);
        region->next = top;
    } while (!weiri_cas_pointer(&pool->mapped, top, region)); /* release: the region's fields */
    return block;
}

void *weiri_pool_take(weiri_pool *pool)
{
    if (!weiri_gate_is_open() || !weiri_spinlock_try(&pool->lock))
        return NULL;
    void *block = take_locked(pool);
    weiri_spinlock_unlock(&pool->lock);
    return block ? block : take_new(pool);
}

void weiri_pool_give(weiri_pool *pool, void *block)
{
    spare *given = block;
    void *top;
    do {
        SHOW(block, pool->size);
        top = weiri_load_relaxed_pointer(&pool->given);
        given->next = top;
        HIDE(block, pool->size);
    } while (!weiri_cas_pointer(&pool->given, top, given)); /* release: the link */
}

/* --- tend --- */

/* Puts one block back. True: its region is empty, and off all lists. */
static bool put_back(weiri_pool *pool, spare *block)
{
    weiri_region *region = region_of(block);
    block->next = region->spares;
    region->spares = block;
    HIDE(block, pool->size);
    region->live--;
    if (!region->partial)
        list_partial(pool, region);
    if (region->live > 0 || region->waits)
        return false;
    let_go(pool, region);
    return true;
}

/*
 * Up to BLOCKS_AT_ONCE of what was given back; unmaps what became empty. False: there was nothing. A block's region was
 * on the stack `mapped` before the block was given: taking over last, all blocks of the chain are of regions known.
 */
static bool put_back_some(weiri_pool *pool)
{
    weiri_region *empty[BLOCKS_AT_ONCE];
    unsigned count = 0, i = 0;
    weiri_spinlock_lock(&pool->lock);
    if (!pool->back)
        pool->back = weiri_exchange_pointer(&pool->given, NULL);
    take_over(pool);
    for (; i < BLOCKS_AT_ONCE && pool->back; i++) {
        spare *block = pool->back;
        SHOW(block, sizeof *block);
        pool->back = block->next;
        if (put_back(pool, block))
            empty[count++] = region_of(block);
    }
    weiri_spinlock_unlock(&pool->lock);
    while (count > 0)
        region_unmap(empty[--count]);
    return i > 0;
}

/* MADV_COLLAPSE would take no notice of either. */
bool weiri_large_pages_on(void)
{
    char text[64];                        /* "always [madvise] never" */
    int cancel = weiri_no_cancel_begin(); /* opening and reading could end the thread here */
    int file = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0
                   ? open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC)
                   : -1;
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    weiri_no_cancel_end(cancel);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 && !strstr(text, "[never]");
}

/*
 * One full region onto large pages: at once where the kernel can, else when it comes round to it. Either may be refused
 * (no memory in one piece): then the pages stay small, and nothing else is different. False: none waits.
 */
static bool lay_one(weiri_pool *pool)
{
    weiri_spinlock_lock(&pool->lock);
    weiri_region *region = pool->full;
    if (region)
        pool->full = region->next;
    weiri_spinlock_unlock(&pool->lock);
    if (!region)
        return false;
    if (pool->lays) {
        madvise(region, WEIRI_REGION_SIZE, MADV_HUGEPAGE);
        madvise(region, WEIRI_REGION_SIZE, MADV_COLLAPSE);
    }
    weiri_spinlock_lock(&pool->lock);
    region->waits = false;
    bool empty = region->live == 0; /* put_back left it listed */
    if (empty)
        let_go(pool, region);
    weiri_spinlock_unlock(&pool->lock);
    if (empty)
        region_unmap(region);
    return true;
}

bool weiri_pool_tend_some(weiri_pool *pool)
{
    return put_back_some(pool) || lay_one(pool);
}

static void unmap_all(weiri_region *region, bool taken_over)
{
    while (region) {
        weiri_region *next = taken_over ? region->next_of_all : region->next;
        region_unmap(region);
        region = next;
    }
}

void weiri_pool_destroy(weiri_pool *pool)
{
    unmap_all(pool->all, true);
    unmap_all(weiri_load_acquire_pointer(&pool->mapped), false);
}

size_t weiri_pool_mapped(const weiri_pool *pool)
{
    size_t regions = 0;
    for (const weiri_region *region = pool->all; region; region = region->next_of_all)
        regions++;
    for (const weiri_region *region = weiri_load_acquire_pointer(&pool->mapped); region; region = region->next)
        regions++;
    return regions << WEIRI_REGION_BITS;
}
