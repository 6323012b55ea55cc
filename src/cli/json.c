#include <stdio.h>

#include "json.h"
#include "say.h"

json_t *weiri_json_made(json_t *value)
{
    if (!value)
        weiri_out_of_memory();
    return value;
}

void weiri_json_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, weiri_json_made(value)) != 0)
        weiri_out_of_memory();
}

void weiri_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, weiri_json_made(value)) != 0)
        weiri_out_of_memory();
}

json_t *weiri_json_integer(uint64_t number)
{
    return json_integer((json_int_t)number);
}

void weiri_json_print(json_t *root)
{
    if (json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0 && !ferror(stdout))
        weiri_out_of_memory();
    putchar('\n');
    json_decref(root);
}
