#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "text.h"

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},           {"us", WEIR_MICROSECOND}, {"ms", WEIR_MILLISECOND}, {"s", WEIR_SECOND},
    {"m", WEIR_MINUTE},  {"h", WEIR_HOUR},         {"d", WEIR_DAY},
};

static uint64_t unit_of(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ns;
    return 0;
}

static const char *parse_window(weiri_text text, uint64_t *window)
{
    uint64_t number, unit;
    bool any = weiri_text_at_digit(&text), fits = weiri_text_number(&text, &number);

    if (!any)
        return "after the slash goes a window, a whole number and a unit: 60s";
    unit = unit_of(text.at);
    if (unit == 0)
        return "the window's unit is none of ns, us, ms, s, m, h, d";
    if (!fits || __builtin_mul_overflow(number, unit, window) || *window > WEIR_WINDOW_MAX)
        return "the window is longer than 2^62 ns (146 years)";
    return *window > 0 ? NULL : "the window is 0";
}

const char *weiri_limit_parse(const char *text, weir_rule *rule)
{
    weiri_text rest = weiri_text_of(text, strlen(text));
    bool any = weiri_text_at_digit(&rest), fits;

    *rule = (weir_rule){.meter = WEIR_PER_REQUEST, .name = text};
    fits = weiri_text_number(&rest, &rule->limit);
    if (!any)
        return "a limit begins with a whole number: 100/60s";
    if (!fits || rule->limit > (uint64_t)INT64_MAX)
        return "the limit is above 2^63-1";
    if (rule->limit == 0)
        return "the limit is 0";
    if (weiri_text_left(&rest) >= 4 && memcmp(rest.at, "cost", 4) == 0) {
        rule->meter = WEIR_PER_COST;
        rest.at += 4;
    }
    if (!weiri_text_take(&rest, '/'))
        return "after the number goes a slash (or \"cost\" and a slash): 100/60s, 5000cost/1m";
    return parse_window(rest, &rule->window_ns);
}

const char *weiri_choice_parse(const char *text, weiri_choice *choice)
{
    static const char prefix[] = "buckets:";
    const size_t skip = sizeof prefix - 1;

    *choice = (weiri_choice){0};
    if (strcmp(text, "log") == 0)
        choice->algorithm = WEIR_LOG;
    else if (strcmp(text, "counter") == 0)
        choice->algorithm = WEIR_COUNTER;
    else if (strncmp(text, prefix, skip) == 0)
        choice->algorithm = WEIR_BUCKETS;
    else
        return "it is none of log, counter, buckets:N, all";
    if (choice->algorithm != WEIR_BUCKETS) {
        strcpy(choice->name, text);
        return NULL;
    }
    if (!weiri_text_whole(text + skip, strlen(text + skip), &choice->buckets) || choice->buckets == 0)
        return "after the colon goes the number of buckets: buckets:60";
    snprintf(choice->name, sizeof choice->name, "%s%llu", prefix, (unsigned long long)choice->buckets);
    return NULL;
}
