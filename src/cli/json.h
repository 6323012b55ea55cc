/* Making JSON; lack of memory ends the program. */
#ifndef WEIRI_CLI_JSON_H
#define WEIRI_CLI_JSON_H

#include <jansson.h>
#include <stdint.h>

/* The value itself, which is not NULL. */
json_t *weiri_json_made(json_t *value);

/* Both take over `value`. */
void weiri_json_set(json_t *object, const char *name, json_t *value);
void weiri_json_append(json_t *array, json_t *value);

json_t *weiri_json_integer(uint64_t number);

/* On standard output, and takes over `root`. Errors of output stay on the stream. */
void weiri_json_print(json_t *root);

#endif
