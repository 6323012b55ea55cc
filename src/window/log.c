/*
 * log: the records are looked for by their words. Stamps and running totals both grow from record to record, so one
 * search serves evictions and waits. Where the records stand is told in log_chunks.h.
 */
#include "log_quick.h"

/* What is looked for: the first kept record whose `word`, less `origin`, is above `bound`. */
typedef struct search {
    uint32_t words;
    uint32_t word;
    uint64_t origin;
    uint64_t bound;
} search;

static bool above(const search *what, const weiri_chunk *chunk, uint32_t at)
{
    return chunk->words[(size_t)at * what->words + what->word] - what->origin > what->bound;
}

/* The last chunk whose first record is not above; the oldest one's is known not to be. */
static uint32_t search_chunks(const weiri_log *log, const search *what)
{
    uint32_t low = log->dead;
    uint32_t high = log->chunks;
    high -= (*weiri_log_slot(log, high - 1))->base == log->next; /* the last one may be empty */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (above(what, *weiri_log_slot(log, middle), 0))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Among [from, end) of one chunk: `from` is not above; gallops, since mostly few records have gone since. */
static uint32_t search_chunk(const search *what, const weiri_chunk *chunk, uint32_t from, uint32_t end)
{
    uint32_t low = from;
    uint32_t high = end;
    for (uint32_t step = 1; step < high - low; step *= 2) {
        if (above(what, chunk, low + step)) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (above(what, chunk, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The number of that record; `next` where there is none. The log is not empty. */
static uint32_t first_above(const weiri_log *log, const search *what)
{
    uint32_t found = log->dead;
    const weiri_chunk *chunk = *weiri_log_slot(log, found);
    uint32_t from = log->first - chunk->base, end = weiri_log_filled(log, found);
    if (above(what, chunk, from))
        return log->first;
    if (!above(what, chunk, end - 1)) {
        found = search_chunks(log, what);
        from = found == log->dead ? end - 1 : 0;
        chunk = *weiri_log_slot(log, found);
        end = weiri_log_filled(log, found);
    }
    return chunk->base + search_chunk(what, chunk, from, end);
}

weiri_log_view weiri_log_look(const weiri_log *log, const weiri_rule *rule, uint64_t now, uint64_t floor)
{
    uint64_t own = now > log->newest ? now : log->newest;
    weiri_log_view view = {.time = floor > own ? floor : own, .first = log->first, .late = floor > own};
    uint32_t words = weiri_log_words(rule);
    if (log->first != log->next && view.time >= rule->window) {
        search what = {words, WEIRI_LOG_STAMP, 0, view.time - rule->window};
        view.first = log->newest > what.bound ? first_above(log, &what) : log->next;
    }
    if (words == 1)
        view.used = log->next - view.first;
    else if (view.first != log->next)
        view.used = log->total - weiri_log_record(log, words, view.first)[WEIRI_LOG_BEFORE];
    return view;
}

void weiri_log_charge(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t charge)
{
    uint32_t words = weiri_log_words(rule);
    if (!weiri_log_has_room(log))
        weiri_log_make_room(log, rule, view->first);
    else if (view->first != log->first)
        weiri_log_let_go(log, view->first);
    weiri_log_put(log, *weiri_log_slot(log, log->chunks - 1U), words, view->time, charge);
}

/* The record that must leave is the last one before the first that may stay. */
uint64_t weiri_log_opens(const weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, uint64_t limit,
                         uint64_t charge)
{
    uint64_t room = limit - charge;
    if (view->used <= room)
        return view->time;
    uint32_t words = weiri_log_words(rule);
    uint32_t stays = view->first + (uint32_t)(view->used - room);
    if (words == 2) {
        /* It stays where what is before it, from `first` on, is at least what the kept records hold too much. */
        uint64_t origin = weiri_log_record(log, words, log->first)[WEIRI_LOG_BEFORE];
        search what = {words, WEIRI_LOG_BEFORE, origin, log->total - origin - room - 1};
        stays = first_above(log, &what);
    }
    return weiri_log_record(log, words, stays - 1)[WEIRI_LOG_STAMP] + rule->window;
}

uint64_t weiri_log_expires(const weiri_log *log, const weiri_rule *rule)
{
    return log->first != log->next || log->newest != 0 ? log->newest + rule->window : 0;
}

void weiri_log_clear(weiri_log *log, const weiri_rule *rule)
{
    (void)rule;
    weiri_log_let_go(log, log->next);
}
