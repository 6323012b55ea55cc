#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "report.h"
#include "say.h"

static json_t *made(json_t *value)
{
    if (!value)
        weiri_out_of_memory();
    return value;
}

/* Both take over `value`. */
static void set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, made(value)) != 0)
        weiri_out_of_memory();
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, made(value)) != 0)
        weiri_out_of_memory();
}

static json_t *integer(uint64_t number)
{
    return json_integer((json_int_t)number);
}

static json_t *run_object(const weiri_run *run)
{
    uint64_t calls = run->accepted + run->refused;
    double each = calls > 0 ? (double)run->elapsed_ns / (double)calls : 0;
    bool known = run->compared || run->choice.algorithm == WEIR_LOG;
    json_t *object = made(json_object());

    set(object, "algorithm", json_string(run->choice.name));
    set(object, "accepted", integer(run->accepted));
    set(object, "refused", integer(run->refused));
    set(object, "keys_refused", integer(run->keys_refused));
    set(object, "only_log", known ? integer(run->only_log) : json_null());
    set(object, "only_this", known ? integer(run->only_this) : json_null());
    set(object, "bytes", integer(run->bytes));
    set(object, "ns_per_decision", json_real((double)(uint64_t)(each * 10 + 0.5) / 10));
    return object;
}

static json_t *hex_of(const weiri_key *key)
{
    char *text = weiri_resize(NULL, (size_t)key->len * 2 + 1, 1);
    json_t *hex;

    for (uint32_t i = 0; i < key->len; i++)
        sprintf(text + (size_t)i * 2, "%02x", (unsigned char)key->bytes[i]);
    hex = made(json_stringn(text, (size_t)key->len * 2));
    free(text);
    return hex;
}

static json_t *key_object(const weiri_key *key, uint64_t refused)
{
    json_t *object = made(json_object());
    json_t *plain = json_stringn(key->len > 0 ? key->bytes : "", key->len); /* NULL: no UTF-8 */

    if (plain) {
        set(object, "key", plain);
    } else {
        char *text = weiri_resize(NULL, (size_t)key->len * 4 + 1, 1);
        weiri_escape(text, key->bytes, key->len);
        set(object, "key", json_string(text));
        set(object, "key_hex", hex_of(key));
        free(text);
    }
    set(object, "refused", integer(refused));
    return object;
}

static json_t *top_array(const weiri_report *report)
{
    json_t *array = made(json_array());
    size_t found;
    uint32_t *top = weiri_run_top(report->judge, report->records, report->options->top, &found);

    for (size_t i = 0; i < found; i++)
        append(array, key_object(&report->records->key[top[i]], report->judge->refused_of[top[i]]));
    free(top);
    return array;
}

void weiri_report_json(const weiri_report *report)
{
    json_t *root = made(json_object()), *algorithms = made(json_array());

    for (size_t i = 0; i < report->run_count; i++)
        append(algorithms, run_object(&report->runs[i]));
    set(root, "records", integer(report->records->count));
    set(root, "keys", integer(report->records->keys));
    set(root, "malformed", integer(report->malformed));
    set(root, "late", integer(report->records->late));
    set(root, "algorithms", algorithms);
    set(root, "top", top_array(report));
    if (json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0 && !ferror(stdout))
        weiri_out_of_memory();
    putchar('\n');
    json_decref(root);
}
