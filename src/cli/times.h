/*
 * Times of day to nanoseconds since 1970 and back, in UTC: the environment (TZ, LC_TIME) has no say. Pure functions.
 * Exact to the nanosecond; further digits of a fraction are cut. A second 60 is the next minute's 0.
 */
#ifndef WEIRI_CLI_TIMES_H
#define WEIRI_CLI_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* Room for "2262-04-11T23:47:16.854775807Z". */
#define WEIRI_TIME_ROOM 32

/* 08/Aug/2016:16:49:16 +0800, a fraction allowed. Returns NULL, or why it is no such time. */
const char *weiri_time_clf(const char *text, size_t len, uint64_t *ns);

/*
 * Seconds since 1970 with or without a fraction; or YYYY-MM-DD, a T or a space, HH:MM:SS, a fraction or none, then
 * nothing or Z (UTC) or an offset (+08:00, +0800, +08). Returns NULL, or why it is no such time.
 */
const char *weiri_time_any(const char *text, size_t len, uint64_t *ns);

/* ISO 8601 in UTC, with as many digits of a fraction as it needs. `ns` is at most 2^63-1. Returns `out`. */
const char *weiri_time_show(char out[WEIRI_TIME_ROOM], uint64_t ns);

#endif
