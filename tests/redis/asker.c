/* SPDX-License-Identifier: MIT */
#include "asker.h"

#include <stdio.h>
#include <stdlib.h>

char asker_error[256];

weir_redis_options asker_options(bool given_time)
{
    return (weir_redis_options){.struct_size = sizeof(weir_redis_options), .prefix = "weir", .given_time = given_time};
}

int asker_open_with(struct asker *asker, redisContext *link, const weir_rule *rules, size_t rule_count,
                    const weir_redis_options *options)
{
    asker->link = link;
    return weiri_redis_rules_open(&asker->rules, rules, rule_count, options);
}

int asker_open(struct asker *asker, redisContext *link, const weir_rule *rules, size_t rule_count)
{
    weir_redis_options options = asker_options(true);

    return asker_open_with(asker, link, rules, rule_count, &options);
}

void asker_close(struct asker *asker)
{
    weiri_redis_rules_close(&asker->rules);
}

static redisReply *exchange(redisContext *link, const char *command, size_t length)
{
    void *reply = NULL;

    if (redisAppendFormattedCommand(link, command, length) != REDIS_OK || redisGetReply(link, &reply) != REDIS_OK) {
        fprintf(stderr, "no reply: %s\n", link->errstr);
        exit(1);
    }
    return reply;
}

enum weiri_redis_outcome asker_try(struct asker *asker, enum weiri_redis_verb verb, const weir_request *request,
                                   uint64_t now, bool whole, weir_decision *decision)
{
    weiri_redis_question question = {verb, request, now, weiri_redis_limits_of(&asker->rules, request->plan)};
    weiri_redis_place place;
    weir_decision unwanted;
    size_t length;
    char *command = weiri_redis_command(&asker->rules, &question, whole, &length);

    if (command == NULL || weiri_redis_question_check(&asker->rules, request, now) != 0) {
        fprintf(stderr, "a question that cannot be asked\n");
        exit(1);
    }
    redisReply *reply = exchange(asker->link, command, length);
    enum weiri_redis_outcome outcome =
        weiri_redis_answer(&asker->rules, &question, reply, decision == NULL ? &unwanted : decision, &place);

    snprintf(asker_error, sizeof asker_error, "%s", reply->type == REDIS_REPLY_ERROR ? reply->str : "");
    freeReplyObject(reply);
    free(command);
    return outcome;
}

static int ask(struct asker *asker, enum weiri_redis_verb verb, const weir_request *request, uint64_t now,
               weir_decision *decision)
{
    weir_decision answer = {.verdict = 1};
    enum weiri_redis_outcome outcome = asker_try(asker, verb, request, now, false, &answer);

    if (outcome == WEIRI_REDIS_NOSCRIPT)
        outcome = asker_try(asker, verb, request, now, true, &answer);
    if (outcome != WEIRI_REDIS_ANSWERED) {
        fprintf(stderr, "outcome %d: %s\n", outcome, asker_error);
        exit(1);
    }
    if (decision != NULL)
        *decision = answer;
    return answer.verdict;
}

int asker_take(struct asker *asker, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return ask(asker, WEIRI_REDIS_TAKE, request, now, decision);
}

int asker_peek(struct asker *asker, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return ask(asker, WEIRI_REDIS_PEEK, request, now, decision);
}

int asker_reset(struct asker *asker, const weir_request *request, uint64_t now)
{
    return ask(asker, WEIRI_REDIS_RESET, request, now, NULL);
}
