/* SPDX-License-Identifier: MIT */
#include "traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where in the line the scanner is. After the first failure every function does nothing. */
struct scanner {
    trace_reader *reader;
    const char *at;
    bool failed;
};

static void fail(struct scanner *in, const char *expected)
{
    if (in->failed)
        return;
    in->failed = true;
    snprintf(in->reader->error, sizeof in->reader->error, "line %" PRIu64 ", column %td: expected %s",
             in->reader->line_number, in->at - in->reader->line + 1, expected);
}

static void skip_space(struct scanner *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n')
        in->at++;
}

/* True, and past it, if the next sign is `sign`. */
static bool next_is(struct scanner *in, char sign)
{
    skip_space(in);
    if (in->failed || *in->at != sign)
        return false;
    in->at++;
    return true;
}

static void expect(struct scanner *in, char sign)
{
    const char text[] = {'\'', sign, '\'', '\0'};

    if (!next_is(in, sign))
        fail(in, text);
}

static uint64_t number(struct scanner *in)
{
    uint64_t value = 0;

    skip_space(in);
    if (*in->at < '0' || *in->at > '9')
        fail(in, "a whole number");
    for (; !in->failed && *in->at >= '0' && *in->at <= '9'; in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            fail(in, "a number below 2^64");
        value = value * 10 + digit;
    }
    if (!in->failed && (*in->at == '.' || *in->at == 'e' || *in->at == 'E'))
        fail(in, "a number without fraction or exponent");
    return value;
}

static uint32_t small_number(struct scanner *in)
{
    uint64_t value = number(in);

    if (value > UINT32_MAX)
        fail(in, "a number below 2^32");
    return (uint32_t)value;
}

/* A number, or -1 for never. */
static uint64_t wait_time(struct scanner *in)
{
    if (!next_is(in, '-'))
        return number(in);
    if (number(in) != 1)
        fail(in, "-1 as the only negative number");
    return WEIR_NEVER;
}

static bool truth(struct scanner *in)
{
    skip_space(in);
    if (!in->failed && strncmp(in->at, "true", 4) == 0) {
        in->at += 4;
        return true;
    }
    if (!in->failed && strncmp(in->at, "false", 5) == 0)
        in->at += 5;
    else
        fail(in, "true or false");
    return false;
}

/* A string without escapes. */
static void text(struct scanner *in, char *room, size_t room_size)
{
    size_t length;

    room[0] = '\0';
    expect(in, '"');
    if (in->failed)
        return;
    length = strcspn(in->at, "\"\\");
    if (in->at[length] != '"' || length >= room_size) {
        fail(in, "a short string without escapes");
        return;
    }
    memcpy(room, in->at, length);
    room[length] = '\0';
    in->at += length + 1;
}

static uint32_t one_of(struct scanner *in, const char *const *names, uint32_t count, const char *expected)
{
    char word[16];

    text(in, word, sizeof word);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return i + 1;
    fail(in, expected);
    return 0;
}

static void rule(struct scanner *in, weir_rule *into)
{
    static const char *const algorithms[] = {"log", "counter", "buckets"};
    static const char *const meters[] = {"requests", "cost"};
    char field[16];

    *into = (weir_rule){.meter = WEIR_PER_COST};
    expect(in, '{');
    do {
        text(in, field, sizeof field);
        expect(in, ':');
        if (strcmp(field, "algorithm") == 0)
            into->algorithm = one_of(in, algorithms, 3, "an algorithm");
        else if (strcmp(field, "limit") == 0)
            into->limit = number(in);
        else if (strcmp(field, "window") == 0)
            into->window_ns = number(in);
        else if (strcmp(field, "buckets") == 0)
            into->buckets = number(in);
        else if (strcmp(field, "meter") == 0)
            into->meter = one_of(in, meters, 2, "a meter");
        else
            fail(in, "a field of a rule");
    } while (next_is(in, ','));
    expect(in, '}');
    if (into->algorithm == 0 || into->limit == 0 || into->window_ns == 0)
        fail(in, "algorithm, limit and window before this");
}

static void rules(struct scanner *in, struct trace *into)
{
    expect(in, '[');
    do {
        if (into->rule_count == WEIR_RULES_MAX) {
            fail(in, "at most 8 rules");
            return;
        }
        rule(in, &into->rules[into->rule_count++]);
    } while (next_is(in, ','));
    expect(in, ']');
}

static void step(struct scanner *in, struct trace_step *into)
{
    expect(in, '[');
    into->now = number(in);
    expect(in, ',');
    into->cost = number(in);
    expect(in, ',');
    into->accepted = truth(in);
    expect(in, ',');
    into->rule = small_number(in);
    expect(in, ',');
    into->remaining = number(in);
    expect(in, ',');
    into->retry_after_ns = wait_time(in);
    expect(in, ',');
    into->release_after_ns = number(in);
    expect(in, ']');
}

static void steps(struct scanner *in, struct trace *into)
{
    expect(in, '[');
    do {
        if (into->step_count == into->step_room) {
            size_t room = into->step_room * 2 + 64;
            struct trace_step *more = realloc(into->steps, room * sizeof *more);

            if (more == NULL) {
                fail(in, "enough memory");
                return;
            }
            into->steps = more;
            into->step_room = room;
        }
        step(in, &into->steps[into->step_count++]);
    } while (next_is(in, ','));
    expect(in, ']');
}

static void whole_trace(struct scanner *in, struct trace *into)
{
    char field[16];

    into->name[0] = '\0';
    into->rule_count = 0;
    into->step_count = 0;
    expect(in, '{');
    do {
        text(in, field, sizeof field);
        expect(in, ':');
        if (strcmp(field, "name") == 0)
            text(in, into->name, sizeof into->name);
        else if (strcmp(field, "rules") == 0)
            rules(in, into);
        else if (strcmp(field, "steps") == 0)
            steps(in, into);
        else
            fail(in, "name, rules or steps");
    } while (next_is(in, ','));
    expect(in, '}');
    skip_space(in);
    if (*in->at != '\0')
        fail(in, "the end of the line");
    if (into->name[0] == '\0' || into->rule_count == 0 || into->step_count == 0)
        fail(in, "name, rules and steps before this");
}

int traces_open(trace_reader *reader, const char *path)
{
    memset(reader, 0, sizeof *reader);
    reader->file = fopen(path, "r");
    return reader->file == NULL ? -errno : 0;
}

int traces_next(trace_reader *reader)
{
    struct scanner in = {reader, NULL, false};
    ssize_t length = getline(&reader->line, &reader->line_size, reader->file);

    if (length < 0)
        return 0;
    reader->line_number++;
    in.at = reader->line;
    whole_trace(&in, &reader->current);
    return in.failed ? -1 : 1;
}

void traces_close(trace_reader *reader)
{
    if (reader->file != NULL)
        fclose(reader->file);
    free(reader->line);
    free(reader->current.steps);
    memset(reader, 0, sizeof *reader);
}

weir_decision traces_wanted(const struct trace *trace, const struct trace_step *step)
{
    return (weir_decision){.verdict = step->accepted,
                           .rule = step->rule,
                           .limit = trace->rules[step->rule].limit,
                           .remaining = step->remaining,
                           .retry_after_ns = step->retry_after_ns,
                           .release_after_ns = step->release_after_ns};
}

const char *traces_path(char *room, size_t room_size)
{
    const char *shared = getenv("WEIR_SHARED");
    const char *root = getenv("MESON_SOURCE_ROOT");

    if (shared != NULL && *shared != '\0')
        snprintf(room, room_size, "%s/vectors/traces.jsonl", shared);
    else
        snprintf(room, room_size, "%s/../shared/vectors/traces.jsonl", root != NULL && *root != '\0' ? root : ".");
    return room;
}
