/*
 * Options of a limiter over Redis: defaults, and what weir_redis_open checks of them, in words. Rules, plans, the
 * prefix and given_time are weiri_redis_rules_open's, the URL is weiri_redis_url_open's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_OPTIONS_H
#define WEIRI_REDIS_OPTIONS_H

#include <weir/redis.h>

/* Copies what the caller gave (NULL: defaults) and checks it. Returns 0 or -EINVAL. */
int weiri_redis_options_check(const weir_redis_options *given, weir_redis_options *options);

/* Writes what is wrong, where the caller wants to know; returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int weiri_redis_wrong(const weir_redis_options *options, const char *format, ...);

#endif
