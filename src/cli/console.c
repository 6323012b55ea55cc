#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "console.h"
#include "redis/key.h"
#include "say.h"

enum { CHUNK = 256 }; /* commands written at once */

void weiri_console_prefix(char prefix[WEIRI_CONSOLE_PREFIX], const char *begins)
{
    uint64_t number = 0;

    while (getrandom(&number, sizeof number, 0) != sizeof number)
        continue;
    snprintf(prefix, WEIRI_CONSOLE_PREFIX, "%s%016" PRIx64, begins, number);
}

weir_redis_options weiri_console_options(const char *url, const char *prefix)
{
    weir_redis_options options = weir_redis_options_default();

    options.url = url;
    options.prefix = prefix;
    options.connections = 1;
    options.connect_timeout_ns = WEIRI_CONSOLE_TIMEOUT;
    options.command_timeout_ns = WEIRI_CONSOLE_TIMEOUT;
    options.given_time = 1;
    return options;
}

bool weiri_console_open(weiri_console *console, const weir_rule *rules, size_t count,
                        const weir_redis_options *options)
{
    *console = (weiri_console){.link = {.fd = -1}};
    if (weiri_redis_rules_open(&console->rules, rules, count, options) != 0)
        weiri_out_of_memory();
    if (weiri_redis_url_open(&console->url, options->url, NULL, 0) != 0)
        weiri_out_of_memory();
    return weiri_redis_link_open(&console->link, &console->url, options->connect_timeout_ns, &console->why);
}

void weiri_console_close(weiri_console *console)
{
    weiri_redis_link_close(&console->link);
    weiri_redis_url_close(&console->url);
    weiri_redis_rules_close(&console->rules);
}

char *weiri_console_name(const weiri_console *console, const weiri_key *key, size_t rule)
{
    const char *suffix = console->rules.rule[rule].suffix;
    size_t length = weiri_redis_tag_length(&console->rules, key->bytes, key->len);
    char *name = weiri_resize(NULL, length + strlen(suffix) + 1, 1);

    strcpy(weiri_redis_tag(&console->rules, key->bytes, key->len, name), suffix);
    return name;
}

/* Commands to be written at once, and what came of them. */
typedef struct chunk {
    weiri_console *console;
    char *bytes;
    size_t length, commands;
    bool refused;
    uint64_t number; /* the last answer's */
} chunk;

static void add(chunk *to, int count, const char **words)
{
    char *command;
    int length = redisFormatCommandArgv(&command, count, words, NULL);

    if (length < 0)
        weiri_out_of_memory();
    to->bytes = weiri_resize(to->bytes, to->length + (size_t)length, 1);
    memcpy(to->bytes + to->length, command, (size_t)length);
    to->length += (size_t)length;
    to->commands++;
    redisFreeCommand(command);
}

static void answered(void *argument, redisReply *reply)
{
    chunk *of = argument;

    if (reply->type == REDIS_REPLY_INTEGER) {
        of->number = (uint64_t)reply->integer;
        return;
    }
    of->refused = true;
    weiri_redis_say(&of->console->why, "%s", reply->type == REDIS_REPLY_ERROR ? reply->str : "no number came back");
}

/* Begins anew afterwards. */
static bool send_all(chunk *of)
{
    weiri_redis_exchange exchange = {
        .bytes = of->bytes,
        .length = of->length,
        .replies = of->commands,
        .reply = answered,
        .argument = of,
        .deadline = weiri_redis_now() + WEIRI_CONSOLE_TIMEOUT,
        .timeout = WEIRI_CONSOLE_TIMEOUT,
    };
    bool done = weiri_redis_link_exchange(&of->console->link, &exchange, &of->console->why) && !of->refused;

    of->length = of->commands = 0;
    return done;
}

static void add_removal(chunk *to, const weiri_key *key)
{
    char *names[WEIR_RULES_MAX];
    const char *words[1 + WEIR_RULES_MAX] = {"UNLINK"};
    const uint32_t rules = to->console->rules.count;

    for (uint32_t i = 0; i < rules; i++)
        words[1 + i] = names[i] = weiri_console_name(to->console, key, i);
    add(to, (int)rules + 1, words);
    for (uint32_t i = 0; i < rules; i++)
        free(names[i]);
}

bool weiri_console_remove(weiri_console *console, const weiri_key *keys, size_t count)
{
    chunk removals = {.console = console};
    bool done = true;

    for (size_t i = 0; i < count && done; i++) {
        add_removal(&removals, &keys[i]);
        if (removals.commands == CHUNK || i + 1 == count)
            done = send_all(&removals);
    }
    free(removals.bytes);
    return done;
}

bool weiri_console_usage(weiri_console *console, const char *name, uint64_t *bytes)
{
    const char *words[] = {"MEMORY", "USAGE", name, "SAMPLES", "0"};
    chunk question = {.console = console};
    bool done;

    add(&question, sizeof words / sizeof *words, words);
    done = send_all(&question);
    free(question.bytes);
    *bytes = question.number;
    return done;
}
