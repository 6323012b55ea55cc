/*
 * What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: libFuzzer drives it where the build is
 * for hunting (scripts/fuzz.sh), and replay.c runs it over the corpus with any compiler.
 *
 * A target ends the process by fuzz_wrong as soon as something does not hold, so that both drivers see it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_FUZZ_H
#define WEIR_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../support/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, read from its front. Beyond the end everything is 0. */
typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

/* `count` bytes, at most 8, as a little-endian number. */
uint64_t fuzz_number(fuzz_bytes *bytes, unsigned count);

/* A random source that is the input itself: each number takes as many bytes as its range needs. Copies of it go on
 * where the others stopped. */
random_source fuzz_random(fuzz_bytes *bytes);

/* Says what does not hold, and aborts. */
__attribute__((noreturn, cold, format(printf, 1, 2))) void fuzz_wrong(const char *format, ...);

/* if (!condition) fuzz_wrong(format, ...) */
#define FUZZ_HOLDS(condition, ...)   \
    do {                             \
        if (!(condition))            \
            fuzz_wrong(__VA_ARGS__); \
    } while (0)

/* A copy in memory of just that size, where a sanitizer sees a byte read beyond. To be freed; never NULL. */
void *fuzz_copy(const void *bytes, size_t size);

/* What is written to a stream meanwhile (stdout, stderr) goes to memory. */
typedef struct fuzz_capture {
    FILE **stream;
    FILE *before;
    char *text; /* good from fuzz_capture_end on, until it is freed */
    size_t size;
} fuzz_capture;

void fuzz_capture_begin(fuzz_capture *capture, FILE **stream);
void fuzz_capture_end(fuzz_capture *capture);

#endif
