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

/* No decision on the node runs earlier than `time` any more; a refusal that was worked out for one says so no longer. */
static void raise_drop(weiri_node *node, uint64_t time)
{
    weiri_refusal_clear(node);
    node->drop = time > node->drop ? time : node->drop;
}

/* Moves a log into memory that fits it. The lock is tried, not waited for, and held for a few records at a time. */
static void trim(weir *limiter, weiri_node *node, unsigned i, size_t size)
{
    const weiri_rule *rule = &limiter->rules.rule[i];
    weiri_log *log = weiri_log_of(limiter, node, i);
    void *memory = weiri_allocate(&limiter->memory, 16, size);
    if (!memory)
        return;
    weiri_husks husks = {.chunks = {NULL}};
    weiri_log_move move = weiri_log_move_into(memory, size, rule);
    enum weiri_moved moved = WEIRI_MOVE_MORE;
    while (moved == WEIRI_MOVE_MORE && weiri_spinlock_try(&node->lock)) {
        moved = node->dead ? WEIRI_MOVE_FAILED : weiri_log_move_some(log, rule, &move);
        if (moved == WEIRI_MOVE_DONE) {
            husks.chunks[i] = weiri_log_shed(log, rule, false);
            husks.index[i] = weiri_log_drop_index(log, &husks.index_size[i]);
        }
        weiri_spinlock_unlock(&node->lock);
    }
    weiri_release(&limiter->memory, move.chunk, weiri_chunk_size(move.chunk, rule));
    weiri_husks_free(limiter, &husks);
}

/* Takes what is dead out of the logs of a live node, and tells which would fit less memory. Under the lock. */
static void trim_now(const weir *limiter, weiri_node *node, uint64_t time, weiri_husks *husks,
                     size_t loose[WEIR_RULES_MAX])
{
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        const weiri_rule *rule = &limiter->rules.rule[i];
        loose[i] = 0;
        if (!weiri_is_log(limiter, i))
            continue;
        weiri_log *log = weiri_log_of(limiter, node, i);
        bool forgot = weiri_log_forget(log, rule, time);
        if (forgot)
            raise_drop(node, time);
        husks->chunks[i] = weiri_log_go_home(log, rule);
        if (forgot && !husks->chunks[i])
            husks->chunks[i] = weiri_log_shed(log, rule, false);
        if (husks->chunks[i])
            husks->index[i] = weiri_log_drop_index(log, &husks->index_size[i]);
        loose[i] = weiri_log_loose(log, rule);
    }
}

enum swept { KEPT, DROPPED, BUSY };

/* One node. Nobody waits for its lock. */
static enum swept sweep_node(weir *limiter, weiri_segment *segment, weiri_cell *cell, weiri_pair identity,
                             weiri_node *node, uint64_t time, bool trims)
{
    weiri_husks husks;
    size_t loose[WEIR_RULES_MAX];
    if (!weiri_spinlock_try(&node->lock))
        return BUSY;
    bool live = !node->dead && weiri_expires(&limiter->rules, node->states) > time;
    if (node->dead || live) { /* dead: another sweep is at it */
        husks = (weiri_husks){.chunks = {NULL}};
        if (live && trims)
            trim_now(limiter, node, time, &husks, loose);
        weiri_spinlock_unlock(&node->lock);
        weiri_husks_free(limiter, &husks);
        for (unsigned i = 0; live && trims && i < limiter->rules.count; i++)
            if (loose[i] > 0)
                trim(limiter, node, i, loose[i]);
        return KEPT;
    }
    node->dead = true;
    raise_drop(node, time);
    weiri_node_gut(limiter, node, &husks);
    weiri_spinlock_unlock(&node->lock);
    weiri_husks_free(limiter, &husks);
    take_out(limiter, segment, cell, identity, node);
    return DROPPED;
}

bool weiri_sweep_nodes(weir *limiter, weiri_segment *segment, uint64_t time, bool trims, bool holding)
{
    uint64_t again = UINT64_MAX; /* cells to look at, by their number modulo 64; in round two those that were busy */
    for (unsigned round = 0; round < 2 && again != 0; round++) {
        uint64_t busy = 0;
        for (uint32_t i = 0; i < segment->capacity; i++) {
            if (!(again >> (i % 64) & 1))
                continue;
            weiri_cell *cell = &segment->cell[i];
            weiri_pair state = weiri_load_snapshot_128(&cell->state);
            if (!weiri_is_node(state) || (state.word[0] & WEIRI_FROZEN))
                continue; /* frozen: whoever sweeps the successor will see to it */
            if (!holding && !weiri_gate_is_open())
                return false;
            weiri_pair identity = weiri_load_once_128(&cell->identity);
            if (sweep_node(limiter, segment, cell, identity, weiri_node_of(state), time, trims) == BUSY)
                busy |= UINT64_C(1) << (i % 64);
        }
        again = busy;
    }
    return true;
}

/* One segment, inside a read section. Returns how many cells were looked at; *hash moves on behind it. */
static uint64_t sweep_segment(weir *limiter, uint64_t *hash, uint64_t time, bool trims, bool holding, bool *closed)
{
    weiri_segment *segment = weiri_table_settled(&limiter->table, *hash);
    *closed = limiter->nodes && !weiri_sweep_nodes(limiter, segment, time, trims, holding);
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
    sweep_segment(limiter, &hash, time, false, holding, &closed);
    if (!closed)
        weiri_store_release_64(&limiter->sweep_at, hash);
}

/* The next segment; waits for the fork gate where that is closed. Returns how many cells were looked at. */
static uint64_t sweep_waiting(weir *limiter, uint64_t *hash, uint64_t time, bool holding)
{
    bool closed, waited = false;
    uint64_t looked;
    for (;;) {
        weiri_rcu_enter();
        looked = sweep_segment(limiter, hash, time, true, holding || waited, &closed);
        weiri_rcu_leave();
        if (!closed)
            break;
        waited = weiri_gate_wait();
    }
    if (waited)
        weiri_gate_release(true);
    return looked;
}

int weiri_sweep_some(weir *limiter, uint64_t *hash, uint64_t time, uint64_t max_keys, bool holding)
{
    uint64_t looked = 0;
    do {
        looked += 1 + sweep_waiting(limiter, hash, time, holding);
        if (!holding && limiter->tended) /* without a janitor nothing is freed here: a sweep does not wait */
            weiri_relieve(limiter);
    } while (*hash != 0 && (max_keys == 0 || looked < max_keys));
    return *hash == 0;
}

int weir_sweep(weir *limiter, uint64_t now, uint64_t max_keys)
{
    uint64_t hash = 0;
    if (!weiri_resolve_now(limiter, &now))
        return -EINVAL;
    if (!weiri_gate_ready())
        return -ENOMEM;
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
    int error = weiri_reclaim(&limiter->memory);
    while (weiri_tend_some(&limiter->memory))
        continue;
    return error;
}
