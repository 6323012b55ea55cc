/*
 * SPDX-License-Identifier: MIT
 */
#include "support/random.h"
#include "window_states.h"

enum { RECORDS = 1 << 15 };

/* A log beside a list of every charge since it was last cleared. */
typedef struct twin {
    weiri_rule rule;
    weiri_log log;
    size_t gone; /* of the list: what does not count at log.newest */
    size_t count;
    uint64_t stamp[RECORDS];
    uint64_t charge[RECORDS];
} twin;

static weiri_rule log_rule_of(uint64_t window, uint32_t meter)
{
    weir_rule rule = {.limit = 1, .window_ns = window, .algorithm = WEIR_LOG, .meter = meter};
    return weiri_rule_make(&rule, UINT32_MAX);
}

static twin *twin_new(uint64_t window, uint32_t meter)
{
    twin *t = calloc(1, sizeof *t);
    cr_assert(t != NULL);
    t->rule = log_rule_of(window, meter);
    return t;
}

static void twin_free(twin *t)
{
    log_free(&t->log, &t->rule);
    free(t);
}

static bool counts(const twin *t, size_t i, uint64_t time)
{
    return time < t->rule.window || t->stamp[i] > time - t->rule.window;
}

static size_t live_at(const twin *t, uint64_t time)
{
    size_t live = 0;
    for (size_t i = t->gone; i < t->count; i++)
        live += counts(t, i, time);
    return live;
}

static uint64_t used_at(const twin *t, uint64_t time)
{
    uint64_t used = 0;
    for (size_t i = t->gone; i < t->count; i++)
        used += counts(t, i, time) ? t->charge[i] : 0;
    return used;
}

static const weiri_chunk *chunk_at(const weiri_log *log, uint32_t at)
{
    return log->index_capacity == 0 ? log->only : log->index[(log->index_first + at) % log->index_capacity];
}

/* base and capacity of a chunk, as its header is promised to be. */
static uint32_t header(const weiri_chunk *chunk, unsigned field)
{
    uint32_t words[2];
    memcpy(words, chunk, sizeof words);
    return words[field];
}

/* Bases follow on from each other, dead chunks come first, `first` is in the one after them. */
static void check_index(const weiri_log *log)
{
    cr_assert(log->dead <= log->chunks && log->chunks <= (log->index_capacity > 0 ? log->index_capacity : 1));
    if (log->dead == log->chunks) {
        EQUALS(log->first, log->next);
        return;
    }
    const weiri_chunk *oldest = chunk_at(log, log->dead);
    cr_assert(log->first - header(oldest, 0) < header(oldest, 1));
    uint64_t end = log->first - header(oldest, 0); /* relative to the oldest base */
    end += log->next - log->first;
    uint64_t base = 0;
    for (uint32_t i = log->dead; i < log->chunks; i++) {
        EQUALS(header(chunk_at(log, i), 0), (uint32_t)(header(oldest, 0) + base));
        cr_assert(base <= end);
        base += header(chunk_at(log, i), 1);
    }
    cr_assert(base >= end);
}

static void twin_charge(twin *t, const weiri_log_view *view, uint64_t amount)
{
    log_charge(&t->log, &t->rule, view, amount);
    cr_assert(t->count < RECORDS);
    t->stamp[t->count] = view->time;
    t->charge[t->count++] = amount;
    while (!counts(t, t->gone, view->time))
        t->gone++;
}

static weiri_log_view look(const twin *t, uint64_t now)
{
    return weiri_log_look(&t->log, &t->rule, now, 0);
}

static void take_at(twin *t, uint64_t now, uint64_t amount)
{
    weiri_log_view view = look(t, now);
    twin_charge(t, &view, amount);
}

static void shed(twin *t)
{
    chunks_free(weiri_log_shed(&t->log, &t->rule, false), &t->rule);
}

Test(window_log, nothing_charged_needs_no_memory_and_is_free_at_every_time)
{
    twin *t = twin_new(10, WEIR_PER_COST);
    EQUALS(look(t, 0).used, 0);
    EQUALS(look(t, WEIR_TIME_MAX).used, 0);
    EQUALS(look(t, WEIR_TIME_MAX).time, WEIR_TIME_MAX);
    EQUALS(weiri_log_expires(&t->log, &t->rule), 0);
    cr_assert(weiri_log_shed(&t->log, &t->rule, false) == NULL);
    weiri_log_clear(&t->log, &t->rule);
    EQUALS(weiri_log_loose(&t->log, &t->rule), 0);
    cr_assert(!weiri_log_forget(&t->log, &t->rule, 5));
    twin_free(t);
}

Test(window_log, a_record_made_exactly_one_window_ago_no_longer_counts)
{
    twin *t = twin_new(10, WEIR_PER_REQUEST);
    take_at(t, 0, 1);
    EQUALS(look(t, 9).used, 1);
    EQUALS(look(t, 10).used, 0);
    weiri_log_view view = look(t, 9);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 1, 1), 10);
    EQUALS(weiri_log_expires(&t->log, &t->rule), 10);
    twin_free(t);
}

Test(window_log, records_of_one_stamp_all_count_and_all_leave_together)
{
    twin *t = twin_new(1000, WEIR_PER_COST);
    for (int i = 0; i < 300; i++)
        take_at(t, 500, 3);
    weiri_log_view view = look(t, 1499);
    EQUALS(view.used, 900);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 900, 1), 1500);
    EQUALS(look(t, 1500).used, 0);
    twin_free(t);
}

Test(window_log, a_large_charge_waits_for_as_many_records_as_it_needs)
{
    /* L=10 W=100: 3 at 0, 4 at 10, 3 at 20; seen from 30, charges 1, 5 and 8 open at 100, 110, 120. */
    twin *t = twin_new(100, WEIR_PER_COST);
    take_at(t, 0, 3);
    take_at(t, 10, 4);
    take_at(t, 20, 3);
    weiri_log_view view = look(t, 30);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 10, 1), 100);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 10, 5), 110);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 10, 8), 120);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 10, 0), 30);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, 5, 0), 110);
    twin_free(t);
}

Test(window_log, time_never_falls_and_late_means_that_the_floor_decides)
{
    twin *t = twin_new(10, WEIR_PER_REQUEST);
    take_at(t, 101, 1);
    take_at(t, 100, 1);
    EQUALS(look(t, 110).used, 2);
    EQUALS(look(t, 111).used, 0);
    EQUALS(look(t, 3).time, 101);
    cr_assert(!weiri_log_look(&t->log, &t->rule, 3, 101).late);
    cr_assert(weiri_log_look(&t->log, &t->rule, 3, 102).late);
    EQUALS(weiri_log_look(&t->log, &t->rule, 3, 111).used, 0);
    twin_free(t);
}

Test(window_log, a_look_at_a_far_time_lets_go_of_nothing)
{
    twin *t = twin_new(100, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 64; i++)
        take_at(t, i, 1);
    weiri_log_view far = look(t, 1000);
    EQUALS(far.used, 0);
    (void)weiri_log_needs(&t->log, &t->rule, &far);
    log_supply(&t->log, &t->rule, &far, weiri_log_needs(&t->log, &t->rule, &far));
    EQUALS(look(t, 64).used, 64);
    EQUALS(look(t, 110).used, 53);
    twin_free(t);
}

Test(window_log, supplied_memory_that_is_not_used_after_all_lets_go_of_nothing)
{
    twin *t = twin_new(100, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 8; i++)
        take_at(t, i, 1);
    weiri_log_view view = look(t, 100); /* one record less: too few to slide, so a larger chunk is asked for */
    EQUALS(view.used, 7);
    weiri_log_need need = weiri_log_needs(&t->log, &t->rule, &view);
    EQUALS(need.chunk, 8 + 12 * 8);
    log_supply(&t->log, &t->rule, &view, need);
    check_index(&t->log);
    EQUALS(look(t, 99).used, 8);
    twin_free(t);
}

Test(window_log, a_charge_lets_go_of_every_record_that_no_longer_counts)
{
    twin *t = twin_new(10, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 9; i++)
        take_at(t, i, 1);
    take_at(t, 14, 1); /* there is room: 0 to 4 have left, 5 to 8 stay */
    EQUALS(t->log.next - t->log.first, 5);
    twin_free(t);
}

Test(window_log, a_last_chunk_without_a_record_is_not_looked_into)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    uint64_t now = 0;
    weiri_log_need need = {0, 0};
    for (; now < 300 || need.chunk == 0; now++) {
        take_at(t, now, 1);
        weiri_log_view view = look(t, now + 1);
        need = weiri_log_needs(&t->log, &t->rule, &view);
    }
    weiri_log_view view = look(t, now); /* room is made, as for a call that another rule's log then fails */
    log_supply(&t->log, &t->rule, &view, need);
    weiri_chunk *last = (weiri_chunk *)(uintptr_t)chunk_at(&t->log, t->log.chunks - 1);
    EQUALS(header(last, 0), t->log.next);
    memset((char *)last + 8, 0, header(last, 1) * sizeof(uint64_t)); /* as if older than all others */
    EQUALS(look(t, 1200).used, now - 201);
    EQUALS(look(t, 1100).used, now - 101);
    EQUALS(look(t, 1000 + now - 3).used, 2); /* in the chunk before it */
    twin_free(t);
}

Test(window_log, clearing_forgets_the_charges_and_not_the_time)
{
    twin *t = twin_new(100, WEIR_PER_COST);
    for (uint64_t i = 0; i < 500; i++)
        take_at(t, 40, 2);
    weiri_log_clear(&t->log, &t->rule);
    check_index(&t->log);
    EQUALS(look(t, 0).time, 40);
    EQUALS(look(t, 0).used, 0);
    EQUALS(weiri_log_expires(&t->log, &t->rule), 140);
    shed(t);
    cr_assert(t->log.chunks == 0);
    t->gone = t->count;
    take_at(t, 0, 7);
    EQUALS(look(t, 139).used, 7);
    twin_free(t);
}

Test(window_log, a_charge_at_time_zero_is_remembered)
{
    twin *t = twin_new(100, WEIR_PER_COST);
    take_at(t, 0, 7);
    EQUALS(weiri_log_expires(&t->log, &t->rule), 100);
    weiri_log_clear(&t->log, &t->rule);
    EQUALS(weiri_log_expires(&t->log, &t->rule), 0);
    twin_free(t);
}

Test(window_log, the_largest_times_and_charges_neither_wrap_nor_overflow)
{
    twin *t = twin_new(WEIR_WINDOW_MAX, WEIR_PER_COST);
    t->log.total = UINT64_MAX - 5; /* as after very many charges */
    t->log.first = t->log.next = UINT32_MAX;
    take_at(t, WEIR_TIME_MAX - 1, 10);
    take_at(t, WEIR_TIME_MAX, UINT32_MAX - 10);
    weiri_log_view view = look(t, WEIR_TIME_MAX);
    EQUALS(view.used, UINT32_MAX);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, UINT32_MAX, 10), WEIR_TIME_MAX - 1 + WEIR_WINDOW_MAX);
    EQUALS(weiri_log_opens(&t->log, &t->rule, &view, UINT32_MAX, 11), WEIR_TIME_MAX + WEIR_WINDOW_MAX);
    EQUALS(weiri_log_expires(&t->log, &t->rule), WEIR_TIME_MAX + WEIR_WINDOW_MAX);
    twin_free(t);
}

Test(window_log, without_memory_nothing_changes)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 600; i++) {
        weiri_log_view view = look(t, i);
        weiri_log_need need = weiri_log_needs(&t->log, &t->rule, &view);
        weiri_log before = t->log;
        void *chunk = NULL;
        void *index = NULL;
        size_t index_size = 0;
        size_t chunk_size = 0;
        weiri_log_supply(&t->log, &t->rule, &view, &chunk, &chunk_size, &index, &index_size);
        cr_assert(memcmp(&before, &t->log, sizeof before) == 0);
        cr_assert(need.index == 0 || need.chunk > 0);
        if (need.chunk > 0) { /* too small is as good as none */
            chunk = sized_new(need.chunk - 8);
            chunk_size = need.chunk - 8;
            weiri_log_supply(&t->log, &t->rule, &view, &chunk, &chunk_size, &index, &index_size);
            cr_assert(chunk != NULL && memcmp(&before, &t->log, sizeof before) == 0);
            sized_free(chunk, need.chunk - 8);
            chunk = NULL;
        }
        if (need.index > 0) {
            index = sized_new(need.index - 8);
            index_size = need.index - 8;
            chunk_size = 0;
            weiri_log_supply(&t->log, &t->rule, &view, &chunk, &chunk_size, &index, &index_size);
            cr_assert(index != NULL && memcmp(&before, &t->log, sizeof before) == 0);
            EQUALS(index_size, need.index - 8);
            sized_free(index, need.index - 8);
        }
        twin_charge(t, &view, 1);
    }
    twin_free(t);
}

Test(window_log, memory_that_is_no_longer_needed_stays_the_callers)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    take_at(t, 0, 1);
    weiri_log_view view = look(t, 0);
    void *chunk = sized_new(8 + 32 * 8);
    void *index = sized_new(64);
    void *same[] = {chunk, index};
    size_t index_size = 64;
    weiri_log before = t->log;
    size_t chunk_size = 8 + 32 * 8;
    weiri_log_supply(&t->log, &t->rule, &view, &chunk, &chunk_size, &index, &index_size);
    cr_assert(chunk == same[0] && index == same[1]);
    EQUALS(index_size, 64);
    cr_assert(memcmp(&before, &t->log, sizeof before) == 0);
    sized_free(chunk, 8 + 32 * 8);
    sized_free(index, 64);
    twin_free(t);
}

Test(window_log, a_log_of_few_records_has_one_chunk_that_fits)
{
    twin *t = twin_new(WEIR_SECOND, WEIR_PER_REQUEST);
    for (uint32_t i = 1; i <= 64; i++) {
        take_at(t, i, 1);
        shed(t);
        EQUALS(t->log.chunks, 1);
        EQUALS(header(chunk_at(&t->log, 0), 1), (i + 3) / 4 * 4, "%u records", i);
    }
    take_at(t, 65, 1);
    EQUALS(t->log.chunks, 2);
    EQUALS(header(chunk_at(&t->log, 1), 1), 16);
    twin_free(t);
}

Test(window_log, a_full_log_of_few_records_goes_on_in_its_chunk)
{
    twin *t = twin_new(40, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 5000; i++) {
        take_at(t, i, 1);
        shed(t);
        check_index(&t->log);
        EQUALS(look(t, i).used, i < 40 ? i + 1 : 40);
    }
    EQUALS(t->log.chunks, 1);
    EQUALS(header(chunk_at(&t->log, 0), 1), 52);
    twin_free(t);
}

Test(window_log, a_full_log_of_a_thousand_costs_less_than_nine_bytes_a_record)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    size_t sum = 0;
    size_t phases = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        take_at(t, i, 1);
        shed(t);
        if (i == 999)
            cr_assert(log_bytes(&t->log, &t->rule) <= 8950, "at first fill: %zu", log_bytes(&t->log, &t->rule));
        if (i >= 2000) {
            sum += log_bytes(&t->log, &t->rule);
            phases++;
        }
    }
    cr_assert(sum <= 8950 * phases, "on average: %zu", sum / phases);
    twin_free(t);
}

Test(window_log, chunks_grow_with_the_log_so_that_there_are_few)
{
    weiri_rule rule = log_rule_of(WEIR_SECOND, WEIR_PER_REQUEST);
    weiri_log log = {0};
    const uint32_t records = 1000000;
    for (uint32_t i = 0; i < records; i++) {
        weiri_log_view view = weiri_log_look(&log, &rule, i, 0);
        log_charge(&log, &rule, &view, 1);
        chunks_free(weiri_log_shed(&log, &rule, false), &rule);
    }
    cr_assert(log.chunks < 150, "%u chunks", log.chunks);
    cr_assert(log_bytes(&log, &rule) < records * 8 / 16 * 17 + 4096);
    weiri_log_view view = weiri_log_look(&log, &rule, WEIR_SECOND + 123456, 0);
    EQUALS(view.used, records - 123457);
    EQUALS(weiri_log_opens(&log, &rule, &view, 777, 1), WEIR_SECOND + records - 777);
    log_free(&log, &rule);
}

Test(window_log, a_dead_chunk_that_suits_is_used_again)
{
    twin *t = twin_new(100, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 1000; i++)
        take_at(t, i, 1);
    uint32_t chunks = t->log.chunks;
    size_t bytes = log_bytes(&t->log, &t->rule);
    for (uint64_t i = 1000; i < 5000; i++) {
        weiri_log_view view = look(t, i);
        EQUALS(weiri_log_needs(&t->log, &t->rule, &view).chunk, 0);
        twin_charge(t, &view, 1);
        check_index(&t->log);
        EQUALS(look(t, i).used, 100);
    }
    EQUALS(t->log.chunks, chunks);
    EQUALS(log_bytes(&t->log, &t->rule), bytes);
    twin_free(t);
}

Test(window_log, a_chunk_that_dies_with_a_charge_is_used_for_that_charge)
{
    /* 96 records live before a charge, in chunks of 16: one is full just when another dies. The burst at the start
     * makes the first chunk, of 64, die at another moment and leave. */
    twin *t = twin_new(97, WEIR_PER_REQUEST);
    for (int i = 0; i < 10; i++) {
        take_at(t, 0, 1);
        shed(t);
    }
    for (uint64_t i = 0; i < 3000; i++) {
        weiri_log_view view = look(t, i);
        cr_assert(i < 500 || weiri_log_needs(&t->log, &t->rule, &view).chunk == 0, "at %" PRIu64, i);
        twin_charge(t, &view, 1);
        shed(t);
        check_index(&t->log);
    }
    twin_free(t);
}

Test(window_log, trimming_moves_the_live_records_into_a_chunk_that_fits)
{
    twin *t = twin_new(5000, WEIR_PER_COST);
    for (uint64_t i = 0; i < 5000; i++)
        take_at(t, i, i % 7 + 1);
    EQUALS(weiri_log_loose(&t->log, &t->rule), 0);
    log_trim(&t->log, &t->rule, 9000); /* 999 live: what is dead goes, and what is left fits */
    check_index(&t->log);
    EQUALS(t->log.next - t->log.first, 999);
    EQUALS(look(t, 9000).used, used_at(t, 9000));
    uint64_t time = 9989;
    log_trim(&t->log, &t->rule, time);
    check_index(&t->log);
    EQUALS(t->log.chunks, 1);
    EQUALS(t->log.index_capacity, 0);
    EQUALS(log_bytes(&t->log, &t->rule), 8 + 12 * 16); /* 10 live */
    EQUALS(look(t, time).used, used_at(t, time));
    EQUALS(look(t, time + 3).used, used_at(t, time + 3));
    EQUALS(look(t, 0).time, 4999);
    cr_assert(!weiri_log_forget(&t->log, &t->rule, time));
    twin_free(t);
}

Test(window_log, a_move_goes_on_while_the_log_is_charged_and_records_leave)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 4000; i++)
        take_at(t, i / 4, 1);
    cr_assert(weiri_log_forget(&t->log, &t->rule, 1949)); /* 200 live */
    shed(t);
    size_t size = 8 + 400 * 8;
    weiri_log_move move = weiri_log_move_into(sized_new(size), size, &t->rule);
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_MORE);
    EQUALS(move.copied, 64);
    take_at(t, 1960, 1); /* 44 leave: fewer than are copied */
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_MORE);
    EQUALS(move.copied, 128);
    take_at(t, 1990, 1); /* those that come next have left: it begins again */
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_DONE);
    shed(t);
    check_index(&t->log);
    EQUALS(t->log.chunks, 1);
    for (uint64_t at = 1990; at < 3000; at += 7)
        EQUALS(look(t, at).used, used_at(t, at));
    sized_free(move.chunk, weiri_chunk_size(move.chunk, &t->rule));
    twin_free(t);
}

Test(window_log, a_move_into_a_chunk_that_has_become_too_small_fails_and_changes_nothing)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 100; i++)
        take_at(t, i, 1);
    size_t size = 8 + 80 * 8;
    weiri_log_move move = weiri_log_move_into(sized_new(size), size, &t->rule);
    weiri_log before = t->log;
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_MORE);
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_FAILED);
    cr_assert(memcmp(&before, &t->log, sizeof before) == 0);
    sized_free(move.chunk, size);
    twin_free(t);
}

Test(window_log, a_log_is_loose_from_double_the_capacity_on)
{
    twin *t = twin_new(1000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 31; i++)
        take_at(t, i, 1);
    shed(t);
    EQUALS(header(chunk_at(&t->log, 0), 1), 32);
    cr_assert(!weiri_log_forget(&t->log, &t->rule, 1014)); /* 16 live, and one more: 20 of 32 */
    cr_assert(weiri_log_forget(&t->log, &t->rule, 1015));  /* 15 live: 16 of 32 */
    EQUALS(weiri_log_loose(&t->log, &t->rule), 8 + 16 * 8);
    cr_assert(!weiri_log_forget(&t->log, &t->rule, 1015));
    cr_assert(weiri_log_forget(&t->log, &t->rule, 1029)); /* 1 live: 4 of 32 */
    EQUALS(weiri_log_loose(&t->log, &t->rule), 8 + 4 * 8);
    cr_assert(weiri_log_forget(&t->log, &t->rule, 1030)); /* none */
    EQUALS(weiri_log_loose(&t->log, &t->rule), 0);
    twin_free(t);
}

Test(window_log, at_most_64_records_are_moved_for_one_charge)
{
    twin *t = twin_new(2000, WEIR_PER_REQUEST);
    uint64_t time = 0;
    weiri_log_view view;
    do {
        take_at(t, time++, 1);
        shed(t);
        view = look(t, time);
    } while (time < 6000 || weiri_log_needs(&t->log, &t->rule, &view).chunk == 0);
    view = look(t, time + 2000 - 66); /* 65 live, in the last chunk of 128, which is full */
    EQUALS(view.used, 65);
    EQUALS(weiri_log_needs(&t->log, &t->rule, &view).chunk, 8 + 16 * 8);
    view = look(t, time + 2000 - 65);
    EQUALS(view.used, 64);
    EQUALS(weiri_log_needs(&t->log, &t->rule, &view).chunk, 0);
    twin_charge(t, &view, 1);
    check_index(&t->log);
    EQUALS(look(t, 0).used, 65);
    EQUALS(look(t, 0).used, used_at(t, view.time));
    twin_free(t);
}

Test(window_log, shedding_all_leaves_an_empty_log)
{
    twin *t = twin_new(1000, WEIR_PER_COST);
    for (uint64_t i = 0; i < 300; i++)
        take_at(t, i, 2);
    chunks_free(weiri_log_shed(&t->log, &t->rule, true), &t->rule);
    check_index(&t->log);
    EQUALS(t->log.chunks, 0);
    EQUALS(look(t, 0).used, 0);
    EQUALS(look(t, 0).time, 299);
    twin_free(t);
}

/* What a random charge is given: the right thing, nothing, or too much. */
static void random_supply(twin *t, const weiri_log_view *view, random_source *source)
{
    weiri_log_need need = weiri_log_needs(&t->log, &t->rule, view);
    size_t record = t->rule.meter == WEIR_PER_COST ? 16 : 8;
    if (random_one_in(source, 4))
        need.chunk = random_one_in(source, 2) ? 0 : 8 + record * random_between(source, 8, 80);
    if (random_one_in(source, 4))
        need.index = random_one_in(source, 2) ? 0 : 8 * random_between(source, 4, 40);
    log_supply(&t->log, &t->rule, view, need);
    check_index(&t->log);
}

static void random_trim(twin *t, uint64_t time)
{
    log_trim(&t->log, &t->rule, time);
}

static void check_view(const twin *t, const weiri_log_view *view, random_source *source)
{
    uint64_t used = used_at(t, view->time);
    EQUALS(view->used, used);
    EQUALS((uint32_t)(t->log.next - view->first), live_at(t, view->time));
    uint64_t limit = random_between(source, 1, used + 3);
    uint64_t charge = t->rule.meter == WEIR_PER_COST ? random_below(source, limit + 1) : 1;
    uint64_t opens = weiri_log_opens(&t->log, &t->rule, view, limit, charge);
    cr_assert(opens >= view->time);
    cr_assert(used_at(t, opens) <= limit - charge);
    cr_assert(opens == view->time || used_at(t, opens - 1) > limit - charge);
}

/* Arrivals in bursts and pauses, so that the log grows, shrinks and empties. */
static void random_trace(random_source *source, size_t steps)
{
    uint64_t window = random_sized(source, 12);
    uint32_t meter = random_one_in(source, 2) ? WEIR_PER_COST : WEIR_PER_REQUEST;
    twin *t = twin_new(window, meter);
    t->log.first = t->log.next = random_one_in(source, 2) ? (uint32_t)-random_below(source, steps) : 0;
    t->log.total = random_one_in(source, 2) ? 0 - random_below(source, steps) : 0;
    uint64_t time = random_below(source, 2 * window);
    uint64_t pace = 1;
    for (size_t i = 0; i < steps; i++) {
        pace = random_one_in(source, 100) ? random_sized(source, 5) : pace;
        time += random_one_in(source, 200) ? random_below(source, 2 * window) : random_below(source, pace);
        uint64_t back = random_below(source, window);
        uint64_t now = random_one_in(source, 5) && back < time ? time - back : time;
        weiri_log_view far = look(t, time + random_below(source, 2 * window));
        EQUALS(far.used, used_at(t, far.time));
        weiri_log_view view = weiri_log_look(&t->log, &t->rule, now, random_one_in(source, 9) ? now + back : 0);
        check_view(t, &view, source);
        random_supply(t, &view, source);
        if (random_one_in(source, 10)) {
            random_supply(t, &far, source); /* for a call that then does not charge */
            check_view(t, &view, source);
            view = weiri_log_look(&t->log, &t->rule, now, 0);
        }
        if (!random_one_in(source, 5)) {
            twin_charge(t, &view, meter == WEIR_PER_COST ? random_sized(source, 6) : 1);
            check_index(&t->log);
        }
        if (random_one_in(source, 5)) {
            shed(t);
            check_index(&t->log);
        }
        if (random_one_in(source, 50))
            random_trim(t, random_one_in(source, 2) ? 0 : t->log.newest);
        if (random_one_in(source, 1000)) {
            weiri_log_clear(&t->log, &t->rule);
            t->gone = t->count;
            check_index(&t->log);
        }
    }
    twin_free(t);
}

Test(window_log, random_traces_count_as_a_list_of_all_charges_does)
{
    uint64_t seed = random_seed("window_log");
    for (uint64_t i = 0; i < random_scaled(200); i++) {
        random_source source = random_from(seed, i);
        random_trace(&source, random_one_in(&source, 20) ? 8000 : 1000);
    }
}
