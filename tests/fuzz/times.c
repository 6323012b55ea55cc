/*
 * Times as texts. What is taken must be what the C library makes of the same digits; what is shown must be what
 * gmtime_r makes of the number, and read back as the same.
 *
 * Input: the text; its first 8 bytes are also a time to be shown, and the next two an offset from UTC.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/times.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weir/types.h>

#include "fuzz.h"

typedef __int128 wide;

static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";

/* Nanoseconds of a fraction that begins at `text`, a point or a comma; 0 where there is none. */
static uint32_t fraction(const char *text)
{
    char digits[10] = "000000000";

    for (size_t i = 0; (*text == '.' || *text == ',') && i < 9 && isdigit((unsigned char)text[i + 1]); i++)
        digits[i] = text[i + 1];
    return (uint32_t)strtoul(digits, NULL, 10);
}

static int64_t offset(const char *text, bool *plausible)
{
    int hours = 0, minutes = 0;

    if (sscanf(text, "%*1[+-]%2d%*[:]%2d", &hours, &minutes) != 2)
        sscanf(text, "%*1[+-]%2d%2d", &hours, &minutes);
    *plausible = hours < 24 && minutes < 60;
    return (*text == '-' ? -1 : 1) * (hours * INT64_C(3600) + minutes * INT64_C(60));
}

/* Civil time to ns since 1970. */
static wide from_civil(int year, int month, int day, const int clock[3], uint32_t nanosecond, int64_t east)
{
    struct tm civil = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t days = timegm(&civil);

    /* timegm makes another day of one that does not exist. */
    FUZZ_HOLDS(civil.tm_mday == day && civil.tm_mon == month - 1, "a day that is not: %d-%d-%d", year, month, day);
    FUZZ_HOLDS(clock[0] < 24 && clock[1] < 60 && clock[2] <= 60, "%d:%d:%d", clock[0], clock[1], clock[2]);
    return ((wide)days + clock[0] * 3600 + clock[1] * 60 + clock[2] - east) * (wide)WEIR_SECOND + nanosecond;
}

static void holds_time(const char *text, wide wanted, uint64_t got)
{
    FUZZ_HOLDS(wanted == (wide)got, "%s is read as %" PRIu64, text, got);
    FUZZ_HOLDS(got <= WEIR_TIME_MAX, "%s is beyond all times", text);
}

/* Taken as a log's time. `text` ends in a NUL. */
static void check_taken_clf(const char *text, uint64_t ns)
{
    int year, day, clock[3], used = 0;
    char month[4];
    bool plausible;

    FUZZ_HOLDS(sscanf(text, "%2d/%3c/%4d:%2d:%2d:%2d%n", &day, month, &year, &clock[0], &clock[1], &clock[2],
                      &used) == 6, "taken: %s", text);
    month[3] = '\0';
    const char *at = strstr(months, month);
    const char *zone = strrchr(text, ' ');
    FUZZ_HOLDS(at != NULL && zone != NULL, "taken: %s", text);
    int64_t east = offset(zone + 1, &plausible);
    FUZZ_HOLDS(plausible && strlen(zone) == 6, "taken: %s", text);
    holds_time(text, from_civil(year, (int)(at - months) / 4 + 1, day, clock, fraction(text + used), east), ns);
}

static void check_taken_any(const char *text, uint64_t ns)
{
    int year, month, day, clock[3], used = 0;

    if (text[strspn(text, "0123456789")] != '-') { /* a number of seconds */
        wide seconds = 0;

        for (; isdigit((unsigned char)*text); text++)
            seconds = seconds * 10 + (*text - '0');
        holds_time(text, seconds * (wide)WEIR_SECOND + fraction(text), ns);
        return;
    }
    FUZZ_HOLDS(sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d%n", &year, &month, &day, &clock[0], &clock[1], &clock[2],
                      &used) == 6, "taken: %s", text);
    const char *rest = text + used;
    const char *zone = strpbrk(rest, "+-");
    bool plausible = true;
    int64_t east = zone != NULL ? offset(zone, &plausible) : 0;
    FUZZ_HOLDS(plausible, "taken: %s", text);
    holds_time(text, from_civil(year, month, day, clock, fraction(rest), east), ns);
}

/* Both readers on a piece of text that ends where its memory does. */
static void check_read(const char *bytes, size_t size)
{
    char *exact = fuzz_copy(bytes, size);
    char *text = malloc(size + 1);
    uint64_t ns;

    FUZZ_HOLDS(text != NULL, "no memory");
    memcpy(text, exact, size);
    text[size] = '\0';
    if (weiri_time_clf(exact, size, &ns) == NULL) {
        FUZZ_HOLDS(strlen(text) == size, "a time with a NUL in it");
        check_taken_clf(text, ns);
    }
    if (weiri_time_any(exact, size, &ns) == NULL) {
        FUZZ_HOLDS(strlen(text) == size, "a time with a NUL in it");
        check_taken_any(text, ns);
    }
    free(exact);
    free(text);
}

static void reads_as(const char *(*read)(const char *, size_t, uint64_t *), const char *text, uint64_t ns)
{
    uint64_t got = 0;
    const char *reason = read(text, strlen(text), &got);

    FUZZ_HOLDS(reason == NULL && got == ns, "%s: %s, %" PRIu64 " instead of %" PRIu64, text, reason ? reason : "taken",
               got, ns);
}

/* What is shown is what gmtime_r says, and every way to write a time reads as that time. */
static void check_shown(uint64_t ns, int minutes)
{
    time_t seconds = (time_t)(ns / WEIR_SECOND), local = seconds + minutes * 60;
    unsigned left = (unsigned)(ns % WEIR_SECOND);
    char shown[WEIRI_TIME_ROOM], text[100], day[40];
    struct tm civil;

    strftime(day, sizeof day, "%FT%T", gmtime_r(&seconds, &civil));
    snprintf(text, sizeof text, "%s.%09u", day, left);
    size_t end = strlen(text);
    while (text[end - 1] == '0')
        end--;
    strcpy(text + end - (text[end - 1] == '.'), "Z");
    weiri_time_show(shown, ns);
    FUZZ_HOLDS(strcmp(shown, text) == 0, "%" PRIu64 " is shown as %s, not %s", ns, shown, text);
    reads_as(weiri_time_any, shown, ns);
    snprintf(text, sizeof text, "%" PRIu64 ".%09u", ns / WEIR_SECOND, left);
    reads_as(weiri_time_any, text, ns);
    if (local < 0)
        return;
    unsigned away = (unsigned)abs(minutes);
    gmtime_r(&local, &civil);
    strftime(day, sizeof day, "%F %T", &civil);
    snprintf(text, sizeof text, "%s,%09u %c%02u:%02u", day, left, minutes < 0 ? '-' : '+', away / 60, away % 60);
    reads_as(weiri_time_any, text, ns);
    strftime(day, sizeof day, "%d/%b/%Y:%T", &civil);
    snprintf(text, sizeof text, "%s.%09u %c%02u%02u", day, left, minutes < 0 ? '-' : '+', away / 60, away % 60);
    reads_as(weiri_time_clf, text, ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    uint64_t ns = fuzz_number(&bytes, 8) & WEIR_TIME_MAX;
    int minutes = (int)(fuzz_number(&bytes, 2) % (2 * 1439 + 1)) - 1439;

    check_shown(ns, minutes);
    if (size > 0)
        check_read((const char *)data, size);
    return 0;
}
