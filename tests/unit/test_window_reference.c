/*
 * Random calls against a reference that keeps every charge and finds each number by trying.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/random.h"
#include "window_states.h"

/* ---- The reference: all charges of one key, one list for each rule. ---- */

enum { CALLS = 400 };

typedef struct naive_rule {
    weir_rule rule;
    size_t count;
    uint64_t newest;
    uint64_t stamp[CALLS];
    uint64_t charge[CALLS];
} naive_rule;

typedef struct naive {
    size_t count;
    naive_rule rule[WEIR_RULES_MAX];
    const uint64_t *limits;
    uint64_t floor;
} naive;

static uint64_t naive_charge(const naive_rule *r, uint64_t cost)
{
    return r->rule.meter == WEIR_PER_COST ? cost : 1;
}

static uint64_t own_time(const naive_rule *r, uint64_t now)
{
    uint64_t own = r->rule.algorithm == WEIR_COUNTER ? r->newest / r->rule.window_ns * r->rule.window_ns : r->newest;
    return now > own ? now : own;
}

static uint64_t naive_time(const naive *n, const naive_rule *r, uint64_t now)
{
    uint64_t own = own_time(r, now);
    return n->floor > own ? n->floor : own;
}

/* What the charges weigh at `time`, in units of 1/W. */
static uint64_t weight(const naive_rule *r, uint64_t time)
{
    int64_t window = (int64_t)r->rule.window_ns;
    int64_t now = (int64_t)time;
    int64_t width = r->rule.buckets > 0 ? (window - 1) / (int64_t)r->rule.buckets + 1 : 1;
    uint64_t sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        int64_t stamp = (int64_t)r->stamp[i];
        int64_t share = 0;
        if (r->rule.algorithm == WEIR_LOG)
            share = stamp > now - window ? window : 0;
        else if (r->rule.algorithm == WEIR_BUCKETS) /* as long as the last instant of its bucket is inside */
            share = (stamp / width + 1) * width - 1 > now - window ? window : 0;
        else if (stamp / window == now / window)
            share = window;
        else if (stamp / window == now / window - 1)
            share = window - now % window;
        sum += r->charge[i] * (uint64_t)share;
    }
    return sum;
}

static bool naive_fits(const naive *n, size_t i, uint64_t now, uint64_t charge)
{
    const naive_rule *r = &n->rule[i];
    uint64_t window = r->rule.window_ns;
    return charge <= n->limits[i] && weight(r, naive_time(n, r, now)) + charge * window <= n->limits[i] * window;
}

static uint64_t naive_remaining(const naive *n, size_t i, uint64_t now)
{
    uint64_t remaining = 0;
    while (naive_fits(n, i, now, remaining + 1))
        remaining++;
    return remaining;
}

static uint64_t naive_wait(const naive *n, size_t i, uint64_t now, uint64_t charge)
{
    uint64_t wait = 0;
    if (charge > n->limits[i])
        return WEIR_NEVER;
    while (!naive_fits(n, i, now + wait, charge))
        wait++;
    return wait;
}

/* How `i` stands: limit, remaining, release. */
static void naive_standing(const naive *n, size_t i, uint64_t now, weir_decision *d)
{
    d->rule = (uint32_t)i;
    d->limit = n->limits[i];
    d->remaining = naive_remaining(n, i, now);
    if (weight(&n->rule[i], naive_time(n, &n->rule[i], now)) > 0) {
        d->release_after_ns = 1;
        while (naive_remaining(n, i, now + d->release_after_ns) <= d->remaining)
            d->release_after_ns++;
    }
}

static void naive_record(naive *n, uint64_t now, uint64_t cost)
{
    for (size_t i = 0; i < n->count; i++) {
        naive_rule *r = &n->rule[i];
        if (naive_charge(r, cost) > 0) {
            r->newest = naive_time(n, r, now);
            r->stamp[r->count] = r->newest;
            r->charge[r->count++] = naive_charge(r, cost);
        }
    }
}

static weir_decision naive_decide(naive *n, uint64_t now, uint64_t cost, bool take)
{
    weir_decision d = {.verdict = 1};
    size_t last = 0;
    size_t least = 0;
    uint64_t left = UINT64_MAX;
    for (size_t i = 0; i < n->count; i++) {
        uint64_t charge = naive_charge(&n->rule[i], cost);
        d.flags |= n->floor > own_time(&n->rule[i], now) ? WEIR_LATE : 0;
        if (!naive_fits(n, i, now, charge)) {
            uint64_t wait = naive_wait(n, i, now, charge);
            last = wait > d.retry_after_ns ? i : last;
            d.retry_after_ns = wait > d.retry_after_ns ? wait : d.retry_after_ns;
            d.verdict = 0;
        } else if (naive_remaining(n, i, now) - charge < left) {
            left = naive_remaining(n, i, now) - charge;
            least = i;
        }
    }
    if (take && d.verdict)
        naive_record(n, now, cost);
    naive_standing(n, d.verdict ? least : last, now, &d);
    return d;
}

static void compare(const weir_decision *got, const weir_decision *wanted, const char *call, size_t step)
{
    EQUALS(got->verdict, wanted->verdict, "%s %zu", call, step);
    EQUALS(got->flags, wanted->flags, "%s %zu", call, step);
    EQUALS(got->rule, wanted->rule, "%s %zu", call, step);
    EQUALS(got->limit, wanted->limit, "%s %zu", call, step);
    EQUALS(got->remaining, wanted->remaining, "%s %zu", call, step);
    EQUALS(got->retry_after_ns, wanted->retry_after_ns, "%s %zu", call, step);
    EQUALS(got->release_after_ns, wanted->release_after_ns, "%s %zu", call, step);
}

static size_t random_rules(random_source *source, weir_rule *rules)
{
    size_t count = random_one_in(source, 2) ? 1 : random_between(source, 2, 4);
    for (size_t i = 0; i < count; i++) {
        rules[i] = (weir_rule){.algorithm = (uint32_t)random_between(source, 1, 3),
                               .limit = random_between(source, 1, 20),
                               .window_ns = random_sized(source, 6),
                               .meter = random_one_in(source, 3) ? WEIR_PER_REQUEST : WEIR_PER_COST};
        if (rules[i].algorithm == WEIR_BUCKETS)
            rules[i].buckets = random_between(source, 1, rules[i].window_ns);
    }
    return count;
}

/* A refusal must hold until the time told for it, for its cost and more, and not a moment longer. */
static void check_until(const key_states *key, naive *n, uint64_t now, uint64_t cost)
{
    weiri_call call = key_call(key, now, cost);
    weiri_views views;
    weiri_decide(&key->rules, key->states, &call, &views);
    if (views.accepted)
        return;
    uint64_t until = weiri_refused_until(&key->rules, key->states, &call, &views);
    uint64_t retry = naive_decide(n, now, cost, false).retry_after_ns;
    EQUALS(until, retry == WEIR_NEVER ? WEIR_NEVER : now + retry);
}

/* An expired key that is forgotten answers as one that is not. */
static void check_expiry(const key_states *key, const naive *n)
{
    uint64_t expires = weiri_expires(&key->rules, key->states);
    uint64_t earliest = 0;
    for (size_t i = 0; i < n->count; i++) {
        const naive_rule *r = &n->rule[i];
        while (weight(r, earliest > r->newest ? earliest : r->newest) > 0)
            earliest = (earliest > r->newest ? earliest : r->newest) + 1;
    }
    cr_assert(expires >= earliest, "expires at %" PRIu64 ", still charged before %" PRIu64, expires, earliest);
}

static void random_trace(random_source *source)
{
    weir_rule rules[WEIR_RULES_MAX];
    naive *n = calloc(1, sizeof *n);
    key_states key;
    n->count = random_rules(source, rules);
    key_open(&key, rules, n->count);
    n->limits = key.limits;
    uint64_t time = random_sized(source, 8) - 1;
    for (size_t i = 0; i < n->count; i++)
        n->rule[i].rule = rules[i];
    for (size_t step = 0; step < CALLS; step++) {
        time += random_one_in(source, 30) ? random_below(source, 150) : random_below(source, 5);
        uint64_t back = random_one_in(source, 4) ? random_below(source, 70) : 0;
        uint64_t now = time > back ? time - back : 0;
        uint64_t cost = random_one_in(source, 6) ? random_below(source, 25) : random_below(source, 4);
        uint64_t ahead = now + random_below(source, 100);
        if (random_one_in(source, 40))
            key.floor = n->floor = random_below(source, time + 30);
        weir_decision wanted = naive_decide(n, ahead, cost, false);
        weir_decision got = key_peek(&key, ahead, cost);
        compare(&got, &wanted, "peek", step);
        check_until(&key, n, now, cost);
        wanted = naive_decide(n, now, cost, true);
        got = key_take(&key, now, cost);
        compare(&got, &wanted, "take", step);
        check_expiry(&key, n);
        if (random_one_in(source, 60)) {
            size_t which = random_below(source, n->count);
            key.limits[which] = random_between(source, 1, 20);
        }
        if (random_one_in(source, 120)) {
            weiri_clear(&key.rules, key.states);
            for (size_t i = 0; i < n->count; i++)
                n->rule[i].count = 0;
        }
    }
    key_close(&key);
    free(n);
}

Test(window_reference, random_calls_are_answered_as_the_list_of_all_charges_tells)
{
    uint64_t seed = random_seed("window_decide");
    for (uint64_t i = 0; i < random_scaled(60); i++) {
        random_source source = random_from(seed, i);
        random_trace(&source);
    }
}
