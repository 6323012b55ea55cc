/*
 * The memory of a log: chunks that grow with it, are used again, moved into ones that fit, and given back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_bench.h"

Test(window_chunks, memory_that_is_no_longer_needed_stays_the_callers)
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

Test(window_chunks, a_log_of_few_records_has_one_chunk_that_fits)
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

Test(window_chunks, a_full_log_of_few_records_goes_on_in_its_chunk)
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

Test(window_chunks, a_full_log_of_a_thousand_costs_less_than_nine_bytes_a_record)
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

Test(window_chunks, chunks_grow_with_the_log_so_that_there_are_few)
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

Test(window_chunks, a_dead_chunk_that_suits_is_used_again)
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

Test(window_chunks, a_chunk_that_dies_with_a_charge_is_used_for_that_charge)
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

Test(window_chunks, trimming_moves_the_live_records_into_a_chunk_that_fits)
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

Test(window_chunks, a_move_goes_on_while_the_log_is_charged_and_records_leave)
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

Test(window_chunks, a_move_into_a_chunk_that_has_become_too_small_fails_and_changes_nothing)
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

Test(window_chunks, a_log_is_loose_from_double_the_capacity_on)
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

Test(window_chunks, at_most_64_records_are_moved_for_one_charge)
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

Test(window_chunks, shedding_all_leaves_an_empty_log)
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
