/* SPDX-License-Identifier: MIT */
#include "oracle_state.h"

#include <stdlib.h>
#include <string.h>

#include "basics.h"

typedef __int128 wide_signed; /* times before 0 */

/* ---- Prints ---- */

/* `amount` times a number that belongs to (what, value): a sum of such is the same in any order of its parts, and
 * charges at one place add up. */
static void add(struct oracle_print *print, uint64_t what, uint64_t value, uint64_t amount)
{
    uint64_t word = mix(mix(what + UINT64_C(0x9e3779b97f4a7c15)) + value);

    print->word[0] += amount * (mix(word) | 1);
    print->word[1] += amount * (mix(word ^ UINT64_C(0x6a09e667f3bcc909)) | 1);
}

static uint64_t key_number(const struct subject *subject)
{
    uint64_t number = subject->key_len;

    for (size_t i = 0; i < subject->key_len; i++)
        number = mix(number + subject->key[i]);
    return number;
}

/* Where a charge falls: charges at one place are told apart by nobody. */
static uint64_t place_of(const weir_rule *rule, uint64_t stamp)
{
    if (rule->algorithm == WEIR_COUNTER)
        return stamp / rule->window_ns;
    if (rule->algorithm == WEIR_BUCKETS)
        return stamp / (rule->window_ns / rule->buckets + (rule->window_ns % rule->buckets != 0));
    return stamp;
}

/* As the oracle forgets: what lies two windows before the newest can never count again. */
static void add_history(struct oracle_print *print, uint64_t what, const weir_rule *rule, const struct history *history)
{
    wide_signed oldest = (wide_signed)history->newest - 2 * (wide_signed)rule->window_ns;

    if (history->newest != 0)
        add(print, what, history->newest, 1);
    for (size_t i = 0; i < history->count; i++)
        if ((wide_signed)history->charges[i].stamp >= oldest)
            add(print, what + 1, place_of(rule, history->charges[i].stamp), history->charges[i].amount);
}

struct oracle_print oracle_print_of(const struct oracle *oracle)
{
    struct oracle_print print = {{0, 0}};

    for (size_t i = 0; i < oracle->plans * oracle->rule_count; i++)
        add(&print, 1, oracle->limits[i], mix(i + 1) | 1);
    for (size_t i = 0; i < oracle->subject_count; i++)
        for (size_t r = 0; r < oracle->rule_count; r++)
            add_history(&print, key_number(&oracle->subjects[i]) + 2 * r + 2, &oracle->rules[r],
                        &oracle->subjects[i].histories[r]);
    return print;
}

/* ---- Copies ---- */

static void assign_history(struct history *to, const struct history *from)
{
    if (to->room < from->count) {
        to->room = from->room;
        to->charges = must(realloc(to->charges, to->room * sizeof *to->charges));
    }
    if (from->count > 0)
        memcpy(to->charges, from->charges, from->count * sizeof *to->charges);
    to->count = from->count;
    to->newest = from->newest;
}

static void forget_subject(struct oracle *oracle, struct subject *subject)
{
    for (size_t r = 0; r < oracle->rule_count; r++)
        free(subject->histories[r].charges);
    free(subject->key);
}

void oracle_assign(struct oracle *to, const struct oracle *from)
{
    memcpy(to->limits, from->limits, from->plans * from->rule_count * sizeof *to->limits);
    for (size_t i = 0; i < from->subject_count; i++) {
        const struct subject *like = &from->subjects[i];
        bool same = i < to->subject_count && to->subjects[i].key_len == like->key_len &&
                    memcmp(to->subjects[i].key, like->key, like->key_len) == 0;

        if (!same) {
            while (to->subject_count > i)
                forget_subject(to, &to->subjects[--to->subject_count]);
            oracle_add_subject(to, like->key, like->key_len);
        }
        for (size_t r = 0; r < from->rule_count; r++)
            assign_history(&to->subjects[i].histories[r], &like->histories[r]);
    }
    while (to->subject_count > from->subject_count)
        forget_subject(to, &to->subjects[--to->subject_count]);
}

struct oracle *oracle_copy(const struct oracle *oracle)
{
    struct oracle *copy = oracle_open(oracle->rules, oracle->rule_count, oracle->plans, oracle->limits);

    oracle_assign(copy, oracle);
    return copy;
}

/* ---- Time ---- */

uint64_t oracle_effective_time(const struct oracle *oracle, const void *key, size_t key_len, size_t rule, uint64_t now)
{
    for (size_t i = 0; i < oracle->subject_count; i++) {
        const struct subject *subject = &oracle->subjects[i];

        if (subject->key_len == key_len && (key_len == 0 || memcmp(subject->key, key, key_len) == 0))
            return now > subject->histories[rule].newest ? now : subject->histories[rule].newest;
    }
    return now;
}
