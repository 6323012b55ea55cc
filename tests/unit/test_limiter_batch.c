/* B, D, batches and prefetching: the answers of a batch are those of so many calls, whatever it holds. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <weir/weir.h>

#include "support/decision.h"
#include "support/random.h"

enum { MOST = 200, KEYS = 300, KEY_MAX = 40, PLANS = 3 };

/* Two limiters, one asked in batches and one call by call, and what the next batch is. */
struct pair {
    weir *together, *singly;
    unsigned char keys[MOST][KEY_MAX];
    weir_identity of_together[MOST], of_singly[MOST];
    weir_request to_together[MOST], to_singly[MOST];
};

static weir *open_one(const weir_rule *rules, size_t count)
{
    const uint64_t limits[PLANS * 2] = {5, 5, 2, 7, 9, 1};
    weir_options options = weir_options_manual();
    weir *limiter;

    options.plans = PLANS;
    options.plan_limits = limits;
    options.max_lateness_ns = 0;
    cr_assert_eq(weir_open(&limiter, rules, count, &options), 0);
    return limiter;
}

/* A key of any length, few enough that they come again. */
static size_t make_key(unsigned char *key, uint64_t number)
{
    memset(key, (int)(number % 7), KEY_MAX);
    memcpy(key, &number, sizeof number);
    return number % KEY_MAX + 1 < 4 ? 4 : number % KEY_MAX + 1;
}

static void make_request(struct pair *pair, size_t i, random_source *random)
{
    size_t length = make_key(pair->keys[i], random_below(random, KEYS));
    weir_request request = weir_request_for(pair->keys[i], length);

    request.cost = random_below(random, 4);
    request.plan = (uint32_t)random_below(random, PLANS);
    if (random_one_in(random, 16)) /* bad ones, of each kind */
        switch (random_below(random, 4)) {
        case 0:
            request.plan = PLANS;
            break;
        case 1:
            request.flags = 1;
            break;
        case 2:
            request.reserved[1] = 1;
            break;
        default:
            request.key_len = WEIR_KEY_MAX + 1;
            break;
        }
    pair->to_together[i] = pair->to_singly[i] = request;
    if (request.key_len <= KEY_MAX && random_one_in(random, 3)) {
        cr_assert_eq(weir_identify(pair->together, pair->keys[i], length, &pair->of_together[i]), 0);
        cr_assert_eq(weir_identify(pair->singly, pair->keys[i], length, &pair->of_singly[i]), 0);
        pair->to_together[i].identity = &pair->of_together[i];
        pair->to_singly[i].identity = &pair->of_singly[i];
    }
}

static void compare(struct pair *pair, size_t count, uint64_t now, bool whole)
{
    int verdicts[MOST];
    weir_decision decisions[MOST];
    uint64_t values[2];
    int64_t accepted = 0;

    int64_t told = weir_take_batch(pair->together, pair->to_together, count, now, verdicts, whole ? decisions : NULL);
    for (size_t i = 0; i < count; i++) {
        weir_decision decision;
        int verdict = weir_take(pair->singly, &pair->to_singly[i], now, whole ? &decision : NULL);
        cr_assert_eq(verdicts[i], verdict, "request %zu of %zu", i, count);
        accepted += verdict == 1;
        if (!whole)
            continue;
        cr_assert_eq(decisions[i].verdict, verdict);
        if (verdict >= 0)
            cr_assert_null(decision_difference(&decision, &decisions[i], values, values + 1), "request %zu of %zu", i,
                           count);
    }
    cr_assert_eq(told, accepted);
}

static void compare_all(const weir_rule *rules, size_t count)
{
    static struct pair pair;
    random_source random = random_from(random_seed("batch"), 0);
    uint64_t now = 1000 * WEIR_SECOND;

    pair.together = open_one(rules, count);
    pair.singly = open_one(rules, count);
    for (unsigned round = 0; round < random_scaled(300); round++) {
        static const size_t sizes[] = {0, 1, 2, 31, 32, 63, 64, 65, 128, 129, MOST};
        size_t size = sizes[random_below(&random, sizeof sizes / sizeof *sizes)];
        for (size_t i = 0; i < size; i++) {
            make_request(&pair, i, &random);
            if (random_one_in(&random, 2)) /* changes nothing, whatever the request */
                weir_prefetch(pair.together, &pair.to_together[i]);
        }
        compare(&pair, size, now, random_one_in(&random, 2));
        now += random_below(&random, WEIR_SECOND);
        if (random_one_in(&random, 8)) {
            cr_assert_geq(weir_sweep(pair.together, now, 0), 0);
            cr_assert_eq(weir_reclaim(pair.together), 0);
        }
    }
    cr_assert_geq(weir_sweep(pair.together, now, 0), 0); /* what has expired is dropped at its own times */
    cr_assert_geq(weir_sweep(pair.singly, now, 0), 0);
    weir_statistics one = {.struct_size = sizeof one}, other = {.struct_size = sizeof other};
    cr_assert_eq(weir_stats(pair.together, &one), 0);
    cr_assert_eq(weir_stats(pair.singly, &other), 0);
    cr_assert_eq(one.keys, other.keys);
    weir_close(pair.together);
    weir_close(pair.singly);
}

Test(batch, of_an_inline_counter)
{
    const weir_rule rule = {.algorithm = WEIR_COUNTER, .limit = 5, .window_ns = WEIR_SECOND, .meter = WEIR_PER_COST};
    compare_all(&rule, 1);
}

Test(batch, of_a_log)
{
    const weir_rule rule = {.algorithm = WEIR_LOG, .limit = 5, .window_ns = WEIR_SECOND, .meter = WEIR_PER_COST};
    compare_all(&rule, 1);
}

Test(batch, of_two_rules)
{
    const weir_rule rules[] = {
        {.algorithm = WEIR_BUCKETS, .limit = 5, .window_ns = WEIR_SECOND, .meter = WEIR_PER_COST, .buckets = 4},
        {.algorithm = WEIR_COUNTER, .limit = 5, .window_ns = 3 * WEIR_SECOND, .meter = WEIR_PER_REQUEST}};
    compare_all(rules, 2);
}

Test(batch, prefetching_an_unknown_key_or_a_bad_request_does_nothing)
{
    const weir_rule rule = {.algorithm = WEIR_COUNTER, .limit = 5, .window_ns = WEIR_SECOND, .meter = WEIR_PER_COST};
    weir *limiter = open_one(&rule, 1), *other = open_one(&rule, 1);
    weir_statistics before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
    weir_request request = weir_request_for("key", 3);
    weir_identity foreign;

    cr_assert_eq(weir_stats(limiter, &before), 0);
    weir_prefetch(limiter, &request);
    request.key = NULL;
    weir_prefetch(limiter, &request);
    cr_assert_eq(weir_identify(other, "key", 3, &foreign), 0);
    request.identity = &foreign;
    weir_prefetch(limiter, &request);
    cr_assert_eq(weir_stats(limiter, &after), 0);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
    weir_close(limiter);
    weir_close(other);
}
