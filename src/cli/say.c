#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

void weiri_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("weir replay: ", stderr);
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
