#include "node.h"

#include <string.h>

enum { POOLED_MAX = 4096 }; /* larger nodes gain nothing from a pool */

_Static_assert(WEIRI_REGION_SIZE > 2 * POOLED_MAX + WEIRI_LINE, "a region has room for two");

bool weiri_node_live(const void *limiter, weiri_pair state, uint64_t time)
{
    (void)limiter;
    return state.word[0] != WEIRI_FRESH || state.word[1] > time; /* N3; a later drop time must not be forgotten */
}

/* SIZE_MAX: more than there is. */
static size_t node_size(const weir *limiter)
{
    size_t states = limiter->rules.states_size;
    return states > SIZE_MAX - sizeof(weiri_node) ? SIZE_MAX : sizeof(weiri_node) + states;
}

size_t weiri_node_block(const weir *limiter)
{
    size_t size = node_size(limiter);
    return size > POOLED_MAX ? 0 : (size + 15) & ~(size_t)15;
}

static size_t node_takes(const weir *limiter, const weiri_node *node)
{
    return node->pooled ? weiri_node_block(limiter) : node_size(limiter);
}

static void node_release(weir *limiter, weiri_node *node)
{
    if (node->pooled)
        weiri_release_block(&limiter->memory, WEIRI_BLOCK_NODE, node);
    else
        weiri_release(&limiter->memory, node, node_size(limiter));
}

void weiri_node_free(weir *limiter, weiri_node *node)
{
    weiri_husks husks;
    if (!node)
        return;
    weiri_node_gut(limiter, node, &husks);
    weiri_husks_free(limiter, &husks);
    node_release(limiter, node);
}

static weir *limiter_of(weiri_memory *memory)
{
    return (weir *)(void *)((unsigned char *)memory - offsetof(weir, memory));
}

static void destroy_retired(weiri_memory *memory, weiri_retired *retired)
{
    unsigned char *states = (unsigned char *)retired;
    node_release(limiter_of(memory), (weiri_node *)(void *)(states - offsetof(weiri_node, states)));
}

void weiri_node_retire(weir *limiter, weiri_node *node)
{
    weiri_retired *retired = (weiri_retired *)(void *)node->states;
    node->retired = true;
    retired->destroy = destroy_retired;
    weiri_retire(&limiter->memory, retired, node_takes(limiter, node));
}

/* A private node with nothing charged, or NULL. */
static weiri_node *node_new(weir *limiter)
{
    size_t size = node_size(limiter);
    weiri_node *node = weiri_allocate_block(&limiter->memory, WEIRI_BLOCK_NODE);
    const bool pooled = node != NULL;
    if (!node && size < SIZE_MAX)
        node = weiri_allocate(&limiter->memory, 16, size);
    if (!node)
        return NULL;
    memset(node, 0, size);
    node->pooled = pooled;
    return node;
}

/* Charges a private node; false: no memory. */
static bool charge_private(const weiri_ask *ask, weiri_node *node, const weiri_call *call, const weiri_views *views)
{
    weir *limiter = ask->limiter;
    weiri_supplies supplies;
    memset(&supplies, 0, sizeof supplies);
    bool there = weiri_supply(node, ask, views, &supplies);
    if (!there)
        there = weiri_supplies_get(limiter, &supplies) && weiri_supply(node, ask, views, &supplies);
    weiri_supplies_free(limiter, &supplies);
    if (there)
        weiri_charge(&limiter->rules, node->states, call, views);
    return there;
}

/* --- a call on a node --- */

/* What one round of a call came to, beside 1 and 0. */
enum { AGAIN = -1 };

enum outcome { REFUSED = 0, ACCEPTED = 1, DEAD, LACKING };

/* Works out a refusal's end and writes it down. Under the lock. */
static void refuse(weiri_node *node, const weiri_ask *ask, const weiri_call *call, const weiri_views *views,
                   weir_decision *decision)
{
    const weiri_rules *rules = &ask->limiter->rules;
    if (decision)
        weiri_answer(rules, node->states, call, views, false, decision);
    weiri_refusal_publish(node, ask, call->floor, weiri_refused_until(rules, node->states, call, views), decision);
}

/* Takes dead chunks out of the logs. Under the lock. False: there were none, and *husks is not filled. */
static bool shed_dead(const weir *limiter, weiri_node *node, weiri_husks *husks)
{
    bool any = false;
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        if (!weiri_is_log(limiter, i) || weiri_log_of(limiter, node, i)->dead == 0)
            continue;
        if (!any)
            *husks = (weiri_husks){.chunks = {NULL}};
        any = true;
        husks->chunks[i] = weiri_log_shed(weiri_log_of(limiter, node, i), &limiter->rules.rule[i], false);
    }
    return any;
}

/* Decides, and charges where that is due. LACKING: supplies->need says what for. Under the lock. */
static enum outcome decide_locked(weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision,
                                  weiri_supplies *supplies, weiri_husks *husks, bool *shed)
{
    weir *limiter = ask->limiter;
    const weiri_rules *rules = &limiter->rules;
    weiri_call call = {ask->now, floor > node->drop ? floor : node->drop, ask->cost, ask->limits->limit};
    weiri_views views;
    if (node->dead)
        return DEAD;
    weiri_decide(rules, node->states, &call, &views);
    if (!views.accepted) {
        refuse(node, ask, &call, &views, decision);
        return REFUSED;
    }
    bool charged = views.records && !ask->peek;
    if (charged) {
        if (!weiri_supply(node, ask, &views, supplies))
            return LACKING;
        weiri_refusal_clear(node);
        weiri_charge(rules, node->states, &call, &views);
        *shed = shed_dead(limiter, node, husks);
    }
    if (decision)
        weiri_answer(rules, node->states, &call, &views, charged, decision);
    return ACCEPTED;
}

/* Any other call. Has the lock, and leaves it; what logs let go of is freed after that. */
static __attribute__((noinline)) enum outcome decide_held(weiri_node *node, const weiri_ask *ask, uint64_t floor,
                                                          weir_decision *decision, weiri_supplies *supplies)
{
    weiri_husks husks;
    bool shed = false;
    enum outcome outcome = decide_locked(node, ask, floor, decision, supplies, &husks, &shed);
    weiri_spinlock_unlock(&node->lock);
    if (shed)
        weiri_husks_free(ask->limiter, &husks);
    return outcome;
}

/* One attempt. */
static inline enum outcome decide_once(weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision,
                                       weiri_supplies *supplies)
{
    weiri_spinlock_lock(&node->lock);
    if (!weiri_charge_quick(node, ask, floor, decision))
        return decide_held(node, ask, floor, decision, supplies);
    weiri_spinlock_unlock(&node->lock);
    return ACCEPTED;
}

/* What weiri_charge_quick has left. Has the lock, and leaves it. Where a log needs memory that is allocated outside the
 * lock; it may need other memory when the lock is had again. */
static __attribute__((noinline)) enum outcome decide_rest(weiri_node *node, const weiri_ask *ask, uint64_t floor,
                                                          weir_decision *decision)
{
    weiri_supplies supplies;
    memset(supplies.of, 0, ask->limiter->rules.count * sizeof *supplies.of);
    enum outcome outcome = decide_held(node, ask, floor, decision, &supplies);
    while (outcome == LACKING && weiri_supplies_get(ask->limiter, &supplies))
        outcome = decide_once(node, ask, floor, decision, &supplies);
    weiri_supplies_free(ask->limiter, &supplies);
    return outcome;
}

/* --- a call on a key --- */

/* States in which nothing is charged, whatever the rules. */
static const uint64_t nothing[WEIRI_STATES_HEAD / sizeof(uint64_t)];

/* Nothing is charged on the key: decided on `nothing`. True where the call must be recorded. */
static bool decide_on_nothing(const weiri_ask *ask, const weiri_call *call, weiri_views *views, weir_decision *decision)
{
    weiri_decide(&ask->limiter->rules, nothing, call, views);
    if (views->accepted && views->records && !ask->peek)
        return true;
    if (decision)
        weiri_answer(&ask->limiter->rules, nothing, call, views, false, decision);
    return false;
}

/* As seen, and then not recorded. */
static int unrecorded(const weiri_ask *ask, const weiri_call *call, const weiri_views *views, uint32_t flag,
                      weir_decision *decision)
{
    if (decision)
        weiri_answer(&ask->limiter->rules, nothing, call, views, false, decision);
    return weiri_unrecorded(ask->limiter, flag, decision);
}

/* The cell no longer holds a dead node. Whoever finds it does this; a failed swap means that somebody did, or froze. */
static void bury(weiri_cell *cell, weiri_pair state, uint64_t drop)
{
    weiri_cas_128(&cell->state, state, (weiri_pair){{WEIRI_FRESH, drop}});
}

/* A charge found no memory. The answer is filled in as things stand; what a later look refuses is refused. */
static int decide_unrecorded(weiri_node *node, weiri_ask *ask, uint64_t floor, weir_decision *decision)
{
    if (decision) {
        *decision = (weir_decision){0};
        ask->peek = true;
        enum outcome outcome = decide_once(node, ask, floor, decision, NULL);
        ask->peek = false;
        if (outcome == REFUSED)
            return 0;
        if (outcome == DEAD)
            return AGAIN;
    }
    return weiri_unrecorded(ask->limiter, WEIR_NO_MEMORY, decision);
}

/* No decision on a key without a node runs earlier: the segments' floor, and when the last node was dropped. */
static inline uint64_t floor_of(const weiri_spot *spot)
{
    return spot->floor > spot->state.word[1] ? spot->floor : spot->state.word[1];
}

/* The key has a node. */
static int call_node(weiri_ask *ask, weiri_segment **segment, const weiri_spot *spot, weir_decision *decision)
{
    weiri_node *node = weiri_node_of(spot->state);
    uint64_t floor = spot->floor; /* the node's own is looked at under its lock */
    weiri_node_prefetch(node);
    if (weiri_refusal_covers(node, ask, floor, decision))
        return 0;
    if (!ask->holding && !weiri_gate_is_open())
        return WEIRI_CLOSED_GATE;
    if (!spot->cell && !ask->peek) { /* the frozen pointer stands (N5): carry it over first */
        *segment = weiri_advance(&ask->limiter->table, *segment, ask->identity);
        ask->slow = true;
        return AGAIN;
    }
    weiri_spinlock_lock(&node->lock);
    enum outcome outcome = decide_rest(node, ask, floor, decision);
    if (outcome == ACCEPTED || outcome == REFUSED)
        return outcome == ACCEPTED;
    if (outcome == LACKING)
        return decide_unrecorded(node, ask, floor, decision);
    /* Dead. `drop` was written under the lock that was held just now, and does not change again. */
    if (spot->cell) {
        bury(spot->cell, spot->state, node->drop);
        return AGAIN;
    }
    weiri_views views; /* a peek past a frozen cell: it answers as if the dead node were gone */
    weiri_call call = {ask->now, floor > node->drop ? floor : node->drop, ask->cost, ask->limits->limit};
    decide_on_nothing(ask, &call, &views, decision);
    return views.accepted;
}

/* What stands beside a node that is to be installed (N6). It expires after what was dropped before it, too. */
static uint64_t bound_of(const weir *limiter, const weiri_node *node)
{
    uint64_t bound = weiri_expires_surely(&limiter->rules, node->states);
    return bound > node->drop ? bound : node->drop;
}

/* Nothing is charged on the key, the call is accepted, and a node must be installed. */
static int install(weiri_ask *ask, weiri_segment **segment, weiri_spot *spot, bool *swept, const weiri_call *call,
                   const weiri_views *views, weir_decision *decision)
{
    weir *limiter = ask->limiter;
    if (!spot->cell) {
        weiri_segment *next = weiri_find_room(ask, *segment);
        if (!next)
            return unrecorded(ask, call, views, WEIR_NO_MEMORY, decision);
        *segment = next;
        return AGAIN;
    }
    int room = spot->held ? 1 : weiri_reserve(ask, segment, swept);
    if (room <= 0)
        return room == 0 ? unrecorded(ask, call, views, WEIR_TABLE_FULL, decision) : AGAIN;
    weiri_node *node = node_new(limiter); /* before claiming: a cell without a charge would help nobody */
    if (node)
        node->drop = spot->state.word[1]; /* 0 if there was none before it */
    bool charged = node && charge_private(ask, node, call, views);
    bool held = spot->held || (charged && weiri_claim(spot->cell, weiri_identity_pair(ask->identity)));
    if (!held)
        weiri_table_unreserve(&limiter->table, 1);
    if (charged && held) {
        if (decision) /* before others can charge it */
            weiri_answer(&limiter->rules, node->states, call, views, true, decision);
        weiri_pair state = {{(uintptr_t)node, bound_of(limiter, node)}};
        if (weiri_cas_128(&spot->cell->state, spot->state, state))
            return 1;
    }
    weiri_node_free(limiter, node);
    return charged ? AGAIN : unrecorded(ask, call, views, WEIR_NO_MEMORY, decision);
}

void weiri_node_approach(const weiri_cell *cell)
{
    weiri_pair state = weiri_load_snapshot_128(&cell->state);
    if (weiri_is_node(state))
        weiri_node_prefetch(weiri_node_of(state)); /* nothing is read there: it may be gone (N5) */
}

/* Any call, from `segment` on. */
static __attribute__((noinline)) int call_slow(weiri_ask *ask, weiri_segment *segment, weir_decision *decision)
{
    weiri_table *table = &ask->limiter->table;
    bool swept = false;
    int result;
    do {
        weiri_spot spot = weiri_table_look(table, segment, ask->identity);
        if (weiri_is_node(spot.state)) {
            result = call_node(ask, &segment, &spot, decision);
        } else { /* UNINIT, or FRESH and its drop time */
            weiri_call call = {ask->now, floor_of(&spot), ask->cost, ask->limits->limit};
            weiri_views views;
            if (!decide_on_nothing(ask, &call, &views, decision))
                return views.accepted;
            result = install(ask, &segment, &spot, &swept, &call, &views, decision);
        }
    } while (result == AGAIN);
    return result;
}

/* The common call by itself, so that it needs little of the stack: the key has a node, and nothing is under way. */
__attribute__((flatten)) int weiri_node_call(weiri_ask *ask, weir_decision *decision)
{
    const weiri_table *table = &ask->limiter->table;
    weiri_segment *segment = weiri_directory_find(&table->directory, ask->identity->hash);
    const weiri_spot spot = weiri_table_look(table, segment, ask->identity);
    if (!weiri_is_node(spot.state) || !spot.cell)
        return call_slow(ask, segment, decision);
    weiri_node *node = weiri_node_of(spot.state);
    const uint64_t floor = spot.floor;
    weiri_node_prefetch(node);
    if (weiri_refusal_covers(node, ask, floor, decision))
        return 0;
    if (!ask->holding && !weiri_gate_is_open())
        return WEIRI_CLOSED_GATE;
    weiri_spinlock_lock(&node->lock);
    if (!weiri_charge_quick(node, ask, floor, decision)) {
        enum outcome outcome = decide_rest(node, ask, floor, decision);
        return outcome == ACCEPTED || outcome == REFUSED ? outcome == ACCEPTED : call_slow(ask, segment, decision);
    }
    weiri_spinlock_unlock(&node->lock);
    return 1;
}

int weiri_node_reset(weiri_ask *ask, weir_decision *unused)
{
    (void)unused;
    weiri_table *table = &ask->limiter->table;
    weiri_segment *segment = weiri_directory_find(&table->directory, ask->identity->hash);
    for (;;) {
        weiri_spot spot = weiri_table_look(table, segment, ask->identity);
        if (!weiri_is_node(spot.state))
            return 1; /* nothing charged */
        if (!spot.cell) {
            segment = weiri_advance(table, segment, ask->identity);
            ask->slow = true;
            continue;
        }
        if (!ask->holding && !weiri_gate_is_open())
            return WEIRI_CLOSED_GATE;
        weiri_node *node = weiri_node_of(spot.state);
        weiri_husks husks = {.chunks = {NULL}};
        weiri_spinlock_lock(&node->lock);
        bool dead = node->dead;
        uint64_t drop = node->drop;
        if (!dead) {
            weiri_refusal_clear(node); /* frees quota: nothing published may outlive it */
            weiri_clear(&ask->limiter->rules, node->states);
            weiri_node_gut(ask->limiter, node, &husks);
        }
        weiri_spinlock_unlock(&node->lock);
        weiri_husks_free(ask->limiter, &husks);
        if (!dead)
            return 1;
        bury(spot.cell, spot.state, drop);
    }
}
