#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filling.h"
#include "json.h"
#include "limits.h"
#include "memory.h"
#include "remote.h"
#include "run.h"
#include "say.h"
#include "text.h"

enum { LIMITS_MAX = 32, CHOICES_MAX = 8 };

typedef struct order {
    weir_rule limits[LIMITS_MAX];
    size_t limit_count;
    weiri_choice choices[CHOICES_MAX];
    size_t choice_count;
    const char *redis;
    uint64_t keys; /* 0: for one alone */
    bool json;
} order;

/* What one key of a rule takes on each side. */
typedef struct figure {
    const weir_rule *limit;
    const weiri_choice *choice;
    weiri_filled remote;
    double local;
} figure;

static const char doc[] =
    "Tells what a key takes in Redis, and in a process's own limiter, once it is charged up to its limit: a key of 16 "
    "bytes, charged evenly over one window.\v"
    "A LIMIT is like that of weir replay: 100/60s. Where none is given, it is 10, 100, 128, 129, 1000 and 10000 in "
    "60s: Redis stores a sorted set of more than 128 elements otherwise than a short one (zset-max-listpack-entries).\n"
    "\n"
    "Redis is asked MEMORY USAGE ... SAMPLES 0: the value, its name and its entry in the table of keys. Beyond that, "
    "each key takes about 60 bytes in the tables of keys and of times to live. The local figure is all of a limiter's "
    "memory (weir_stats) by the number of its keys. With --keys, both are multiplied: an estimate.\n"
    "\n"
    "The key has a random name, is removed at the end, and expires within an hour where that fails.\n"
    "\n"
    "Exit status: 0; 2 for wrong usage; 3 where Redis could not be asked, or kept a key.";

static const struct argp_option options_table[] = {
    {"redis", 'r', "URL", 0, "The server to ask: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB] or unix:///PATH", 1},
    {"limit", 'l', "LIMIT", 0, "A limit, up to 1000000; may be given several times", 1},
    {"algorithm", 'a', "NAME", 0, "log, counter, buckets:N or all (log, counter and buckets:60), which is the default; "
     "may be given several times", 1},
    {"keys", 'k', "N", 0, "Tell it for so many keys too", 2},
    {"json", 'j', NULL, 0, "Report in JSON", 2},
    {0},
};

static void add_limit(order *to, const char *text, struct argp_state *state)
{
    weir_rule *rule = &to->limits[to->limit_count];
    const char *reason;

    if (to->limit_count == LIMITS_MAX)
        argp_error(state, "--limit %s: there are %d limits already, and no more can be", text, LIMITS_MAX);
    reason = weiri_limit_parse(text, rule);
    if (!reason && rule->meter != WEIR_PER_REQUEST)
        reason = "a key is charged by calls here";
    if (!reason && rule->limit > WEIRI_FILLING_MAX)
        reason = "that many calls would take too long, 1000000 can be";
    if (!reason && rule->window_ns > UINT32_MAX * WEIR_SECOND / 4)
        reason = "the window began before 1970, 34 years can be";
    if (reason)
        argp_error(state, "--limit %s: %s", text, reason);
    to->limit_count++;
}

static void add_choice(order *to, const char *text, struct argp_state *state)
{
    const char *reason;

    if (to->choice_count == CHOICES_MAX)
        argp_error(state, "--algorithm %s: there are %d already, and no more can be", text, CHOICES_MAX);
    reason = weiri_choice_parse(text, &to->choices[to->choice_count++]);
    if (reason)
        argp_error(state, "--algorithm %s: %s", text, reason);
}

static void add_algorithm(order *to, const char *text, struct argp_state *state)
{
    if (strcmp(text, "all") != 0) {
        add_choice(to, text, state);
        return;
    }
    add_choice(to, "log", state);
    add_choice(to, "counter", state);
    add_choice(to, "buckets:60", state);
}

static void add_usual(order *to, struct argp_state *state)
{
    static const char *const limits[] = {"10/60s", "100/60s", "128/60s", "129/60s", "1000/60s", "10000/60s"};
    const bool without_limit = to->limit_count == 0;

    for (size_t i = 0; without_limit && i < sizeof limits / sizeof *limits; i++)
        add_limit(to, limits[i], state);
    if (to->choice_count == 0)
        add_algorithm(to, "all", state);
}

static void check(order *of, struct argp_state *state)
{
    char error[512] = "";

    if (!of->redis)
        argp_error(state, "no server is given: --redis redis://127.0.0.1:6379, say");
    add_usual(of, state);
    for (size_t i = 0; i < of->limit_count; i++)
        for (size_t k = 0; k < of->choice_count; k++)
            if (!weiri_remote_check(of->redis, &of->limits[i], 1, &of->choices[k], error, sizeof error))
                argp_error(state, "%s", error);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    order *of = state->input;

    switch (key) {
    case 'r': of->redis = text; return 0;
    case 'l': add_limit(of, text, state); return 0;
    case 'a': add_algorithm(of, text, state); return 0;
    case 'j': of->json = true; return 0;
    case 'k':
        if (!weiri_text_whole(text, strlen(text), &of->keys) || of->keys == 0 || of->keys > UINT32_MAX)
            argp_error(state, "--keys %s: it is no whole number from 1 to 4294967295", text);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "%s: there is nothing to read: a key is made up", text); return EINVAL;
    case ARGP_KEY_END: check(of, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool measure(const order *of, figure *figures)
{
    weir_rule rule;

    for (size_t i = 0; i < of->limit_count; i++) {
        for (size_t k = 0; k < of->choice_count; k++) {
            figure *next = figures++;

            *next = (figure){.limit = &of->limits[i], .choice = &of->choices[k]};
            weiri_run_choose(&rule, next->limit, 1, next->choice, 1);
            if (!weiri_filling_remote(&rule, of->redis, &next->remote))
                return false;
            next->local = weiri_filling_local(&rule);
        }
    }
    return true;
}

static uint64_t of_all(const order *of, double each)
{
    return (uint64_t)(each * (double)of->keys + 0.5);
}

static void print_text(const order *of, const figure *figures, size_t count)
{
    char cell[4][WEIRI_THOUSANDS_ROOM], head[64];

    printf("%-12s  %-10s  %12s  %12s  %11s", "limit", "algorithm", "Redis, bytes", "local, bytes", "Redis/local");
    if (of->keys > 0) {
        snprintf(head, sizeof head, "%s keys, Redis", weiri_thousands(cell[0], of->keys));
        printf("  %24s  %20s", head, "local");
    }
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        const figure *at = &figures[i];

        printf("%-12s  %-10s  %12s  %12s  %11.2f", at->limit->name, at->choice->name,
               weiri_thousands(cell[0], at->remote.bytes), weiri_thousands(cell[1], (uint64_t)(at->local + 0.5)),
               (double)at->remote.bytes / at->local);
        if (of->keys > 0)
            printf("  %24s  %20s", weiri_thousands(cell[2], of_all(of, (double)at->remote.bytes)),
                   weiri_thousands(cell[3], of_all(of, at->local)));
        putchar('\n');
    }
}

static void print_json(const order *of, const figure *figures, size_t count)
{
    json_t *root = weiri_json_made(json_object()), *array = weiri_json_made(json_array());

    for (size_t i = 0; i < count; i++) {
        const figure *at = &figures[i];
        json_t *object = weiri_json_made(json_object());

        weiri_json_set(object, "limit", json_string(at->limit->name));
        weiri_json_set(object, "algorithm", json_string(at->choice->name));
        weiri_json_set(object, "name_length", weiri_json_integer(at->remote.name_length));
        weiri_json_set(object, "redis_bytes", weiri_json_integer(at->remote.bytes));
        weiri_json_set(object, "local_bytes", weiri_json_integer((uint64_t)(at->local + 0.5)));
        if (of->keys > 0) {
            weiri_json_set(object, "redis_bytes_all", weiri_json_integer(of_all(of, (double)at->remote.bytes)));
            weiri_json_set(object, "local_bytes_all", weiri_json_integer(of_all(of, at->local)));
        }
        weiri_json_append(array, object);
    }
    weiri_json_set(root, "keys", of->keys > 0 ? weiri_json_integer(of->keys) : json_null());
    weiri_json_set(root, "memory", array);
    weiri_json_print(root);
}

int weiri_memory(int argc, char **argv)
{
    static const struct argp argp = {options_table, parse, NULL, doc, NULL, NULL, NULL};
    order of = {.redis = NULL};
    figure figures[LIMITS_MAX * CHOICES_MAX];
    size_t count;

    weiri_say_as(argv[0]);
    if (argp_parse(&argp, argc, argv, 0, NULL, &of) == ENOMEM)
        weiri_out_of_memory();
    count = of.limit_count * of.choice_count;
    if (!measure(&of, figures))
        return 3;
    (of.json ? print_json : print_text)(&of, figures, count);
    return 0;
}
