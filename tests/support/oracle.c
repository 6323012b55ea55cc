/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "oracle_state.h"

typedef unsigned __int128 wide; /* times beyond 2^63, products of a charge and a window */
typedef __int128 wide_signed;   /* times before 0 */

/* One rule asked about one key: all that a question needs but the time. */
struct view {
    const weir_rule *rule;
    const struct history *history;
    uint64_t limit;
};

/* ---- One rule at one time: sections 2 and 3 ---- */

static wide effective(const struct view *view, wide now)
{
    return now > view->history->newest ? now : view->history->newest;
}

static wide_signed floor_divide(wide_signed a, wide_signed b)
{
    wide_signed quotient = a / b;

    return a % b != 0 && a < 0 ? quotient - 1 : quotient;
}

static uint64_t bucket_width(const weir_rule *rule)
{
    return rule->window_ns / rule->buckets + (rule->window_ns % rule->buckets != 0);
}

/* Log and buckets: what counts at t. */
static wide used_at(const struct view *view, wide t)
{
    wide_signed window = (wide_signed)view->rule->window_ns;
    wide sum = 0;

    for (size_t i = 0; i < view->history->count; i++) {
        wide_signed stamp = view->history->charges[i].stamp;
        bool counts;

        if (view->rule->algorithm == WEIR_LOG) {
            counts = stamp > (wide_signed)t - window && stamp <= (wide_signed)t;
        } else {
            wide_signed width = bucket_width(view->rule);
            wide_signed bucket = stamp / width;

            counts = bucket >= floor_divide((wide_signed)t - window + 1, width) && bucket <= (wide_signed)t / width;
        }
        if (counts)
            sum += view->history->charges[i].amount;
    }
    return sum;
}

/* Counter: what was charged in the aligned window `index`. */
static wide charged_in(const struct view *view, wide index)
{
    wide sum = 0;

    for (size_t i = 0; i < view->history->count; i++)
        if (view->history->charges[i].stamp / view->rule->window_ns == index)
            sum += view->history->charges[i].amount;
    return sum;
}

/* Would the rule accept this charge at this time? */
static bool accepts(const struct view *view, wide now, uint64_t charge)
{
    wide t = effective(view, now);

    if (charge > view->limit)
        return false;
    if (view->rule->algorithm != WEIR_COUNTER)
        return used_at(view, t) + charge <= view->limit;

    wide window = view->rule->window_ns;
    wide index = t / window;
    wide previous = index == 0 ? 0 : charged_in(view, index - 1);

    return previous * (window - t % window) + (charged_in(view, index) + charge) * window <= view->limit * window;
}

/* The largest charge it would accept; 0 too where it would accept none. */
static uint64_t remaining(const struct view *view, wide now)
{
    wide t = effective(view, now);
    wide used;

    if (view->rule->algorithm != WEIR_COUNTER) {
        used = used_at(view, t);
    } else {
        wide window = view->rule->window_ns;
        wide index = t / window;
        wide previous = index == 0 ? 0 : charged_in(view, index - 1);

        used = charged_in(view, index) + (previous * (window - t % window) + window - 1) / window;
    }
    return used >= view->limit ? 0 : view->limit - (uint64_t)used;
}

/* ---- Waits: quota only ever comes back while nothing happens, so the first instant is found by halving ---- */

static bool leaves_more_than(const struct view *view, wide now, uint64_t amount)
{
    return remaining(view, now) > amount;
}

/* The smallest wait after which `holds` is true. Two windows on, nothing counts any more. */
static uint64_t first_wait(const struct view *view, uint64_t now, uint64_t value,
                           bool (*holds)(const struct view *, wide, uint64_t))
{
    wide low = now;
    wide high = effective(view, now) + 2 * (wide)view->rule->window_ns;

    if (holds(view, low, value))
        return 0;
    while (high - low > 1) {
        wide middle = low + (high - low) / 2;

        if (holds(view, middle, value))
            high = middle;
        else
            low = middle;
    }
    return (uint64_t)(high - now);
}

static uint64_t wait_for(const struct view *view, uint64_t now, uint64_t charge)
{
    return charge > view->limit ? WEIR_NEVER : first_wait(view, now, charge, accepts);
}

static uint64_t release_after(const struct view *view, uint64_t now)
{
    uint64_t left = remaining(view, now);

    return left == view->limit ? 0 : first_wait(view, now, left, leaves_more_than);
}

/* ---- All rules: section 4 ---- */

static uint64_t charge_of(const weir_rule *rule, uint64_t cost)
{
    return rule->meter == WEIR_PER_REQUEST ? 1 : cost;
}

static struct subject *find(const struct oracle *oracle, const void *key, size_t key_len)
{
    for (size_t i = 0; i < oracle->subject_count; i++) {
        struct subject *subject = &oracle->subjects[i];

        if (subject->key_len == key_len && (key_len == 0 || memcmp(subject->key, key, key_len) == 0))
            return subject;
    }
    return NULL;
}

struct subject *oracle_add_subject(struct oracle *oracle, const void *key, size_t key_len)
{
    struct subject *subject;

    if (oracle->subject_count == oracle->subject_room) {
        oracle->subject_room = oracle->subject_room * 2 + 8;
        oracle->subjects = must(realloc(oracle->subjects, oracle->subject_room * sizeof *subject));
    }
    subject = &oracle->subjects[oracle->subject_count++];
    memset(subject, 0, sizeof *subject);
    subject->key = must(malloc(key_len + 1));
    subject->key_len = key_len;
    if (key_len > 0)
        memcpy(subject->key, key, key_len);
    return subject;
}

/* Effective times never fall below `newest`, so what lies two windows before it can never count again. */
static void forget_old(const weir_rule *rule, struct history *history)
{
    wide_signed oldest = (wide_signed)history->newest - 2 * (wide_signed)rule->window_ns;
    size_t kept = 0;

    for (size_t i = 0; i < history->count; i++)
        if ((wide_signed)history->charges[i].stamp >= oldest)
            history->charges[kept++] = history->charges[i];
    history->count = kept;
}

static void record(const weir_rule *rule, struct history *history, uint64_t now, uint64_t amount)
{
    uint64_t stamp = now > history->newest ? now : history->newest;

    if (amount == 0)
        return;
    history->newest = rule->algorithm == WEIR_COUNTER ? stamp - stamp % rule->window_ns : stamp;
    if (history->count == history->room) {
        forget_old(rule, history);
        if (history->count * 2 >= history->room) {
            history->room = history->room * 2 + 8;
            history->charges = must(realloc(history->charges, history->room * sizeof *history->charges));
        }
    }
    history->charges[history->count++] = (struct charge){stamp, amount};
}

static struct view view_of(const struct oracle *oracle, const struct subject *subject, uint32_t plan, size_t rule)
{
    static const struct history nothing = {NULL, 0, 0, 0};
    struct view view = {&oracle->rules[rule], subject == NULL ? &nothing : &subject->histories[rule],
                        oracle_limit(oracle, plan, rule)};

    return view;
}

/* The refusing rule that opens last; rule_count where none refuses. */
static size_t refusing_rule(const struct oracle *oracle, const struct subject *subject, const weir_request *request,
                            uint64_t now, uint64_t *wait)
{
    size_t chosen = oracle->rule_count;

    *wait = 0;
    for (size_t i = 0; i < oracle->rule_count; i++) {
        struct view view = view_of(oracle, subject, request->plan, i);
        uint64_t its_wait = wait_for(&view, now, charge_of(view.rule, request->cost));

        if (its_wait > *wait) {
            chosen = i;
            *wait = its_wait;
        }
    }
    return chosen;
}

/* Of an accepted call, the rule with least remaining once it is charged. */
static size_t tightest_rule(const struct oracle *oracle, const struct subject *subject, const weir_request *request,
                            uint64_t now)
{
    size_t chosen = 0;
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < oracle->rule_count; i++) {
        struct view view = view_of(oracle, subject, request->plan, i);
        uint64_t left = remaining(&view, now) - charge_of(view.rule, request->cost);

        if (left < least) {
            chosen = i;
            least = left;
        }
    }
    return chosen;
}

static void tell(const struct oracle *oracle, const struct subject *subject, const weir_request *request, uint64_t now,
                 weir_decision *decision)
{
    struct view view = view_of(oracle, subject, request->plan, decision->rule);

    decision->limit = view.limit;
    decision->remaining = remaining(&view, now);
    decision->release_after_ns = release_after(&view, now);
}

/* Records the call in every rule it charges; a key is created only where one does. Returns the key, if there is one. */
static struct subject *charge(struct oracle *oracle, struct subject *subject, const weir_request *request, uint64_t now)
{
    for (size_t i = 0; i < oracle->rule_count; i++) {
        uint64_t amount = charge_of(&oracle->rules[i], request->cost);

        if (amount == 0)
            continue;
        if (subject == NULL)
            subject = oracle_add_subject(oracle, request->key, request->key_len);
        record(&oracle->rules[i], &subject->histories[i], now, amount);
    }
    return subject;
}

static int decide(struct oracle *oracle, const weir_request *request, uint64_t now, weir_decision *decision,
                  bool records)
{
    struct subject *subject = find(oracle, request->key, request->key_len);
    weir_decision answer = {0};
    size_t refusing = refusing_rule(oracle, subject, request, now, &answer.retry_after_ns);

    answer.verdict = refusing == oracle->rule_count;
    answer.rule = (uint32_t)(answer.verdict ? tightest_rule(oracle, subject, request, now) : refusing);
    if (records && answer.verdict)
        subject = charge(oracle, subject, request, now);
    tell(oracle, subject, request, now, &answer);
    if (decision != NULL)
        *decision = answer;
    return answer.verdict;
}

int oracle_take(struct oracle *oracle, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return decide(oracle, request, now, decision, true);
}

int oracle_peek(struct oracle *oracle, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return decide(oracle, request, now, decision, false);
}

void oracle_reset(struct oracle *oracle, const weir_request *request)
{
    struct subject *subject = find(oracle, request->key, request->key_len);

    for (size_t i = 0; subject != NULL && i < oracle->rule_count; i++)
        subject->histories[i].count = 0;
}

void oracle_set_limits(struct oracle *oracle, uint32_t plan, const uint64_t *limits)
{
    memcpy(oracle->limits + plan * oracle->rule_count, limits, oracle->rule_count * sizeof *limits);
}

uint64_t oracle_limit(const struct oracle *oracle, uint32_t plan, size_t rule)
{
    return oracle->limits[plan * oracle->rule_count + rule];
}

bool oracle_knows(const struct oracle *oracle, const void *key, size_t key_len)
{
    return find(oracle, key, key_len) != NULL;
}

bool oracle_is_charged(const struct oracle *oracle, const void *key, size_t key_len, uint64_t now)
{
    const struct subject *subject = find(oracle, key, key_len);

    for (size_t i = 0; subject != NULL && i < oracle->rule_count; i++) {
        struct view view = view_of(oracle, subject, 0, i);

        if (remaining(&view, now) < view.limit)
            return true;
    }
    return false;
}

struct oracle *oracle_open(const weir_rule *rules, size_t rule_count, uint32_t plans, const uint64_t *plan_limits)
{
    struct oracle *opened = must(calloc(1, sizeof *opened));

    memcpy(opened->rules, rules, rule_count * sizeof *rules);
    opened->rule_count = rule_count;
    opened->plans = plans == 0 ? 1 : plans;
    opened->limits = must(malloc(opened->plans * rule_count * sizeof *opened->limits));
    for (size_t i = 0; i < opened->plans * rule_count; i++)
        opened->limits[i] = plans == 0 ? rules[i].limit : plan_limits[i];
    return opened;
}

void oracle_close(struct oracle *oracle)
{
    if (oracle == NULL)
        return;
    for (size_t i = 0; i < oracle->subject_count; i++) {
        for (size_t r = 0; r < oracle->rule_count; r++)
            free(oracle->subjects[i].histories[r].charges);
        free(oracle->subjects[i].key);
    }
    free(oracle->subjects);
    free(oracle->limits);
    free(oracle);
}
