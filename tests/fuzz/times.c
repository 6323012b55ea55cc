/*
 * Times as texts, read twice: by the tool, and here by patterns and the C library's calendar. Both must take the same
 * texts for the same times. What is shown must be what gmtime_r makes of the number, and read back as the same.
 *
 * Input: the text; its first 8 bytes are also a time to be shown, and the next two an offset from UTC.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/times.h"

#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
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

/* East of UTC; "+08:00", "+0800", "+08". False: no offset is that large. */
static bool offset(const char *text, int64_t *seconds)
{
    int hours = 0, minutes = 0;

    if (sscanf(text, "%*1[+-]%2d:%2d", &hours, &minutes) < 2)
        sscanf(text, "%*1[+-]%2d%2d", &hours, &minutes);
    *seconds = (*text == '-' ? -1 : 1) * (hours * INT64_C(3600) + minutes * INT64_C(60));
    return hours < 24 && minutes < 60;
}

/* Civil time to ns since 1970. False: no such day, or no such time of day. */
static bool from_civil(int year, int month, int day, const int clock[3], wide *ns)
{
    struct tm civil = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t days = timegm(&civil);

    *ns = ((wide)days + clock[0] * 3600 + clock[1] * 60 + clock[2]) * (wide)WEIR_SECOND;
    /* timegm makes another day of one that does not exist. */
    return civil.tm_mday == day && civil.tm_mon == month - 1 && clock[0] < 24 && clock[1] < 60 && clock[2] <= 60;
}

#define CLOCK "[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?"

static bool has_shape(regex_t *shape, const char *pattern, const char *text)
{
    if (shape->re_nsub == 0)
        FUZZ_HOLDS(regcomp(shape, pattern, REG_EXTENDED) == 0, "a bad pattern");
    return regexec(shape, text, 0, NULL, 0) == 0;
}

/* A log's time, as the header of times.h has it. */
static bool reference_clf(const char *text, wide *ns)
{
    static regex_t shape;
    int year, day, clock[3], used = 0;
    char month[5] = "";
    int64_t east;

    if (!has_shape(&shape, "^[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:" CLOCK " [+-][0-9]{4}$", text))
        return false;
    sscanf(text, "%2d/%3c/%4d:%2d:%2d:%2d%n", &day, month, &year, &clock[0], &clock[1], &clock[2], &used);
    const char *at = strstr(months, strcat(month, " "));
    if (at == NULL || !offset(strrchr(text, ' ') + 1, &east))
        return false;
    bool there = from_civil(year, (int)(at - months) / 4 + 1, day, clock, ns);
    *ns += fraction(text + used) - east * (wide)WEIR_SECOND;
    return there;
}

static bool reference_any(const char *text, wide *ns)
{
    static regex_t number, iso;
    int year, month, day, clock[3], used = 0;
    int64_t east = 0;

    if (has_shape(&number, "^[0-9]+([.,][0-9]+)?$", text)) {
        for (*ns = 0; isdigit((unsigned char)*text); text++)
            *ns = *ns > WEIR_TIME_MAX ? *ns : *ns * 10 + (*text - '0'); /* it is too large already */
        *ns = *ns * (wide)WEIR_SECOND + fraction(text);
        return true;
    }
    if (!has_shape(&iso, "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]" CLOCK "([Zz]| ?[+-][0-9]{2}(:?[0-9]{2})?)?$", text))
        return false;
    sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d%n", &year, &month, &day, &clock[0], &clock[1], &clock[2], &used);
    const char *zone = strpbrk(text + used, "+-");
    if (zone != NULL && !offset(zone, &east))
        return false;
    bool there = from_civil(year, month, day, clock, ns);
    *ns += fraction(text + used) - east * (wide)WEIR_SECOND;
    return there;
}

typedef const char *reader(const char *text, size_t len, uint64_t *ns);

static void check_one(reader *read, bool (*reference)(const char *, wide *), const char *exact, size_t size,
                      const char *text)
{
    wide wanted = -1;
    uint64_t ns = 0;
    bool good = strlen(text) == size && reference(text, &wanted) && wanted >= 0 && wanted <= (wide)WEIR_TIME_MAX;
    const char *reason = read(exact, size, &ns);

    FUZZ_HOLDS(good == (reason == NULL), "%s: %s", text, reason != NULL ? reason : "taken");
    FUZZ_HOLDS(!good || wanted == (wide)ns, "%s is read as %" PRIu64, text, ns);
}

/* Both readers on a piece of text that ends where its memory does. */
static void check_read(const char *bytes, size_t size)
{
    char *exact = fuzz_copy(bytes, size), *text = malloc(size + 1);

    FUZZ_HOLDS(text != NULL, "no memory");
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    check_one(weiri_time_clf, reference_clf, exact, size, text);
    check_one(weiri_time_any, reference_any, exact, size, text);
    free(exact);
    free(text);
}

static void reads_as(reader *read, const char *text, uint64_t ns)
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
    check_read((const char *)data, size);
    return 0;
}
