/*
 * A log's home, the room for its first records that stands with the states of the key (F, C): used first, left by
 * growing, returned to, and never given away to be freed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_bench.h"
#include "support/random.h"

static bool at_home(const twin *t)
{
    return t->log.chunks > 0 && (const void *)chunk_at(&t->log, t->log.chunks - 1U) == t->home;
}

static weiri_log_need needs(const twin *t, uint64_t now)
{
    weiri_log_view view = look(t, now);
    return weiri_log_needs(&t->log, &t->rule, &view);
}

Test(window_home, the_first_records_need_no_memory_and_the_next_one_a_chunk_for_all)
{
    const struct {
        uint32_t meter, room, bytes;
    } cases[] = {{WEIR_PER_REQUEST, 8, 8 + 12 * 8}, {WEIR_PER_COST, 4, 8 + 8 * 16}};
    for (size_t i = 0; i < 2; i++) {
        twin *t = twin_new_at_home(1000, cases[i].meter);
        for (uint32_t n = 0; n < cases[i].room; n++) {
            EQUALS(needs(t, n).chunk + needs(t, n).index, 0);
            take_at(t, n, n + 1);
            cr_assert(at_home(t));
        }
        EQUALS(needs(t, 100).chunk, cases[i].bytes);
        EQUALS(needs(t, 100).index, 0);
        weiri_log_view view = look(t, 100);
        void *chunk = sized_new(cases[i].bytes), *index = NULL;
        size_t size = cases[i].bytes, index_size = 0;
        weiri_log_supply(&t->log, &t->rule, &view, &chunk, &size, &index, &index_size);
        cr_assert(chunk == NULL && size == 0, "the home does not come back to be freed");
        cr_assert(!at_home(t));
        twin_charge(t, &view, 7);
        check_index(&t->log);
        for (uint64_t at = 100; at < 1200; at += 3)
            EQUALS(look(t, at).used, cases[i].meter == WEIR_PER_COST ? used_at(t, at) : live_at(t, at));
        twin_free(t);
    }
}

Test(window_home, it_is_never_among_what_is_shed)
{
    twin *t = twin_new_at_home(1000, WEIR_PER_REQUEST);
    take_at(t, 1, 1);
    cr_assert(weiri_log_shed(&t->log, &t->rule, false) == NULL);
    EQUALS(t->log.chunks, 1);
    cr_assert(weiri_log_shed(&t->log, &t->rule, true) == NULL);
    EQUALS(t->log.chunks, 0);
    EQUALS(look(t, 1).used, 0);
    for (uint64_t i = 0; i < 8; i++) { /* and again */
        weiri_log_view view = look(t, 2);
        EQUALS(weiri_log_needs(&t->log, &t->rule, &view).chunk, 0);
        weiri_log_charge(&t->log, &t->rule, &view, 1);
    }
    EQUALS(look(t, 2).used, 8);
    twin_free(t);
}

Test(window_home, a_full_home_slides_while_a_quarter_of_it_is_free)
{
    twin *t = twin_new_at_home(6, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 1000; i++) {
        EQUALS(needs(t, i).chunk, 0, "at %" PRIu64, i);
        take_at(t, i, 1);
        cr_assert(at_home(t));
        EQUALS(look(t, i).used, i < 6 ? i + 1 : 6);
    }
    twin_free(t);
}

Test(window_home, a_trim_moves_what_is_left_home_where_one_more_fits)
{
    twin *t = twin_new_at_home(5000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 5000; i++)
        take_at(t, i, 1);
    shed(t);
    cr_assert(t->log.index_capacity > 0);
    cr_assert(weiri_log_forget(&t->log, &t->rule, 9991)); /* 8 live */
    shed(t);
    cr_assert(weiri_log_go_home(&t->log, &t->rule) == NULL);
    cr_assert(weiri_log_forget(&t->log, &t->rule, 9992)); /* 7 live */
    weiri_chunk *left = weiri_log_go_home(&t->log, &t->rule);
    cr_assert(left != NULL);
    chunks_free(left, &t->rule);
    check_index(&t->log);
    cr_assert(at_home(t));
    EQUALS(t->log.chunks, 1);
    EQUALS(weiri_log_loose(&t->log, &t->rule), 0);
    cr_assert(weiri_log_go_home(&t->log, &t->rule) == NULL);
    log_trim(&t->log, &t->rule, 9992);
    EQUALS(t->log.index_capacity, 0);
    for (uint64_t at = 9992; at < 10001; at++)
        EQUALS(look(t, at).used, live_at(t, at));
    EQUALS(needs(t, 9992).chunk, 0);
    twin_free(t);
}

Test(window_home, records_astride_of_chunks_go_home_together)
{
    twin *t = twin_new_at_home(1000, WEIR_PER_COST);
    for (uint64_t i = 0; i < 1000; i++) {
        take_at(t, i, i % 5 + 1);
        shed(t);
    }
    const weiri_chunk *last = chunk_at(&t->log, t->log.chunks - 1U);
    while (t->log.next - header(last, 0) != 1) { /* until a chunk has just begun */
        take_at(t, t->log.newest + 1, 2);
        shed(t);
        last = chunk_at(&t->log, t->log.chunks - 1U);
    }
    uint64_t time = t->log.newest + 997, used = used_at(t, time);
    cr_assert(weiri_log_forget(&t->log, &t->rule, time));
    shed(t);
    EQUALS(t->log.next - t->log.first, 3);
    EQUALS(t->log.chunks, 2);
    chunks_free(weiri_log_go_home(&t->log, &t->rule), &t->rule);
    cr_assert(at_home(t));
    check_index(&t->log);
    EQUALS(look(t, time).used, used);
    EQUALS(look(t, time + 1).used, used_at(t, time + 1));
    twin_free(t);
}

Test(window_home, a_move_that_finds_the_log_at_home_fails_and_leaves_it_there)
{
    twin *t = twin_new_at_home(1000, WEIR_PER_REQUEST);
    for (uint64_t i = 0; i < 100; i++)
        take_at(t, i, 1);
    size_t size = 8 + 120 * 8;
    weiri_log_move move = weiri_log_move_into(sized_new(size), size, &t->rule);
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_MORE);
    chunks_free(weiri_log_shed(&t->log, &t->rule, true), &t->rule); /* a reset comes between */
    weiri_log_view view = look(t, 100);
    weiri_log_charge(&t->log, &t->rule, &view, 1);
    cr_assert(at_home(t));
    EQUALS(weiri_log_move_some(&t->log, &t->rule, &move), WEIRI_MOVE_FAILED);
    cr_assert(at_home(t));
    sized_free(move.chunk, size);
    twin_free(t);
}

/* Everything at random, beside the list; each block has its size checked when it comes back. */
static void walk(uint32_t meter, random_source *source)
{
    twin *t = twin_new_at_home(1000, meter);
    uint64_t now = 0;
    for (unsigned step = 0; step < 20000; step++) {
        uint64_t kind = random_below(source, 100);
        now += random_below(source, step / 2000 % 2 ? 30 : 400);
        if (kind < 90) {
            take_at(t, now, 1 + random_below(source, 9));
            if (kind < 80)
                shed(t);
        } else {
            log_trim(&t->log, &t->rule, now);
        }
        check_index(&t->log);
        EQUALS(look(t, now).used, meter == WEIR_PER_COST ? used_at(t, now) : live_at(t, now), "step %u", step);
    }
    twin_free(t);
}

Test(window_home, every_record_counts_wherever_it_stands)
{
    random_source source = random_from(random_seed("window_home"), 0);
    walk(WEIR_PER_REQUEST, &source);
    walk(WEIR_PER_COST, &source);
}
