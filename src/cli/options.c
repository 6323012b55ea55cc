#include <argp.h>
#include <errno.h>
#include <string.h>

#include "options.h"
#include "remote.h"
#include "run.h"
#include "say.h"
#include "text.h"

enum { TIME_FIELD = 256, KEY_FIELD, COST_FIELD };

static const char doc[] =
    "Replays recorded requests through limits: who would have been refused, and would a cheaper algorithm than the "
    "exact log have answered the same? Each request is decided at the time recorded with it; nothing waits.\v"
    "A LIMIT is a number, a slash and a window: 100/60s allows 100 requests in any 60 seconds to each key. "
    "300000cost/60s limits the sum of the requests' costs instead. Units of the window are ns, us, ms, s, m, h, d. "
    "Of several limits, all must allow a request.\n"
    "\n"
    "Algorithms: log is exact. counter keeps two numbers a key. buckets:N keeps N+1 numbers a key and never lets "
    "through more than the limit in any window. What is not the log is compared with it, call by call.\n"
    "\n"
    "FILE is one of these, found out by looking at it; - is standard input:\n"
    "\n"
    "* A web server's log, Common or Combined Log Format. The key is the client (the first word), the cost the size of "
    "the answer in bytes.\n"
    "\n"
    "* CSV with a header line. Times are seconds since 1970, or like 2016-08-08T16:49:16.5+08:00, where a space may "
    "stand for the T and no offset means UTC. Where the columns are not named, the first of these that is there is "
    "taken: time, timestamp, ts, @timestamp, datetime, date; key, client, client_ip, ip, remote_addr, user, user_id "
    "(none: all records share one key); cost (none: each costs 1). An empty name, --key-field '', takes none.\n"
    "\n"
    "Lines that cannot be read are counted, and the first ones shown. Keys are listed by the log's refusals, or by the "
    "first algorithm's where the log cannot run (a limit above 4294967295). In JSON, a key that is no UTF-8 is escaped "
    "like \\xff, and its bytes are in \"key_hex\".\n"
    "\n"
    "With --redis, each algorithm decides a second time, in that server, and every answer is compared with the one "
    "here. Redis counts whole microseconds, so both do then: times are cut off to one, windows rounded up (in a log of "
    "whole seconds that changes nothing). Requests of one time are asked in one round trip, up to 64 of them. Each "
    "run's keys begin with {weir-replay- and a random number, are removed at its end, and expire an hour after they "
    "were last written where that fails. A run that is not done within that hour is given up.\n"
    "\n"
    "Exit status: 0; 1 where a file could not be read, in part or whole, or no record was found; 2 for wrong usage; 3 "
    "where Redis could not be asked to the end (there is no report then), answered otherwise than the limiter here, or "
    "kept keys.\n"
    "\n"
    "Examples:\n"
    "  weir replay --limit 100/60s access.log\n"
    "  zcat access.log.*.gz | weir replay --sort --limit 10/1s --limit 1000/1h -\n"
    "  weir replay --limit 9000cost/1m --cost-field in+out --key-field team calls.csv\n"
    "  weir replay --limit 5/60s --json access.log | jq -r '.top[].key'\n"
    "  weir replay --limit 5/60s --redis redis://127.0.0.1:6379 access.log";

static const struct argp_option options_table[] = {
    {"limit", 'l', "LIMIT", 0, "A limit for each key, like 100/60s; may be given up to 8 times", 1},
    {"algorithm", 'a', "NAME", 0, "log, counter, buckets:N or all (log, counter and buckets:60), which is the default; "
     "may be given several times", 1},
    {"sort", 's', NULL, 0, "Replay by time; as they stand otherwise, where a late record counts as if it came with the "
     "newest of its key", 1},
    {"format", 'f', "FORMAT", 0, "clf or csv; otherwise found out", 2},
    {"time-field", TIME_FIELD, "COLUMN", 0, "CSV: the column of times", 2},
    {"key-field", KEY_FIELD, "COLUMN", 0, "CSV: the column of keys", 2},
    {"cost-field", COST_FIELD, "COLUMN", 0, "CSV: the column of costs, whole numbers; a sum of columns as A+B", 2},
    {"redis", 'r', "URL", 0, "Ask a Redis server the same, and compare: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB] or "
     "unix:///PATH", 3},
    {"top", 't', "K", 0, "List the K keys refused most (default 10)", 4},
    {"json", 'j', NULL, 0, "Report in JSON", 4},
    {0},
};

static void add_limit(weiri_options *options, const char *text, struct argp_state *state)
{
    const char *reason;

    if (options->rule_count == WEIR_RULES_MAX)
        argp_error(state, "--limit %s: there are 8 limits already, and no more can be", text);
    reason = weiri_limit_parse(text, &options->rules[options->rule_count]);
    if (reason)
        argp_error(state, "--limit %s: %s", text, reason);
    options->fields.cost_needed |= options->rules[options->rule_count++].meter == WEIR_PER_COST;
}

/* One that was chosen before stays where it is. */
static void add_choice(weiri_options *options, const char *text, struct argp_state *state)
{
    weiri_choice choice;
    const char *reason = weiri_choice_parse(text, &choice);

    if (reason)
        argp_error(state, "--algorithm %s: %s", text, reason);
    for (size_t i = 0; i < options->choice_count; i++)
        if (strcmp(options->choices[i].name, choice.name) == 0)
            return;
    if (options->choice_count == WEIRI_CHOICES_MAX)
        argp_error(state, "--algorithm %s: there are %d already, and no more can be", text, WEIRI_CHOICES_MAX);
    options->choices[options->choice_count++] = choice;
}

static void add_algorithm(weiri_options *options, const char *text, struct argp_state *state)
{
    if (strcmp(text, "all") != 0) {
        add_choice(options, text, state);
        return;
    }
    add_choice(options, "log", state);
    add_choice(options, "counter", state);
    add_choice(options, "buckets:60", state);
}

static enum weiri_format format_of(const char *text, struct argp_state *state)
{
    if (strcmp(text, "clf") == 0)
        return WEIRI_FORMAT_CLF;
    if (strcmp(text, "csv") != 0)
        argp_error(state, "--format %s: it is neither clf nor csv", text);
    return WEIRI_FORMAT_CSV;
}

/* Opening a limiter is the library's own check of what it takes. */
static void check_choice(const weiri_options *options, const weiri_choice *choice, struct argp_state *state)
{
    static const weir_allocator standard;
    char error[512] = "";
    weir *limiter;
    int failed = weiri_run_open(&limiter, options->rules, options->rule_count, choice, 1, standard, error,
                                sizeof error);

    if (failed == -ENOMEM)
        weiri_out_of_memory();
    if (failed)
        argp_error(state, "--algorithm %s does not go with these limits: %s", choice->name, error);
    weir_close(limiter);
    if (options->redis && !weiri_remote_check(options->redis, options->rules, options->rule_count, choice, error,
                                              sizeof error))
        argp_error(state, "%s", error);
}

static void check_all(weiri_options *options, struct argp_state *state)
{
    const weiri_fields *fields = &options->fields;

    if (options->rule_count == 0)
        argp_error(state, "no limit is given: --limit 100/60s, say");
    if (options->file_count == 0)
        argp_error(state, "no FILE is given (- is standard input)");
    if (fields->time || fields->key || fields->cost) {
        if (options->format == WEIRI_FORMAT_CLF)
            argp_error(state, "--time-field, --key-field and --cost-field are for CSV, not for --format clf");
        options->format = WEIRI_FORMAT_CSV;
    }
    if (options->choice_count == 0)
        add_algorithm(options, "all", state);
    for (size_t i = 0; i < options->choice_count; i++)
        check_choice(options, &options->choices[i], state);
}

static void take_option(weiri_options *options, int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'l': add_limit(options, text, state); break;
    case 'a': add_algorithm(options, text, state); break;
    case 's': options->sort = true; break;
    case 'f': options->format = format_of(text, state); break;
    case TIME_FIELD: options->fields.time = text; break;
    case KEY_FIELD: options->fields.key = text; break;
    case COST_FIELD: options->fields.cost = text; break;
    case 'r': options->redis = text; break;
    case 'j': options->json = true; break;
    case 't':
        if (!weiri_text_whole(text, strlen(text), &options->top))
            argp_error(state, "--top %s: it is no whole number", text);
        break;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    weiri_options *options = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* all of them at once, below */
    case ARGP_KEY_ARGS:
        options->files = state->argv + state->next;
        options->file_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        check_all(options, state);
        return 0;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        return 0;
    default:
        take_option(options, key, text, state);
        return 0;
    }
}

void weiri_options_parse(weiri_options *options, int argc, char **argv)
{
    static const struct argp argp = {options_table, parse, "FILE...", doc, NULL, NULL, NULL};

    *options = (weiri_options){.top = 10};
    if (argp_parse(&argp, argc, argv, 0, NULL, options) == ENOMEM)
        weiri_out_of_memory();
}
