/*
 * Questions as commands:
 *
 *     EVALSHA <sha1> <rules> <key of each rule> <verb> (<limit> <charge> <window> <width>) of each rule [<now>]
 *
 * verb: t, p, r. width: 0 for a counter, 1 for a log. now: where times are given. All in us, and below 2^53.
 */
#include "redis/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/key.h"
#include "redis/script.h"

/* Bytes of "$5\r\n12345\r\n" around what it says, and of a number said so. */
#define FRAME  (1 + 20 + 2 + 2)
#define NUMBER (FRAME + 20)

int weiri_redis_question_check(const weiri_redis_rules *rules, const weir_request *request, uint64_t now)
{
    if (request->key_len > WEIR_KEY_MAX || request->plan >= rules->plans)
        return -EINVAL;
    if (!request->key && (request->key_len > 0 || request->identity)) /* Redis is asked by the bytes */
        return -EINVAL;
    if (request->flags | request->receipt | request->reserved[0] | request->reserved[1])
        return -EINVAL;
    bool in_range = rules->given_time ? now / WEIR_MICROSECOND <= WEIRI_REDIS_TIME_MAX_US : now == WEIR_NOW;
    return in_range ? 0 : -EINVAL;
}

static const weiri_redis_script *script_for(const weiri_redis_rules *rules, enum weiri_redis_verb verb)
{
    if (verb == WEIRI_REDIS_RESET)
        return &weiri_redis_script_reset;
    uint32_t counters = 0;
    for (uint32_t i = 0; i < rules->count; i++)
        counters += rules->rule[i].algorithm == WEIR_COUNTER;
    if (counters == 0)
        return &weiri_redis_script_series;
    if (counters < rules->count)
        return &weiri_redis_script_mixed;
    return counters == 1 ? &weiri_redis_script_alone : &weiri_redis_script_counter;
}

static char *put_word(char *to, const char *word, size_t length)
{
    to += sprintf(to, "$%zu\r\n", length);
    memcpy(to, word, length);
    return stpcpy(to + length, "\r\n");
}

static char *put_number(char *to, uint64_t number)
{
    char digits[24];
    return put_word(to, digits, (size_t)sprintf(digits, "%" PRIu64, number));
}

static char *put_key(char *to, const weiri_redis_rules *rules, const weiri_redis_rule *rule,
                     const weir_request *request, size_t tag_length)
{
    to += sprintf(to, "$%zu\r\n", tag_length + strlen(rule->suffix));
    to = weiri_redis_tag(rules, request->key, request->key_len, to);
    return stpcpy(stpcpy(to, rule->suffix), "\r\n");
}

/* A charge above the limit is never accepted, however far above. */
static char *put_rule(char *to, const weiri_redis_rule *rule, uint64_t limit, uint64_t cost)
{
    uint64_t charge = rule->meter == WEIR_PER_REQUEST ? 1 : cost;
    to = put_number(to, limit);
    to = put_number(to, charge <= limit ? charge : limit + 1);
    to = put_number(to, rule->window_us);
    return put_number(to, rule->algorithm == WEIR_LOG ? 1 : rule->width_us);
}

char *weiri_redis_command(const weiri_redis_rules *rules, const weiri_redis_question *question, bool whole,
                          size_t *length)
{
    static const char verbs[] = "tpr";
    const weir_request *request = question->request;
    const weiri_redis_script *script = script_for(rules, question->verb);
    const char *text = whole ? script->text : script->sha1;
    size_t text_length = whole ? script->length : strlen(script->sha1);
    size_t tag_length = weiri_redis_tag_length(rules, request->key, request->key_len);
    size_t rule_length = FRAME + tag_length + sizeof rules->rule[0].suffix + 4 * NUMBER;
    char *command = malloc(6 * NUMBER + text_length + rules->count * rule_length);
    if (!command)
        return NULL;
    char *end = command + sprintf(command, "*%u\r\n", 4 + 5 * rules->count + rules->given_time);
    end = put_word(end, "EVALSHA", whole ? strlen("EVAL") : strlen("EVALSHA"));
    end = put_word(end, text, text_length);
    end = put_number(end, rules->count);
    for (uint32_t i = 0; i < rules->count; i++)
        end = put_key(end, rules, &rules->rule[i], request, tag_length);
    end = put_word(end, &verbs[question->verb], 1);
    for (uint32_t i = 0; i < rules->count; i++)
        end = put_rule(end, &rules->rule[i], question->limits.limit[i], request->cost);
    if (rules->given_time)
        end = put_number(end, question->now / WEIR_MICROSECOND);
    *length = (size_t)(end - command);
    return command;
}
