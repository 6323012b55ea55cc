/* The command line of weir replay. */
#ifndef WEIRI_CLI_OPTIONS_H
#define WEIRI_CLI_OPTIONS_H

#include <stdbool.h>

#include "input.h"
#include "limits.h"

#define WEIRI_CHOICES_MAX 32

typedef struct weiri_options {
    weir_rule rules[WEIR_RULES_MAX]; /* algorithm and buckets are 0: each choice fills them */
    size_t rule_count;
    weiri_choice choices[WEIRI_CHOICES_MAX];
    size_t choice_count;
    enum weiri_format format;
    weiri_fields fields;
    uint64_t top;
    bool sort, json;
    const char *redis; /* URL; NULL: nothing is asked of a server */
    char **files;
    size_t file_count;
} weiri_options;

/*
 * Reads the command line, checks it as far as that goes without the files, and opens each limiter once to see that it
 * can be. Does not return where it is wrong (exit code 2, and why on standard error) or asks for help (0).
 */
void weiri_options_parse(weiri_options *options, int argc, char **argv);

#endif
