#include <stdlib.h>

#include "options.h"
#include "remote.h"
#include "replay.h"
#include "report.h"
#include "run.h"
#include "say.h"

static bool read_all(weiri_input *input, const weiri_options *options)
{
    bool good = true;

    for (size_t i = 0; i < options->file_count; i++)
        good = weiri_input_read(input, options->files[i]) && good;
    weiri_input_end(input);
    if (input->records.count > 0)
        return good;
    weiri_say("no record was found");
    return false;
}

static const weiri_choice exact = {.algorithm = WEIR_LOG, .name = "log"};

static const weiri_choice *log_asked_for(const weiri_options *options)
{
    for (size_t i = 0; i < options->choice_count; i++)
        if (options->choices[i].algorithm == WEIR_LOG)
            return &options->choices[i];
    return NULL;
}

/* The log judges the others even where nobody asked for it, unless a limit is beyond it. */
static bool log_can_run(const weiri_options *options)
{
    for (size_t i = 0; i < options->rule_count; i++)
        if (options->rules[i].limit > UINT32_MAX)
            return false;
    return true;
}

static uint64_t step_of(const weiri_options *options)
{
    return options->redis ? WEIR_MICROSECOND : 1;
}

/* Fills one run a choice, and *own with the log's where it was not asked for. Returns whose refusals are listed. */
static const weiri_run *run_all(const weiri_options *options, const weiri_records *records, weiri_run *runs,
                                weiri_run *own)
{
    const weiri_choice *asked = log_asked_for(options);
    const weiri_run *log = NULL;
    const uint64_t step = step_of(options);

    if (asked)
        log = &runs[asked - options->choices];
    else if (log_can_run(options))
        log = own;
    if (log == own)
        *own = weiri_run_all(records, options->rules, options->rule_count, &exact, step);
    for (size_t i = 0; i < options->choice_count; i++)
        runs[i] = weiri_run_all(records, options->rules, options->rule_count, &options->choices[i], step);
    for (size_t i = 0; log && i < options->choice_count; i++)
        if (&runs[i] != log)
            weiri_run_compare(&runs[i], log, records);
    return log ? log : &runs[0];
}

/* Asks the server the same, where there is one. False: it could not be asked, which has been told. */
static bool ask_remote(const weiri_options *options, const weiri_records *records, weiri_run *runs)
{
    for (size_t i = 0; options->redis && i < options->choice_count; i++)
        if (!weiri_remote_run(&runs[i], records, options->rules, options->rule_count, options->redis))
            return false;
    return true;
}

static void report_all(const weiri_report *report)
{
    if (report->options->json)
        weiri_report_json(report);
    else
        weiri_report_text(report);
}

/* All that a server answered is what the limiter here answered, and nothing is left behind. */
static bool remote_agrees(const weiri_options *options, const weiri_run *runs)
{
    bool agrees = true;

    for (size_t i = 0; options->redis && i < options->choice_count; i++)
        agrees = agrees && runs[i].remote.differing == 0 && runs[i].remote.removed;
    return agrees;
}

int weiri_replay(int argc, char **argv)
{
    weiri_options options;
    weiri_run runs[WEIRI_CHOICES_MAX], own = {0};
    weiri_input input = {0};
    bool good, asked;

    weiri_options_parse(&options, argc, argv);
    input.format = options.format;
    input.fields = options.fields;
    good = read_all(&input, &options);
    if (options.sort)
        weiri_records_sort(&input.records);

    weiri_report report = {
        .options = &options,
        .records = &input.records,
        .malformed = input.malformed,
        .runs = runs,
        .run_count = options.choice_count,
        .judge = run_all(&options, &input.records, runs, &own),
    };
    asked = ask_remote(&options, &input.records, runs);
    if (asked)
        report_all(&report);
    asked = asked && remote_agrees(&options, runs);

    for (size_t i = 0; i < options.choice_count; i++)
        weiri_run_free(&runs[i]);
    weiri_run_free(&own);
    weiri_records_free(&input.records);
    return !asked ? 3 : good ? 0 : 1;
}
