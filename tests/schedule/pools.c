/*
 * Pools (guarantee G): at each point of a take, a give or a step of tending another thread does some of them. No block
 * is had by two, none is lost, and in the end every region is unmapped. A closed fork gate is waited for by who tends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "../../src/sync/gate.h"
#include "../../src/sync/memory.h"
#include "alone.h"

enum { SIZE = 4096, FITS = 3, HAD = 16 }; /* FITS: in a region of 16 KiB */

static weiri_memory memory;
static weiri_pool *pool = &memory.pool[WEIRI_BLOCK_NODE].of;
static char *had[HAD]; /* blocks that somebody has */
static unsigned count;

static void take(void)
{
    weiri_rcu_enter();
    char *block = weiri_pool_take(pool);
    weiri_rcu_leave();
    if (!block)
        return;
    for (unsigned i = 0; i < count; i++)
        alone_want("a block had by two", 0, block == had[i]);
    memset(block, 1, SIZE);
    had[count++] = block;
}

static void give(void)
{
    char *block = had[0];
    had[0] = had[--count];
    weiri_pool_give(pool, block);
}

/* Two blocks leave the stack, and the upper one comes back. */
static void take_two_give_one(void)
{
    unsigned before = count;
    take();
    take();
    if (count < before + 2)
        return;
    weiri_pool_give(pool, had[before]);
    had[before] = had[--count];
}

static void tend(void)
{
    (void)weiri_pool_tend_some(pool);
}

/* As many blocks are had, of which `given` are then given back; all regions taken over by then, and laid. */
static void set_up(unsigned taken, unsigned given)
{
    const weir_allocator none = {NULL, NULL, NULL};
    weiri_memory_init(&memory, &none);
    weiri_memory_grew(&memory);
    pool->size = SIZE;
    for (count = 0; count < taken;)
        take();
    while (weiri_pool_tend_some(pool))
        continue;
    for (unsigned i = 0; i < given; i++)
        give();
}

static void tear_down(void)
{
    alone_want("the lock", 1, weiri_spinlock_try(&pool->lock));
    weiri_spinlock_unlock(&pool->lock);
    while (count > 0)
        give();
    while (weiri_pool_tend_some(pool))
        continue;
    alone_want("bytes mapped when all is given back", 0, weiri_pool_mapped(pool));
}

static void interrupt_each(void)
{
    static void (*const acts[])(void) = {take, give, tend, take_two_give_one};
    unsigned runs = 0;
    for (unsigned taken = 2; taken <= 2 * FITS + 1; taken++)
        for (unsigned given = 0; given + 2 <= taken; given++)
            for (unsigned act = 0; act < 12; act++) {
                bool on = true;
                for (unsigned point = 0; on; point++, runs++) {
                    set_up(taken, given);
                    on = alone_interrupted(point, acts[act / 4], acts[act % 4]);
                    tear_down();
                }
            }
    if (runs < 1000)
        alone_want("runs", 1000, runs);
    printf("pools: %u runs\n", runs);
}

/* --- a region that is not taken over when one of its blocks is given back --- */

static weiri_pool other;
static char *first;

/* Another thread has mapped a region, which it now puts on the stack; it gives its only block back at once. */
static void finish_take_new(enum weiri_access access, const void *place)
{
    if (access != WEIRI_UPDATE || place != &pool->given || !first)
        return;
    weiri_store_release_pointer(&pool->mapped, weiri_exchange_pointer(&other.mapped, NULL));
    weiri_pool_give(pool, first);
    first = NULL;
}

static void give_of_a_new_region(void)
{
    set_up(1, 0);
    other = (weiri_pool){.size = SIZE};
    first = weiri_pool_take(&other);
    alone_hook = finish_take_new;
    tend();
    alone_hook = NULL;
    alone_want("the other thread was there", 1, first == NULL);
    alone_want("bytes mapped", WEIRI_REGION_SIZE, weiri_pool_mapped(pool));
    tear_down();
}

/* --- the gate --- */

static unsigned waits;

static void open_when_waited_for(enum weiri_access access, const void *place)
{
    (void)place;
    if (access != WEIRI_PAUSE)
        return;
    waits++;
    alone_want("the lock while a fork is waited for", 1, weiri_spinlock_try(&pool->lock));
    weiri_spinlock_unlock(&pool->lock);
    weiri_gate.word = WEIRI_GATE_OPEN;
}

static void wait_for_a_fork(void)
{
    for (unsigned gate = WEIRI_GATE_CLOSING; gate <= WEIRI_GATE_CLOSED; gate++) {
        set_up(2, 2);
        waits = 0;
        weiri_gate.word = gate;
        alone_hook = open_when_waited_for;
        alone_want("a step", 1, weiri_tend_some(&memory));
        alone_hook = NULL;
        alone_want("waits of who tends", 1, waits);
        tear_down();
    }
}

int main(void)
{
    interrupt_each();
    give_of_a_new_region();
    wait_for_a_fork();
    return 0;
}
