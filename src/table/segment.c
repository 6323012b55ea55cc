#include "segment.h"

#include <string.h>

weiri_segment *weiri_segment_new(weiri_memory *memory, uint32_t capacity, uint64_t prefix, uint8_t depth,
                                 uint64_t floor)
{
    size_t size = weiri_segment_size(capacity);
    unsigned char *block = weiri_allocate(memory, WEIRI_SEGMENT_ALIGNMENT, size);
    if (!block)
        return NULL;
    memset(block, 0, size); /* EMPTY, UNINIT */
    size_t lead = capacity == 0 ? 0 : (0 - (uintptr_t)block) & (WEIRI_LINE - 1);
    weiri_segment *segment = (weiri_segment *)(void *)(block + lead);
    segment->lead = (uint8_t)lead;
    segment->capacity = capacity;
    segment->prefix = prefix;
    segment->depth = depth;
    segment->floor = floor;
    return segment;
}

void weiri_segment_free(weiri_memory *memory, weiri_segment *segment)
{
    if (segment)
        weiri_release(memory, (unsigned char *)segment - segment->lead, weiri_segment_size(segment->capacity));
}
