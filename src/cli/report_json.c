#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "report.h"
#include "say.h"

static json_t *per_call(uint64_t elapsed_ns, uint64_t calls)
{
    double each = calls > 0 ? (double)elapsed_ns / (double)calls : 0;

    return json_real((double)(uint64_t)(each * 10 + 0.5) / 10);
}

static json_t *remote_object(const weiri_remote *remote, uint64_t calls)
{
    json_t *object = weiri_json_made(json_object());

    weiri_json_set(object, "accepted", weiri_json_integer(remote->accepted));
    weiri_json_set(object, "refused", weiri_json_integer(calls - remote->accepted));
    weiri_json_set(object, "differing", weiri_json_integer(remote->differing));
    weiri_json_set(object, "round_trips", weiri_json_integer(remote->round_trips));
    weiri_json_set(object, "ns_per_decision", per_call(remote->elapsed_ns, calls));
    return object;
}

static json_t *run_object(const weiri_run *run)
{
    uint64_t calls = run->accepted + run->refused;
    bool known = run->compared || run->choice.algorithm == WEIR_LOG;
    json_t *object = weiri_json_made(json_object());

    weiri_json_set(object, "algorithm", json_string(run->choice.name));
    weiri_json_set(object, "accepted", weiri_json_integer(run->accepted));
    weiri_json_set(object, "refused", weiri_json_integer(run->refused));
    weiri_json_set(object, "keys_refused", weiri_json_integer(run->keys_refused));
    weiri_json_set(object, "only_log", known ? weiri_json_integer(run->only_log) : json_null());
    weiri_json_set(object, "only_this", known ? weiri_json_integer(run->only_this) : json_null());
    weiri_json_set(object, "bytes", weiri_json_integer(run->bytes));
    weiri_json_set(object, "ns_per_decision", per_call(run->elapsed_ns, calls));
    if (run->remote.asked)
        weiri_json_set(object, "redis", remote_object(&run->remote, calls));
    return object;
}

static json_t *hex_of(const weiri_key *key)
{
    char *text = weiri_resize(NULL, (size_t)key->len * 2 + 1, 1);
    json_t *hex;

    for (uint32_t i = 0; i < key->len; i++)
        sprintf(text + (size_t)i * 2, "%02x", (unsigned char)key->bytes[i]);
    hex = weiri_json_made(json_stringn(text, (size_t)key->len * 2));
    free(text);
    return hex;
}

static json_t *key_object(const weiri_key *key, uint64_t refused)
{
    json_t *object = weiri_json_made(json_object());
    json_t *plain = json_stringn(key->len > 0 ? key->bytes : "", key->len); /* NULL: no UTF-8 */

    if (plain) {
        weiri_json_set(object, "key", plain);
    } else {
        char *text = weiri_resize(NULL, (size_t)key->len * 4 + 1, 1);
        weiri_escape(text, key->bytes, key->len);
        weiri_json_set(object, "key", json_string(text));
        weiri_json_set(object, "key_hex", hex_of(key));
        free(text);
    }
    weiri_json_set(object, "refused", weiri_json_integer(refused));
    return object;
}

static json_t *top_array(const weiri_report *report)
{
    json_t *array = weiri_json_made(json_array());
    size_t found;
    uint32_t *top = weiri_run_top(report->judge, report->records, report->options->top, &found);

    for (size_t i = 0; i < found; i++)
        weiri_json_append(array, key_object(&report->records->key[top[i]], report->judge->refused_of[top[i]]));
    free(top);
    return array;
}

void weiri_report_json(const weiri_report *report)
{
    json_t *root = weiri_json_made(json_object()), *algorithms = weiri_json_made(json_array());

    for (size_t i = 0; i < report->run_count; i++)
        weiri_json_append(algorithms, run_object(&report->runs[i]));
    weiri_json_set(root, "records", weiri_json_integer(report->records->count));
    weiri_json_set(root, "keys", weiri_json_integer(report->records->keys));
    weiri_json_set(root, "malformed", weiri_json_integer(report->malformed));
    weiri_json_set(root, "late", weiri_json_integer(report->records->late));
    weiri_json_set(root, "algorithms", algorithms);
    weiri_json_set(root, "top", top_array(report));
    weiri_json_print(root);
}
