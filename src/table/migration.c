#include "migration.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

weiri_migration *weiri_migration_new(weiri_memory *memory, const weiri_segment *segment, uint64_t time, bool split,
                                     uint32_t capacity, uint32_t small_capacity)
{
    weiri_migration *migration = weiri_allocate(memory, 16, sizeof *migration);
    if (!migration)
        return NULL;
    bool two = split || small_capacity < capacity;
    uint64_t floor = later(segment->floor, time);
    uint8_t depth = (uint8_t)(segment->depth + (split ? 1 : 0));
    uint64_t other = segment->prefix | (split ? UINT64_C(1) << 63 >> segment->depth : 0);
    *migration = (weiri_migration){.time = time, .split = split, .small_fits = small_capacity / 2};
    migration->successor[0] = weiri_segment_new(memory, capacity, segment->prefix, depth, floor);
    if (two)
        migration->successor[1] = weiri_segment_new(memory, split ? capacity : small_capacity, other, depth, floor);
    migration->selected.word = split || !two; /* not shared so far */
    if (migration->successor[0] && (!two || migration->successor[1]))
        return migration;
    weiri_migration_free(memory, migration);
    return NULL;
}

void weiri_migration_free(weiri_memory *memory, weiri_migration *migration)
{
    weiri_segment_free(memory, migration->successor[0]);
    weiri_segment_free(memory, migration->successor[1]);
    weiri_release(memory, migration, sizeof *migration);
}

void weiri_segment_destroy(weiri_memory *memory, weiri_segment *segment)
{
    weiri_migration *migration = weiri_forward(segment);
    if (migration) {
        weiri_segment_free(memory, weiri_not_selected(migration));
        weiri_release(memory, migration, sizeof *migration);
    }
    weiri_segment_free(memory, segment);
}

static void destroy_retired(weiri_memory *memory, weiri_retired *retired)
{
    weiri_segment_destroy(memory, (weiri_segment *)(void *)retired);
}

void weiri_segment_retire(weiri_memory *memory, weiri_segment *segment)
{
    const weiri_migration *migration = weiri_forward(segment);
    const weiri_segment *unused = weiri_not_selected(migration);
    size_t size = weiri_segment_takes(segment) + sizeof *migration;
    segment->retired.destroy = destroy_retired;
    weiri_retire(memory, &segment->retired, size + (unused ? weiri_segment_takes(unused) : 0));
}
