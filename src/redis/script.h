/*
 * The scripts, as the build makes them from lua/: for each kind of rules the least that decides by them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_SCRIPT_H
#define WEIRI_REDIS_SCRIPT_H

#include <stddef.h>

typedef struct weiri_redis_script {
    const char *text;
    size_t length;
    const char *sha1; /* 40 digits, by which EVALSHA knows it */
} weiri_redis_script;

extern const weiri_redis_script weiri_redis_script_alone;   /* one counter */
extern const weiri_redis_script weiri_redis_script_counter; /* several */
extern const weiri_redis_script weiri_redis_script_series;  /* logs and buckets */
extern const weiri_redis_script weiri_redis_script_mixed;   /* both */
extern const weiri_redis_script weiri_redis_script_reset;   /* of any */

#endif
