/*
 * log_quick: the commonest call on a log, in a few instructions: few records have left since the last call, the new one
 * has room behind the last or after sliding down, and no chunk is let go of. It does what weiri_log_look and
 * weiri_log_charge would do, and leaves everything else to them.
 */
#ifndef WEIRI_WINDOW_LOG_QUICK_H
#define WEIRI_WINDOW_LOG_QUICK_H

#include "log_chunks.h"

enum { WEIRI_LOG_FEW = 8 }; /* records looked at one after the other: mostly one or two have left */

/* Of `capacity` records in the one chunk, all in use, `live` count: do they slide down? */
static inline bool weiri_log_slides(uint32_t capacity, uint32_t live)
{
    return live <= WEIRI_LOG_SMALL && capacity - live >= (capacity + 3) / 4;
}

/* How many of the records from `from` on, up to `end`, have a stamp up to `bound`; more than FEW: not told. */
static inline uint32_t weiri_log_few(const weiri_chunk *chunk, uint32_t words, uint32_t from, uint32_t end,
                                     uint64_t bound)
{
    const uint64_t *record = &chunk->words[(size_t)from * words];
    uint32_t few = 0, most = end - from < WEIRI_LOG_FEW + 1 ? end - from : WEIRI_LOG_FEW + 1;
    while (few < most && record[(size_t)few * words + WEIRI_LOG_STAMP] <= bound)
        few++;
    return few;
}

/* What a look found. */
typedef struct weiri_log_quick {
    weiri_log_view view;
    weiri_chunk *last;
    uint32_t room; /* for so many records behind the last one; 0: they slide down first */
} weiri_log_quick;

/*
 * True: the charge is accepted, not late, and weiri_log_quick_charge can record it; found->view is what weiri_log_look
 * tells. False: nothing is known. `words` is weiri_log_words(rule), a constant where this is inlined.
 */
static inline __attribute__((always_inline)) bool weiri_log_quick_look(const weiri_log *log, const weiri_rule *rule,
                                                                       uint32_t words, uint64_t now, uint64_t floor,
                                                                       uint64_t limit, uint64_t charge,
                                                                       weiri_log_quick *found)
{
    uint64_t time = now > log->newest ? now : log->newest;
    if (floor > time || log->chunks == 0 || log->dead != 0 || charge == 0)
        return false;
    weiri_chunk *last = *weiri_log_slot(log, log->chunks - 1U);
    const weiri_chunk *oldest = log->chunks == 1 ? last : *weiri_log_slot(log, 0);
    const uint32_t next = log->next, first = log->first;
    const uint32_t room = last->base + last->capacity - next, from = first - oldest->base;
    const uint32_t end = oldest == last ? next - oldest->base : oldest->capacity;
    uint32_t gone = 0;
    if (time >= rule->window) {
        gone = weiri_log_few(oldest, words, from, end, time - rule->window);
        if (gone > WEIRI_LOG_FEW || (gone == end - from && oldest != last))
            return false;
    }
    const uint32_t live = next - first - gone;
    uint64_t used = live;
    if (words == 2)
        used = live > 0 ? log->total - oldest->words[(size_t)(from + gone) * 2 + WEIRI_LOG_BEFORE] : 0;
    if (!weiri_fits(used, limit, charge))
        return false;
    if (room == 0 && (oldest != last || !weiri_log_slides(last->capacity, live)))
        return false;
    *found = (weiri_log_quick){{.time = time, .used = used, .first = first + gone}, last, room};
    return true;
}

/* Puts a record in its place in the last chunk. */
static inline void weiri_log_put(weiri_log *log, weiri_chunk *last, uint32_t words, uint64_t time, uint64_t charge)
{
    uint64_t *made = &last->words[(size_t)(log->next - last->base) * words];
    made[WEIRI_LOG_STAMP] = time;
    if (words == 2) {
        made[WEIRI_LOG_BEFORE] = log->total;
        log->total += charge;
    }
    log->next++;
    log->newest = time;
}

/* Records it. No chunk dies: the oldest keeps a record, or is the one that gets the new one. */
static inline __attribute__((always_inline)) void weiri_log_quick_charge(weiri_log *log, uint32_t words,
                                                                         const weiri_log_quick *found, uint64_t charge)
{
    log->first = found->view.first;
    if (found->room == 0)
        weiri_log_slide(log, words);
    weiri_log_put(log, found->last, words, found->view.time, charge);
}

#endif
