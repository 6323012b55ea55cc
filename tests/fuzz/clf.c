/*
 * The reader of web servers' logs, on one line of any bytes. What it takes it must take again when only what it says it
 * does not look at is changed, and when the line is written out anew from what was read; a fault is about bytes of the
 * line.
 *
 * Input: the line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/reader_clf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weir/types.h>

#include "fuzz.h"

/* Reads from memory of just that size. The entry's key stays good: it is compared with the line's own. */
static bool parse(const char *line, size_t len, weiri_entry *entry)
{
    char *exact = fuzz_copy(line, len);
    weiri_fault fault = {NULL, NULL, 0};
    bool taken = weiri_clf_parse(exact, len, entry, &fault);

    if (taken) {
        FUZZ_HOLDS(entry->key == exact, "the client is not at the line's beginning");
        entry->key = line;
    } else {
        FUZZ_HOLDS(fault.reason != NULL && *fault.reason != '\0', "no reason is given");
        FUZZ_HOLDS(fault.text >= exact && fault.text + fault.len <= exact + len, "the fault is about other bytes");
    }
    free(exact);
    return taken;
}

static void same(const char *what, bool taken, const weiri_entry *wanted, const weiri_entry *got)
{
    FUZZ_HOLDS(taken, "%s is not taken", what);
    FUZZ_HOLDS(wanted->time == got->time && wanted->cost == got->cost, "%s: another time or cost", what);
    FUZZ_HOLDS(wanted->key_len == got->key_len && memcmp(wanted->key, got->key, got->key_len) == 0,
               "%s: another client", what);
}

static void check_followed(const char *line, size_t len, const weiri_entry *entry)
{
    static const char more[] = " \"http://x/ [1]\" \"agent \\\" \xff\"";
    char *longer = malloc(len + sizeof more);
    weiri_entry again;

    FUZZ_HOLDS(longer != NULL, "no memory");
    memcpy(longer, line, len);
    memcpy(longer + len, more, sizeof more);
    same("with a referer and an agent, the line", parse(longer, len + sizeof more - 1, &again), entry, &again);
    free(longer);
}

static void check_anew(const weiri_entry *entry)
{
    size_t room = entry->key_len + 200;
    char *line = malloc(room), stamp[64];
    time_t seconds = (time_t)(entry->time / WEIR_SECOND);
    struct tm civil;
    weiri_entry again;

    FUZZ_HOLDS(line != NULL, "no memory");
    strftime(stamp, sizeof stamp, "%d/%b/%Y:%T", gmtime_r(&seconds, &civil));
    memcpy(line, entry->key, entry->key_len);
    int used = snprintf(line + entry->key_len, 200, " - u [a] [b [%s.%09u +0000] \"\\\"\" - %" PRIu64, stamp,
                        (unsigned)(entry->time % WEIR_SECOND), entry->cost);
    same("written out anew, the line", parse(line, entry->key_len + (size_t)used, &again), entry, &again);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data;
    weiri_entry entry;

    if (!parse(line, size, &entry))
        return 0;
    FUZZ_HOLDS(entry.key_len >= 1 && entry.key_len <= WEIR_KEY_MAX, "a client of %zu bytes", entry.key_len);
    FUZZ_HOLDS(memchr(entry.key, ' ', entry.key_len) == NULL && line[entry.key_len] == ' ', "the client is no word");
    FUZZ_HOLDS(entry.time <= WEIR_TIME_MAX, "time %" PRIu64, entry.time);
    check_followed(line, size, &entry);
    check_anew(&entry);
    return 0;
}
