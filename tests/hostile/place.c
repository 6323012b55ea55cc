/*
 * Guarantees B, C and F where the hash itself has failed: thousands of keys whose hashes agree in every bit, in all but
 * one, in the top 40, or in those that choose the cell. Nobody outside can make such keys (guarantee D); here they are
 * made as identities. Several threads insert and charge them while another sweeps and walks: every key is charged
 * exactly to its limit, a walk sees each key once, and memory stays within what so many keys explain. A table with
 * max_keys fills up to that number, and says that it is full.
 *
 * A last attack aims at the directory: some hundred keys of which one leaves at every bit of the hash, in a table large
 * enough to afford a page for each bit. The directory must not be doubled for them bit by bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"
#include "table/segment.h"

#define NOW      (1000 * WEIR_SECOND)
#define WINDOW   (10 * WEIR_SECOND)
#define LATENESS WEIR_SECOND
#define LOW      UINT64_C(0xff00) /* the bits that choose a cell of 64, or among more */
#define PLACE    UINT64_C(0x9d3c5a7716e4f800) /* where they all go */

enum { ASKERS = 3, LIMIT = 3, RAISED = 5, KEYS_MAX = 4096, HASHED_KEY_BYTES = 16, LEAVERS = 48 };

typedef struct hash_shape {
    const char *name;
    uint64_t same; /* the bits of the hash in which all keys agree */
    uint64_t keys;
} hash_shape;

static const hash_shape shapes[] = {
    {"every bit", ~UINT64_C(0), 2500},
    {"all but the first bit", ~(UINT64_C(1) << 63), 2500},
    {"all but bit 17, below the deepest split", ~(UINT64_C(1) << 17), 2500},
    {"all but bit 8, of the cell", ~(UINT64_C(1) << 8), 2500},
    {"the top 40 bits", ~UINT64_C(0) << 24, 4000},
    {"the bits of the cell", UINT64_C(0xffffff) << 8, 4000},
};

typedef struct run {
    rule_set set;
    const hash_shape *shape;
    weir *limiter;
    uint64_t owner, keys, limit;
    _Atomic uint64_t accepted[KEYS_MAX];
    _Atomic unsigned asking;
} run;

static _Atomic uint64_t calls_made;
static uint64_t most_at_once; /* bytes that were asked of the allocator in one piece */

static weir_identity crafted(uint64_t owner, uint64_t hash, uint64_t number)
{
    hash &= ~UINT64_C(0xff);
    return (weir_identity){{hash | WEIRI_MARK_HASHED, number}, hash, owner};
}

static weir_identity key_of(const run *self, uint64_t number)
{
    uint64_t free_bits = ~self->shape->same;
    uint64_t differs = (free_bits & (free_bits - 1)) == 0 ? free_bits * (number & 1) : mix(number + 1) & free_bits;
    return crafted(self->owner, (PLACE & self->shape->same) | differs, number);
}

static uint64_t owner_of(const weir *limiter)
{
    weir_identity any;
    want_done("weir_identify", weir_identify(limiter, "any", 3, &any));
    return any.owner;
}

/* Once more than the limit for every key, each thread from another key on and with another stride. */
static void charge_all(void *shared, unsigned index)
{
    run *self = shared;
    for (uint64_t call = 0; call < self->keys * (self->limit + 1); call++) {
        uint64_t number = (index * self->keys / ASKERS + call) % self->keys;
        weir_identity identity = key_of(self, number);
        weir_request request = {.identity = &identity, .cost = 1};
        weir_decision decision;
        int verdict = weir_take(self->limiter, &request, NOW, &decision);
        if (decision.flags != 0 || decision.limit != self->limit)
            failed("%s, %s: wanted limit %" PRIu64 " and no flag, got %" PRIu64 ", flags %u", self->set.name,
                   self->shape->name, self->limit, decision.limit, decision.flags);
        if (verdict == 1)
            atomic_fetch_add(&self->accepted[number], 1);
    }
    atomic_fetch_add(&calls_made, self->keys * (self->limit + 1));
    atomic_fetch_sub(&self->asking, 1);
}

static int count_key(void *argument, const weir_key *key)
{
    run *self = argument;
    uint64_t number;
    memcpy(&number, (const unsigned char *)key->key + 8, 8);
    if (!key->hashed || key->key_len != HASHED_KEY_BYTES || number >= self->keys)
        failed("%s, %s: weir_each shows a key that nobody charged", self->set.name, self->shape->name);
    return 0;
}

/* Nothing of this may change an answer: nothing has expired. */
static void disturb(run *self)
{
    while (atomic_load(&self->asking) > 0) {
        if (weir_sweep(self->limiter, NOW, 100) < 0)
            failed("weir_sweep failed");
        want_done("weir_each", weir_each(self->limiter, NOW, count_key, self));
        want_done("weir_reclaim", weir_reclaim(self->limiter));
        sched_yield();
    }
}

static void work(void *shared, unsigned index)
{
    if (index < ASKERS)
        charge_all(shared, index);
    else
        disturb(shared);
}

static void charge_to(run *self, uint64_t limit)
{
    self->limit = limit;
    self->asking = ASKERS;
    run_threads(ASKERS + 1, work, self);
    for (uint64_t i = 0; i < self->keys; i++)
        if (self->accepted[i] != limit)
            failed("%s, %s: key %" PRIu64 ": wanted %" PRIu64 " accepted, got %" PRIu64, self->set.name,
                   self->shape->name, i, limit, self->accepted[i]);
    want_equal("keys held", self->keys, stats_of(self->limiter).keys);
}

static int tick_off(void *argument, const weir_key *key)
{
    run *self = argument;
    uint64_t number;
    count_key(argument, key);
    memcpy(&number, (const unsigned char *)key->key + 8, 8);
    if (self->accepted[number]-- == 0)
        failed("%s, %s: key %" PRIu64 " is shown twice", self->set.name, self->shape->name, number);
    return 0;
}

/* A walk over a table at rest shows each key once. */
static void check_walk(run *self)
{
    for (uint64_t i = 0; i < self->keys; i++)
        self->accepted[i] = 1;
    want_done("weir_each", weir_each(self->limiter, NOW, tick_off, self));
    for (uint64_t i = 0; i < self->keys; i++)
        want_equal("a key that weir_each did not show", 0, self->accepted[i]);
}

/* Guarantee F, but for the 64 KiB: a key, its node, its records; and for each of the most keys there ever were 6 bytes,
 * where the contract says 8: so much is left only by what has lasted long. */
static uint64_t explained(const run *self, uint64_t live, uint64_t records)
{
    uint64_t key = 160 + (self->set.inline_state ? 0 : 192 + 112 * (self->set.count - 1));
    for (size_t i = 0; i < self->set.count; i++)
        key += 8 * self->set.rules[i].buckets;
    return live * (key + 16 * records) + 6 * self->keys;
}

static void swept_within(run *self, const test_heap *heap, uint64_t now, uint64_t live)
{
    want_equal("weir_sweep", 1, (uint64_t)weir_sweep(self->limiter, now, 0));
    want_done("weir_reclaim", weir_reclaim(self->limiter));
    want_equal("keys after the sweep", live, stats_of(self->limiter).keys);
    if (WEIRI_CAPACITY_MAX == 64) /* the bounds are for segments of the usual size */
        want_at_most("bytes after the sweep", 65536 + explained(self, live, RAISED), heap->bytes);
}

static void everywhere_at_once(enum kind kind, const hash_shape *shape)
{
    static run self; /* too large for a stack */
    test_heap heap = {0};
    weir_options options = weir_options_manual();
    options.max_lateness_ns = LATENESS;
    heap_use(&heap, &options);
    memset(&self, 0, sizeof self);
    self.set = rule_set_of(kind, LIMIT, WINDOW);
    self.shape = shape;
    self.keys = scaled(shape->keys, 300);
    self.keys = self.keys > KEYS_MAX ? KEYS_MAX : self.keys;
    self.limiter = opened(&self.set, &options);
    self.owner = owner_of(self.limiter);

    charge_to(&self, LIMIT);
    const uint64_t raised[] = {RAISED, RAISED};
    want_done("weir_set_limits", weir_set_limits(self.limiter, 0, raised, self.set.count));
    charge_to(&self, RAISED);
    /* While it grew: 16 cells a key, old and new together, for each thread; and what waited to be freed. */
    want_at_most("most bytes ever in use", (8 << 20) + explained(&self, self.keys, RAISED) + 1024 * self.keys,
                 heap.peak);
    check_walk(&self);
    swept_within(&self, &heap, NOW, self.keys);
    swept_within(&self, &heap, NOW + 3 * WINDOW + LATENESS, 0);
    closed_clean(self.limiter, &heap, self.set.name);
}

/* All in one place, and no more than max_keys: as many as that, exactly, and each of them to its limit. */
static void full_at(enum kind kind, const hash_shape *shape)
{
    run self = {.set = rule_set_of(kind, LIMIT, WINDOW), .shape = shape};
    uint64_t most = scaled(250, 100), recorded = 0, full = 0;
    weir_options options = weir_options_manual();
    options.max_keys = most;
    self.limiter = opened(&self.set, &options);
    self.owner = owner_of(self.limiter);
    for (unsigned round = 0; round < LIMIT + 1; round++)
        for (uint64_t i = 0; i < 2 * most; i++) {
            weir_identity identity = key_of(&self, i);
            weir_request request = {.identity = &identity, .cost = 1};
            weir_decision decision;
            int verdict = weir_take(self.limiter, &request, NOW, &decision);
            bool held = i < most;
            want_equal("verdict", held && round < LIMIT, (uint64_t)verdict);
            want_equal("flags", held ? 0 : WEIR_TABLE_FULL, decision.flags);
            recorded += (uint64_t)verdict;
            full += !held;
        }
    want_equal("recorded", most * LIMIT, recorded);
    want_equal("told that it is full", most * (LIMIT + 1), full);
    want_equal("keys held", most, stats_of(self.limiter).keys);
    want_done("weir_close", weir_close(self.limiter));
}

/* --- the directory --- */

static void *allocate_watched(void *argument, size_t alignment, size_t size)
{
    if (size > 16 << 20)
        failed("one piece of %zu bytes is asked for", size); /* before it is filled */
    most_at_once = size > most_at_once ? size : most_at_once;
    return heap_allocate(argument, alignment, size);
}

static void charge_crafted(const run *self, uint64_t hash, uint64_t number)
{
    weir_identity identity = crafted(self->owner, hash, number);
    weir_request request = {.identity = &identity, .cost = 1};
    want_equal("a crafted key is charged", 1, (uint64_t)weir_take(self->limiter, &request, NOW, NULL));
}

/* One key that leaves at each bit of the hash; then those that press the path down, from `first` on: spread over the
 * cells, or all at one. */
static void leave(run *self)
{
    for (unsigned bit = 0; bit < LEAVERS; bit++)
        charge_crafted(self, (PLACE & ~LOW) ^ (UINT64_C(1) << 63 >> bit) ^ (mix(bit) & LOW), bit);
}

static void press(run *self, uint64_t first, uint64_t pressers, uint64_t low)
{
    for (uint64_t i = first; i < first + pressers; i++)
        charge_crafted(self, (PLACE & ~LOW) ^ (mix(i + 1000) & low), 1000 + i);
}

/* Keys that spread, so many that the directory can afford to become fine. */
static void come(run *self, uint64_t crowd)
{
    for (uint64_t i = 0; i < crowd; i++) {
        test_key key = key_number(i);
        weir_request request = request_for(&key, 1);
        want_equal("one of the crowd is charged", 1, (uint64_t)weir_take(self->limiter, &request, NOW, NULL));
    }
}

static uint64_t bytes_held(const run *self)
{
    weir_statistics stats = stats_of(self->limiter);
    return stats.bytes - stats.retired_bytes;
}

/* `early`: the path is pressed before the crowd is there as well, so that an outgrown segment is split again, often. */
static void one_leaves_at_every_bit(uint64_t crowd, uint64_t pressers, uint64_t low, bool early)
{
    test_heap heap = {0};
    run self = {.set = rule_set_of(KIND_COUNTER, LIMIT, WINDOW), .keys = crowd + LEAVERS + pressers};
    weir_options options = weir_options_manual();
    uint64_t first = early ? pressers / 3 : 0, before;
    heap_use(&heap, &options);
    options.allocator.allocate = allocate_watched;
    self.limiter = opened(&self.set, &options);
    self.owner = owner_of(self.limiter);
    if (early) {
        leave(&self);
        press(&self, 0, first, low);
    }
    come(&self, crowd);
    before = bytes_held(&self);
    if (!early)
        leave(&self);
    press(&self, first, pressers - first, low);
    want_equal("keys held", self.keys, stats_of(self.limiter).keys);
    /* Until a sweep, each bit that the directory can afford may leave a segment as large as the outgrown one. */
    want_at_most("bytes more for them", before + 65536 + 6 * self.keys + 1024 * (LEAVERS + pressers),
                 bytes_held(&self));
    swept_within(&self, &heap, NOW, self.keys);
    closed_clean(self.limiter, &heap, "one leaves at every bit");
}

int main(void)
{
    static const enum kind kinds[] = {KIND_COUNTER, KIND_LOG, KIND_TWO};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
            everywhere_at_once(kinds[kind], &shapes[i]);
            full_at(kinds[kind], &shapes[i]);
        }
    for (uint64_t crowd = scaled(200000, 2000); crowd > 100; crowd /= 10) {
        one_leaves_at_every_bit(crowd, 300, LOW, false);
        one_leaves_at_every_bit(crowd, scaled(3000, 300), 0, false);
        one_leaves_at_every_bit(crowd, scaled(3000, 300), 0, true);
    }
    printf("place: %" PRIu64 " calls; most bytes in one piece for the directory: %" PRIu64 "\n", calls_made,
           most_at_once);
    return 0;
}
