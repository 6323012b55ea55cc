/*
 * Asks a server as the library's clients do, command by command, on a connection of the test's own: what rules,
 * commands and scripts answer, with no client about them. Whatever is no answer ends the process with a word.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_ASKER_H
#define WEIR_TESTS_REDIS_ASKER_H

#include <hiredis/hiredis.h>

#include "redis/command.h"

struct asker {
    weiri_redis_rules rules;
    redisContext *link;
};

/* Options that the rules look at: prefix "weir", and whether times are given. */
weir_redis_options asker_options(bool given_time);

/* Given times. Returns what weiri_redis_rules_open does; on an error there is nothing to close. */
int asker_open(struct asker *asker, redisContext *link, const weir_rule *rules, size_t rule_count);
int asker_open_with(struct asker *asker, redisContext *link, const weir_rule *rules, size_t rule_count,
                    const weir_redis_options *options);
void asker_close(struct asker *asker);

/* The verdict; a reset's is 1. The script is sent whole where the server does not know it. */
int asker_take(struct asker *asker, const weir_request *request, uint64_t now, weir_decision *decision);
int asker_peek(struct asker *asker, const weir_request *request, uint64_t now, weir_decision *decision);
int asker_reset(struct asker *asker, const weir_request *request, uint64_t now);

/* One attempt, whatever comes of it. */
enum weiri_redis_outcome asker_try(struct asker *asker, enum weiri_redis_verb verb, const weir_request *request,
                                   uint64_t now, bool whole, weir_decision *decision);

/* What the last attempt was answered, where that was an error. */
extern char asker_error[256];

#endif
