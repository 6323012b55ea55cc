/*
 * Guarantee G, of a pool: threads take blocks, write all over them, hand them to each other and give them back, while
 * another tends the pool. No block is ever had by two, and in the end every region is unmapped. F: the janitor gives
 * back the regions of a table whose keys are gone. H: a fork at any moment leaves the child a pool that it can use; a
 * host's LeakSanitizer finds what blocks lead to.
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#include <sys/wait.h>

#if TEST_ASAN
#include <sanitizer/lsan_interface.h>
#endif

#include "limiter/limiter.h"
#include "sync/gate.h"

enum { TAKERS = 3, HAD = 400, SHARED = 64, WORDS = 26, SIZE = WORDS * sizeof(uint64_t) };

typedef struct yard {
    weiri_pool pool;
    weiri_apointer shared[SHARED]; /* blocks handed from thread to thread */
    weiri_a64 taken, unserved;
    weiri_a32 working;
    uint64_t rounds, seed;
} yard;

/* Again and again until the lock is to be had, and the gate open. */
static uint64_t *take(yard *self)
{
    for (uint64_t unserved = 0;; unserved++) {
        weiri_rcu_enter();
        uint64_t *block = weiri_pool_take(&self->pool);
        weiri_rcu_leave();
        if (block) {
            weiri_add_relaxed_64(&self->taken, 1);
            weiri_add_relaxed_64(&self->unserved, unserved);
            return block;
        }
        sched_yield();
    }
}

static void mark(uint64_t *block, uint64_t word)
{
    for (unsigned i = 0; i < WORDS; i++)
        block[i] = word + i;
}

static void give(yard *self, uint64_t *block)
{
    for (unsigned i = 1; i < WORDS; i++)
        if (block[i] != block[0] + i)
            failed("word %u of a block: wanted %" PRIu64 ", got %" PRIu64 ": somebody else has it too", i, block[0] + i,
                   block[i]);
    weiri_pool_give(&self->pool, block);
}

static void take_and_give(yard *self, unsigned index)
{
    uint64_t *had[HAD] = {NULL}, random = self->seed + index;
    for (uint64_t i = 0; i < self->rounds; i++) {
        unsigned place = (unsigned)random_below(&random, HAD);
        if (had[place])
            give(self, had[place]);
        had[place] = i / (4 * HAD) % 2 ? NULL : take(self); /* by turns many are had, and few */
        if (!had[place])
            continue;
        mark(had[place], random_next(&random));
        if (i % 8 == 0)
            had[place] = weiri_exchange_pointer(&self->shared[i / 8 % SHARED], had[place]);
    }
    for (unsigned i = 0; i < HAD; i++)
        if (had[i])
            give(self, had[i]);
}

static bool tend(yard *self)
{
    bool inside = weiri_gate_hold();
    bool some = weiri_pool_tend_some(&self->pool);
    weiri_gate_release(inside);
    return some;
}

/* The last one tends. */
static void work(void *shared, unsigned index)
{
    yard *self = shared;
    if (!weiri_gate_ready())
        failed("a thread's first call: no memory");
    if (index < TAKERS) {
        take_and_give(self, index);
        weiri_add_ordered_32(&self->working, UINT32_MAX);
        return;
    }
    while (weiri_load_ordered_32(&self->working) != 0)
        if (!tend(self))
            sched_yield();
}

static void used_by_many(uint64_t seed)
{
    yard self = {.pool = {.size = SIZE}, .working = {TAKERS}, .rounds = scaled(400000, 20000), .seed = seed};
    run_threads(TAKERS + 1, work, &self);
    for (unsigned i = 0; i < SHARED; i++) {
        uint64_t *block = weiri_exchange_pointer(&self.shared[i], NULL);
        if (block)
            give(&self, block);
    }
    while (tend(&self))
        continue;
    want_equal("bytes mapped when all is given back", 0, weiri_pool_mapped(&self.pool));
    printf("pool: %" PRIu64 " blocks taken, %" PRIu64 " times the lock was not to be had\n",
           weiri_load_relaxed_64(&self.taken), weiri_load_relaxed_64(&self.unserved));
}

/* --- forks --- */

static _Noreturn void child(yard *self)
{
    alarm(60); /* a lock that stayed locked */
    while (tend(self))
        continue;
    uint64_t *block = take(self);
    mark(block, 1);
    give(self, block);
    _exit(tend(self) ? 0 : 1);
}

static void work_until_told(void *shared, unsigned index)
{
    yard *self = shared;
    (void)weiri_gate_ready();
    while (weiri_load_acquire_32(&self->working) != 0)
        if (index < TAKERS)
            take_and_give(self, index);
        else
            (void)tend(self);
}

static void survives_forks(uint64_t seed)
{
    yard self = {.pool = {.size = SIZE}, .working = {1}, .rounds = 2000, .seed = seed};
    worker workers[TAKERS + 1];
    weir_options options = weir_options_manual();
    rule_set set = rule_set_of(KIND_COUNTER, 1, WEIR_SECOND);
    weir *limiter = opened(&set, &options); /* the first one installs the fork handlers */
    for (unsigned i = 0; i <= TAKERS; i++) {
        workers[i] = (worker){.work = work_until_told, .shared = &self, .index = i};
        worker_start(&workers[i]);
    }
    for (uint64_t i = scaled(100, 10); i > 0; i--) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            child(&self);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            failed("fork: %s", strerror(errno));
        if (status != 0)
            failed("in the child of a fork: wanted a pool that serves, got status %d", status);
    }
    weiri_store_release_32(&self.working, 0);
    for (unsigned i = 0; i <= TAKERS; i++)
        pthread_join(workers[i].thread, NULL);
    weiri_pool_destroy(&self.pool);
    want_done("weir_close", weir_close(limiter));
}

/* --- the janitor --- */

static uint64_t mapped(weiri_pool *pool)
{
    weiri_spinlock_lock(&pool->lock);
    uint64_t bytes = weiri_pool_mapped(pool);
    weiri_spinlock_unlock(&pool->lock);
    return bytes;
}

/* With tiny segments, where few keys are a large table. */
static void tended_by_the_janitor(void)
{
    rule_set set = rule_set_of(KIND_LOG, 1, 200 * WEIR_MILLISECOND);
    weir_options options = weir_options_default();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = 10 * WEIR_MILLISECOND;
    weir *limiter = opened(&set, &options);
    for (uint64_t number = 0; number < 2000; number++) {
        test_key key = key_number(number);
        if (!weir_allow(limiter, key.bytes, key.size))
            failed("key %" PRIu64 ": wanted its first call accepted", number);
    }
    want_equal("a large table", 1, weiri_load_relaxed_32(&limiter->memory.large));
    while (stats_of(limiter).keys > 0 || mapped(&limiter->memory.pool[WEIRI_BLOCK_NODE].of) > 0 ||
           mapped(&limiter->memory.pool[WEIRI_BLOCK_SEGMENT].of) > 0)
        sched_yield();
    want_done("weir_close", weir_close(limiter));
}

/* --- leaks --- */

static void leads_to_what_is_allocated(void)
{
#if TEST_ASAN
    enum { BLOCKS = 100 };
    yard self = {.pool = {.size = SIZE}};
    uint64_t **had = malloc(BLOCKS * sizeof *had);
    for (unsigned i = 0; i < BLOCKS; i++) {
        had[i] = take(&self);
        had[i][0] = (uint64_t)(uintptr_t)malloc(SIZE);
    }
    if (__lsan_do_recoverable_leak_check())
        failed("LeakSanitizer takes for lost what is in use");
    for (unsigned i = 0; i < BLOCKS; i++)
        free((void *)(uintptr_t)had[i][0]);
    free(had);
    weiri_pool_destroy(&self.pool);
#endif
}

int main(void)
{
    uint64_t seed = seed_of_run();
    alarm(300);
    leads_to_what_is_allocated();
    used_by_many(seed);
    if (WEIRI_REGION_BITS < 20)
        tended_by_the_janitor();
    if (TEST_TSAN)
        printf("pool: no forks: ThreadSanitizer does not follow threads into a child\n");
    else
        survives_forks(seed);
    return 0;
}
