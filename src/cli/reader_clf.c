#include <string.h>

#include <weir/types.h>

#include "reader_clf.h"
#include "text.h"
#include "times.h"

static bool fail(weiri_fault *fault, const char *reason, const char *text, const char *end)
{
    *fault = (weiri_fault){reason, text, (size_t)(end - text)};
    return false;
}

static bool take_client(weiri_text *rest, weiri_entry *entry, weiri_fault *fault)
{
    const char *start = rest->at;
    const char *end = start < rest->end ? memchr(start, ' ', weiri_text_left(rest)) : NULL;

    if (!end || end == start)
        return fail(fault, "no log line: no client at its beginning", start, rest->end);
    if (end - start > WEIR_KEY_MAX)
        return fail(fault, "client longer than 65535 bytes", start, end);
    entry->key = start;
    entry->key_len = (size_t)(end - start);
    rest->at = end + 1;
    return true;
}

static bool take_identity(weiri_text *rest, weiri_fault *fault)
{
    const char *start = rest->at;
    const char *end = start < rest->end ? memchr(start, ' ', weiri_text_left(rest)) : NULL;

    if (!end || end == start)
        return fail(fault, "no log line: no words between client and time", start, rest->end);
    rest->at = end + 1;
    return true;
}

/*
 * The user and the time. A user's name may hold spaces and brackets too: the time is in the first brackets that hold
 * one. None is longer than 64 bytes, so that many brackets cost no more than few.
 */
static bool take_time(weiri_text *rest, weiri_entry *entry, weiri_fault *fault)
{
    const char *open = rest->at + 1;
    bool told = false;

    fail(fault, "no time in brackets", rest->at, rest->end);
    while (open < rest->end && (open = memchr(open, '[', (size_t)(rest->end - open)))) {
        size_t left = (size_t)(rest->end - ++open);
        const char *close = open[-2] == ' ' ? memchr(open, ']', left < 64 ? left : 64) : NULL;
        const char *reason = close ? weiri_time_clf(open, (size_t)(close - open), &entry->time) : NULL;

        if (close && !reason) {
            rest->at = close + 1;
            return true;
        }
        if (reason && !told)
            told = !fail(fault, reason, open, close);
    }
    return false;
}

static bool take_request(weiri_text *rest, weiri_fault *fault)
{
    const char *start = rest->at;

    if (!weiri_text_take(rest, ' ') || !weiri_text_take(rest, '"'))
        return fail(fault, "no request in quotes after the time", start, rest->end);
    for (; rest->at < rest->end; rest->at++) {
        if (weiri_text_take(rest, '"'))
            return true;
        if (weiri_text_at(rest, '\\') && rest->at + 1 < rest->end)
            rest->at++;
    }
    return fail(fault, "the request has no closing quote", start, rest->end);
}

/* A word and the space before it. */
static weiri_text take_word(weiri_text *rest)
{
    weiri_text word = {rest->at, rest->at};

    if (!weiri_text_take(rest, ' '))
        return word;
    word.at = rest->at;
    while (rest->at < rest->end && *rest->at != ' ')
        rest->at++;
    word.end = rest->at;
    return word;
}

static bool number_or_dash(weiri_text word, uint64_t *number)
{
    size_t len = weiri_text_left(&word);

    *number = 0;
    return (len == 1 && *word.at == '-') || weiri_text_whole(word.at, len, number);
}

static bool take_answer(weiri_text *rest, weiri_entry *entry, weiri_fault *fault)
{
    const char *start = rest->at;
    uint64_t status;

    if (!number_or_dash(take_word(rest), &status))
        return fail(fault, "no status after the request", start, rest->end);
    start = rest->at;
    if (!number_or_dash(take_word(rest), &entry->cost))
        return fail(fault, "no size (a number of bytes, or -) after the status", start, rest->end);
    return true;
}

bool weiri_clf_parse(const char *line, size_t len, weiri_entry *entry, weiri_fault *fault)
{
    weiri_text rest = weiri_text_of(line, len);

    return take_client(&rest, entry, fault) && take_identity(&rest, fault) && take_time(&rest, entry, fault) &&
           take_request(&rest, fault) && take_answer(&rest, entry, fault);
}
