#include "table.h"

#include "migrate.h"

bool weiri_table_init(weiri_table *table, weiri_memory *memory)
{
    table->memory = memory;
    memory->pool[WEIRI_BLOCK_SEGMENT].of.size = weiri_segment_fills(WEIRI_CAPACITY_MAX);
    weiri_segment *segment = weiri_segment_new(memory, 0, 0, 0, 0);
    if (!segment)
        return false;
    if (weiri_directory_init(&table->directory, memory, segment))
        return true;
    weiri_segment_free(memory, segment);
    return false;
}

/* A segment and what it leads to. A migration that was under way is completed first: that takes no memory. */
static void destroy_segment(weiri_table *table, weiri_segment *segment, void (*visit)(void *argument, weiri_pair state),
                            void *argument)
{
    weiri_migration *migration = weiri_forward(segment);
    if (migration) {
        weiri_complete(table, segment);
        for (unsigned i = 0; i < 2; i++)
            if (migration->successor[i] && migration->successor[i] != weiri_not_selected(migration))
                destroy_segment(table, migration->successor[i], visit, argument);
    } else {
        for (uint32_t i = 0; i < segment->capacity; i++) {
            weiri_pair state = weiri_load_snapshot_128(&segment->cell[i].state);
            if (!weiri_uninit(state))
                visit(argument, state);
        }
    }
    weiri_segment_destroy(table->memory, segment);
}

void weiri_table_destroy(weiri_table *table, void (*visit)(void *argument, weiri_pair state), void *argument)
{
    uint64_t hash = 0;
    do {
        weiri_segment *segment = weiri_directory_find(&table->directory, hash);
        hash = weiri_segment_end(segment);
        destroy_segment(table, segment, visit, argument);
    } while (hash != 0);
    weiri_directory_destroy(&table->directory, table->memory);
}

weiri_spot weiri_table_look_slow(const weiri_table *table, weiri_segment *segment, const weir_identity *identity)
{
    weiri_spot spot = {.cell = NULL};
    bool passed = false;
    for (;;) {
        spot.floor = segment->floor > spot.floor ? segment->floor : spot.floor;
        weiri_finding finding = weiri_find(segment, weiri_identity_pair(identity), identity->hash);
        if (finding.found == WEIRI_HELD) {
            weiri_pair state = weiri_load_snapshot_128(&finding.cell->state);
            if (!(state.word[0] & WEIRI_FROZEN)) {
                if (weiri_uninit(state) && passed)
                    return spot; /* what was frozen stands until its copy is made */
                return (weiri_spot){finding.cell, state, spot.floor, true};
            }
            const weiri_migration *migration = weiri_forward(segment); /* S2: set */
            state = weiri_thawed(state);
            if (!weiri_uninit(state) && !table->live(table->context, state, migration->time)) {
                state = (weiri_pair){{0, 0}}; /* dropped: as if its successor's floor were seen already */
                spot.floor = migration->time > spot.floor ? migration->time : spot.floor;
            }
            spot.state = state;
        } else if (finding.found == WEIRI_FREE) {
            if (!passed)
                spot.cell = finding.cell;
            return spot;
        }
        const weiri_migration *migration = weiri_forward(segment);
        segment = migration ? weiri_successor(segment, migration, identity->hash) : NULL;
        if (!segment)
            return spot; /* full, or the selection is open: nothing is copied so far */
        passed = true;
    }
}

bool weiri_table_reserve(weiri_table *table)
{
    if (table->max_keys == 0) {
        weiri_sum_add(&table->keys_sum, 1);
        return true;
    }
    uint64_t keys;
    do {
        keys = weiri_load_relaxed_64(&table->keys);
        if (keys >= table->max_keys)
            return false;
    } while (!weiri_cas_64(&table->keys, keys, keys + 1));
    return true;
}

void weiri_table_unreserve(weiri_table *table, uint64_t keys)
{
    if (keys == 0)
        return;
    if (table->max_keys == 0)
        weiri_sum_add(&table->keys_sum, 0 - keys);
    else
        weiri_sub_relaxed_64(&table->keys, keys);
}

uint64_t weiri_table_count(const weiri_table *table)
{
    return table->max_keys == 0 ? weiri_sum_read(&table->keys_sum) : weiri_load_relaxed_64(&table->keys);
}

weiri_segment *weiri_table_settled(weiri_table *table, uint64_t hash)
{
    weiri_segment *segment = weiri_directory_find(&table->directory, hash);
    while (weiri_forward(segment))
        segment = weiri_help(table, segment, hash);
    return segment;
}
