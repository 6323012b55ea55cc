#include "memory.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "gate.h"
#include "rcu.h"

/* A thread's stripe: threads' descriptors lie pages apart. */
static unsigned my_stripe(void)
{
    return (unsigned)((((uint64_t)pthread_self() >> 12) * UINT64_C(0x9e3779b97f4a7c15)) >> 61);
}

void weiri_sum_add(weiri_sum *sum, uint64_t amount)
{
    weiri_add_relaxed_64(&sum->stripe[my_stripe()].part, amount);
}

uint64_t weiri_sum_read(const weiri_sum *sum)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < WEIRI_STRIPES; i++)
        total += weiri_load_relaxed_64(&sum->stripe[i].part);
    return total > INT64_MAX ? 0 : total; /* parts read while they move may show a subtraction before its addition */
}

static void *c_allocate(void *argument, size_t alignment, size_t size)
{
    void *object;
    (void)argument;
    return posix_memalign(&object, alignment, size) == 0 ? object : NULL;
}

static void c_release(void *argument, void *object, size_t size)
{
    (void)argument;
    (void)size;
    free(object);
}

void weiri_memory_init(weiri_memory *memory, const weir_allocator *allocator)
{
    *memory = (weiri_memory){.allocator = {c_allocate, c_release, NULL}, .pools = true};
    if (allocator->allocate) {
        memory->allocator = *allocator;
        memory->pools = false;
    }
    const bool lays = memory->pools && weiri_large_pages_on();
    for (unsigned i = 0; i < WEIRI_BLOCKS; i++)
        memory->pool[i].of.lays = lays;
}

void weiri_memory_destroy(weiri_memory *memory)
{
    for (unsigned i = 0; i < WEIRI_BLOCKS; i++)
        weiri_pool_destroy(&memory->pool[i].of);
}

void *weiri_allocate(weiri_memory *memory, size_t alignment, size_t size)
{
    void *object = memory->allocator.allocate(memory->allocator.argument, alignment, size);
    if (object)
        weiri_sum_add(&memory->bytes, size);
    return object;
}

void weiri_release(weiri_memory *memory, void *object, size_t size)
{
    if (!object)
        return;
    weiri_sum_add(&memory->bytes, 0 - (uint64_t)size);
    memory->allocator.release(memory->allocator.argument, object, size);
}

void *weiri_allocate_block(weiri_memory *memory, enum weiri_block kind)
{
    weiri_pool *pool = &memory->pool[kind].of;
    void *block = weiri_load_relaxed_32(&memory->large) != 0 && pool->size > 0 ? weiri_pool_take(pool) : NULL;
    if (block)
        weiri_sum_add(&memory->bytes, pool->size);
    return block;
}

void weiri_release_block(weiri_memory *memory, enum weiri_block kind, void *block)
{
    weiri_sum_add(&memory->bytes, 0 - (uint64_t)memory->pool[kind].of.size);
    weiri_pool_give(&memory->pool[kind].of, block);
}

void weiri_memory_grew(weiri_memory *memory)
{
    if (memory->pools && weiri_load_relaxed_32(&memory->large) == 0)
        weiri_store_release_32(&memory->large, 1);
}

/* Onto a stack: a chain of objects. */
static void push(weiri_apointer *stack, weiri_retired *first, weiri_retired *last)
{
    void *head;
    do {
        head = weiri_load_relaxed_pointer(stack);
        last->next = head;
    } while (!weiri_cas_pointer(stack, head, first)); /* release: the objects' links */
}

/* The same where the end of the chain is not at hand: it is looked for only where the stack is not empty. */
static void push_chain(weiri_apointer *stack, weiri_retired *chain)
{
    weiri_retired *last = chain;
    if (weiri_cas_pointer(stack, NULL, chain))
        return;
    while (last->next)
        last = last->next;
    push(stack, chain, last);
}

void weiri_retire(weiri_memory *memory, weiri_retired *object, size_t size)
{
    object->size = size;
    weiri_add_relaxed_64(&memory->retired_bytes, size);
    push(&memory->retired, object, object);
}

bool weiri_memory_crowded(const weiri_memory *memory)
{
    uint64_t retired = weiri_load_relaxed_64(&memory->retired_bytes);
    return retired > UINT64_C(1) << 20 && retired > weiri_sum_read(&memory->bytes) / 32;
}

/* The first objects of a chain; returns the rest. */
static weiri_retired *destroy_some(weiri_memory *memory, weiri_retired *object, unsigned most)
{
    while (object && most-- > 0) {
        weiri_retired *next = object->next;
        __builtin_prefetch(next); /* long not touched: on its way while this one is freed */
        weiri_sub_relaxed_64(&memory->retired_bytes, object->size);
        object->destroy(memory, object);
        object = next;
    }
    return object;
}

static void destroy_all(weiri_memory *memory, weiri_apointer *stack)
{
    destroy_some(memory, weiri_exchange_pointer(stack, NULL), UINT_MAX);
}

/* What is retired by now waits for a grace period, and is ready. By a holder of the fork gate. False: there is none. */
static bool make_ready(weiri_memory *memory)
{
    weiri_retired *chain = weiri_exchange_pointer(&memory->retired, NULL);
    if (!chain)
        return true;
    bool waited = weiri_rcu_wait();
    push_chain(waited ? &memory->ready : &memory->retired, chain);
    return waited;
}

int weiri_reclaim(weiri_memory *memory)
{
    if (weiri_rcu_inside())
        return -EDEADLK;
    if (!weiri_rcu_can_wait())
        return -EPERM;
    bool inside = weiri_gate_hold(); /* a fork between taking and freeing would lose the chain in the child */
    bool waited = make_ready(memory);
    destroy_all(memory, &memory->ready);
    weiri_gate_release(inside);
    return waited ? 0 : -EPERM;
}

void weiri_reclaim_some(weiri_memory *memory)
{
    if (weiri_rcu_inside())
        return;
    bool inside = weiri_gate_hold();
    weiri_retired *chain = weiri_exchange_pointer(&memory->ready, NULL);
    if (chain) {
        chain = destroy_some(memory, chain, WEIRI_RECLAIMED_AT_ONCE);
        if (chain)
            push_chain(&memory->ready, chain);
    } else if (weiri_rcu_can_wait()) {
        make_ready(memory);
    }
    weiri_gate_release(inside);
}

void weiri_reclaim_now(weiri_memory *memory)
{
    destroy_all(memory, &memory->ready);
    destroy_all(memory, &memory->retired);
}

bool weiri_tend_some(weiri_memory *memory)
{
    bool some = false;
    if (weiri_load_relaxed_32(&memory->large) == 0 || weiri_rcu_inside())
        return false;
    bool inside = weiri_gate_hold();
    for (unsigned i = 0; i < WEIRI_BLOCKS && !some; i++)
        some = weiri_pool_tend_some(&memory->pool[i].of);
    weiri_gate_release(inside);
    return some;
}
