/*
 * log_trim: giving back the memory of a log whose records have become few. A constant number of steps under the lock
 * each time: dead chunks leave at once, and what is left moves to a chunk that fits it, a few records at a time.
 */
#include "log_chunks.h"

#include <string.h>

enum { STEP = 64 }; /* records moved at a time */

/* Records that the chunks from number `dead` on have room for. */
static uint64_t held(const weiri_log *log, uint32_t dead)
{
    uint64_t records = 0;
    for (uint32_t chunk = dead; chunk < log->chunks; chunk++)
        records += (*weiri_log_slot(log, chunk))->capacity;
    return records;
}

/* The capacity that suits so many records and some more: within four, or an eighth. */
static uint64_t fitting(uint64_t live)
{
    return live < STEP ? (live + 4) / 4 * 4 : (live + live / 8 + 8) / 8 * 8;
}

/* Is twice as much held as would fit, when the records before `first` are gone? */
static bool is_loose(const weiri_log *log, uint32_t first)
{
    uint32_t live = log->next - first;
    return live > 0 && held(log, weiri_log_dead_at(log, first)) >= 2 * fitting(live);
}

/* When the records before `first` are gone, do the others go home? Not to fill it: the next one would leave again. */
static bool fits_home(const weiri_log *log, const weiri_rule *rule, uint32_t first)
{
    uint32_t live = log->next - first, capacity = WEIRI_LOG_HOME_WORDS / weiri_log_words(rule);
    return rule->ring != 0 && live > 0 && live < capacity && !weiri_log_at_home(log, rule);
}

bool weiri_log_forget(weiri_log *log, const weiri_rule *rule, uint64_t time)
{
    uint32_t first = weiri_log_look(log, rule, time, 0).first;
    bool frees = first == log->next || weiri_log_dead_at(log, first) > log->dead || fits_home(log, rule, first);
    if (first == log->first || (!frees && !is_loose(log, first)))
        return false;
    weiri_log_let_go(log, first);
    return true;
}

size_t weiri_log_loose(const weiri_log *log, const weiri_rule *rule)
{
    if (weiri_log_at_home(log, rule) || !is_loose(log, log->first))
        return 0;
    size_t words = (size_t)fitting(log->next - log->first) * weiri_log_words(rule);
    return sizeof(weiri_chunk) + words * sizeof(uint64_t);
}

/* Copies `count` records into `to`, from its record number `at` on. */
static void copy(const weiri_log *log, uint32_t words, weiri_chunk *to, uint32_t at, uint32_t count)
{
    for (uint32_t end = at + count; at < end; at++) {
        const uint64_t *from = weiri_log_record(log, words, to->base + at);
        memcpy(&to->words[(size_t)at * words], from, words * sizeof(uint64_t));
    }
}

weiri_chunk *weiri_log_go_home(weiri_log *log, const weiri_rule *rule)
{
    if (!fits_home(log, rule, log->first))
        return NULL;
    uint32_t words = weiri_log_words(rule);
    weiri_chunk *home = weiri_log_home(log, rule);
    home->base = log->first;
    home->capacity = WEIRI_LOG_HOME_WORDS / words;
    copy(log, words, home, 0, log->next - log->first);
    weiri_chunk **last = weiri_log_slot(log, log->chunks - 1);
    weiri_chunk *left = *last;
    *last = home;
    log->dead = (uint16_t)(log->chunks - 1);
    weiri_chunk *shed = weiri_log_shed(log, rule, false);
    memcpy(left->words, &shed, sizeof shed); /* in front of the others */
    return left;
}

weiri_log_move weiri_log_move_into(void *memory, size_t size, const weiri_rule *rule)
{
    weiri_chunk *chunk = memory;
    chunk->base = 0;
    chunk->capacity = (uint32_t)((size - sizeof *chunk) / sizeof(uint64_t) / weiri_log_words(rule));
    return (weiri_log_move){chunk, 0};
}

enum weiri_moved weiri_log_move_some(weiri_log *log, const weiri_rule *rule, weiri_log_move *move)
{
    uint32_t words = weiri_log_words(rule);
    weiri_chunk *to = move->chunk;
    if (move->copied == 0 || log->first - to->base > move->copied) { /* at first, or what came next is gone */
        to->base = log->first;
        move->copied = 0;
    }
    uint32_t left = log->next - to->base - move->copied;
    uint32_t count = left < STEP ? left : STEP;
    if (log->first == log->next || to->capacity - move->copied < count || weiri_log_at_home(log, rule))
        return WEIRI_MOVE_FAILED;
    copy(log, words, to, move->copied, count);
    move->copied += count;
    if (count < left)
        return WEIRI_MOVE_MORE;
    weiri_chunk **last = weiri_log_slot(log, log->chunks - 1);
    move->chunk = *last;
    *last = to;
    log->dead = (uint16_t)(log->chunks - 1);
    return WEIRI_MOVE_DONE;
}

void *weiri_log_drop_index(weiri_log *log, size_t *size)
{
    if (log->index_capacity == 0 || log->chunks > 1)
        return NULL;
    weiri_chunk *only = log->chunks == 1 ? *weiri_log_slot(log, 0) : NULL;
    void *index = log->index;
    *size = log->index_capacity * sizeof(weiri_chunk *);
    log->only = only;
    log->index_capacity = 0;
    log->index_first = 0;
    return index;
}
