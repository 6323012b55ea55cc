#include "migrate.h"

enum { DEPTH_MAX = 48 }; /* the lower bits of a hash find the cell */

static bool is_key(weiri_pair identity)
{
    return identity.word[0] != 0 && identity.word[0] != WEIRI_MARK_SEALED;
}

weiri_census weiri_segment_census(const weiri_table *table, const weiri_segment *segment, uint64_t time)
{
    weiri_census census = {0, 0};
    for (uint32_t i = 0; i < segment->capacity; i++) {
        if (!is_key(weiri_load_once_128(&segment->cell[i].identity)))
            continue;
        weiri_pair state = weiri_thawed(weiri_load_snapshot_128(&segment->cell[i].state));
        census.claimed++;
        if (!weiri_uninit(state) && table->live(table->context, state, time))
            census.live++;
    }
    return census;
}

/* Would a split leave all keys together? */
static bool all_one_side(const weiri_table *table, const weiri_segment *segment)
{
    uint64_t sides[2] = {0, 0};
    for (uint32_t i = 0; i < segment->capacity && (sides[0] == 0 || sides[1] == 0); i++) {
        weiri_pair identity = weiri_load_once_128(&segment->cell[i].identity);
        if (is_key(identity))
            sides[weiri_hash_bits(weiri_identity_hash(table->hash_key, identity), segment->depth, 1)]++;
    }
    return sides[0] == 0 || sides[1] == 0;
}

/* Publishes a descriptor. True where the segment has one now, whoever made it. */
static bool start(weiri_table *table, weiri_segment *segment, uint64_t time, bool split, uint32_t capacity,
                  uint32_t small_capacity)
{
    weiri_migration *migration = weiri_migration_new(table->memory, segment, time, split, capacity, small_capacity);
    if (!migration)
        return false;
    /* Release: the descriptor and the empty successors are complete before anybody finds them. */
    if (weiri_cas_pointer(&segment->forward, NULL, migration)) {
        bool grows = split || capacity > segment->capacity;
        weiri_sum_add(grows ? &table->splits : &table->compactions, 1);
    } else {
        weiri_migration_free(table->memory, migration);
    }
    return true;
}

bool weiri_make_room(weiri_table *table, weiri_segment *segment, uint64_t time)
{
    uint32_t capacity = segment->capacity;
    if (capacity == 0)
        return start(table, segment, time, false, WEIRI_CAPACITY_MIN, WEIRI_CAPACITY_MIN);
    weiri_census census = weiri_segment_census(table, segment, time);
    if (census.live < census.claimed && census.live <= capacity - capacity / 4)
        return start(table, segment, time, false, capacity, capacity);
    if (capacity < WEIRI_CAPACITY_MAX)
        return start(table, segment, time, false, 2 * capacity, 2 * capacity);
    bool splits = segment->depth < DEPTH_MAX && !all_one_side(table, segment) &&
                  weiri_directory_may_deepen(&table->directory, segment);
    if (splits)
        return start(table, segment, time, true, capacity, capacity);
    if (capacity > UINT32_MAX / 2)
        return false;
    return start(table, segment, time, false, 2 * capacity, 2 * capacity);
}

bool weiri_compact(weiri_table *table, weiri_segment *segment, uint64_t time)
{
    weiri_census census = weiri_segment_census(table, segment, time);
    uint32_t small = census.live == 0 ? 0 : WEIRI_CAPACITY_MIN;
    while (small / 2 < census.live)
        small *= 2;
    if (small >= segment->capacity) {
        if (census.live == census.claimed)
            return false;
        small = segment->capacity;
    }
    return start(table, segment, time, false, segment->capacity, small);
}

bool weiri_split(weiri_table *table, weiri_segment *segment, uint64_t time)
{
    uint32_t capacity = segment->capacity == 0 ? WEIRI_CAPACITY_MIN : segment->capacity;
    return segment->depth < DEPTH_MAX && start(table, segment, time, true, capacity, capacity);
}

/* Helpers start at different cells, so that they do not do the same work in step. */
static uint32_t first_helped(const weiri_segment *segment)
{
    uint64_t spread = (uint64_t)(uintptr_t)&spread >> 12; /* threads' stacks lie pages apart */
    return segment->capacity == 0 ? 0
                                  : (uint32_t)((spread * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (segment->capacity - 1);
}

/* EMPTY -> SEALED, or the identity that was claimed first. */
static weiri_pair seal(weiri_cell *cell)
{
    const weiri_pair sealed = {{WEIRI_MARK_SEALED, 0}};
    weiri_pair identity = weiri_load_once_128(&cell->identity);
    if (identity.word[0] != 0)
        return identity;
    if (weiri_cas_128(&cell->identity, (weiri_pair){{0, 0}}, sealed))
        return sealed;
    return weiri_load_once_128(&cell->identity);
}

/* The state, final from now on, FROZEN taken off. Lock-free: a failed swap is a charge made or the freeze itself. */
static weiri_pair freeze(weiri_cell *cell)
{
    for (;;) {
        weiri_pair state = weiri_load_snapshot_128(&cell->state);
        if (state.word[0] & WEIRI_FROZEN)
            return weiri_thawed(state);
        weiri_pair frozen = {{state.word[0] | WEIRI_FROZEN, state.word[1]}};
        if (weiri_cas_128(&cell->state, state, frozen))
            return state;
    }
}

/* Is this cell, frozen, to be copied? */
static bool carries(const weiri_table *table, const weiri_migration *migration, weiri_pair identity, weiri_pair state)
{
    return identity.word[0] != WEIRI_MARK_SEALED && !weiri_uninit(state) &&
           table->live(table->context, state, migration->time);
}

/* Freezes every cell; returns how many carry something, the same number for everybody. */
static uint32_t freeze_all(const weiri_table *table, weiri_segment *segment, const weiri_migration *migration)
{
    uint32_t from = first_helped(segment), live = 0;
    for (uint32_t i = 0; i < segment->capacity; i++) {
        weiri_cell *cell = &segment->cell[(from + i) & (segment->capacity - 1)];
        weiri_pair identity = seal(cell);
        if (identity.word[0] != WEIRI_MARK_SEALED && carries(table, migration, identity, freeze(cell)))
            live++;
    }
    return live;
}

/* Fixes the selection if it is open. `live` is final: every counter says the same, so whoever wins fixes the same. */
static void select_successor(weiri_migration *migration, uint32_t live)
{
    if (weiri_load_acquire_32(&migration->selected) == 0)
        weiri_cas_32(&migration->selected, 0, live <= migration->small_fits ? 2 : 1);
}

/*
 * One key into the successor. Its claims go over the whole probe order: at most the predecessor's live keys are there,
 * and they fit. SEALED means that the successor is itself migrating, so this copy was made long ago.
 */
static void copy(weiri_segment *successor, weiri_pair identity, uint64_t hash, weiri_pair state)
{
    uint32_t first = weiri_first_cell(successor, hash);
    for (uint32_t i = 0; i < successor->capacity; i++) {
        weiri_cell *cell = weiri_probed_cell(successor, first, i);
        weiri_pair here = weiri_load_once_128(&cell->identity);
        if (here.word[0] == 0)
            here = weiri_claim(cell, identity) ? identity : weiri_load_once_128(&cell->identity);
        if (here.word[0] == WEIRI_MARK_SEALED)
            return;
        if (weiri_pair_equal(here, identity)) {
            if (weiri_uninit(weiri_load_snapshot_128(&cell->state)))
                weiri_cas_128(&cell->state, (weiri_pair){{0, 0}}, state);
            return;
        }
    }
}

/* Copies what is live; returns how many identities were dropped. All is frozen, the selection fixed. */
static uint32_t copy_all(const weiri_table *table, weiri_segment *segment, const weiri_migration *migration)
{
    uint32_t from = first_helped(segment), dropped = 0;
    for (uint32_t i = 0; i < segment->capacity; i++) {
        const weiri_cell *cell = &segment->cell[(from + i) & (segment->capacity - 1)];
        weiri_pair identity = weiri_load_once_128(&cell->identity);
        weiri_pair state = weiri_thawed(weiri_load_snapshot_128(&cell->state));
        if (identity.word[0] == WEIRI_MARK_SEALED)
            continue;
        if (!carries(table, migration, identity, state)) {
            dropped++;
            continue;
        }
        uint64_t hash = weiri_identity_hash(table->hash_key, identity);
        copy(weiri_successor(segment, migration, hash), identity, hash, state);
    }
    return dropped;
}

void weiri_complete(weiri_table *table, weiri_segment *segment)
{
    weiri_migration *migration = weiri_forward(segment);
    if (weiri_done(segment))
        return;
    select_successor(migration, freeze_all(table, segment, migration));
    uint32_t dropped = copy_all(table, segment, migration);
    if (!weiri_cas_32(&segment->done, 0, 1)) /* release: the copies come before it */
        return;
    weiri_table_unreserve(table, dropped); /* the accounts are the winner's */
    weiri_sum_add(&table->swept, dropped);
}

weiri_segment *weiri_help(weiri_table *table, weiri_segment *segment, uint64_t hash)
{
    weiri_complete(table, segment);
    weiri_directory_publish(&table->directory, table->memory, hash);
    return weiri_successor(segment, weiri_forward(segment), hash);
}

weiri_segment *weiri_advance(weiri_table *table, weiri_segment *segment, const weir_identity *identity)
{
    weiri_migration *migration = weiri_forward(segment);
    weiri_pair key = weiri_identity_pair(identity);
    weiri_finding finding = weiri_find(segment, key, identity->hash);
    if (finding.found != WEIRI_HELD || weiri_done(segment))
        return weiri_help(table, segment, identity->hash);
    weiri_pair state = weiri_load_snapshot_128(&finding.cell->state);
    if (!(state.word[0] & WEIRI_FROZEN) || !carries(table, migration, key, weiri_thawed(state)))
        return weiri_help(table, segment, identity->hash);
    if (!weiri_successor(segment, migration, identity->hash))
        select_successor(migration, freeze_all(table, segment, migration));
    weiri_segment *successor = weiri_successor(segment, migration, identity->hash);
    copy(successor, key, identity->hash, weiri_thawed(state));
    weiri_sum_add(&table->helped, 1);
    return successor;
}
