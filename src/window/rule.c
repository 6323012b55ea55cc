/*
 * rule: from the rule a caller gave to the rule that is decided with.
 */
#include "rule.h"

#include "buckets.h"
#include "counter.h"
#include "log.h"

/* Bytes of a state with a ring of `buckets` + 1; SIZE_MAX where memory has no such size. */
static size_t buckets_size(uint64_t buckets)
{
    size_t most = (SIZE_MAX - sizeof(weiri_buckets)) / sizeof(uint64_t);
    return buckets < most ? sizeof(weiri_buckets) + ((size_t)buckets + 1) * sizeof(uint64_t) : SIZE_MAX;
}

weiri_rule weiri_rule_make(const weir_rule *rule, uint64_t max_limit)
{
    weiri_rule made = {
        .window = rule->window_ns,
        .algorithm = rule->algorithm,
        .meter = rule->meter,
        .max_limit = max_limit,
    };
    if (rule->algorithm == WEIR_BUCKETS) {
        made.buckets = rule->buckets;
        made.width = (rule->window_ns - 1) / rule->buckets + 1;
        made.by = weiri_divisor_make(made.width);
        made.size = buckets_size(rule->buckets);
        made.ring = sizeof(weiri_buckets);
    } else {
        made.by = weiri_divisor_make(rule->window_ns);
        made.size = rule->algorithm == WEIR_LOG ? sizeof(weiri_log) : sizeof(weiri_counter);
    }
    return made;
}
