/*
 * SPDX-License-Identifier: MIT
 */
#include "support/random.h"
#include "window_states.h"

enum { CHARGES = 64 };

/* A ring beside a list of every charge. */
typedef struct ring {
    weiri_rule rule;
    weiri_buckets *state;
    size_t charges;
    uint64_t stamp[CHARGES];
    uint64_t charge[CHARGES];
} ring;

static ring ring_of(uint64_t window, uint64_t buckets)
{
    weir_rule rule = {
        .limit = 1, .window_ns = window, .algorithm = WEIR_BUCKETS, .meter = WEIR_PER_COST, .buckets = buckets};
    ring made = {.rule = weiri_rule_make(&rule, WEIR_TIME_MAX)};
    made.state = calloc(1, made.rule.size);
    cr_assert(made.state != NULL);
    return made;
}

static uint64_t slot(const ring *r, uint64_t at)
{
    const uint64_t *values = (const uint64_t *)(const void *)((const char *)r->state + r->rule.ring);
    return values[at];
}

/* Sum of the buckets that count at `time`, by signed 128-bit floor division. */
static uint64_t used_at(const ring *r, uint64_t time)
{
    __int128 width = (r->rule.window + r->rule.buckets - 1) / r->rule.buckets;
    __int128 from = (__int128)time - r->rule.window + 1;
    __int128 oldest = from >= 0 ? from / width : -((-from + width - 1) / width);
    uint64_t used = 0;
    for (size_t i = 0; i < r->charges; i++) {
        __int128 bucket = r->stamp[i] / width;
        used += bucket >= oldest && bucket <= time / width ? r->charge[i] : 0;
    }
    return used;
}

/* What must hold after every charge and clear. */
static void check_ring(const ring *r)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i <= r->rule.buckets; i++)
        sum += slot(r, i);
    EQUALS(sum, r->state->total);
    EQUALS(r->state->head, r->state->newest / r->rule.width);
    cr_assert(r->state->head_slot <= r->rule.buckets);
    EQUALS(r->state->total, used_at(r, r->state->newest));
}

static void charge(ring *r, const weiri_buckets_view *view, uint64_t amount)
{
    weiri_buckets_charge(r->state, &r->rule, view, amount);
    if (r->charges == CHARGES) {
        r->charges--;
        memmove(r->stamp, r->stamp + 1, sizeof r->stamp - sizeof *r->stamp);
        memmove(r->charge, r->charge + 1, sizeof r->charge - sizeof *r->charge);
    }
    r->stamp[r->charges] = view->time;
    r->charge[r->charges++] = amount;
}

static weiri_buckets_view look(const ring *r, uint64_t now)
{
    return weiri_buckets_look(r->state, &r->rule, now, 0);
}

Test(window_buckets, width_is_the_window_shared_out_and_rounded_up)
{
    ring r = ring_of(10, 3);
    EQUALS(r.rule.width, 4);
    EQUALS(r.rule.size, sizeof(weiri_buckets) + 4 * sizeof(uint64_t));
    free(r.state);
    weir_rule vast = {.limit = 1,
                      .window_ns = WEIR_WINDOW_MAX,
                      .algorithm = WEIR_BUCKETS,
                      .meter = WEIR_PER_COST,
                      .buckets = WEIR_WINDOW_MAX};
    EQUALS(weiri_rule_make(&vast, 1).size, SIZE_MAX);
    EQUALS(weiri_rule_make(&vast, 1).width, 1);
    vast.buckets = (UINT64_C(1) << 61) - 5; /* 8 bytes too many */
    EQUALS(weiri_rule_make(&vast, 1).size, SIZE_MAX);
    vast.buckets--;
    EQUALS(weiri_rule_make(&vast, 1).size, SIZE_MAX - 7);
}

Test(window_buckets, the_trailing_bucket_counts_in_full_until_none_of_it_is_inside)
{
    /* W=120, B=3: bucket 0 holds 0 ... 39, and a charge in it counts until 40 + 120 - 1. */
    ring r = ring_of(120, 3);
    weiri_buckets_view view = look(&r, 7);
    charge(&r, &view, 5);
    EQUALS(look(&r, 158).used, 5);
    EQUALS(look(&r, 159).used, 0);
    view = look(&r, 20);
    EQUALS(weiri_buckets_opens(r.state, &r.rule, &view, 5, 1), 159);
    EQUALS(weiri_buckets_expires(r.state, &r.rule), 159);
    free(r.state);
}

Test(window_buckets, the_head_catches_up_after_a_long_pause)
{
    /* W=120 s, B=3, L=5: one at 0, five from 3600 s on; then the wait is 154.999999999 s. */
    ring r = ring_of(120 * WEIR_SECOND, 3);
    weiri_buckets_view view = look(&r, 0);
    charge(&r, &view, 1);
    for (uint64_t second = 3600; second < 3605; second++) {
        view = look(&r, second * WEIR_SECOND);
        EQUALS(view.used, second - 3600);
        charge(&r, &view, 1);
        check_ring(&r);
    }
    view = look(&r, 3605 * WEIR_SECOND);
    EQUALS(view.used, 5);
    EQUALS(weiri_buckets_opens(r.state, &r.rule, &view, 5, 1) - view.time, UINT64_C(154999999999));
    free(r.state);
}

Test(window_buckets, a_look_at_a_far_time_lets_go_of_nothing)
{
    ring r = ring_of(100, 10);
    weiri_buckets_view view = look(&r, 50);
    charge(&r, &view, 3);
    EQUALS(look(&r, 1000).used, 0);
    EQUALS(look(&r, 60).used, 3);
    free(r.state);
}

Test(window_buckets, time_never_falls_and_late_means_that_the_floor_decides)
{
    ring r = ring_of(100, 10);
    weiri_buckets_view view = look(&r, 50);
    charge(&r, &view, 3);
    EQUALS(look(&r, 20).time, 50);
    cr_assert(!weiri_buckets_look(r.state, &r.rule, 20, 50).late);
    cr_assert(weiri_buckets_look(r.state, &r.rule, 20, 51).late);
    EQUALS(weiri_buckets_look(r.state, &r.rule, 20, 500).used, 0);
    free(r.state);
}

Test(window_buckets, clearing_forgets_the_charges_and_not_the_time)
{
    ring r = ring_of(100, 10);
    weiri_buckets_view view = look(&r, 55);
    charge(&r, &view, 3);
    weiri_buckets_clear(r.state, &r.rule);
    r.charges = 0;
    check_ring(&r);
    EQUALS(look(&r, 0).time, 55);
    EQUALS(look(&r, 0).used, 0);
    EQUALS(weiri_buckets_expires(r.state, &r.rule), 159);
    free(r.state);
}

Test(window_buckets, a_charge_at_time_zero_is_remembered_and_nothing_at_all_never_expires)
{
    ring r = ring_of(100, 10);
    EQUALS(weiri_buckets_expires(r.state, &r.rule), 0);
    weiri_buckets_view view = look(&r, 0);
    charge(&r, &view, 3);
    EQUALS(weiri_buckets_expires(r.state, &r.rule), 109);
    weiri_buckets_clear(r.state, &r.rule);
    EQUALS(weiri_buckets_expires(r.state, &r.rule), 0);
    weiri_buckets none = {0, 0, 0, 0};
    cr_assert(memcmp(&none, r.state, sizeof none) == 0);
    free(r.state);
}

Test(window_buckets, the_largest_numbers_neither_wrap_nor_overflow)
{
    ring r = ring_of(WEIR_WINDOW_MAX, 1);
    weiri_buckets_view view = look(&r, WEIR_TIME_MAX);
    charge(&r, &view, WEIR_TIME_MAX);
    view = look(&r, WEIR_TIME_MAX);
    EQUALS(view.used, WEIR_TIME_MAX);
    EQUALS(weiri_buckets_opens(r.state, &r.rule, &view, WEIR_TIME_MAX, 1), (UINT64_C(3) << 62) - 1);
    check_ring(&r);
    free(r.state);
    r = ring_of(WEIR_WINDOW_MAX - 1, 2);
    view = look(&r, WEIR_TIME_MAX);
    charge(&r, &view, 1);
    uint64_t width = WEIR_WINDOW_MAX / 2;
    EQUALS(weiri_buckets_expires(r.state, &r.rule), (WEIR_TIME_MAX / width + 1) * width + WEIR_WINDOW_MAX - 2);
    free(r.state);
}

static void check_opens(const ring *r, const weiri_buckets_view *view, uint64_t limit, uint64_t amount)
{
    uint64_t opens = weiri_buckets_opens(r->state, &r->rule, view, limit, amount);
    cr_assert(opens >= view->time);
    cr_assert(used_at(r, opens) <= limit - amount);
    cr_assert(opens == view->time || used_at(r, opens - 1) > limit - amount);
}

static void random_trace(random_source *source)
{
    bool small = random_one_in(source, 2);
    uint64_t window = random_sized(source, small ? 6 : 62);
    uint64_t most = window < 9 ? window : 9;
    ring r = ring_of(window, random_between(source, 1, most));
    uint64_t limit = random_sized(source, small ? 6 : 63);
    uint64_t time = random_sized(source, small ? 8 : 62);
    for (int i = 0; i < CHARGES; i++) {
        uint64_t step = random_below(source, random_one_in(source, 8) ? 3 * window : window / 2 + 1);
        time = time + step <= WEIR_TIME_MAX ? time + step : WEIR_TIME_MAX;
        uint64_t back = random_below(source, window);
        uint64_t now = random_one_in(source, 4) ? time - (time < back ? time : back) : time;
        uint64_t floor = random_one_in(source, 9) ? now + random_below(source, WEIR_TIME_MAX - now) % window : 0;
        weiri_buckets_view view = weiri_buckets_look(r.state, &r.rule, now, floor);
        uint64_t own = now > r.state->newest ? now : r.state->newest;
        EQUALS(view.time, floor > own ? floor : own);
        EQUALS(view.used, used_at(&r, view.time));
        uint64_t amount = random_below(source, limit) / (random_one_in(source, 2) ? 1 : 8) + 1;
        check_opens(&r, &view, limit, amount);
        check_opens(&r, &view, limit, random_below(source, limit));
        if (weiri_fits(view.used, limit, amount)) {
            charge(&r, &view, amount);
            check_ring(&r);
        }
        if (random_one_in(source, 50)) {
            weiri_buckets_clear(r.state, &r.rule);
            r.charges = 0;
            check_ring(&r);
        }
    }
    free(r.state);
}

Test(window_buckets, random_traces_of_every_size_count_as_the_rule_says)
{
    random_source source = random_from(random_seed("window_buckets"), 0);
    for (uint64_t i = random_scaled(10000); i > 0; i--)
        random_trace(&source);
}
