/* Options, open, close, limits, clocks. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "node.h"

#define STRINGIFY(x) #x
#define VERSION(major, minor, patch) STRINGIFY(major) "." STRINGIFY(minor) "." STRINGIFY(patch)

const char *weir_version(void)
{
    return VERSION(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
}

weir_options weir_options_manual(void)
{
    return (weir_options){.struct_size = sizeof(weir_options), .max_lateness_ns = WEIR_SECOND};
}

weir_options weir_options_default(void)
{
    weir_options options = weir_options_manual();
    options.clock = WEIR_CLOCK_MONOTONIC;
    options.janitor = 1;
    return options;
}

/* --- checks, in words --- */

/* Writes what is wrong, where the caller wants to know; returns -EINVAL. */
static __attribute__((format(printf, 2, 3))) int wrong(const weir_options *options, const char *format, ...)
{
    if (options->error && options->error_size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(options->error, options->error_size, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
}

static uint64_t algorithm_max(uint32_t algorithm)
{
    return algorithm == WEIR_LOG ? UINT32_MAX : (uint64_t)INT64_MAX;
}

static int check_rule(const weir_options *options, const weir_rule *rule, size_t number)
{
    char who[96];
    if (rule->name)
        snprintf(who, sizeof who, "rule %zu (%.60s)", number, rule->name);
    else
        snprintf(who, sizeof who, "rule %zu", number);
    if (rule->algorithm < WEIR_LOG || rule->algorithm > WEIR_BUCKETS)
        return wrong(options, "%s: algorithm: %u is none of WEIR_LOG, WEIR_COUNTER, WEIR_BUCKETS", who,
                     (unsigned)rule->algorithm);
    if (rule->meter < WEIR_PER_REQUEST || rule->meter > WEIR_PER_COST)
        return wrong(options, "%s: meter: %u is neither WEIR_PER_REQUEST nor WEIR_PER_COST", who,
                     (unsigned)rule->meter);
    if (rule->limit < 1 || rule->limit > algorithm_max(rule->algorithm))
        return wrong(options, "%s: limit: %llu is outside 1 ... %s", who, (unsigned long long)rule->limit,
                     rule->algorithm == WEIR_LOG ? "2^32-1" : "2^63-1");
    if (rule->window_ns < 1 || rule->window_ns > WEIR_WINDOW_MAX)
        return wrong(options, "%s: window_ns: %llu is outside 1 ... 2^62", who, (unsigned long long)rule->window_ns);
    if (rule->algorithm == WEIR_BUCKETS && (rule->buckets < 1 || rule->buckets > rule->window_ns))
        return wrong(options, "%s: buckets: %llu is outside 1 ... window_ns", who, (unsigned long long)rule->buckets);
    if (rule->algorithm != WEIR_BUCKETS && rule->buckets != 0)
        return wrong(options, "%s: buckets: must be 0, the algorithm has none", who);
    if (rule->flags | rule->reserved0 | rule->reserved[0] | rule->reserved[1])
        return wrong(options, "%s: flags and reserved: must be 0", who);
    return 0;
}

/* What a newer caller's options have beyond ours must be zero: what it asks for is not known here. */
static bool all_known(const weir_options *given)
{
    const unsigned char *bytes = (const unsigned char *)given;
    for (size_t i = sizeof *given; i < given->struct_size; i++)
        if (bytes[i])
            return false;
    return true;
}

static int check_options(const weir_options *options)
{
    if (options->clock > WEIR_CLOCK_CUSTOM)
        return wrong(options, "options: clock: %u is no enum weir_clock", (unsigned)options->clock);
    if ((options->clock == WEIR_CLOCK_CUSTOM) != (options->clock_read != NULL))
        return wrong(options, "options: clock_read: goes with WEIR_CLOCK_CUSTOM, and only with it");
    if (options->when_full > WEIR_FULL_ADMIT)
        return wrong(options, "options: when_full: %u is no enum weir_when_full", (unsigned)options->when_full);
    if (options->janitor > 1)
        return wrong(options, "options: janitor: %u is neither 0 nor 1", (unsigned)options->janitor);
    if (options->max_lateness_ns > WEIR_TIME_MAX && options->max_lateness_ns != UINT64_MAX)
        return wrong(options, "options: max_lateness_ns: %llu is neither 0 ... 2^63-1 nor UINT64_MAX",
                     (unsigned long long)options->max_lateness_ns);
    if (options->sweep_interval_ns > WEIR_TIME_MAX)
        return wrong(options, "options: sweep_interval_ns: %llu is outside 0 ... 2^63-1",
                     (unsigned long long)options->sweep_interval_ns);
    if (options->plans > 0 && !options->plan_limits)
        return wrong(options, "options: plan_limits: NULL, but there are %u plans", (unsigned)options->plans);
    if (options->max_limit > (uint64_t)INT64_MAX)
        return wrong(options, "options: max_limit: %llu is outside 0 ... 2^63-1",
                     (unsigned long long)options->max_limit);
    if (!options->allocator.allocate != !options->allocator.release)
        return wrong(options, "options: allocator: allocate and release go together");
    for (unsigned i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
        if (options->reserved[i])
            return wrong(options, "options: reserved: must be 0");
    return 0;
}

/* The limit of one rule in one plan. */
static uint64_t plan_limit(const weir_rule *rules, size_t count, const weir_options *options, size_t plan, size_t rule)
{
    return options->plans == 0 ? rules[rule].limit : options->plan_limits[plan * count + rule];
}

static size_t plan_count(const weir_options *options)
{
    return options->plans == 0 ? 1 : options->plans;
}

/* What set_limits may reach. */
static uint64_t rule_max(const weir_rule *rules, size_t count, const weir_options *options, size_t rule)
{
    uint64_t algorithm = algorithm_max(rules[rule].algorithm);
    if (options->max_limit)
        return options->max_limit < algorithm ? options->max_limit : algorithm;
    if (rules[rule].algorithm == WEIR_COUNTER) {
        for (size_t plan = 0; plan < plan_count(options); plan++)
            if (plan_limit(rules, count, options, plan, rule) > UINT32_MAX)
                return algorithm;
        return UINT32_MAX;
    }
    return algorithm;
}

static int check_limits(const weir_rule *rules, size_t count, const weir_options *options)
{
    for (size_t plan = 0; plan < plan_count(options); plan++) {
        for (size_t rule = 0; rule < count; rule++) {
            uint64_t limit = plan_limit(rules, count, options, plan, rule), max = rule_max(rules, count, options, rule);
            if (limit < 1 || limit > max)
                return wrong(options, "plan %zu: rule %zu: limit: %llu is outside 1 ... %llu", plan, rule,
                             (unsigned long long)limit, (unsigned long long)max);
        }
    }
    return 0;
}

static int check(const weir_rule *rules, size_t count, const weir_options *options)
{
    if (count < 1 || count > WEIR_RULES_MAX || !rules)
        return wrong(options, "rules: %zu of them, where 1 ... 8 must be given", rules ? count : 0);
    int error = check_options(options);
    for (size_t i = 0; i < count && !error; i++)
        error = check_rule(options, &rules[i], i);
    return error ? error : check_limits(rules, count, options);
}

/* --- limits --- */

static void destroy_limits(weiri_memory *memory, weiri_retired *retired)
{
    weiri_release(memory, retired, sizeof(weiri_limits));
}

static weiri_limits *limits_new(weir *limiter, const uint64_t *values)
{
    weiri_limits *limits = weiri_allocate(&limiter->memory, 16, sizeof *limits);
    if (!limits)
        return NULL;
    *limits = (weiri_limits){.retired.destroy = destroy_limits, .version = ++limiter->last_version};
    memcpy(limits->limit, values, limiter->rules.count * sizeof *values);
    return limits;
}

int weir_set_limits(weir *limiter, uint32_t plan, const uint64_t *limits, size_t count)
{
    if (plan >= limiter->plans || count != limiter->rules.count || !limits)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (limits[i] < 1 || limits[i] > limiter->rules.rule[i].max_limit)
            return -EINVAL;
    weiri_gate_hold(); /* no fork finds the lock held */
    pthread_mutex_lock(&limiter->limits_lock);
    weiri_limits *new = limits_new(limiter, limits);
    if (new) { /* exchange: release, so that the limits are complete before they are found */
        weiri_limits *old = weiri_exchange_pointer(&limiter->plan[plan], new);
        weiri_retire(&limiter->memory, &old->retired, sizeof *old);
    }
    pthread_mutex_unlock(&limiter->limits_lock);
    weiri_gate_release();
    weiri_relieve(limiter);
    return new ? 0 : -ENOMEM;
}

/* --- open and close --- */

static int copy_options(weir_options *copy, const weir_options *given)
{
    *copy = weir_options_default();
    if (!given)
        return 0;
    if (given->struct_size < offsetof(weir_options, reserved))
        return -EINVAL; /* made by neither constructor: nothing in it can be trusted, `error` neither */
    *copy = (weir_options){0};
    memcpy(copy, given, given->struct_size < sizeof *copy ? given->struct_size : sizeof *copy);
    copy->struct_size = given->struct_size;
    if (copy->error && copy->error_size > 0)
        copy->error[0] = '\0';
    return 0;
}

static void compile(weir *limiter, const weir_rule *rules, size_t count, const weir_options *options)
{
    uint64_t longest = 0;
    limiter->rules.count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        limiter->rules.rule[i] = weiri_rule_make(&rules[i], rule_max(rules, count, options, i));
        limiter->costs = limiter->costs || rules[i].meter == WEIR_PER_COST;
        longest = rules[i].window_ns > longest ? rules[i].window_ns : longest;
    }
    weiri_rules_layout(&limiter->rules);
    const weiri_rule *first = &limiter->rules.rule[0];
    limiter->nodes = count > 1 || first->algorithm != WEIR_COUNTER || first->max_limit > UINT32_MAX;
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
    uint32_t plans = (uint32_t)plan_count(options);
    limiter->plan = weiri_allocate(&limiter->memory, 16, plans * sizeof(weiri_apointer));
    if (!limiter->plan)
        return false;
    memset(limiter->plan, 0, plans * sizeof(weiri_apointer));
    limiter->plans = plans;
    for (uint32_t plan = 0; plan < plans; plan++) {
        uint64_t values[WEIR_RULES_MAX];
        for (size_t rule = 0; rule < count; rule++)
            values[rule] = plan_limit(rules, count, options, plan, rule);
        weiri_limits *limits = limits_new(limiter, values);
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
    int error = random_words(limiter);
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
    int error = copy_options(&copy, options);
    if (!error && options && !all_known(options))
        error = wrong(&copy, "options: struct_size: fields beyond this library's %zu bytes are set", sizeof copy);
    error = error ? error : check(rules, rule_count, &copy);
    error = error ? error : weiri_gate_install(&weiri_janitor_fork_handlers);
    if (error)
        return error;
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
    free_plans(limiter);
    free_limiter(limiter);
    return 0;
}

/* --- time --- */

bool weiri_read_clock(const weir *limiter, uint64_t *now)
{
    static const clockid_t ids[] = {[WEIR_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
                                    [WEIR_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
                                    [WEIR_CLOCK_REALTIME] = CLOCK_REALTIME};
    if (limiter->clock == WEIR_CLOCK_MANUAL)
        return false;
    if (limiter->clock == WEIR_CLOCK_CUSTOM) {
        *now = limiter->clock_read(limiter->clock_argument);
        return *now <= WEIR_TIME_MAX;
    }
    struct timespec time;
    if (clock_gettime(ids[limiter->clock], &time) != 0 || time.tv_sec < 0)
        return false;
    *now = (uint64_t)time.tv_sec * WEIR_SECOND + (uint64_t)time.tv_nsec;
    return *now <= WEIR_TIME_MAX;
}

uint64_t weir_now(const weir *limiter)
{
    uint64_t now;
    return weiri_read_clock(limiter, &now) ? now : WEIR_NOW;
}

uint64_t weiri_drop_time(const weir *limiter, uint64_t now)
{
    uint64_t clock;
    if (limiter->max_lateness == UINT64_MAX)
        return 0;
    if (limiter->clock != WEIR_CLOCK_MANUAL) { /* never of a caller's future */
        if (!weiri_read_clock(limiter, &clock))
            clock = 0;
        now = clock < now ? clock : now;
    }
    return now > limiter->max_lateness ? now - limiter->max_lateness : 0;
}
