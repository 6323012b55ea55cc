/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t fuzz_number(fuzz_bytes *bytes, unsigned count)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < count && bytes->left > 0; i++, bytes->left--)
        number |= (uint64_t)*bytes->at++ << (8 * i);
    return number;
}

/* Straight to the descriptor: the stream may be captured. */
void fuzz_wrong(const char *format, ...)
{
    char text[1000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "wrong: %s\n", text);
    abort();
}

void *fuzz_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);

    FUZZ_HOLDS(copy != NULL, "no memory for a copy of the input");
    if (size == 0)
        return copy;
    return memcpy(copy, bytes, size);
}

void fuzz_capture_begin(fuzz_capture *capture, FILE **stream)
{
    *capture = (fuzz_capture){.stream = stream, .before = *stream};
    fflush(*stream);
    *stream = open_memstream(&capture->text, &capture->size);
    FUZZ_HOLDS(*stream != NULL, "no memory to capture a stream");
}

void fuzz_capture_end(fuzz_capture *capture)
{
    fclose(*capture->stream);
    *capture->stream = capture->before;
}
