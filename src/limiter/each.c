/* Walking over the keys, and counting what is there. */
#include <errno.h>
#include <string.h>

#include "node.h"

/* The keys of one segment, taken down inside a read section and shown outside it. */
struct page {
    weiri_pair *identity;
    uint32_t room, count;
    weiri_pair own[WEIRI_CAPACITY_MAX];
};

/* Is a key to be shown? WEIRI_CLOSED_GATE: cannot be told now. */
static int shown(weir *limiter, weiri_pair state, uint64_t time, bool holding)
{
    state = weiri_thawed(state);
    if (weiri_uninit(state) || !limiter->table.live(limiter, state, time))
        return 0;
    if (!limiter->nodes || !weiri_is_node(state))
        return !limiter->nodes;
    if (!holding && !weiri_gate_is_open())
        return WEIRI_CLOSED_GATE;
    weiri_node *node = weiri_node_of(state);
    weiri_spinlock_lock(&node->lock);
    bool live = !node->dead && weiri_expires(&limiter->rules, node->states) > time;
    weiri_spinlock_unlock(&node->lock);
    return live;
}

/*
 * Takes down one segment. A key present throughout is in it: the segment was settled, so nothing of its keys is in an
 * ancestor, and what migrates away from now on leaves its identity. A node is looked at only where its cell is not
 * frozen; a frozen one stands for a key that was live just now.
 */
static int take_down(weir *limiter, uint64_t hash, uint64_t time, bool holding, struct page *page, uint64_t *next)
{
    weiri_segment *segment = weiri_table_settled(&limiter->table, hash);
    *next = weiri_segment_end(segment);
    page->count = 0;
    if (segment->capacity > page->room) {
        page->room = segment->capacity; /* so much is needed */
        return -EAGAIN;
    }
    for (uint32_t i = 0; i < segment->capacity; i++) {
        weiri_pair identity = weiri_load_once_128(&segment->cell[i].identity);
        if (identity.word[0] == 0 || identity.word[0] == WEIRI_MARK_SEALED)
            continue;
        weiri_pair state = weiri_load_snapshot_128(&segment->cell[i].state);
        bool frozen_node = limiter->nodes && weiri_is_node(state) && (state.word[0] & WEIRI_FROZEN);
        int show = frozen_node ? 1 : shown(limiter, state, time, holding);
        if (show == WEIRI_CLOSED_GATE)
            return show;
        if (show)
            page->identity[page->count++] = identity;
    }
    return 0;
}

static void grow_page(weir *limiter, struct page *page, uint32_t had)
{
    if (page->identity != page->own)
        weiri_release(&limiter->memory, page->identity, had * sizeof(weiri_pair));
    page->identity = weiri_allocate(&limiter->memory, 16, page->room * sizeof(weiri_pair));
}

/* Fills a page for the segment at `hash`. 0 or -ENOMEM. */
static int fill_page(weir *limiter, uint64_t hash, uint64_t time, struct page *page, uint64_t *next)
{
    bool holding = false;
    for (;;) {
        uint32_t had = page->room;
        weiri_rcu_enter();
        int result = take_down(limiter, hash, time, holding, page, next);
        weiri_rcu_leave();
        if (result == WEIRI_CLOSED_GATE) {
            holding = weiri_gate_wait();
            continue;
        }
        if (holding)
            weiri_gate_release(true);
        holding = false;
        if (result != -EAGAIN)
            return result;
        grow_page(limiter, page, had);
        if (!page->identity)
            return -ENOMEM;
    }
}

static int show_page(const weir *limiter, const struct page *page, int (*visit)(void *argument, const weir_key *key),
                     void *argument)
{
    for (uint32_t i = 0; i < page->count; i++) {
        unsigned char bytes[16];
        weiri_pair identity = page->identity[i];
        weir_key key = {.key = bytes};
        key.key_len = weiri_identity_bytes(identity, bytes);
        key.hashed = key.key_len > WEIRI_KEY_INLINE;
        key.identity = (weir_identity){{identity.word[0], identity.word[1]},
                                       weiri_identity_hash(limiter->table.hash_key, identity),
                                       limiter->owner};
        int result = visit(argument, &key);
        if (result != 0)
            return result;
    }
    return 0;
}

int weir_each(weir *limiter, uint64_t now, int (*visit)(void *argument, const weir_key *key), void *argument)
{
    if (!weiri_resolve_now(limiter, &now))
        return -EINVAL;
    if (!weiri_gate_ready())
        return -ENOMEM;
    struct page page;
    page.identity = page.own;
    page.room = WEIRI_CAPACITY_MAX;
    page.count = 0;
    uint64_t hash = 0, next, time = weiri_drop_time(limiter, now);
    int result;
    do {
        result = fill_page(limiter, hash, time, &page, &next);
        if (result == 0)
            result = show_page(limiter, &page, visit, argument);
        hash = next;
    } while (result == 0 && hash != 0);
    if (page.identity != page.own)
        weiri_release(&limiter->memory, page.identity, page.room * sizeof(weiri_pair));
    return result;
}

int weir_stats(const weir *limiter, weir_statistics *statistics)
{
    size_t size = statistics->struct_size;
    if (size < offsetof(weir_statistics, reserved))
        return -EINVAL;
    weir_statistics all = {
        .struct_size = size,
        .keys = weiri_table_count(&limiter->table),
        .bytes = weiri_sum_read(&limiter->memory.bytes),
        .retired_bytes = weiri_load_relaxed_64(&limiter->memory.retired_bytes),
        .swept = weiri_sum_read(&limiter->table.swept),
        .splits = weiri_sum_read(&limiter->table.splits),
        .compactions = weiri_sum_read(&limiter->table.compactions),
        .cells_helped = weiri_sum_read(&limiter->table.helped),
    };
    memset(statistics, 0, size); /* a newer caller's fields: nothing known of them */
    memcpy(statistics, &all, size < sizeof all ? size : sizeof all);
    return 0;
}
