/*
 * log_chunks: a log of few records has one chunk that fits, which is replaced by a larger one or slid down in; a log of
 * many has chunks that are a growing share of it, so that there are few of them however many records.
 */
#include "log_quick.h"

#include <string.h>

static size_t chunk_bytes(uint32_t capacity, uint32_t words)
{
    return sizeof(weiri_chunk) + (size_t)capacity * words * sizeof(uint64_t);
}

/* A kept record. */
const uint64_t *weiri_log_record(const weiri_log *log, uint32_t words, uint32_t number)
{
    uint32_t distance = number - log->first;
    uint32_t low = log->dead;
    uint32_t high = log->chunks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if ((*weiri_log_slot(log, middle))->base - log->first <= distance)
            low = middle;
        else
            high = middle;
    }
    const weiri_chunk *chunk = *weiri_log_slot(log, low);
    return &chunk->words[(size_t)(number - chunk->base) * words];
}

uint32_t weiri_log_dead_at(const weiri_log *log, uint32_t first)
{
    uint32_t chunk = log->dead;
    uint32_t gone = first - log->first;
    uint64_t end = 0;
    for (; chunk < log->chunks; chunk++) {
        uint32_t capacity = (*weiri_log_slot(log, chunk))->capacity;
        end += chunk == log->dead ? capacity - (log->first - (*weiri_log_slot(log, chunk))->base) : capacity;
        if (end > gone)
            break;
    }
    return chunk;
}

void weiri_log_let_go(weiri_log *log, uint32_t first)
{
    log->dead = (uint16_t)weiri_log_dead_at(log, first);
    log->first = first;
}

/* How room for one more record is made. */
typedef struct plan {
    enum {
        ROOM,    /* there is some */
        SLIDE,   /* the few live records move down in the last chunk */
        RECYCLE, /* dead chunk number `dead` becomes the last one */
        REPLACE, /* a new chunk takes the few records of the last one */
        APPEND,  /* a new chunk becomes the last one */
        HOME     /* the log's home becomes its only one */
    } how;
    uint32_t capacity; /* of the new chunk */
    uint32_t dead;
} plan;

/* The capacity of a log of few records; the next larger one than `capacity` is one for capacity + 1. */
static uint32_t small_capacity(uint32_t records)
{
    return (records + 3) / 4 * 4;
}

/* The capacity of a chunk that is appended: a growing share, so that there are few chunks however many records. */
static uint32_t large_capacity(uint32_t live)
{
    if (live == 0)
        return small_capacity(1);
    uint32_t share = (live / 16 + 7) / 8 * 8;
    return live < 128 ? 16 : live < 256 ? 32 : share > 64 ? share : 64;
}

static bool suits(uint32_t capacity, uint32_t wanted)
{
    return capacity >= wanted && capacity <= 2 * wanted;
}

/* `first`: the oldest record that will be kept. */
static plan plan_for(const weiri_log *log, const weiri_rule *rule, uint32_t first)
{
    plan how = {.how = ROOM};
    if (weiri_log_has_room(log))
        return how;
    if (log->chunks == 0 && rule->ring != 0) {
        how.how = HOME;
        return how;
    }
    uint32_t live = log->next - first;
    uint32_t dead = weiri_log_dead_at(log, first);
    if (log->chunks > 0 && dead + 1 >= log->chunks) { /* what is live is in the last chunk, which is full */
        uint32_t capacity = (*weiri_log_slot(log, log->chunks - 1))->capacity;
        if (weiri_log_slides(capacity, live)) {
            how.how = SLIDE;
            return how;
        }
        if (capacity < WEIRI_LOG_SMALL) {
            how.how = REPLACE;
            how.capacity = small_capacity(capacity + 1);
            return how;
        }
    }
    how.how = APPEND;
    how.capacity = large_capacity(live);
    for (uint32_t chunk = 0; chunk < dead; chunk++) {
        if (suits((*weiri_log_slot(log, chunk))->capacity, how.capacity)) {
            how.how = RECYCLE;
            how.dead = chunk;
            break;
        }
    }
    return how;
}

static uint32_t index_capacity(uint32_t chunks)
{
    uint32_t capacity = chunks <= 1 ? 1 : chunks <= 4 ? 4 : 8;
    for (; capacity < chunks; capacity *= 2)
        if (capacity >= 16 && capacity + capacity / 2 >= chunks)
            return capacity + capacity / 2;
    return capacity;
}

weiri_log_need weiri_log_needs(const weiri_log *log, const weiri_rule *rule, const weiri_log_view *view)
{
    weiri_log_need need = {0, 0};
    plan how = plan_for(log, rule, view->first);
    if (how.how == REPLACE || how.how == APPEND) {
        need.chunk = chunk_bytes(how.capacity, weiri_log_words(rule));
        bool place = how.how == REPLACE || log->chunks < weiri_log_places(log);
        need.index = place ? 0 : index_capacity(log->chunks + 1) * sizeof(weiri_chunk *);
    }
    return need;
}

static void supply_index(weiri_log *log, void **index, size_t *index_size)
{
    weiri_chunk **larger = *index;
    for (uint32_t chunk = 0; chunk < log->chunks; chunk++)
        larger[chunk] = *weiri_log_slot(log, chunk);
    uint32_t capacity = (uint32_t)(*index_size / sizeof(weiri_chunk *));
    *index = log->index_capacity > 0 ? log->index : NULL;
    *index_size = log->index_capacity * sizeof(weiri_chunk *);
    log->index = larger;
    log->index_capacity = (uint16_t)capacity;
    log->index_first = 0;
}

static void append(weiri_log *log, weiri_chunk *chunk, uint32_t base)
{
    chunk->base = base;
    *weiri_log_slot(log, log->chunks) = chunk;
    log->chunks++;
}

/* Puts `chunk` in the place of the last one, with all its records; returns that. */
static weiri_chunk *replace_last(weiri_log *log, uint32_t words, weiri_chunk *chunk)
{
    weiri_chunk **last = weiri_log_slot(log, log->chunks - 1);
    weiri_chunk *old = *last;
    chunk->base = old->base;
    memcpy(chunk->words, old->words, (size_t)old->capacity * words * sizeof(uint64_t));
    *last = chunk;
    return old;
}

void weiri_log_supply(weiri_log *log, const weiri_rule *rule, const weiri_log_view *view, void **chunk,
                      size_t *chunk_size, void **index, size_t *index_size)
{
    weiri_log_need need = weiri_log_needs(log, rule, view);
    if (need.index > 0 && *index != NULL && *index_size >= need.index)
        supply_index(log, index, index_size);
    bool replaces = plan_for(log, rule, view->first).how == REPLACE;
    bool placed = replaces || log->chunks < weiri_log_places(log);
    if (need.chunk == 0 || *chunk == NULL || *chunk_size < need.chunk || !placed)
        return;
    weiri_chunk *old = NULL;
    weiri_chunk *fresh = weiri_log_move_into(*chunk, *chunk_size, rule).chunk;
    if (replaces)
        old = replace_last(log, weiri_log_words(rule), fresh);
    else
        append(log, fresh, log->next);
    old = old == weiri_log_home(log, rule) ? NULL : old;
    *chunk = old;
    *chunk_size = old ? weiri_chunk_size(old, rule) : 0;
}

/* The log's home, ready for records. */
static weiri_chunk *home_of(const weiri_log *log, const weiri_rule *rule)
{
    weiri_chunk *home = weiri_log_home(log, rule);
    home->capacity = WEIRI_LOG_HOME_WORDS / weiri_log_words(rule);
    return home;
}

void weiri_log_slide(weiri_log *log, uint32_t words)
{
    weiri_chunk *last = *weiri_log_slot(log, log->chunks - 1);
    uint32_t live = log->next - log->first;
    const uint64_t *from = &last->words[(size_t)(last->capacity - live) * words];
    memmove(last->words, from, (size_t)live * words * sizeof(uint64_t));
    last->base = log->first;
    log->dead = (uint16_t)(log->chunks - 1);
}

static void recycle(weiri_log *log, uint32_t dead)
{
    weiri_chunk *chunk = *weiri_log_slot(log, dead);
    *weiri_log_slot(log, dead) = *weiri_log_slot(log, 0);
    log->index_first = log->index_first + 1U < weiri_log_places(log) ? (uint16_t)(log->index_first + 1) : 0;
    log->chunks--;
    log->dead--;
    append(log, chunk, log->next);
}

void weiri_log_make_room(weiri_log *log, const weiri_rule *rule, uint32_t first)
{
    plan how = plan_for(log, rule, first);
    weiri_log_let_go(log, first);
    if (how.how == SLIDE)
        weiri_log_slide(log, weiri_log_words(rule));
    else if (how.how == RECYCLE)
        recycle(log, how.dead);
    else if (how.how == HOME)
        append(log, home_of(log, rule), log->next);
}

/* A chunk that is out of the log holds the link to the next one in its first word. */
weiri_chunk *weiri_chunk_after(const weiri_chunk *shed)
{
    weiri_chunk *after;
    memcpy(&after, shed->words, sizeof after);
    return after;
}

weiri_chunk *weiri_log_shed(weiri_log *log, const weiri_rule *rule, bool all)
{
    const weiri_chunk *home = weiri_log_home(log, rule);
    uint32_t taken = all ? log->chunks : log->dead;
    if (!all && log->first == log->next && log->chunks > 0)
        taken = log->chunks - suits((*weiri_log_slot(log, log->chunks - 1))->capacity, large_capacity(0));
    weiri_chunk *shed = NULL;
    for (uint32_t chunk = 0; chunk < taken; chunk++) {
        weiri_chunk *out = *weiri_log_slot(log, chunk);
        if (out == home)
            continue; /* it goes with the node */
        memcpy(out->words, &shed, sizeof shed);
        shed = out;
    }
    log->chunks = (uint16_t)(log->chunks - taken);
    log->dead = log->dead > taken ? (uint16_t)(log->dead - taken) : 0;
    log->first = all ? log->next : log->first;
    if (taken > 0) {
        uint32_t at = log->index_first + taken;
        log->index_first = (uint16_t)(at < weiri_log_places(log) ? at : at - weiri_log_places(log));
        log->only = log->index_capacity > 0 ? log->only : NULL;
    }
    return shed;
}

size_t weiri_log_home_size(void)
{
    return sizeof(weiri_chunk) + WEIRI_LOG_HOME_WORDS * sizeof(uint64_t);
}

size_t weiri_chunk_size(const weiri_chunk *chunk, const weiri_rule *rule)
{
    return chunk_bytes(chunk->capacity, weiri_log_words(rule));
}
