/*
 * Attacks B and F from below: a log, driven as a node drives it, against a plain array of all its charges. Sums and
 * waits are the array's; what is handed in comes back, once, with its size; what was moved is one chunk.
 *
 * Input: a byte for the meter and the window, a byte for the number its records begin with, then operations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "window/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { RECORDS = 1 << 13 };

static weiri_rule rule;
static weiri_log tested;
static weiri_log_move move; /* a chunk that records are being moved to, or none */
static size_t move_size;
static struct {
    uint64_t stamp, charge, before; /* before: the sum of all charges before it */
} records[RECORDS];
static size_t count;   /* of records, */
static size_t cleared; /* of which these were forgotten, or count at no time from the newest stamp on */
static size_t held;    /* bytes handed out and not back */

/* ---- memory, in blocks of just the size, which is checked when they come back ---- */

static void *handed(size_t size)
{
    uint64_t *block = malloc(size + 16);

    FUZZ_HOLDS(block != NULL, "no memory");
    memset(block, 0xa5, size + 16);
    *block = size;
    held += size;
    return block + 2;
}

static void back(void *memory, size_t size)
{
    uint64_t *block = memory;

    if (memory == NULL)
        return;
    FUZZ_HOLDS(block[-2] == size, "%" PRIu64 " bytes come back as %zu", block[-2], size);
    held -= size;
    free(block - 2);
}

static void shed(bool all)
{
    for (weiri_chunk *chunk = weiri_log_shed(&tested, &rule, all), *after; chunk != NULL; chunk = after) {
        after = weiri_chunk_after(chunk);
        back(chunk, weiri_chunk_size(chunk, &rule));
    }
}

static void drop_index(void)
{
    size_t size = 0;
    void *index = weiri_log_drop_index(&tested, &size);

    back(index, size);
}

/* A block of `more` bytes than are needed: what a caller has left from an earlier need. */
static void supply(const weiri_log_view *view, size_t more)
{
    weiri_log_need need = weiri_log_needs(&tested, &rule, view);
    size_t chunk_size = need.chunk > 0 ? need.chunk + more * 16 : 0;
    size_t index_size = need.index > 0 ? need.index + more * 8 : 0;
    void *chunk = chunk_size > 0 ? handed(chunk_size) : NULL;
    void *index = index_size > 0 ? handed(index_size) : NULL;

    weiri_log_supply(&tested, &rule, view, &chunk, &chunk_size, &index, &index_size);
    back(chunk, chunk_size);
    back(index, index_size);
    need = weiri_log_needs(&tested, &rule, view);
    FUZZ_HOLDS(need.chunk == 0 && need.index == 0, "supplied, and needs more");
}

/* ---- the array ---- */

static uint64_t newest(void)
{
    return count > 0 ? records[count - 1].stamp : 0;
}

static bool counts(size_t i, uint64_t time)
{
    return time < rule.window || records[i].stamp > time - rule.window;
}

/* The oldest record that counts: those behind it do too. */
static size_t first_at(uint64_t time)
{
    size_t first = cleared;

    while (first < count && !counts(first, time))
        first++;
    return first;
}

static uint64_t used_at(uint64_t time)
{
    size_t first = first_at(time);

    if (first == count)
        return 0;
    return records[count - 1].before + records[count - 1].charge - records[first].before;
}

static uint64_t opens_at(uint64_t time, uint64_t room)
{
    uint64_t used = used_at(time);

    for (size_t i = first_at(time); used > room; i++) {
        used -= records[i].charge;
        time = records[i].stamp + rule.window;
    }
    return time;
}

/* ---- what holds after each step ---- */

static weiri_log_view look(uint64_t now, uint64_t floor)
{
    weiri_log_view view = weiri_log_look(&tested, &rule, now, floor);
    uint64_t own = now > newest() ? now : newest();

    FUZZ_HOLDS(view.time == (floor > own ? floor : own) && view.late == (floor > own), "time %" PRIu64, view.time);
    FUZZ_HOLDS(view.used == used_at(view.time), "%" PRIu64 " used at %" PRIu64 ", wanted %" PRIu64, view.used,
               view.time, used_at(view.time));
    return view;
}

static void check_waits(const weiri_log_view *view, uint64_t limit, uint64_t charge)
{
    uint64_t got = weiri_log_opens(&tested, &rule, view, limit, charge);
    uint64_t wanted = opens_at(view->time, limit - charge);

    FUZZ_HOLDS(got == wanted, "opens for %" PRIu64 " of %" PRIu64 " at %" PRIu64 ", not %" PRIu64, charge, limit, got,
               wanted);
}

static void check_state(void)
{
    uint64_t expires = weiri_log_expires(&tested, &rule);
    uint64_t wanted = count > 0 && (newest() != 0 || cleared < count) ? newest() + rule.window : 0;
    size_t bytes = tested.index_capacity * sizeof(weiri_chunk *);

    /* A log of time 0 whose charges are gone may say either. */
    FUZZ_HOLDS(expires == wanted || (newest() == 0 && expires == 0), "expires %" PRIu64, expires);
    FUZZ_HOLDS(tested.dead <= tested.chunks, "more dead chunks than there are");
    for (uint32_t i = 0; i < tested.chunks; i++) {
        uint32_t at = tested.index_first + i;

        at -= at >= tested.index_capacity && tested.index_capacity > 0 ? tested.index_capacity : 0;
        bytes += weiri_chunk_size(tested.index_capacity > 0 ? tested.index[at] : tested.only, &rule);
    }
    FUZZ_HOLDS(bytes + move_size == held, "%zu bytes in the log, %zu were handed out", bytes, held);
}

/* ---- operations ---- */

static void take(uint64_t now, uint64_t floor, uint64_t charge, size_t more)
{
    weiri_log_view view = look(now, floor);

    if (count == RECORDS || view.used > UINT64_MAX - charge)
        return;
    supply(&view, more);
    weiri_log_charge(&tested, &rule, &view, charge);
    records[count].stamp = view.time;
    records[count].charge = rule.meter == WEIR_PER_COST ? charge : 1;
    records[count].before = count == 0 ? 0 : records[count - 1].before + records[count - 1].charge;
    count++;
    cleared = first_at(view.time);
}

static void clear(void)
{
    weiri_log_clear(&tested, &rule);
    cleared = count;
}

/* Later decisions are no earlier than `time`: so all that it forgets would count in none of them. */
static void forget(uint64_t time)
{
    weiri_log_view view = weiri_log_look(&tested, &rule, time, 0);
    size_t first = first_at(view.time);

    if (weiri_log_forget(&tested, &rule, time))
        cleared = first;
}

static void begin_move(void)
{
    size_t size = weiri_log_loose(&tested, &rule);

    if (size == 0 || move.chunk != NULL)
        return;
    move = weiri_log_move_into(handed(size), size, &rule);
    move_size = size;
}

static void end_move(void)
{
    back(move.chunk, weiri_chunk_size(move.chunk, &rule));
    move = (weiri_log_move){NULL, 0};
    move_size = 0;
}

static void go_on_moving(void)
{
    if (move.chunk == NULL)
        return;
    enum weiri_moved moved = weiri_log_move_some(&tested, &rule, &move);
    if (moved == WEIRI_MOVE_MORE)
        return;
    end_move();
    shed(false);
    if (moved == WEIRI_MOVE_DONE) {
        drop_index();
        FUZZ_HOLDS(tested.chunks == 1 && tested.index_capacity == 0, "moved, and more than one chunk is left");
    }
}

static void step(random_source *random)
{
    uint64_t op = random_below(random, 16), now = newest();
    uint64_t pause = random_below(random, 16);

    now += op < 4 ? 0 : pause < 15 ? pause : random_below(random, rule.window + 2);
    switch (op) {
    case 8:
        look(now, now + random_below(random, rule.window + 2));
        break;
    case 9: { /* a wait for a charge, in front of any limit */
        weiri_log_view view = look(now, 0);
        uint64_t limit = random_sized(random, 32);

        check_waits(&view, limit, random_below(random, limit + 1));
        check_waits(&view, UINT32_MAX, view.used < UINT32_MAX ? UINT32_MAX - view.used : 0);
        break;
    }
    case 10:
        shed(false);
        break;
    case 11:
        forget(now);
        break;
    case 12:
        begin_move();
        break;
    case 13:
        go_on_moving();
        break;
    case 14:
        drop_index();
        break;
    case 15:
        if (pause == 0)
            clear();
        else /* late, at the floor, or both */
            take(newest() - (newest() < pause ? newest() : pause), now, random_between(random, 1, 9), 0);
        break;
    default: /* a lot of them: logs are long */
        for (uint64_t left = op < 2 ? random_below(random, 256) : 1; left > 0; left--)
            take(now, 0, op == 5 ? random_sized(random, 40) : 1 + pause, op == 6 ? (size_t)pause : 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t windows[] = {1, 10, 100, 1000, 4096, WEIR_WINDOW_MAX};
    fuzz_bytes bytes = {data, size};
    random_source random = fuzz_random(&bytes);
    uint64_t kind = random_below(&random, 12);
    weir_rule given = {.limit = 1, .window_ns = windows[kind / 2], .algorithm = WEIR_LOG,
                       .meter = kind % 2 ? WEIR_PER_COST : WEIR_PER_REQUEST};

    rule = weiri_rule_make(&given, UINT32_MAX);
    tested = (weiri_log){.total = 0};
    count = cleared = 0;
    /* Numbers wrap, and so do running totals: begin shortly before. */
    tested.first = tested.next = (uint32_t)-(int32_t)random_below(&random, 256);
    tested.total = rule.meter == WEIR_PER_COST ? 0 - random_below(&random, 256) : 0;
    while (bytes.left > 0) {
        step(&random);
        check_state();
    }
    look(newest(), 0);
    if (move.chunk != NULL)
        end_move();
    shed(true);
    back(tested.index_capacity > 0 ? tested.index : NULL, tested.index_capacity * sizeof(weiri_chunk *));
    FUZZ_HOLDS(held == 0, "%zu bytes were not given back", held);
    return 0;
}
