/* What the program tells on standard error, and showing bytes that may be anything. */
#ifndef WEIRI_CLI_SAY_H
#define WEIRI_CLI_SAY_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a key or of a bad field shown to people; the rest is "...". */
#define WEIRI_SHOWN 60

/* Room for so many bytes escaped, with the dots and the end. */
#define WEIRI_SHOWN_ROOM (4 * WEIRI_SHOWN + 4)

/* Room for every number, with its commas and the end. */
#define WEIRI_THOUSANDS_ROOM 28

/* The verb in whose name weiri_say speaks: "weir replay", which it is where nothing was said. */
void weiri_say_as(const char *called);

/* One line on standard error, the verb and a colon before it. */
void weiri_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says so and exits with 1: a tool that cannot hold its input has nothing better to do. */
void weiri_out_of_memory(void) __attribute__((noreturn, cold));

/* realloc for `count` elements of `size` bytes, that does not come back without them. Count and size are not 0. */
void *weiri_resize(void *memory, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));

/*
 * Writes `len` bytes as printable ASCII: a backslash as \\, whatever is not printable as \xNN. `out` has room for
 * 4 * len + 1 bytes.
 */
void weiri_escape(char *out, const void *bytes, size_t len);

/* 1234567 as 1,234,567. Returns `out`. */
const char *weiri_thousands(char out[WEIRI_THOUSANDS_ROOM], uint64_t number);

/* The same as weiri_escape of the first WEIRI_SHOWN bytes. Returns `out`. */
const char *weiri_show(char out[WEIRI_SHOWN_ROOM], const void *bytes, size_t len);

#endif
