/* Open and close. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "../sync/cancel.h"
#include "../sync/stay.h"
#include "node.h"
#include "options.h"

#define STRINGIFY(x)                 #x
#define VERSION(major, minor, patch) STRINGIFY(major) "." STRINGIFY(minor) "." STRINGIFY(patch)

const char *weir_version(void)
{
    return VERSION(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
}

static void compile(weir *limiter, const weir_rule *rules, size_t count, const weir_options *options)
{
    uint64_t longest = 0;
    limiter->rules.count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        limiter->rules.rule[i] = weiri_rule_make(&rules[i], weiri_rule_max(rules, count, options, i));
        limiter->costs = limiter->costs || rules[i].meter == WEIR_PER_COST;
        longest = rules[i].window_ns > longest ? rules[i].window_ns : longest;
    }
    weiri_rules_layout(&limiter->rules);
    const weiri_rule *first = &limiter->rules.rule[0];
    limiter->nodes = count > 1 || first->algorithm != WEIR_COUNTER || first->max_limit > UINT32_MAX;
    limiter->one_log = count == 1 && first->algorithm == WEIR_LOG;
    limiter->memory.pool[WEIRI_BLOCK_NODE].of.size = limiter->nodes ? weiri_node_block(limiter) : 0;
    limiter->table.live = limiter->nodes ? weiri_node_live : weiri_cell_live;
    limiter->table.context = limiter;
    limiter->table.max_keys = options->max_keys;
    limiter->when_full = options->when_full;
    limiter->clock = options->clock;
    limiter->clock_read = options->clock_read;
    limiter->clock_argument = options->clock_argument;
    limiter->max_lateness = options->max_lateness_ns;
    limiter->sweep_interval = options->sweep_interval_ns;
    if (limiter->sweep_interval == 0) {
        uint64_t eighth = longest / 8;
        limiter->sweep_interval = eighth < 100 * WEIR_MILLISECOND ? 100 * WEIR_MILLISECOND
                                  : eighth > 5 * WEIR_SECOND      ? 5 * WEIR_SECOND
                                                                  : eighth;
    }
}

static bool fill_plans(weir *limiter, const weir_rule *rules, size_t count, const weir_options *options)
{
    uint32_t plans = (uint32_t)weiri_plan_count(options);
    limiter->plan = weiri_allocate(&limiter->memory, 16, plans * sizeof(weiri_apointer));
    if (!limiter->plan)
        return false;
    memset(limiter->plan, 0, plans * sizeof(weiri_apointer));
    limiter->plans = plans;
    for (uint32_t plan = 0; plan < plans; plan++) {
        uint64_t values[WEIR_RULES_MAX];
        for (size_t rule = 0; rule < count; rule++)
            values[rule] = weiri_plan_limit(rules, count, options, plan, rule);
        weiri_limits *limits = weiri_limits_new(limiter, values);
        weiri_store_release_pointer(&limiter->plan[plan], limits);
        if (!limits)
            return false;
    }
    return true;
}

static void free_plans(weir *limiter)
{
    for (uint32_t i = 0; i < limiter->plans; i++)
        weiri_release(&limiter->memory, weiri_load_relaxed_pointer(&limiter->plan[i]), sizeof(weiri_limits));
    weiri_release(&limiter->memory, limiter->plan, limiter->plans * sizeof(weiri_apointer));
}

static int random_words(weir *limiter)
{
    uint64_t words[3];
    for (size_t got = 0; got < sizeof words;) {
        ssize_t more = getrandom((unsigned char *)words + got, sizeof words - got, 0);
        if (more < 0 && errno != EINTR)
            return -errno;
        got += more > 0 ? (size_t)more : 0;
    }
    limiter->table.hash_key = (weiri_hash_key){{words[0], words[1]}};
    limiter->owner = words[2];
    return 0;
}

static void free_state(void *argument, weiri_pair state)
{
    weir *limiter = argument;
    if (limiter->nodes && weiri_is_node(state))
        weiri_node_free(limiter, weiri_node_of(state));
}

/* Frees the limiter itself with the allocator that lives in it. */
static void free_limiter(weir *limiter)
{
    weir_allocator allocator = limiter->memory.allocator;
    pthread_mutex_destroy(&limiter->limits_lock);
    allocator.release(allocator.argument, limiter, sizeof *limiter);
}

static int build(weir *limiter, const weir_rule *rules, size_t count, const weir_options *options)
{
    int cancel = weiri_no_cancel_begin(); /* asking for them may wait, and the limiter would be lost */
    int error = random_words(limiter);
    weiri_no_cancel_end(cancel);
    if (error)
        return error;
    if (!fill_plans(limiter, rules, count, options)) {
        free_plans(limiter);
        return -ENOMEM;
    }
    if (!weiri_table_init(&limiter->table, &limiter->memory)) {
        free_plans(limiter);
        return -ENOMEM;
    }
    bool named = limiter->clock != WEIR_CLOCK_MANUAL && limiter->clock != WEIR_CLOCK_CUSTOM;
    error = named && options->janitor ? weiri_janitor_add(limiter) : 0;
    if (error) {
        weiri_table_destroy(&limiter->table, free_state, limiter);
        free_plans(limiter);
    }
    return error;
}

int weir_open(weir **limiter, const weir_rule *rules, size_t rule_count, const weir_options *options)
{
    weir_options copy;
    *limiter = NULL;
    int error = weiri_options_check(rules, rule_count, options, &copy);
    if (!error) {
        weiri_stay_loaded();
        error = weiri_gate_install(&weiri_janitor_fork_handlers);
    }
    if (error)
        return error == -EBUSY ? weiri_options_busy(&copy) : error;
    weiri_memory memory;
    weiri_memory_init(&memory, &copy.allocator);
    weir *new = memory.allocator.allocate(memory.allocator.argument, _Alignof(weir), sizeof *new);
    if (!new)
        return -ENOMEM;
    memset(new, 0, sizeof *new);
    new->memory = memory;
    weiri_sum_add(&new->memory.bytes, sizeof *new);
    pthread_mutex_init(&new->limits_lock, NULL);
    compile(new, rules, rule_count, &copy);
    error = build(new, rules, rule_count, &copy);
    if (error)
        free_limiter(new);
    else
        *limiter = new;
    return error;
}

int weir_close(weir *limiter)
{
    if (!limiter)
        return 0;
    if (weiri_rcu_inside())
        return -EDEADLK;
    weiri_janitor_remove(limiter);
    weiri_reclaim_now(&limiter->memory); /* no call runs: nobody reads */
    weiri_table_destroy(&limiter->table, free_state, limiter);
    weiri_reclaim_now(&limiter->memory);
    weiri_memory_destroy(&limiter->memory);
    free_plans(limiter);
    free_limiter(limiter);
    return 0;
}
