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
            if (weiri_cas_128(&cell->state, state, (weiri_pair){{WEIRI_FRESH, node->drop}}))
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

/* Has a sweep that trims something to look for in nodes that have not expired? Records leave a log before that. */
static bool has_logs(const weir *limiter)
{
    bool logs = false;
    for (unsigned i = 0; i < limiter->rules.count; i++)
        logs |= weiri_is_log(limiter, i);
    return logs;
}

enum swept { KEPT, DROPPED, BUSY };

/* One node. Nobody waits for its lock. */
static enum swept sweep_node(weir *limiter, weiri_segment *segment, weiri_cell *cell, weiri_pair state, uint64_t time,
                             bool trims)
{
    weiri_node *node = weiri_node_of(state);
    weiri_husks husks;
    size_t loose[WEIR_RULES_MAX];
    if (!weiri_spinlock_try(&node->lock))
        return BUSY;
    bool live = !node->dead && weiri_expires(&limiter->rules, node->states) > time;
    if (node->dead || live) { /* dead: another sweep is at it */
        uint64_t bound = 0;
        husks = (weiri_husks){.chunks = {NULL}};
        if (live && trims)
            trim_now(limiter, node, time, &husks, loose);
        if (live)
            bound = weiri_expires_surely(&limiter->rules, node->states);
        weiri_spinlock_unlock(&node->lock);
        if (bound > state.word[1]) /* where this fails the cell has changed: the next sweep will look */
            weiri_cas_128(&cell->state, state, (weiri_pair){{state.word[0], bound}});
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
    take_out(limiter, segment, cell, weiri_load_once_128(&cell->identity), node);
    return DROPPED;
}

/* Is there a node in this state that a sweep must look at? Frozen: whoever sweeps the successor will see to it. */
static inline bool due(weiri_pair state, uint64_t time, bool bounded)
{
    return !(bounded && state.word[1] > time) && weiri_is_node(state) && !(state.word[0] & WEIRI_FROZEN); /* N6 */
}

/* Does a key stand here that a migration at `time` would drop? One claimed and never installed is: of a thread that was
 * lost in a fork. */
static inline bool is_dropped(const weir *limiter, const weiri_cell *cell, weiri_pair state, uint64_t time)
{
    return weiri_load_once_128(&cell->identity).word[0] != 0 &&
           (weiri_uninit(state) || !weiri_node_live(limiter, state, time));
}

/* The nodes that are due among 64 cells, as bits, and all of them fetched at once: one by one each would be missed.
 * *dead: keys without a node stand there that a migration would drop. */
static uint64_t look(const weir *limiter, const weiri_segment *segment, uint32_t from, uint64_t time, bool bounded,
                     bool *dead)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < 64 && from + i < segment->capacity; i++) {
        const weiri_cell *cell = &segment->cell[from + i];
        weiri_pair state = weiri_load_snapshot_128(&cell->state);
        if (due(state, time, bounded)) {
            weiri_node_prefetch(weiri_node_of(state));
            found |= UINT64_C(1) << i;
        } else if (state.word[1] <= time && is_dropped(limiter, cell, weiri_thawed(state), time)) {
            *dead = true;
        }
    }
    return found;
}

enum weiri_swept weiri_sweep_nodes(weir *limiter, weiri_segment *segment, uint64_t time, bool trims, bool holding)
{
    const bool bounded = !trims || !has_logs(limiter);
    bool dead = false;
    uint64_t again = UINT64_MAX; /* cells to look at, by their number modulo 64; in round two those that were busy */
    for (unsigned round = 0; round < 2 && again != 0; round++) {
        uint64_t busy = 0;
        for (uint32_t from = 0; from < segment->capacity; from += 64) {
            uint64_t left = look(limiter, segment, from, time, bounded, &dead) & again;
            for (; left != 0; left &= left - 1) {
                weiri_cell *cell = &segment->cell[from + (uint32_t)__builtin_ctzll(left)];
                weiri_pair state = weiri_load_snapshot_128(&cell->state);
                if (!due(state, time, bounded))
                    continue;
                if (!holding && !weiri_gate_is_open())
                    return WEIRI_SWEEP_CLOSED;
                enum swept swept = sweep_node(limiter, segment, cell, state, time, trims);
                dead |= swept == DROPPED;
                busy |= swept == BUSY ? left & -left : 0;
            }
        }
        again = busy;
    }
    return dead ? WEIRI_SWEEP_DEAD : WEIRI_SWEEP_LIVE;
}

/* One segment, inside a read section. Returns how many cells were looked at; *hash moves on behind it. */
static uint64_t sweep_segment(weir *limiter, uint64_t *hash, uint64_t time, bool trims, bool holding, bool *closed)
{
    weiri_segment *segment = weiri_table_settled(&limiter->table, *hash);
    enum weiri_swept swept = WEIRI_SWEEP_DEAD;
    if (limiter->nodes)
        swept = weiri_sweep_nodes(limiter, segment, time, trims, holding);
    *closed = swept == WEIRI_SWEEP_CLOSED;
    if (*closed)
        return 0;
    uint64_t looked = segment->capacity;
    if (!weiri_forward(segment) && (trims || swept == WEIRI_SWEEP_DEAD)) /* a call wants room, not memory */
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
