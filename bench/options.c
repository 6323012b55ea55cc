#include "options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

enum { LIST = 256, THREADS, KEYS, KEY_LEN, BATCH, SUBJECT, ALGORITHM, SECONDS, CLOCK, FULL, JSON, PLOT };

static const char doc[] =
    "Measures what decisions of the rate limiter weir cost, beside what one would write without it.\v"
    "Subjects are measured in rounds, in turn (A B C A B C ...), and medians of the rounds are told, with their "
    "quartiles. A LIST is numbers or names with commas between them, like 1,2,4 or 1e3,1e6. What is not given is as "
    "the scenario has it; all as a SCENARIO stands for every one; --list tells which there are.\n"
    "\n"
    "Exit status: 0; 1 where a measurement failed or subjects disagreed; 2 for wrong usage.\n"
    "\n"
    "Examples:\n"
    "  weir-bench --list\n"
    "  weir-bench hot-key --threads 1,2,4 --algorithm log\n"
    "  weir-bench many-keys batch --keys 1e6 --subject weir,weir-batch,sharded --json figures.json --plot pictures";

static const struct argp_option options_table[] = {
    {"list", LIST, NULL, 0, "Tell the scenarios and the subjects, and measure nothing", 1},
    {"threads", THREADS, "LIST", 0, "Numbers of threads", 2},
    {"keys", KEYS, "LIST", 0, "Numbers of keys", 2},
    {"key-len", KEY_LEN, "LIST", 0, "Bytes of a key: 8, or 16 to 64", 2},
    {"batch", BATCH, "LIST", 0, "Sizes of batches, 1 to 64", 2},
    {"subject", SUBJECT, "LIST", 0, "What is measured", 2},
    {"algorithm", ALGORITHM, "LIST", 0, "log, counter, buckets", 2},
    {"seconds", SECONDS, "N", 0, "Measure for so long for each row, tables and all else apart (default 0.5)", 3},
    {"clock", CLOCK, NULL, 0, "Read the clock before each call, as a server would, whatever the subject", 3},
    {"full", FULL, NULL, 0, "Ask for whole decisions, not for verdicts alone", 3},
    {"json", JSON, "FILE", 0, "Write everything into FILE as JSON; - for standard output, instead of the tables", 4},
    {"plot", PLOT, "DIR", 0, "Draw SVG pictures into DIR, by gnuplot", 4},
    {0},
};

static const char *number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;
    const double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !isfinite(value) || value != floor(value))
        return "is no whole number";
    if (value < (double)least || value > (double)most)
        return "is out of range";
    *number = (uint64_t)value;
    return NULL;
}

const char *bench_list_parse(const char *text, uint64_t least, uint64_t most, bench_list *list)
{
    char one[32];
    list->count = 0;
    for (;;) {
        const size_t len = strcspn(text, ",");
        if (len >= sizeof one)
            return "is no whole number";
        if (list->count == BENCH_LIST_MAX)
            return "has more than 16 numbers";
        memcpy(one, text, len);
        one[len] = '\0';
        const char *wrong = number_parse(one, least, most, &list->value[list->count++]);
        if (wrong || text[len] == '\0')
            return wrong;
        text += len + 1;
    }
}

static void take_list(const char *option, const char *text, uint64_t least, uint64_t most, bench_list *list,
                      struct argp_state *state)
{
    const char *wrong = bench_list_parse(text, least, most, list);
    if (wrong)
        argp_error(state, "--%s %s: it %s (%llu to %llu)", option, text, wrong, (unsigned long long)least,
                   (unsigned long long)most);
}

/* Of a list with commas, piece by piece. */
static void take_names(const char *text, void (*take)(bench_command *, const char *, struct argp_state *),
                       bench_command *command, struct argp_state *state)
{
    char *copy = strdup(text), *rest = copy, *name;
    while (copy && (name = strsep(&rest, ",")) != NULL)
        take(command, name, state);
    free(copy);
}

static void take_subject(bench_command *command, const char *name, struct argp_state *state)
{
    bench_options *options = &command->options;
    const bench_subject *subject = bench_subject_named(name);
    if (!subject)
        argp_error(state, "--subject: there is no subject '%s' (see --list)", name);
    if (options->subject_count == BENCH_SUBJECTS_MAX)
        argp_error(state, "--subject %s: there are %d already, and no more can be", name, BENCH_SUBJECTS_MAX);
    options->subjects[options->subject_count++] = subject;
}

static void take_algorithm(bench_command *command, const char *name, struct argp_state *state)
{
    for (uint32_t algorithm = WEIR_LOG; algorithm <= WEIR_BUCKETS; algorithm++)
        if (strcmp(name, bench_algorithm_name(algorithm)) == 0) {
            command->options.algorithms |= 1u << algorithm;
            return;
        }
    argp_error(state, "--algorithm: there is no algorithm '%s' (log, counter, buckets)", name);
}

static void add_scenario(bench_command *command, const bench_scenario *scenario, struct argp_state *state)
{
    for (unsigned i = 0; i < command->scenario_count; i++)
        if (command->scenarios[i] == scenario)
            return;
    if (command->scenario_count == BENCH_LIST_MAX)
        argp_error(state, "%s: more scenarios than there is room for", scenario->name);
    command->scenarios[command->scenario_count++] = scenario;
}

static void take_scenario(bench_command *command, const char *name, struct argp_state *state)
{
    if (strcmp(name, "all") == 0) {
        for (const bench_scenario *const *at = bench_scenarios; *at; at++)
            add_scenario(command, *at, state);
        return;
    }
    const bench_scenario *scenario = bench_scenario_named(name);
    if (!scenario)
        argp_error(state, "there is no scenario '%s' (see --list)", name);
    add_scenario(command, scenario, state);
}

static void take_key_lens(bench_command *command, const char *text, struct argp_state *state)
{
    bench_list *lens = &command->options.key_lens;
    take_list("key-len", text, 8, BENCH_KEY_MAX, lens, state);
    for (unsigned i = 0; i < lens->count; i++)
        if (lens->value[i] > 8 && lens->value[i] < 16)
            argp_error(state, "--key-len %s: keys have 8, or 16 to %d bytes", text, BENCH_KEY_MAX);
}

static double seconds_from(const char *text, struct argp_state *state)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(seconds > 0 && seconds <= 3600))
        argp_error(state, "--seconds %s: it is no number above 0 and up to 3600", text);
    return seconds;
}

static void take_option(bench_command *command, int key, char *text, struct argp_state *state)
{
    bench_options *options = &command->options;
    switch (key) {
    case LIST: command->list = true; break;
    case THREADS: take_list("threads", text, 1, BENCH_THREADS_MAX, &options->threads, state); break;
    case KEYS: take_list("keys", text, 1, 1000000000, &options->keys, state); break;
    case KEY_LEN: take_key_lens(command, text, state); break;
    case BATCH: take_list("batch", text, 1, BENCH_BATCH_MAX, &options->batches, state); break;
    case SUBJECT: take_names(text, take_subject, command, state); break;
    case ALGORITHM: take_names(text, take_algorithm, command, state); break;
    case SECONDS: options->seconds = seconds_from(text, state); break;
    case CLOCK: options->clock = true; break;
    case FULL: options->whole = true; break;
    case JSON: command->json = text; break;
    case PLOT: command->plot = text; break;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    bench_command *command = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        take_scenario(command, text, state);
        return 0;
    case ARGP_KEY_END:
        if (command->scenario_count == 0 && !command->list)
            argp_error(state, "no SCENARIO is given (see --list)");
        return 0;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        return 0;
    default:
        take_option(command, key, text, state);
        return 0;
    }
}

void bench_options_parse(bench_command *command, int argc, char **argv)
{
    static const struct argp argp = {options_table, parse, "SCENARIO...", doc, NULL, NULL, NULL};
    *command = (bench_command){.options = {.seconds = 0.5}};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, command) != 0)
        bench_fail("the command line cannot be read: out of memory");
}
