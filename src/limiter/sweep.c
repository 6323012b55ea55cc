/* Dropping what has expired, and giving memory back. */
#include <errno.h>

#include "node.h"

/*
 * A node judged dead leaves the table (N3, N4): the cell that holds it is swapped to FRESH. If a migration has frozen
 * the cell, its copy is in the successor or will be, so that is completed and followed, until the authoritative cell
 * does not hold the node. Then it is retired, once, by this sweep alone.
 */
static void take_out(weir *limiter, weiri_segment *segment, weiri_cell *cell, weiri_pair identity, weiri_node *node)
{
    uint64_t hash = weiri_identity_hash(limiter->table.hash_key, identity);
    for (;;) {
        weiri_pair state = weiri_load_snapshot_128(&cell->state);
        if (!weiri_is_node(state) || weiri_node_of(state) != node)
            break; /* somebody who found it dead has done this, before any freeze */
        if (!(state.word[0] & WEIRI_FROZEN)) {
            uint64_t drop = node->drop > state.word[1] ? node->drop : state.word[1];
            if (weiri_cas_128(&cell->state, state, (weiri_pair){{WEIRI_FRESH, drop}}))
                break;
            continue; /* frozen meanwhile, or taken out by somebody else */
        }
        segment = weiri_help(&limiter->table, segment, hash);
        weiri_finding finding = weiri_find(segment, identity, hash);
        if (finding.found != WEIRI_HELD)
            break;
        cell = finding.cell;
    }
    weiri_node_retire(limiter, node);
}

/*
 * Gives a log with few live records memory that fits them. What does not count at `time` is let go, so no later decision
 * on this node may run earlier. The lock is tried, not waited for; `need` is from the last time it was held.
 */
static void trim(weir *limiter, weiri_node *node, unsigned i, uint64_t time, weiri_log_need need)
{
    const weiri_rule *rule = &limiter->rules.rule[i];
    weiri_log *log = weiri_log_of(limiter, node, i);
    void *chunk = need.chunk ? weiri_allocate(&limiter->memory, 16, need.chunk) : NULL;
    void *index = need.index ? weiri_allocate(&limiter->memory, 16, need.index) : NULL;
    size_t chunk_size = chunk ? need.chunk : 0, index_size = index ? need.index : 0;
    weiri_husks husks = {.chunks = {[0] = NULL}};
    bool there = (chunk || need.chunk == 0) && (index || need.index == 0);
    if (there && weiri_spinlock_try(&node->lock)) {
        if (!node->dead) {
            node->drop = time > node->drop ? time : node->drop;
            weiri_log_view view = weiri_log_look(log, rule, time, 0);
            weiri_log_supply(log, rule, &view, true, &chunk, &chunk_size, &index, &index_size);
            husks.chunks[i] = weiri_log_shed(log, rule, false);
        }
        weiri_spinlock_unlock(&node->lock);
    }
    weiri_husks_free(limiter, &husks);
    weiri_release(&limiter->memory, chunk, chunk_size);
    weiri_release(&limiter->memory, index, index_size);
}

/* What trimming the logs of a live node needs. Under the lock. True: something is to be gained. */
static bool trim_needs(const weir *limiter, weiri_node *node, uint64_t time, weiri_log_need needs[WEIR_RULES_MAX])
{
    bool any = false;
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        const weiri_rule *rule = &limiter->rules.rule[i];
        needs[i] = weiri_is_log(limiter, i) ? weiri_log_trim_needs(weiri_log_of(limiter, node, i), rule, time)
                                            : (weiri_log_need){0, 0};
        any = any || needs[i].chunk != 0 || needs[i].index != 0;
    }
    return any;
}

enum swept { KEPT, DROPPED, BUSY };

/* One node. Nobody waits for its lock. */
static enum swept sweep_node(weir *limiter, weiri_segment *segment, weiri_cell *cell, weiri_pair identity,
                             weiri_node *node, uint64_t time)
{
    weiri_husks husks;
    weiri_log_need needs[WEIR_RULES_MAX];
    if (!weiri_spinlock_try(&node->lock))
        return BUSY;
    bool live = !node->dead && weiri_expires(&limiter->rules, node->states) > time;
    if (node->dead || live) { /* dead: another sweep is at it */
        bool gain = live && trim_needs(limiter, node, time, needs);
        weiri_spinlock_unlock(&node->lock);
        for (unsigned i = 0; gain && i < limiter->rules.count; i++)
            if (needs[i].chunk != 0 || needs[i].index != 0)
                trim(limiter, node, i, time, needs[i]);
        return KEPT;
    }
    node->dead = true;
    node->drop = time > node->drop ? time : node->drop;
    weiri_refusal_clear(node);
    weiri_node_gut(limiter, node, &husks);
    weiri_spinlock_unlock(&node->lock);
    weiri_husks_free(limiter, &husks);
    take_out(limiter, segment, cell, identity, node);
    return DROPPED;
}

bool weiri_sweep_nodes(weir *limiter, weiri_segment *segment, uint64_t time, bool holding)
{
    for (unsigned round = 0; round < 2; round++) { /* the second for those that were busy */
        bool busy = false;
        for (uint32_t i = 0; i < segment->capacity; i++) {
            weiri_cell *cell = &segment->cell[i];
            weiri_pair state = weiri_load_snapshot_128(&cell->state);
            if (!weiri_is_node(state) || (state.word[0] & WEIRI_FROZEN))
                continue; /* frozen: whoever sweeps the successor will see to it */
            if (!holding && !weiri_gate_is_open())
                return false;
            weiri_pair identity = weiri_load_once_128(&cell->identity);
            busy = sweep_node(limiter, segment, cell, identity, weiri_node_of(state), time) == BUSY || busy;
        }
        if (!busy)
            break;
    }
    return true;
}

/* One segment, inside a read section. Returns how many cells were looked at; *hash moves on behind it. */
static uint64_t sweep_segment(weir *limiter, uint64_t *hash, uint64_t time, bool holding, bool *closed)
{
    weiri_segment *segment = weiri_table_settled(&limiter->table, *hash);
    *closed = limiter->nodes && !weiri_sweep_nodes(limiter, segment, time, holding);
    if (*closed)
        return 0;
    uint64_t looked = segment->capacity;
    if (!weiri_forward(segment))
        weiri_compact(&limiter->table, segment, time);
    if (weiri_forward(segment)) /* of others too: what is dropped is given back now */
        weiri_help(&limiter->table, segment, *hash);
    *hash = weiri_segment_end(segment);
    return looked;
}

void weiri_sweep_next(weir *limiter, uint64_t time, bool holding)
{
    bool closed;
    uint64_t hash = weiri_load_acquire_64(&limiter->sweep_at);
    sweep_segment(limiter, &hash, time, holding, &closed);
    if (!closed)
        weiri_store_release_64(&limiter->sweep_at, hash);
}

int weiri_sweep_some(weir *limiter, uint64_t *hash, uint64_t time, uint64_t max_keys, bool holding)
{
    uint64_t looked = 0;
    do {
        bool closed, waited = false;
        weiri_rcu_enter();
        looked += 1 + sweep_segment(limiter, hash, time, holding, &closed);
        weiri_rcu_leave();
        if (closed)
            waited = weiri_gate_wait();
        if (waited) { /* inside a section of the host's own: this one as a holder */
            weiri_rcu_enter();
            sweep_segment(limiter, hash, time, true, &closed);
            weiri_rcu_leave();
            weiri_gate_release();
        }
        if (!holding)
            weiri_relieve(limiter);
    } while (*hash != 0 && (max_keys == 0 || looked < max_keys));
    return *hash == 0;
}

int weir_sweep(weir *limiter, uint64_t now, uint64_t max_keys)
{
    uint64_t hash = 0;
    if (!weiri_resolve_now(limiter, &now))
        return -EINVAL;
    uint64_t time = weiri_drop_time(limiter, now);
    if (max_keys == 0)
        return weiri_sweep_some(limiter, &hash, time, 0, false);
    hash = weiri_load_acquire_64(&limiter->sweep_at);
    int end = weiri_sweep_some(limiter, &hash, time, max_keys, false);
    weiri_store_release_64(&limiter->sweep_at, hash); /* two at once overlap at worst */
    return end;
}

int weir_reclaim(weir *limiter)
{
    return weiri_reclaim(&limiter->memory);
}
