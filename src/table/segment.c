#include "segment.h"

#include <string.h>

_Static_assert(WEIRI_REGION_SIZE > 2 * (WEIRI_CAPACITY_MAX + 2) * sizeof(weiri_cell) + WEIRI_LINE,
               "a region has room for two");

/* Zeroed memory for a segment, placed; its `lead` is told. */
static weiri_segment *place(weiri_memory *memory, uint32_t capacity, uint8_t *lead)
{
    size_t size = weiri_segment_size(capacity);
    unsigned char *block = capacity == WEIRI_CAPACITY_MAX ? weiri_allocate_block(memory, WEIRI_BLOCK_SEGMENT) : NULL;
    if (block) {
        *lead = WEIRI_POOLED;
        return memset(block, 0, weiri_segment_fills(capacity));
    }
    block = weiri_allocate(memory, WEIRI_SEGMENT_ALIGNMENT, size);
    if (!block)
        return NULL;
    *lead = capacity == 0 ? 0 : (uint8_t)((0 - (uintptr_t)block) & (WEIRI_LINE - 1));
    return (weiri_segment *)(void *)((unsigned char *)memset(block, 0, size) + *lead);
}

weiri_segment *weiri_segment_new(weiri_memory *memory, uint32_t capacity, uint64_t prefix, uint8_t depth,
                                 uint64_t floor)
{
    uint8_t lead;
    weiri_segment *segment = place(memory, capacity, &lead); /* EMPTY, UNINIT */
    if (!segment)
        return NULL;
    segment->lead = lead;
    segment->capacity = capacity;
    segment->prefix = prefix;
    segment->depth = depth;
    segment->floor = floor;
    return segment;
}

void weiri_segment_free(weiri_memory *memory, weiri_segment *segment)
{
    if (!segment)
        return;
    if (segment->lead == WEIRI_POOLED)
        weiri_release_block(memory, WEIRI_BLOCK_SEGMENT, segment);
    else
        weiri_release(memory, (unsigned char *)segment - segment->lead, weiri_segment_size(segment->capacity));
}
