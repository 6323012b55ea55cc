/* The constructor, and the checks. */
#include "redis/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONNECTIONS_MAX = 65536 };

/* What is kept must be addressable: 2^32 entries of 64 bytes. */
#define KEYS_MAX (UINT64_C(1) << 32)

weir_redis_options weir_redis_options_default(void)
{
    return (weir_redis_options){
        .struct_size = sizeof(weir_redis_options),
        .url = "redis://127.0.0.1:6379/0",
        .prefix = "weir",
        .connections = 8,
        .connect_timeout_ns = 50 * WEIR_MILLISECOND,
        .command_timeout_ns = 50 * WEIR_MILLISECOND,
        .fallback_permille = 1000,
        .breaker_failures = 3,
        .backoff_min_ns = 100 * WEIR_MILLISECOND,
        .backoff_max_ns = 5 * WEIR_SECOND,
        .remember_ns = WEIR_SECOND,
        .remember_keys = 16384,
    };
}

int weiri_redis_wrong(const weir_redis_options *options, const char *format, ...)
{
    if (options->error && options->error_size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(options->error, options->error_size, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
}

static int check_span(const weir_redis_options *options, const char *name, uint64_t value, uint64_t least)
{
    if (value >= least && value <= WEIR_DAY)
        return 0;
    return weiri_redis_wrong(options, "options: %s: %llu is outside %llu ... %llu (a day)", name,
                             (unsigned long long)value, (unsigned long long)least, (unsigned long long)WEIR_DAY);
}

static int check_times(const weir_redis_options *options)
{
    int error = check_span(options, "connect_timeout_ns", options->connect_timeout_ns, 1);
    if (!error)
        error = check_span(options, "command_timeout_ns", options->command_timeout_ns, 1);
    if (!error)
        error = check_span(options, "backoff_min_ns", options->backoff_min_ns, 1);
    if (!error)
        error = check_span(options, "backoff_max_ns", options->backoff_max_ns, options->backoff_min_ns);
    if (!error)
        error = check_span(options, "remember_ns", options->remember_ns, 0);
    return error;
}

static int check_choices(const weir_redis_options *options)
{
    if (options->cluster > 1)
        return weiri_redis_wrong(options, "options: cluster: %u is neither 0 nor 1", (unsigned)options->cluster);
    if (options->when_unreached > WEIR_UNREACHED_FALLBACK)
        return weiri_redis_wrong(options, "options: when_unreached: %u is no enum weir_when_unreached",
                                 (unsigned)options->when_unreached);
    if (options->fallback_permille < 1 || options->fallback_permille > 1000)
        return weiri_redis_wrong(options, "options: fallback_permille: %u is outside 1 ... 1000",
                                 (unsigned)options->fallback_permille);
    return 0;
}

static int check_counts(const weir_redis_options *options)
{
    if (options->connections < 1 || options->connections > CONNECTIONS_MAX)
        return weiri_redis_wrong(options, "options: connections: %u is outside 1 ... %d",
                                 (unsigned)options->connections, CONNECTIONS_MAX);
    if (options->breaker_failures < 1)
        return weiri_redis_wrong(options, "options: breaker_failures: must be at least 1");
    if (options->remember_keys > KEYS_MAX)
        return weiri_redis_wrong(options, "options: remember_keys: %llu is outside 0 ... 2^32",
                                 (unsigned long long)options->remember_keys);
    if (!options->url)
        return weiri_redis_wrong(options, "options: url: NULL");
    return 0;
}

/* Reserved fields, and what a newer caller's options have beyond ours: what they ask for is not known here. */
static bool all_known(const weir_redis_options *options, const weir_redis_options *given)
{
    const unsigned char *bytes = (const unsigned char *)given;
    uint64_t set = options->reserved0;
    for (unsigned i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; i++)
        set |= options->reserved[i];
    for (size_t i = sizeof *given; i < given->struct_size; i++)
        set |= bytes[i];
    return set == 0;
}

int weiri_redis_options_check(const weir_redis_options *given, weir_redis_options *options)
{
    *options = weir_redis_options_default();
    if (!given)
        return 0;
    if (given->struct_size < offsetof(weir_redis_options, reserved))
        return -EINVAL; /* not made by the constructor: nothing in it can be trusted, `error` neither */
    *options = (weir_redis_options){0};
    memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
    if (options->error && options->error_size > 0)
        options->error[0] = '\0';
    if (!all_known(options, given))
        return weiri_redis_wrong(
            options, "options: reserved fields, and those beyond this library's %zu bytes, must be 0", sizeof *options);
    options->struct_size = sizeof *options;
    int error = check_choices(options);
    if (!error)
        error = check_times(options);
    return error ? error : check_counts(options);
}
