/* The program weir: a verb, and what goes with it. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/weir.h>

#include "memory.h"
#include "replay.h"

static char program_called[] = "weir", replay_called[] = "weir replay",
            memory_called[] = "weir memory"; /* in messages, wherever it lies */

static const struct verb {
    const char *name;
    char *called;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"replay", replay_called, weiri_replay},
    {"memory", memory_called, weiri_memory},
};

static const char doc[] =
    "Sliding-window rate limits, at the command line.\v"
    "Verbs:\n"
    "  replay    replay a log through limits: who would have been refused?\n"
    "  memory    what keys take in Redis, and in a process\n"
    "\n"
    "weir VERB --help tells all about one.";

/* What the command line names: a verb, and the index of its name. */
typedef struct call {
    const struct verb *verb;
    int index;
} call;

static const struct verb *verb_named(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    call *called = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        called->verb = verb_named(text);
        called->index = state->next - 1;
        if (!called->verb)
            argp_error(state, "there is no verb %s", text);
        state->next = state->argc; /* the rest is the verb's */
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no verb is given");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *out, struct argp_state *state)
{
    (void)state;
    fprintf(out, "weir %s\n", weir_version());
}

/* A report that did not arrive is no success. Runs at exit, so that --help is covered too. */
static void close_output(void)
{
    int failed = ferror(stdout);

    errno = 0;
    if (fclose(stdout) == 0 && !failed)
        return;
    fprintf(stderr, "weir: cannot write to standard output: %s\n", errno ? strerror(errno) : "write error");
    _exit(1);
}

int main(int argc, char **argv)
{
    static char buffer[65536]; /* help fits: what cannot be written is found out at the end, with the reason */
    static const struct argp argp = {NULL, parse, "VERB ...", doc, NULL, NULL, NULL};
    call called = {0};

    signal(SIGPIPE, SIG_IGN); /* a write fails instead, which is told */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    atexit(close_output);
    argp_err_exit_status = 2;
    argp_program_version_hook = print_version;
    if (argc > 0)
        argv[0] = program_called;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &called) != 0 || !called.verb)
        return 2;
    argv[called.index] = called.verb->called;
    return called.verb->run(argc - called.index, argv + called.index);
}
