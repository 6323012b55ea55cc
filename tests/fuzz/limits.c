/*
 * What --limit and --algorithm say, read twice: by the tool, and here by the rules of its help text, with sscanf. Both
 * must take the same texts, and what is taken, written out again, reads as the same.
 *
 * Input: the text.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {{"ns", 1},
             {"us", 1000},
             {"ms", 1000000},
             {"s", 1000000000},
             {"m", UINT64_C(60000000000)},
             {"h", UINT64_C(3600000000000)},
             {"d", UINT64_C(86400000000000)}};

/* Digits at the front, and what they say, at most `most`; 0: none, or more. */
static size_t number(const char *text, uint64_t most, uint64_t *value)
{
    size_t digits = strspn(text, "0123456789");
    unsigned __int128 sum = 0;

    for (size_t i = 0; i < digits; i++) {
        sum = sum * 10 + (unsigned)(text[i] - '0');
        if (sum > most)
            return 0;
    }
    *value = (uint64_t)sum;
    return digits;
}

static bool reference(const char *text, uint64_t *limit, uint32_t *meter, uint64_t *window)
{
    size_t used = number(text, INT64_MAX, limit);
    uint64_t count;

    if (used == 0 || *limit == 0)
        return false;
    text += used;
    *meter = strncmp(text, "cost", 4) == 0 ? WEIR_PER_COST : WEIR_PER_REQUEST;
    text += *meter == WEIR_PER_COST ? 4 : 0;
    used = *text == '/' ? number(text + 1, WEIR_WINDOW_MAX, &count) : 0;
    for (size_t i = 0; used > 0 && i < sizeof units / sizeof *units; i++)
        if (strcmp(text + 1 + used, units[i].name) == 0) {
            *window = count * units[i].ns;
            return count > 0 && count <= WEIR_WINDOW_MAX / units[i].ns;
        }
    return false;
}

static void check_limit(const char *text)
{
    uint64_t limit, window;
    uint32_t meter;
    bool wanted = reference(text, &limit, &meter, &window);
    weir_rule rule;
    const char *reason = weiri_limit_parse(text, &rule);
    char again[100];

    FUZZ_HOLDS(wanted == (reason == NULL), "limit %s: %s", text, reason ? reason : "taken");
    if (!wanted)
        return;
    FUZZ_HOLDS(rule.limit == limit && rule.meter == meter && rule.window_ns == window, "limit %s", text);
    FUZZ_HOLDS(rule.name == text && rule.algorithm == 0 && rule.buckets == 0 && rule.flags == 0, "rest of %s", text);
    snprintf(again, sizeof again, "%" PRIu64 "%s/%" PRIu64 "ns", limit, meter == WEIR_PER_COST ? "cost" : "", window);
    FUZZ_HOLDS(weiri_limit_parse(again, &rule) == NULL, "%s, from %s, is not taken", again, text);
    FUZZ_HOLDS(rule.limit == limit && rule.meter == meter && rule.window_ns == window, "%s, from %s", again, text);
}

static void check_choice(const char *text)
{
    weiri_choice choice, again;
    const char *reason = weiri_choice_parse(text, &choice);
    uint64_t buckets = 0;
    bool ring = strncmp(text, "buckets:", 8) == 0;
    size_t digits = ring ? number(text + 8, UINT64_MAX, &buckets) : 0;
    bool wanted = ring ? digits > 0 && text[8 + digits] == '\0' && buckets > 0
                       : strcmp(text, "log") == 0 || strcmp(text, "counter") == 0;

    FUZZ_HOLDS(wanted == (reason == NULL), "algorithm %s: %s", text, reason ? reason : "taken");
    if (!wanted)
        return;
    FUZZ_HOLDS(choice.buckets == buckets, "algorithm %s", text);
    FUZZ_HOLDS(choice.algorithm == (ring ? WEIR_BUCKETS : *text == 'l' ? WEIR_LOG : WEIR_COUNTER), "algorithm %s",
               text);
    FUZZ_HOLDS(weiri_choice_parse(choice.name, &again) == NULL && memcmp(&choice, &again, sizeof choice) == 0,
               "the name %s, from %s", choice.name, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = strnlen((const char *)data, size);
    char *text = malloc(len + 1);

    FUZZ_HOLDS(text != NULL, "no memory");
    if (len > 0)
        memcpy(text, data, len);
    text[len] = '\0';
    check_limit(text);
    check_choice(text);
    free(text);
    return 0;
}
