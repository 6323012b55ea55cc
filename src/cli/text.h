/* A piece of text that is read from its front. It need not end in a NUL, and may hold some. */
#ifndef WEIRI_CLI_TEXT_H
#define WEIRI_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weiri_text {
    const char *at;
    const char *end;
} weiri_text;

static inline weiri_text weiri_text_of(const char *bytes, size_t len)
{
    return (weiri_text){bytes, bytes + len};
}

static inline size_t weiri_text_left(const weiri_text *text)
{
    return (size_t)(text->end - text->at);
}

static inline bool weiri_text_at(const weiri_text *text, char wanted)
{
    return text->at < text->end && *text->at == wanted;
}

static inline bool weiri_text_at_digit(const weiri_text *text)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

/* Takes one character, if it is the wanted one. */
static inline bool weiri_text_take(weiri_text *text, char wanted)
{
    if (!weiri_text_at(text, wanted))
        return false;
    text->at++;
    return true;
}

/* Takes all digits there are. False: there is none, or the number passes 2^64-1. */
static inline bool weiri_text_number(weiri_text *text, uint64_t *number)
{
    bool fits = weiri_text_at_digit(text);

    for (*number = 0; weiri_text_at_digit(text); text->at++) {
        fits = fits && !__builtin_mul_overflow(*number, 10, number) &&
               !__builtin_add_overflow(*number, (uint64_t)(*text->at - '0'), number);
    }
    return fits;
}

/* The whole text is one whole number from 0 to 2^64-1: digits and nothing else. */
static inline bool weiri_text_whole(const char *bytes, size_t len, uint64_t *number)
{
    weiri_text text = weiri_text_of(bytes, len);

    return weiri_text_number(&text, number) && text.at == text.end;
}

#endif
