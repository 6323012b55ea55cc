/*
 * What the tool asks a Redis server for itself: to remove the keys of a run, and what a key takes. It names the keys as
 * libweir-redis does, whose parts it is made of.
 */
#ifndef WEIRI_CLI_CONSOLE_H
#define WEIRI_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"
#include "redis/link.h"
#include "redis/rules.h"

/* ns, to connect and for an answer: a tool may wait longer than a server that has clients waiting. */
#define WEIRI_CONSOLE_TIMEOUT (5 * WEIR_SECOND)

/* Room for a prefix with its end. */
#define WEIRI_CONSOLE_PREFIX 48

typedef struct weiri_console {
    weiri_redis_url url;
    weiri_redis_link link;
    weiri_redis_rules rules;
    weiri_redis_text why; /* what went wrong last */
} weiri_console;

/* A prefix that no other run has: "weir-replay-" and 64 random bits. */
void weiri_console_prefix(char prefix[WEIRI_CONSOLE_PREFIX], const char *begins);

/* How both sides open a run: times are given with each call, one connection, no answer but Redis's own. */
weir_redis_options weiri_console_options(const char *url, const char *prefix);

/* For the keys of such a limiter; connects. The rules and the URL have been opened before. False: `why` tells. */
bool weiri_console_open(weiri_console *console, const weir_rule *rules, size_t count,
                        const weir_redis_options *options);
void weiri_console_close(weiri_console *console);

/* Removes what the rules have under these keys, and nothing else. */
bool weiri_console_remove(weiri_console *console, const weiri_key *keys, size_t count);

/* The name of a rule's key, ended by 0; to be freed. */
char *weiri_console_name(const weiri_console *console, const weiri_key *key, size_t rule);

/* MEMORY USAGE name SAMPLES 0: bytes, all of its elements looked at. */
bool weiri_console_usage(weiri_console *console, const char *name, uint64_t *bytes);

#endif
