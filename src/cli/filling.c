#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weir/redis.h>

#include "console.h"
#include "filling.h"
#include "say.h"

/* In Redis a key stands for itself. Here memory is the table's too, and comes in steps: a mean over many keys. */
enum { CHARGES_LOCAL = 2000000, KEYS_MIN = 200, KEYS_MAX = 10000 };

/* Of the last charge; a time of today has as many digits as a server's own. */
static uint64_t end_of_filling(void)
{
    return (uint64_t)time(NULL) * WEIR_SECOND;
}

/* Of charge `i`: all lie in the window that ends at `end`. */
static uint64_t time_of(const weir_rule *rule, uint64_t end, uint64_t i)
{
    unsigned __int128 part = (unsigned __int128)rule->window_ns * (i + 1) / rule->limit;

    return end - rule->window_ns + (uint64_t)part;
}

static bool say_failed(const char *why)
{
    weiri_say("Redis: %s", why);
    return false;
}

/* *charged: there may be a key. */
static bool fill(weir_redis *limiter, const weir_rule *rule, const weir_request *request, bool *charged)
{
    const uint64_t end = end_of_filling();
    weir_decision decision = {0};
    char why[400];

    for (uint64_t i = 0; i < rule->limit; i++) {
        int verdict = weir_redis_take(limiter, request, time_of(rule, end, i), &decision);

        *charged = *charged || verdict == 1 || (decision.flags & WEIR_REDIS_UNKNOWN);
        if (verdict == 1)
            continue;
        weir_redis_error(limiter, why, sizeof why);
        return say_failed(decision.flags & WEIR_REDIS_UNREACHED ? why : "a call within the limit was refused");
    }
    return true;
}

static bool look(weiri_console *console, const weiri_key *key, weiri_filled *filled)
{
    char *name = weiri_console_name(console, key, 0);
    bool done = weiri_console_usage(console, name, &filled->bytes);

    filled->name_length = strlen(name);
    free(name);
    return done || say_failed(console->why.text);
}

/* What is measured is looked at where it was `made`; removed it is in any case. */
static bool look_and_remove(const weir_rule *rule, const weir_redis_options *options, const weiri_key *key, bool made,
                            weiri_filled *filled)
{
    weiri_console console;
    bool open = weiri_console_open(&console, rule, 1, options);
    bool done = open && (!made || look(&console, key, filled));

    if (!open || !weiri_console_remove(&console, key, 1)) {
        weiri_say("Redis: a key that begins with {%s:%s stays until it expires, within an hour: %s", options->prefix,
                  key->bytes, console.why.text);
        done = false;
    }
    weiri_console_close(&console);
    return done;
}

bool weiri_filling_remote(const weir_rule *rule, const char *url, weiri_filled *filled)
{
    /* The prefix is the usual one, since its length counts; what no other run has is the key. */
    weir_redis_options options = weiri_console_options(url, "weir");
    char bytes[WEIRI_CONSOLE_PREFIX];
    weir_redis *limiter;
    bool made, charged = false;

    weiri_console_prefix(bytes, "");
    const weiri_key key = {bytes, (uint32_t)strlen(bytes)};
    const weir_request request = weir_request_for(key.bytes, key.len);

    if (weir_redis_open(&limiter, rule, 1, &options) != 0) /* it was before: no memory */
        weiri_out_of_memory();
    made = fill(limiter, rule, &request, &charged);
    weir_redis_close(limiter);
    return (!charged || look_and_remove(rule, &options, &key, made, filled)) && made;
}

static uint64_t keys_for(const weir_rule *rule)
{
    const uint64_t rings = CHARGES_LOCAL / (rule->buckets > 0 ? rule->buckets : 1); /* of so many: they are large */
    const uint64_t by_limit = CHARGES_LOCAL / rule->limit;
    const uint64_t keys = by_limit < KEYS_MIN ? KEYS_MIN : by_limit > KEYS_MAX ? KEYS_MAX : by_limit;

    return keys < rings ? keys : rings > 0 ? rings : 1;
}

double weiri_filling_local(const weir_rule *rule)
{
    const uint64_t end = end_of_filling(), keys = keys_for(rule);
    weir_statistics statistics = {.struct_size = sizeof statistics};
    weir_options options = weir_options_manual();
    weir *limiter;

    options.max_lateness_ns = UINT64_MAX;
    if (weir_open(&limiter, rule, 1, &options) != 0)
        weiri_out_of_memory();
    for (uint64_t i = 0; i < rule->limit; i++) {
        for (uint64_t k = 0; k < keys; k++) {
            char key[17];

            snprintf(key, sizeof key, "%016llx", (unsigned long long)k);
            const weir_request request = weir_request_for(key, 16);
            if (weir_take(limiter, &request, time_of(rule, end, i), NULL) != 1)
                weiri_out_of_memory();
        }
    }
    weir_reclaim(limiter);
    weir_stats(limiter, &statistics);
    weir_close(limiter);
    return (double)(statistics.bytes - statistics.retired_bytes) / (double)keys;
}
