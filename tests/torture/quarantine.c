/* The allocator that keeps what is freed; see quarantine.h. SPDX-License-Identifier: MIT */
#include "torture.h"

#include "sync/rcu.h"

#include <sys/mman.h>

#if TEST_ASAN
#include <sanitizer/asan_interface.h>
#define CLOSE(memory, size) __asan_poison_memory_region(memory, size)
#define OPEN(memory, size)  __asan_unpoison_memory_region(memory, size)
#else
#define CLOSE(memory, size) ((void)(memory), (void)(size))
#define OPEN(memory, size)  ((void)(memory), (void)(size))
#endif

enum {
    STRIPES = 16, /* threads that free at once rarely meet, so the quarantine orders them as little as it can */
    RING = 1024,  /* blocks a stripe keeps, at most */
    AGE_KEPT = 3, /* grace periods after which a block may leave */
    SLOTS = 2048, /* for blocks alone on a page */
    PAGE = 4096,
    FENCED_ONE_IN = 16
};

#define HELD     UINT64_C(0x4845434b45440001)
#define RELEASED UINT64_C(0x5245434b45440002)

/* Right before a block that is not alone on a page. */
typedef struct header {
    uint64_t mark, size, offset; /* offset: from what malloc gave */
    quarantine_account *account;
} header;

/* A page for one block, which ends at its end, and a page that is always closed. */
typedef struct slot {
    _Atomic uint32_t state;
    uint32_t offset;
    uint64_t size, epoch;
    quarantine_account *account;
} slot;
enum { SLOT_FREE = 0, SLOT_HELD, SLOT_CLOSED };

typedef struct grave {
    unsigned char *memory;
    uint64_t size, epoch;
} grave;

static struct stripe {
    pthread_mutex_t lock;
    grave ring[RING];
    unsigned first, count;
} stripes[STRIPES];

quarantine_counts quarantine_told;
static slot slots[SLOTS];
static unsigned char *arena;
static _Atomic uint64_t epoch, fail_one_in, threads_seen;
static atomic_flag waiting = ATOMIC_FLAG_INIT;
static uint64_t seed_of_threads;
static _Thread_local uint64_t own_random;
static _Thread_local struct stripe *own_stripe;

static void count(_Atomic uint64_t *what, uint64_t amount)
{
    atomic_fetch_add_explicit(what, amount, memory_order_relaxed); /* a count that orders nothing */
}

static uint64_t now_epoch(void)
{
    return atomic_load_explicit(&epoch, memory_order_relaxed);
}

static unsigned age_class(uint64_t age)
{
    return age < POISON_AGES - 1 ? (unsigned)age : POISON_AGES - 1;
}

/* --- poison --- */

static uint64_t poison_of(uint64_t at)
{
    return UINT64_C(0xd1edc0) << 40 | (at & UINT32_MAX) << 8 | 0xfe;
}

bool poison_found(uint64_t word)
{
    if (word >> 40 != 0xd1edc0 || (word & 0xff) != 0xfe)
        return false;
    count(&quarantine_told.age_found[age_class((now_epoch() - (word >> 8)) & UINT32_MAX)], 1);
    return true;
}

uint64_t poison_total(void)
{
    uint64_t total = 0;
    for (unsigned age = 0; age < POISON_AGES; age++)
        total += atomic_load(&quarantine_told.age_found[age]);
    return total;
}

static void poison(unsigned char *memory, uint64_t size, uint64_t at)
{
    uint64_t word = poison_of(at);
    for (uint64_t i = 0; i + 8 <= size; i += 8)
        memcpy(memory + i, &word, 8);
}

/* --- blocks alone on a page --- */

static slot *slot_of(uintptr_t address)
{
    uintptr_t begin = (uintptr_t)arena;
    return address - begin < (uintptr_t)SLOTS * 2 * PAGE ? &slots[(address - begin) / (2 * PAGE)] : NULL;
}

static unsigned char *page_of(const slot *self)
{
    return arena + (self - slots) * 2 * PAGE;
}

static void protect(const slot *self, int protection)
{
    if (mprotect(page_of(self), PAGE, protection) != 0)
        fault("mprotect: %s", strerror(errno));
}

uint64_t poison_touched(uintptr_t address)
{
    const slot *touched = slot_of(address);
    if (!touched || atomic_load(&touched->state) != SLOT_CLOSED)
        return UINT64_MAX;
    uint64_t age = now_epoch() - touched->epoch;
    count(&quarantine_told.age_found[age_class(age)], 1);
    return age;
}

static void *allocate_fenced(quarantine_account *account, size_t alignment, size_t size, uint64_t pick)
{
    slot *self = &slots[pick % SLOTS];
    uint32_t expected = SLOT_FREE;
    if (size > PAGE || !atomic_compare_exchange_strong(&self->state, &expected, SLOT_HELD))
        return NULL;
    self->offset = (uint32_t)((PAGE - size) & ~(alignment - 1));
    self->size = size;
    self->account = account;
    count(&quarantine_told.fenced, 1);
    return page_of(self) + self->offset;
}

/* --- leaving --- */

static void leave(const grave *self)
{
    count(&quarantine_told.left, 1);
    count(&quarantine_told.age_left[age_class(now_epoch() - self->epoch)], 1);
    slot *fenced = slot_of((uintptr_t)self->memory);
    if (fenced) {
        protect(fenced, PROT_READ | PROT_WRITE);
        atomic_store(&fenced->state, SLOT_FREE);
        return;
    }
    OPEN(self->memory, self->size);
    for (uint64_t i = 0, word; i + 8 <= self->size; i += 8) {
        memcpy(&word, self->memory + i, 8);
        if (word != poison_of(self->epoch))
            fault("a block of %" PRIu64 " bytes, freed %" PRIu64 " grace periods ago, was written to at %" PRIu64
                  ": %016" PRIx64,
                  self->size, now_epoch() - self->epoch, i, word);
    }
    header *head = (header *)(void *)self->memory - 1;
    free(self->memory - head->offset);
}

/* Takes out the oldest, where it has been there for long enough or its place is needed. */
static bool take_oldest(struct stripe *stripe, bool any, grave *out)
{
    if (stripe->count == 0)
        return false;
    grave *oldest = &stripe->ring[stripe->first];
    if (!any && stripe->count < RING && now_epoch() - oldest->epoch < AGE_KEPT)
        return false;
    *out = *oldest;
    stripe->first = (stripe->first + 1) % RING;
    stripe->count--;
    return true;
}

static void own(void)
{
    if (own_stripe)
        return;
    uint64_t number = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed);
    own_stripe = &stripes[number % STRIPES];
    own_random = mix(seed_of_threads + number);
}

static void bury(const grave *new)
{
    grave out[2];
    unsigned outs = 0;
    own();
    pthread_mutex_lock(&own_stripe->lock);
    while (outs < 2 && take_oldest(own_stripe, false, &out[outs]))
        outs++;
    own_stripe->ring[(own_stripe->first + own_stripe->count++) % RING] = *new;
    pthread_mutex_unlock(&own_stripe->lock);
    while (outs > 0)
        leave(&out[--outs]);
}

void quarantine_empty(void)
{
    grave out;
    for (unsigned i = 0; i < STRIPES; i++)
        while (take_oldest(&stripes[i], true, &out))
            leave(&out);
}

/* --- what weir calls --- */

static void *allocate(void *argument, size_t alignment, size_t size)
{
    quarantine_account *account = argument;
    if (alignment < 16 || alignment > 4096 || (alignment & (alignment - 1)) != 0 || size == 0)
        fault("allocate: alignment %zu, size %zu", alignment, size);
    own();
    uint64_t one_in = atomic_load_explicit(&fail_one_in, memory_order_relaxed), pick = random_next(&own_random);
    if (one_in && pick % one_in == 0) {
        count(&quarantine_told.failed, 1);
        return NULL;
    }
    bool alone = (pick >> 32) % FENCED_ONE_IN == 0;
    unsigned char *memory = alone ? allocate_fenced(account, alignment, size, pick >> 40) : NULL;
    if (!memory) {
        size_t offset = alignment < sizeof(header) ? sizeof(header) : alignment;
        unsigned char *base = aligned_alloc(alignment, (offset + size + alignment - 1) / alignment * alignment);
        if (!base)
            return NULL;
        memory = base + offset;
        ((header *)(void *)memory)[-1] = (header){HELD, size, offset, account};
    }
    memset(memory, 0xa5, size); /* nobody may count on zeroes */
    count(&account->bytes, size);
    count(&account->blocks, 1);
    count(&quarantine_told.allocated, 1);
    return memory;
}

static void check_returned(const void *memory, uint64_t had, uint64_t size, bool held, bool mine)
{
    if (!held)
        fault("release: %p was never allocated, or was released before", memory);
    if (!mine)
        fault("release: %p, %" PRIu64 " bytes, belongs to another limiter", memory, size);
    if (had != size)
        fault("release: a block of %" PRIu64 " bytes came back with size %" PRIu64, had, size);
}

static void release(void *argument, void *object, size_t size)
{
    quarantine_account *account = argument;
    grave self = {object, size, now_epoch()};
    if (!object)
        fault("release: wanted a block, got NULL");
    slot *fenced = slot_of((uintptr_t)object);
    count(&account->bytes, 0 - (uint64_t)size);
    count(&account->blocks, UINT64_MAX);
    count(&quarantine_told.freed, 1);
    if (fenced) {
        bool held = atomic_load(&fenced->state) == SLOT_HELD;
        check_returned(object, fenced->size, size, held, fenced->account == account);
        fenced->epoch = self.epoch;
        protect(fenced, PROT_NONE);
        atomic_store(&fenced->state, SLOT_CLOSED);
    } else {
        header *head = (header *)object - 1;
        check_returned(object, head->size, size, head->mark == HELD, head->account == account);
        head->mark = RELEASED;
        poison(object, size, self.epoch);
        CLOSE(object, size);
    }
    bury(&self);
}

void quarantine_use(quarantine_account *account, weir_options *options)
{
    options->allocator = (weir_allocator){allocate, release, account};
}

void quarantine_fail_one_in(uint64_t one_in)
{
    atomic_store(&fail_one_in, one_in);
}

void quarantine_grace_period(void)
{
    if (atomic_flag_test_and_set(&waiting))
        return;
    if (weiri_rcu_wait()) {
        atomic_fetch_add(&epoch, 1);
        count(&quarantine_told.grace_periods, 1);
    }
    atomic_flag_clear(&waiting);
}

void quarantine_start(uint64_t seed)
{
    const size_t size = (size_t)SLOTS * 2 * PAGE;
    seed_of_threads = seed;
    arena = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        fault("mmap: %s", strerror(errno));
    for (unsigned i = 0; i < SLOTS; i++)
        protect(&slots[i], PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i].lock, NULL);
}
