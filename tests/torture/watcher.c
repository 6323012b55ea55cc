/*
 * A reader of its own: walks from the root to the nodes inside a read section, by the rules that weir's readers keep
 * (docs/design.md, T and N), holds what it found for a random time, and looks again. A grace period cannot end
 * meanwhile, so nothing of it may have been freed: no word may be poison, and what is constant must be what it was.
 *
 * What it looks at must keep the numbered rules of docs/design.md besides: nothing is retired while the table leads to
 * it (T21, N4), and every cell of a segment that is done is sealed or frozen (T10). It also locks nodes and looks
 * inside: a log's records are in order, a ring of buckets adds up, both within the limit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "torture.h"

#include "limiter/node.h"
#include "window/buckets.h"
#include "window/log_chunks.h"

enum { HELD_MOST = 24 };

enum pinned { ROOT, PAGE, SEGMENT, MIGRATION, LIMITS, NODE };

typedef struct pin {
    enum pinned what;
    const void *at;
    uint64_t seen[3]; /* what is constant in it */
} pin;

typedef struct hold {
    pin pins[HELD_MOST];
    unsigned count;
    weir *limiter;
    const torture_round *round;
} hold;

static bool pin_is(const hold *self, enum pinned what, const void *at)
{
    for (unsigned i = 0; i < self->count; i++)
        if (self->pins[i].what == what && self->pins[i].at == at)
            return true;
    return self->count == HELD_MOST;
}

static void pin_add(hold *self, enum pinned what, const void *at, uint64_t a, uint64_t b, uint64_t c)
{
    if (!pin_is(self, what, at))
        self->pins[self->count++] = (pin){what, at, {a, b, c}};
}

/* --- looking: every word that a reader may look at --- */

static void look_pointer(const weiri_apointer *word)
{
    (void)poison_found((uint64_t)(uintptr_t)weiri_load_acquire_pointer(word));
}

/* A constant word: `what` it was. */
static void look_same(const char *what, uint64_t was, uint64_t is)
{
    if (!poison_found(is) && was != is)
        fault("G: %s changed while it was held: %016" PRIx64 " to %016" PRIx64, what, was, is);
}

static uint64_t shape_of(const weiri_segment *segment)
{
    return (uint64_t)segment->capacity << 32 | (uint64_t)segment->depth << 8 | segment->lead;
}

static void look_segment(const pin *self)
{
    const weiri_segment *segment = self->at;
    bool done = weiri_done(segment);
    look_same("a segment's prefix", self->seen[0], segment->prefix);
    look_same("a segment's floor", self->seen[1], segment->floor);
    look_same("a segment's capacity", self->seen[2], shape_of(segment));
    look_pointer(&segment->forward);
    for (uint32_t i = 0; i < self->seen[2] >> 32; i++) {
        uint64_t identity = weiri_load_once_128(&segment->cell[i].identity).word[0];
        weiri_pair state = weiri_load_snapshot_128(&segment->cell[i].state);
        if (poison_found(identity) || poison_found(state.word[0]) || poison_found(state.word[1]))
            continue;
        if (done && identity != WEIRI_MARK_SEALED && !(state.word[0] & WEIRI_FROZEN))
            fault("T10: a cell of a done segment is open: %016" PRIx64 ", %016" PRIx64, identity, state.word[0]);
    }
}

static void look_node(const weiri_node *node)
{
    const weiri_a64 *words = node->refusal.other; /* the first of them */
    for (unsigned i = 0; i < sizeof(node->refusal) / sizeof(*words); i++)
        (void)poison_found(weiri_load_acquire_64(&words[i]));
}

static void look(const pin *self, const hold *in)
{
    const weiri_root *root = self->at;
    const weiri_page *page = self->at;
    const weiri_migration *migration = self->at;
    const weiri_limits *limits = self->at;
    switch (self->what) {
    case ROOT:
        look_same("a root's size", self->seen[0], root->bits);
        for (uint64_t i = 0; i < UINT64_C(1) << self->seen[0]; i++)
            look_pointer(&root->page[i]);
        break;
    case PAGE:
        look_same("a page's place", self->seen[0], (uint64_t)page->depth << 8 | page->bits);
        for (uint64_t i = 0; i < UINT64_C(1) << (self->seen[0] & 0xff); i++)
            look_pointer(&page->entry[i]);
        break;
    case SEGMENT:
        look_segment(self);
        break;
    case MIGRATION:
        look_same("a migration's time", self->seen[0], migration->time);
        look_same("a successor", self->seen[1], (uint64_t)(uintptr_t)migration->successor[0]);
        look_same("a successor", self->seen[2], (uint64_t)(uintptr_t)migration->successor[1]);
        break;
    case LIMITS:
        look_same("a version", self->seen[0], limits->version);
        for (size_t i = 0; i < in->round->shape.count; i++)
            (void)poison_found(limits->limit[i]);
        break;
    case NODE:
        look_node(self->at);
        break;
    }
}

/* --- looking inside a node, under its lock --- */

static void look_log(const hold *self, weiri_node *node, unsigned i)
{
    const weiri_rule *rule = &self->limiter->rules.rule[i];
    const weiri_log *log = weiri_log_of(self->limiter, node, i);
    uint32_t words = weiri_log_words(rule);
    uint64_t stamp = 0, before = 0, used = 0; /* charged within the window that ends at the newest stamp */
    for (uint32_t number = log->first; number != log->next; number++) {
        const uint64_t *record = weiri_log_record(log, words, number);
        bool first = number == log->first;
        if (poison_found(record[WEIRI_LOG_STAMP]) || record[WEIRI_LOG_STAMP] < stamp)
            fault("a log's stamps: %" PRIu64 " after %" PRIu64, record[WEIRI_LOG_STAMP], stamp);
        if (words == 2 && !first && record[WEIRI_LOG_BEFORE] <= before)
            fault("a log's totals: %" PRIu64 " after %" PRIu64, record[WEIRI_LOG_BEFORE], before);
        stamp = record[WEIRI_LOG_STAMP];
        before = words == 2 ? record[WEIRI_LOG_BEFORE] : 0;
        if (used == 0 && stamp + rule->window > log->newest)
            used = words == 2 ? log->total - before : log->next - number;
    }
    if (log->first != log->next && stamp != log->newest)
        fault("a log ends at %" PRIu64 ", newest %" PRIu64, stamp, log->newest);
    if (used > torture_largest(&self->round->shape, i))
        fault("B: a log holds %" PRIu64 " in one window", used);
}

static void look_ring(const hold *self, const weiri_node *node, unsigned i)
{
    const weiri_rule *rule = &self->limiter->rules.rule[i];
    const weiri_buckets *buckets = (const void *)(node->states + rule->offset);
    const uint64_t *ring = (const uint64_t *)(const void *)((const char *)buckets + rule->ring);
    uint64_t sum = 0;
    for (uint64_t at = 0; at <= rule->buckets; at++)
        sum += ring[at];
    if (sum != buckets->total || sum > torture_largest(&self->round->shape, i))
        fault("B: a ring adds up to %" PRIu64 ", total %" PRIu64, sum, buckets->total);
}

static void look_inside(const hold *self, weiri_node *node)
{
    weiri_spinlock_lock(&node->lock); /* nothing forks here: the gate is open */
    for (unsigned i = 0; !node->dead && i < self->limiter->rules.count; i++) {
        uint32_t algorithm = self->limiter->rules.rule[i].algorithm;
        if (algorithm == WEIR_LOG)
            look_log(self, node, i);
        else if (algorithm == WEIR_BUCKETS)
            look_ring(self, node, i);
    }
    weiri_spinlock_unlock(&node->lock);
    tell(&torture_told.inside, 1);
}

/* --- finding --- */

/*
 * What an object was retired with, 0 where it was not. Read before the way to it is looked at once more: if that still
 * stands, it stood when this was read, since no way ever comes back within a read section. Weir reads the word after a
 * grace period only, so it is no atomic one: not with ThreadSanitizer.
 */
static uint64_t retired_with(const weiri_retired *object)
{
#if TEST_TSAN
    (void)object;
    return 0;
#else
    return __atomic_load_n(&object->size, __ATOMIC_ACQUIRE);
#endif
}

/* The same of a node, whose header stands where its states were. */
static bool node_retired(const weiri_node *node)
{
#if TEST_TSAN
    (void)node;
    return false;
#else
    return __atomic_load_n(&node->retired, __ATOMIC_ACQUIRE);
#endif
}

/* The nodes of a segment; some are pinned. */
static void find_nodes(hold *self, weiri_segment *segment)
{
    for (uint32_t i = 0; i < segment->capacity && self->limiter->nodes; i++) {
        weiri_pair state = weiri_load_snapshot_128(&segment->cell[i].state);
        if (!weiri_is_node(state) || (state.word[0] & WEIRI_FROZEN)) /* N5 */
            continue;
        const weiri_node *node = weiri_node_of(state);
        if (node_retired(node) && weiri_pair_equal(weiri_load_snapshot_128(&segment->cell[i].state), state))
            fault("N4: a node is retired, and its cell leads to it");
        pin_add(self, NODE, node, 0, 0, 0);
    }
}

/* The segment for a hash, and the way there. */
static weiri_segment *find_segment(hold *self, uint64_t hash)
{
    const weiri_directory *directory = &self->limiter->table.directory;
    const weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    const weiri_apointer *to_page = &root->page[weiri_hash_bits(hash, 0, root->bits)];
    const weiri_page *page = weiri_load_acquire_pointer(to_page);
    const weiri_apointer *to_segment = &page->entry[weiri_hash_bits(hash, page->depth, page->bits)];
    weiri_segment *segment = weiri_load_acquire_pointer(to_segment);
    uint64_t retired = retired_with(&root->retired) | retired_with(&page->retired) | retired_with(&segment->retired);
    if (retired && weiri_load_acquire_pointer(to_segment) == segment && weiri_load_acquire_pointer(to_page) == page &&
        weiri_load_acquire_pointer(&directory->root) == root)
        fault("T21: a segment, page or root is retired, and the directory leads to it");
    pin_add(self, ROOT, root, root->bits, 0, 0);
    pin_add(self, PAGE, page, (uint64_t)page->depth << 8 | page->bits, 0, 0);
    return segment;
}

/* The segments for a hash, from the directory's on. */
static void find_way(hold *self, uint64_t hash)
{
    weiri_segment *segment = find_segment(self, hash);
    for (unsigned plan = 0; plan < self->limiter->plans; plan++) {
        const weiri_limits *limits = weiri_load_acquire_pointer(&self->limiter->plan[plan]);
        pin_add(self, LIMITS, limits, limits->version, 0, 0);
    }
    while (segment && self->count < HELD_MOST - 4) {
        pin_add(self, SEGMENT, segment, segment->prefix, segment->floor, shape_of(segment));
        const weiri_migration *migration = weiri_forward(segment);
        find_nodes(self, segment);
        if (!migration)
            break;
        pin_add(self, MIGRATION, migration, migration->time, (uint64_t)(uintptr_t)migration->successor[0],
                (uint64_t)(uintptr_t)migration->successor[1]);
        segment = weiri_successor(segment, migration, hash);
    }
}

/* The whole table, quickly: what stands there for a moment only is seen if anything is. */
static void find_all(hold *self)
{
    uint64_t hash = 0;
    do {
        weiri_segment *segment = find_segment(self, hash);
        find_nodes(self, segment);
        hash = weiri_segment_end(segment);
    } while (hash != 0);
}

static void look_again(const hold *self)
{
    for (unsigned i = 0; i < self->count; i++)
        look(&self->pins[i], self);
}

/* Lets others run for a random time, and some of them may be calls of this thread: in the host's own section. */
static void hold_on(life *self, const hold *held)
{
    uint64_t turns =
        random_below(&self->random, 16) ? random_below(&self->random, 20) : random_below(&self->random, 1000);
    bool calls = random_below(&self->random, 4) == 0;
    for (uint64_t i = 0; i < turns && atomic_load(&self->round->asking) > 0; i++) {
        sched_yield();
        if (calls && i < 8)
            asker_take(self, asker_any_key(self));
        if (i % 32 == 31)
            look_again(held);
    }
}

void watcher_live(life *self)
{
    torture_round *round = self->round;
    uint64_t most = 20 + random_below(&self->random, 200);
    for (uint64_t i = 0; i < most && atomic_load(&round->asking) > 0; i++) {
        hold held = {.limiter = round->limiter, .round = round};
        weiri_rcu_enter();
        find_way(&held, random_next(&self->random));
        if (random_below(&self->random, 2) == 0)
            find_all(&held);
        else
            hold_on(self, &held);
        look_again(&held);
        if (held.count > 0 && held.pins[held.count - 1].what == NODE)
            look_inside(&held, (weiri_node *)(uintptr_t)held.pins[held.count - 1].at);
        weiri_rcu_leave();
        self->looks++;
        tell(&torture_told.held, held.count);
        if (i % 16 == 0)
            quarantine_grace_period();
    }
}
