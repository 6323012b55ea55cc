#include "segment.h"

#include <string.h>

weiri_segment *weiri_segment_new(weiri_memory *memory, uint32_t capacity, uint64_t prefix, uint8_t depth, uint64_t floor)
{
    weiri_segment *segment = weiri_allocate(memory, 64, weiri_segment_size(capacity));
    if (!segment)
        return NULL;
    memset(segment, 0, weiri_segment_size(capacity)); /* EMPTY, UNINIT */
    segment->capacity = capacity;
    segment->prefix = prefix;
    segment->depth = depth;
    segment->floor = floor;
    return segment;
}

void weiri_segment_free(weiri_memory *memory, weiri_segment *segment)
{
    if (segment)
        weiri_release(memory, segment, weiri_segment_size(segment->capacity));
}
