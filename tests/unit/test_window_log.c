/*
 * What a log counts, and for how long.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_bench.h"
#include "support/random.h"

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
