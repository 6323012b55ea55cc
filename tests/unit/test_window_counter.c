/*
 * SPDX-License-Identifier: MIT
 */
#include "support/random.h"
#include "window_states.h"

static weiri_rule counter(uint64_t window)
{
    weir_rule rule = {.limit = 1, .window_ns = window, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_COST};
    return weiri_rule_make(&rule, WEIR_TIME_MAX);
}

/* The rule of the contract, by plain division, at any time. */
static bool accepts_at(weiri_counter state, uint64_t window, uint64_t time, uint64_t limit, uint64_t charge)
{
    uint64_t index = time / window;
    uint64_t offset = time % window;
    uint64_t current = index == state.index ? state.current : 0;
    uint64_t previous = index == state.index ? state.previous : index == state.index + 1 ? state.current : 0;
    return charge <= limit && (weiri_u128)previous * (window - offset) + ((weiri_u128)current + charge) * window <=
                                  (weiri_u128)limit * window;
}

static uint64_t largest(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t most = a > b ? a : b;
    return most > c ? most : c;
}

Test(window_counter, zero_is_nothing_charged_at_every_time)
{
    weiri_rule rule = counter(WEIR_WINDOW_MAX);
    weiri_counter none = {0, 0, 0};
    const uint64_t times[] = {0, 1, WEIR_WINDOW_MAX - 1, WEIR_WINDOW_MAX, WEIR_TIME_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        weiri_counter_view view = weiri_counter_look(none, &rule, times[i], 0);
        EQUALS(view.time, times[i]);
        EQUALS(view.at.index, times[i] / WEIR_WINDOW_MAX);
        EQUALS(view.offset, times[i] % WEIR_WINDOW_MAX);
        EQUALS(weiri_counter_remaining(&view, &rule, WEIR_TIME_MAX), WEIR_TIME_MAX);
        EQUALS(weiri_counter_opens(&view, &rule, 5, 5), times[i]);
        cr_assert(weiri_counter_accepts(&view, &rule, WEIR_TIME_MAX, WEIR_TIME_MAX));
        cr_assert(!weiri_counter_accepts(&view, &rule, WEIR_TIME_MAX, UINT64_MAX));
    }
}

Test(window_counter, time_falls_only_inside_the_newest_window_charged)
{
    weiri_rule rule = counter(10);
    weiri_counter state = {.index = 4, .current = 1, .previous = 2};
    EQUALS(weiri_counter_look(state, &rule, 47, 0).time, 47);
    EQUALS(weiri_counter_look(state, &rule, 43, 0).time, 43);
    EQUALS(weiri_counter_look(state, &rule, 7, 0).time, 40);
    EQUALS(weiri_counter_look(state, &rule, 7, 0).offset, 0);
    EQUALS(weiri_counter_look(state, &rule, 7, 0).at.previous, 2);
}

Test(window_counter, the_next_window_inherits_the_current_count_and_a_later_one_nothing)
{
    weiri_rule rule = counter(10);
    weiri_counter state = {.index = 4, .current = 3, .previous = 2};
    weiri_counter_view next = weiri_counter_look(state, &rule, 59, 0);
    EQUALS(next.at.index, 5);
    EQUALS(next.at.current, 0);
    EQUALS(next.at.previous, 3);
    weiri_counter_view later = weiri_counter_look(state, &rule, 60, 0);
    EQUALS(later.at.index, 6);
    EQUALS(later.at.previous, 0);
    weiri_counter charged = weiri_counter_charged(&next, 7);
    EQUALS(charged.index, 5);
    EQUALS(charged.current, 7);
    EQUALS(charged.previous, 3);
}

Test(window_counter, late_means_that_the_floor_alone_decides_the_time)
{
    weiri_rule rule = counter(10);
    weiri_counter state = {.index = 4, .current = 1, .previous = 2};
    cr_assert(!weiri_counter_look(state, &rule, 41, 41).late);
    cr_assert(weiri_counter_look(state, &rule, 41, 42).late);
    EQUALS(weiri_counter_look(state, &rule, 41, 42).time, 42);
    cr_assert(!weiri_counter_look(state, &rule, 3, 40).late);
    EQUALS(weiri_counter_look(state, &rule, 3, 75).time, 75);
    EQUALS(weiri_counter_look(state, &rule, 3, 75).at.current, 0);
}

Test(window_counter, a_reset_counter_keeps_its_time)
{
    weiri_rule rule = counter(10);
    weiri_counter state = {.index = 4, .current = 0, .previous = 0};
    weiri_counter_view view = weiri_counter_look(state, &rule, 0, 0);
    EQUALS(view.time, 40);
    EQUALS(weiri_counter_remaining(&view, &rule, 9), 9);
    EQUALS(weiri_counter_expires(&state, &rule), 60);
}

Test(window_counter, it_opens_when_enough_of_the_previous_window_has_worn_off)
{
    /* L=60 W=60: 60 at 30, 12 at 72; one more fits at 73. */
    weiri_rule rule = counter(60000000000);
    weiri_counter state = {.index = 1, .current = 12, .previous = 60};
    weiri_counter_view view = weiri_counter_look(state, &rule, 72000000000, 0);
    cr_assert(!weiri_counter_accepts(&view, &rule, 60, 1));
    EQUALS(weiri_counter_opens(&view, &rule, 60, 1), UINT64_C(73000000000));
    view = weiri_counter_look(state, &rule, 72999999999, 0);
    cr_assert(!weiri_counter_accepts(&view, &rule, 60, 1));
    view = weiri_counter_look(state, &rule, 73000000000, 0);
    cr_assert(weiri_counter_accepts(&view, &rule, 60, 1));
}

Test(window_counter, remaining_takes_the_previous_window_into_account)
{
    weiri_rule rule = counter(100);
    weiri_counter_view view = weiri_counter_look((weiri_counter){1, 10, 50}, &rule, 110, 0);
    EQUALS(weiri_counter_remaining(&view, &rule, 100), 45);
    cr_assert(weiri_counter_accepts(&view, &rule, 100, 45));
    cr_assert(!weiri_counter_accepts(&view, &rule, 100, 46));
}

Test(window_counter, a_lowered_limit_leaves_debt_that_wears_off)
{
    /* Five at 0 in windows of 100, then the limit falls to 3: charges 1 and 0 open at 160 and 140. */
    weiri_rule rule = counter(100);
    weiri_counter_view view = weiri_counter_look((weiri_counter){0, 5, 0}, &rule, 10, 0);
    EQUALS(weiri_counter_remaining(&view, &rule, 3), 0);
    EQUALS(weiri_counter_opens(&view, &rule, 3, 1), 160);
    EQUALS(weiri_counter_opens(&view, &rule, 3, 0), 140);
    EQUALS(weiri_counter_opens(&view, &rule, 3, 3), 200);
    EQUALS(weiri_counter_remaining(&view, &rule, 8), 3);
}

Test(window_counter, expiry_saturates)
{
    weiri_rule rule = counter(WEIR_WINDOW_MAX);
    EQUALS(weiri_counter_expires(&(weiri_counter){1, 1, 0}, &rule), UINT64_C(3) << 62);
    EQUALS(weiri_counter_expires(&(weiri_counter){2, 1, 0}, &rule), UINT64_MAX);
}

/* Verdict, remaining and opening time of one view, against the rule itself. */
static void check_view(weiri_counter state, const weiri_rule *rule, const weiri_counter_view *view, uint64_t limit,
                       uint64_t charge)
{
    uint64_t window = rule->window;
    cr_assert(weiri_counter_accepts(view, rule, limit, charge) == accepts_at(state, window, view->time, limit, charge));
    uint64_t remaining = weiri_counter_remaining(view, rule, limit);
    cr_assert(remaining == 0 || accepts_at(state, window, view->time, limit, remaining));
    cr_assert(!accepts_at(state, window, view->time, limit, remaining + 1));
    if (charge <= limit) {
        uint64_t opens = weiri_counter_opens(view, rule, limit, charge);
        cr_assert(opens >= view->time);
        cr_assert(accepts_at(state, window, opens, limit, charge));
        cr_assert(opens == view->time || !accepts_at(state, window, opens - 1, limit, charge));
    }
}

static void random_round(random_source *source)
{
    weiri_rule rule = counter(random_sized(source, random_one_in(source, 3) ? 6 : 62));
    unsigned bits = random_one_in(source, 3) ? 5 : 63;
    uint64_t base = random_sized(source, 63);
    weiri_counter state = {base / rule.window, random_sized(source, bits) - 1, random_sized(source, bits) - 1};
    for (int i = 0; i < 20; i++) {
        uint64_t step = random_below(source, rule.window);
        uint64_t now = random_one_in(source, 4) ? random_sized(source, 63) : base - (base < step ? base : step);
        now = random_one_in(source, 3) && now + 2 * step <= WEIR_TIME_MAX ? now + 2 * step : now;
        uint64_t floor = random_one_in(source, 4) ? random_sized(source, 63) : 0;
        weiri_counter_view view = weiri_counter_look(state, &rule, now, floor);
        EQUALS(view.time, largest(now, state.index * rule.window, floor));
        cr_assert(view.late == (floor > now && floor > state.index * rule.window));
        EQUALS(view.at.index, view.time / rule.window);
        EQUALS(view.offset, view.time % rule.window);
        uint64_t limit = random_sized(source, bits);
        uint64_t charge = random_one_in(source, 2) ? random_sized(source, 64) - 1 : random_below(source, limit) + 1;
        check_view(state, &rule, &view, limit, charge);
    }
}

Test(window_counter, random_states_of_every_size_answer_as_the_rule_says)
{
    random_source source = random_from(random_seed("window_counter"), 0);
    for (uint64_t i = random_scaled(30000); i > 0; i--)
        random_round(&source);
}
