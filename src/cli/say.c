#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

static const char *verb = "weir replay";

void weiri_say_as(const char *called)
{
    verb = called;
}

void weiri_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "%s: ", verb);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void weiri_out_of_memory(void)
{
    weiri_say("out of memory");
    exit(1);
}

void *weiri_resize(void *memory, size_t count, size_t size)
{
    void *resized = reallocarray(memory, count, size);

    if (!resized)
        weiri_out_of_memory();
    return resized;
}

void weiri_escape(char *out, const void *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";

    for (const unsigned char *byte = bytes, *end = byte + len; byte < end; byte++) {
        if (*byte >= 0x20 && *byte < 0x7f) {
            if (*byte == '\\')
                *out++ = '\\';
            *out++ = (char)*byte;
        } else {
            *out++ = '\\';
            *out++ = 'x';
            *out++ = hex[*byte >> 4];
            *out++ = hex[*byte & 15];
        }
    }
    *out = '\0';
}

const char *weiri_show(char out[WEIRI_SHOWN_ROOM], const void *bytes, size_t len)
{
    weiri_escape(out, bytes, len < WEIRI_SHOWN ? len : WEIRI_SHOWN);
    if (len > WEIRI_SHOWN)
        strcat(out, "...");
    return out;
}

const char *weiri_thousands(char out[WEIRI_THOUSANDS_ROOM], uint64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *to = out;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}
