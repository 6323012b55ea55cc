/*
 * The quick way of a charge on a log (B): it does what the general way does, to the word, or nothing at all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_bench.h"
#include "support/random.h"
#include "window/log_quick.h"

/* Two logs with the same charges: `quick` takes the quick way where it is open, `general` never. */
typedef struct pair {
    twin *quick, *general;
    uint64_t limit;
    unsigned taken; /* so often was it open */
} pair;

static pair pair_new(uint64_t window, uint32_t meter, uint64_t limit)
{
    return (pair){twin_new_at_home(window, meter), twin_new_at_home(window, meter), limit, 0};
}

static void pair_free(pair *both)
{
    twin_free(both->quick);
    twin_free(both->general);
}

static void same(const twin *a, const twin *b)
{
    EQUALS(a->log.newest, b->log.newest);
    EQUALS(a->log.total, b->log.total);
    EQUALS(a->log.first, b->log.first);
    EQUALS(a->log.next, b->log.next);
    EQUALS(a->log.chunks, b->log.chunks);
    EQUALS(a->log.dead, b->log.dead);
    for (uint32_t i = 0; i < a->log.chunks; i++) {
        EQUALS(header(chunk_at(&a->log, i), 0), header(chunk_at(&b->log, i), 0));
        EQUALS(header(chunk_at(&a->log, i), 1), header(chunk_at(&b->log, i), 1));
    }
    uint32_t words = weiri_log_words(&a->rule);
    for (uint32_t i = a->log.first; i != a->log.next; i++)
        cr_assert(memcmp(weiri_log_record(&a->log, words, i), weiri_log_record(&b->log, words, i), words * 8) == 0);
}

/* One call on both. True: accepted. */
static bool both_take(pair *both, uint64_t now, uint64_t floor, uint64_t charge)
{
    weiri_log *log = &both->quick->log;
    const weiri_rule *rule = &both->quick->rule;
    weiri_log_quick found;
    const weiri_log_view *view = &found.view, wanted = weiri_log_look(&both->general->log, rule, now, floor);
    bool accepted = charge > 0 && weiri_fits(wanted.used, both->limit, charge);
    weiri_log before = *log;
    if (weiri_log_quick_look(log, rule, weiri_log_words(rule), now, floor, both->limit, charge, &found)) {
        cr_assert(accepted && !wanted.late);
        cr_assert(view->time == wanted.time && view->used == wanted.used && view->first == wanted.first && !view->late);
        EQUALS(weiri_log_needs(log, rule, view).chunk, 0);
        weiri_log_quick_charge(log, weiri_log_words(rule), &found, charge);
        both->taken++;
    } else {
        cr_assert(memcmp(&before, log, sizeof before) == 0);
        if (accepted)
            log_charge(log, rule, &wanted, charge);
    }
    if (accepted)
        log_charge(&both->general->log, rule, &wanted, charge);
    if (both->taken % 3 == 0) {
        chunks_free(weiri_log_shed(log, rule, false), rule);
        chunks_free(weiri_log_shed(&both->general->log, rule, false), rule);
    }
    same(both->quick, both->general);
    return accepted;
}

Test(window_quick, it_does_what_the_general_way_does)
{
    random_source source = random_from(random_seed("window_quick"), 0);
    uint64_t rounds = random_scaled(1000);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t window = 1 + random_below(&source, 1000), floor = 0, now = 0;
        pair both = pair_new(window, 1 + round % 2, 1 + random_below(&source, round % 3 ? 30 : 300));
        for (unsigned i = 0; i < 500; i++) {
            uint64_t step = random_below(&source, 5) ? 40 : 4;
            now += random_below(&source, window / step + 2);
            now += random_one_in(&source, 60) ? window : 0;
            floor = random_one_in(&source, 40) ? now + random_below(&source, 3) : floor;
            uint64_t late = random_one_in(&source, 5) ? random_below(&source, 5) : 0;
            both_take(&both, now - (late < now ? late : 0), floor,
                      both.quick->rule.meter == WEIR_PER_COST ? random_below(&source, 6) : 1);
            if (random_one_in(&source, 50)) {
                log_trim(&both.quick->log, &both.quick->rule, now);
                log_trim(&both.general->log, &both.general->rule, now);
                floor = now > floor ? now : floor;
            }
        }
        pair_free(&both);
    }
}

Test(window_quick, in_steady_traffic_it_is_open_for_every_call)
{
    for (uint32_t meter = WEIR_PER_REQUEST; meter <= WEIR_PER_COST; meter++) {
        uint64_t live = meter == WEIR_PER_COST ? 3 : 6; /* a home slides for one in four */
        pair both = pair_new(live, meter, 100);
        both_take(&both, 0, 0, 1);
        EQUALS(both.taken, 0); /* the first takes the home */
        for (uint64_t i = 1; i <= 1000; i++) {
            cr_assert(both_take(&both, i, 0, 1));
            EQUALS(both.taken, i);
        }
        pair_free(&both);
    }
}

Test(window_quick, it_leaves_to_the_general_way_what_is_rare)
{
    pair both = pair_new(100, WEIR_PER_COST, 10);
    weiri_log_quick found;
    cr_assert(both_take(&both, 0, 0, 1));
    const weiri_log *log = &both.quick->log;
    const weiri_rule *rule = &both.quick->rule;
    cr_assert(weiri_log_quick_look(log, rule, 2, 5, 5, 10, 9, &found));
    cr_assert(!weiri_log_quick_look(log, rule, 2, 5, 6, 10, 9, &found), "late");
    cr_assert(!weiri_log_quick_look(log, rule, 2, 5, 5, 10, 10, &found), "refused");
    cr_assert(!weiri_log_quick_look(log, rule, 2, 5, 5, 10, 0, &found), "nothing to record");
    cr_assert(weiri_log_quick_look(log, rule, 2, 100, 0, 10, 10, &found));
    EQUALS(found.view.used, 0);
    pair_free(&both);
    both = pair_new(100, WEIR_PER_REQUEST, 1000);
    for (unsigned i = 0; i < 20; i++)
        cr_assert(both_take(&both, 0, 0, 1));
    cr_assert(!weiri_log_quick_look(&both.quick->log, &both.quick->rule, 1, 100, 0, 1000, 1, &found), "many have left");
    pair_free(&both);
}
