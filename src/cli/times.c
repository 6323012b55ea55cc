#include <stdio.h>
#include <string.h>

#include <weir/types.h>

#include "text.h"
#include "times.h"

typedef struct civil {
    unsigned year, month, day, hour, minute, second;
    uint32_t nanosecond;
    int64_t offset; /* seconds east of UTC */
} civil;

/* Takes exactly `count` digits. */
static bool digits(weiri_text *text, unsigned count, unsigned *value)
{
    *value = 0;
    for (; count > 0; count--, text->at++) {
        if (!weiri_text_at_digit(text))
            return false;
        *value = *value * 10 + (unsigned)(*text->at - '0');
    }
    return true;
}

/* Takes a point and digits, if there is a point. */
static bool fraction(weiri_text *text, uint32_t *nanosecond)
{
    uint32_t unit = 100000000;

    *nanosecond = 0;
    if (!weiri_text_take(text, '.') && !weiri_text_take(text, ','))
        return true;
    if (!weiri_text_at_digit(text))
        return false;
    for (; weiri_text_at_digit(text); text->at++, unit /= 10)
        *nanosecond += unit * (uint32_t)(*text->at - '0');
    return true;
}

static bool clock_time(weiri_text *text, civil *c)
{
    return digits(text, 2, &c->hour) && weiri_text_take(text, ':') && digits(text, 2, &c->minute) &&
           weiri_text_take(text, ':') && digits(text, 2, &c->second) && fraction(text, &c->nanosecond) &&
           c->hour < 24 && c->minute < 60 && c->second <= 60;
}

/* Takes +HHMM; where `loose`, +HH:MM and +HH too. */
static bool offset(weiri_text *text, bool loose, int64_t *seconds)
{
    bool west = weiri_text_at(text, '-');
    unsigned hours, minutes = 0;

    if (!west && !weiri_text_at(text, '+'))
        return false;
    text->at++;
    if (!digits(text, 2, &hours))
        return false;
    if (!loose || text->at < text->end) {
        if (loose)
            weiri_text_take(text, ':');
        if (!digits(text, 2, &minutes))
            return false;
    }
    *seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
    if (west)
        *seconds = -*seconds;
    return hours < 24 && minutes < 60;
}

/* Takes an English month's name, whatever the locale. */
static bool month_name(weiri_text *text, unsigned *month)
{
    static const char names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

    for (*month = 1; *month <= 12; ++*month) {
        if (weiri_text_left(text) >= 3 && memcmp(text->at, names[*month - 1], 3) == 0) {
            text->at += 3;
            return true;
        }
    }
    return false;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const unsigned char days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

/* Days from 1970-01-01. The year begins in March, so that the leap day is its last. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static const char *in_range(int64_t seconds, uint32_t nanosecond, uint64_t *ns)
{
    const int64_t last = (int64_t)(WEIR_TIME_MAX / WEIR_SECOND);

    if (seconds < 0)
        return "time before 1970";
    if (seconds > last || (seconds == last && nanosecond > WEIR_TIME_MAX % WEIR_SECOND))
        return "time beyond April 2262 (a number is in seconds)";
    *ns = (uint64_t)seconds * WEIR_SECOND + nanosecond;
    return NULL;
}

static const char *from_civil(const civil *c, uint64_t *ns)
{
    if (c->month < 1 || c->month > 12 || c->day < 1 || c->day > days_of_month(c->year, c->month))
        return "no such day";
    return in_range(days_of(c->year, c->month, c->day) * 86400 + (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 +
                        (int64_t)c->second - c->offset,
                    c->nanosecond, ns);
}

const char *weiri_time_clf(const char *text, size_t len, uint64_t *ns)
{
    weiri_text rest = weiri_text_of(text, len);
    civil c = {0};

    if (!digits(&rest, 2, &c.day) || !weiri_text_take(&rest, '/') || !month_name(&rest, &c.month) ||
        !weiri_text_take(&rest, '/') || !digits(&rest, 4, &c.year) || !weiri_text_take(&rest, ':') ||
        !clock_time(&rest, &c) || !weiri_text_take(&rest, ' ') || !offset(&rest, false, &c.offset) ||
        rest.at < rest.end)
        return "no time like 08/Aug/2016:16:49:16 +0800";
    return from_civil(&c, ns);
}

static const char *iso(weiri_text rest, uint64_t *ns)
{
    static const char reason[] = "no time (seconds since 1970, or like 2016-08-08T16:49:16.5+08:00)";
    civil c = {0};

    if (!digits(&rest, 4, &c.year) || !weiri_text_take(&rest, '-') || !digits(&rest, 2, &c.month) ||
        !weiri_text_take(&rest, '-') || !digits(&rest, 2, &c.day) ||
        !(weiri_text_take(&rest, 'T') || weiri_text_take(&rest, 't') || weiri_text_take(&rest, ' ')) ||
        !clock_time(&rest, &c))
        return reason;
    if (!weiri_text_take(&rest, 'Z') && !weiri_text_take(&rest, 'z') && rest.at < rest.end) {
        weiri_text_take(&rest, ' ');
        if (!offset(&rest, true, &c.offset))
            return reason;
    }
    return rest.at < rest.end ? reason : from_civil(&c, ns);
}

const char *weiri_time_any(const char *text, size_t len, uint64_t *ns)
{
    weiri_text rest = weiri_text_of(text, len);
    bool negative = weiri_text_take(&rest, '-');
    uint64_t seconds;
    uint32_t nanosecond;
    bool fits = weiri_text_number(&rest, &seconds);
    const char *digits_end = rest.at;

    if (digits_end == text + negative || !fraction(&rest, &nanosecond) || rest.at < rest.end)
        return iso(weiri_text_of(text, len), ns);
    if (negative)
        return "time before 1970";
    return in_range(fits && seconds < INT64_MAX ? (int64_t)seconds : INT64_MAX, nanosecond, ns);
}

/* The inverse of days_of, for days from 1970 on. */
static civil civil_of(uint64_t days)
{
    uint64_t z = days + 719468, era = z / 146097, of_era = z % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t shifted = (5 * of_year + 2) / 153;
    unsigned month = (unsigned)(shifted < 10 ? shifted + 3 : shifted - 9);

    return (civil){
        .year = (unsigned)(year + era * 400) + (month <= 2),
        .month = month,
        .day = (unsigned)(of_year - (153 * shifted + 2) / 5 + 1),
    };
}

const char *weiri_time_show(char out[WEIRI_TIME_ROOM], uint64_t ns)
{
    uint64_t seconds = ns / WEIR_SECOND, of_day = seconds % 86400;
    civil c = civil_of(seconds / 86400);
    int written = snprintf(out, WEIRI_TIME_ROOM, "%04u-%02u-%02uT%02u:%02u:%02u", c.year % 10000, c.month % 100,
                           c.day % 100, (unsigned)(of_day / 3600), (unsigned)(of_day / 60 % 60),
                           (unsigned)(of_day % 60));
    char *end = out + written;

    if (ns % WEIR_SECOND > 0) {
        end += snprintf(end, 11, ".%09u", (unsigned)(ns % WEIR_SECOND));
        while (end[-1] == '0')
            end--;
    }
    memcpy(end, "Z", 2);
    return out;
}
