#include "ring.h"

#include <string.h>

/* Records that a new ring has places for. */
static uint32_t initial_room(const weiri_rule *rule, uint64_t limit)
{
    uint32_t most = RING_INLINE / ring_words(rule);
    return limit <= most ? (uint32_t)limit : 0; /* a longer one begins with none: its block is not in the entry */
}

size_t ring_size(const weiri_rule *rule, uint64_t limit)
{
    return sizeof(ring) + (size_t)initial_room(rule, limit) * ring_words(rule) * sizeof(uint64_t);
}

void ring_init(ring *log, const weiri_rule *rule, uint64_t limit)
{
    log->room = initial_room(rule, limit);
    log->word = (uint64_t *)(log + 1);
}

void ring_free(ring *log)
{
    if (log->own)
        free(log->word);
}

bool ring_grow(ring *log, const weiri_rule *rule, uint64_t limit)
{
    const uint32_t words = ring_words(rule);
    uint64_t room = log->room == 0 ? 4 : 2 * (uint64_t)log->room;
    room = room < limit ? room : limit;
    uint64_t *made = malloc((size_t)room * words * sizeof *made);
    if (!made)
        return false;
    uint32_t to_end = log->room - log->first, before = log->used < to_end ? log->used : to_end;
    memcpy(made, &log->word[(size_t)log->first * words], (size_t)before * words * sizeof *made);
    memcpy(&made[(size_t)before * words], log->word, (size_t)(log->used - before) * words * sizeof *made);
    ring_free(log);
    log->word = made;
    log->own = 1;
    log->first = 0;
    log->room = (uint32_t)room;
    return true;
}

/* The last record that must leave is the last one with less than `excess` charged before it, from `gone` on. */
uint64_t ring_opens(const ring *log, const weiri_rule *rule, const ring_view *view, uint64_t limit, uint64_t charge)
{
    const uint32_t words = ring_words(rule);
    if (view->used <= limit - charge)
        return view->time;
    uint64_t excess = view->used - (limit - charge);
    if (words == 1)
        return ring_record(log, words, view->gone + (uint32_t)excess - 1)[0] + rule->window;
    uint64_t origin = ring_record(log, words, view->gone)[1];
    uint32_t low = view->gone, high = log->used; /* `low` is one of them, `high` is not */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (ring_record(log, words, middle)[1] - origin < excess)
            low = middle;
        else
            high = middle;
    }
    return ring_record(log, words, low)[0] + rule->window;
}
