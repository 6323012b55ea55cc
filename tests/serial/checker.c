/*
 * The checker of guarantee A, checked: histories made by hand, some that have a serial order and some that have none.
 * Each of the latter is what a certain fault of a limiter would look like.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../support/oracle.h"
#include "../support/rows.h"
#include "../support/serial.h"

#define CALLS_MAX 64
#define WINDOW    100

/* The history that is being made. */
static struct serial_call calls[CALLS_MAX];
static struct serial_floor floors[8];
static struct serial_history made;
static weir_rule rules[2];
static int wrong;

static void begin(weir_rule first, weir_rule second)
{
    memset(calls, 0, sizeof calls);
    rules[0] = first;
    rules[1] = second;
    made = (struct serial_history){
        .rules = rules, .rule_count = second.limit == 0 ? 1 : 2, .calls = calls, .floors = floors};
}

static struct serial_call *add(enum serial_verb verb, uint64_t called, uint64_t returned)
{
    struct serial_call *call = &calls[made.count++];

    *call = (struct serial_call){.verb = verb, .called = called, .returned = returned};
    return call;
}

/* A call of cost 1 at time 10, of which the verdict alone is known. */
static struct serial_call *asked(enum serial_verb verb, uint64_t called, uint64_t returned, int verdict)
{
    struct serial_call *call = add(verb, called, returned);

    call->now = 10;
    call->cost = 1;
    call->verdict = verdict;
    return call;
}

static struct serial_call *took(uint64_t called, uint64_t returned, int verdict)
{
    return asked(SERIAL_TAKE_VERDICT, called, returned, verdict);
}

/* With what it is to be told: of rule 0, and a log whose only stamp is 10. */
static struct serial_call *told(enum serial_verb verb, uint64_t called, uint64_t returned, int verdict, uint64_t limit,
                                uint64_t remaining)
{
    struct serial_call *call = asked(verb, called, returned, verdict);

    call->answer = (weir_decision){.verdict = verdict, .limit = limit, .remaining = remaining};
    call->answer.retry_after_ns = verdict ? 0 : WINDOW;
    call->answer.release_after_ns = remaining == limit ? 0 : WINDOW;
    return call;
}

static void limits(uint64_t called, uint64_t returned, uint64_t first, uint64_t second)
{
    struct serial_call *call = add(SERIAL_SET_LIMITS, called, returned);

    call->limits[0] = first;
    call->limits[1] = second;
}

static void floor_at(uint64_t time, uint64_t called)
{
    floors[made.floor_count++] = (struct serial_floor){time, called};
}

static void finish(const char *name, bool serial, const char *part_of_explanation)
{
    char explanation[8000] = "";
    bool found = serial_check(&made, explanation, sizeof explanation);

    if (found == serial && (found || strstr(explanation, part_of_explanation) != NULL))
        return;
    printf("checker: FAILED: %s: wanted %s, got %s\n%s\n", name, serial ? "an order" : part_of_explanation,
           found ? "an order" : "none", explanation);
    wrong++;
}

static void is_serial(const char *name)
{
    finish(name, true, "");
}

/* At most `placed` of the calls can be put in order. */
static void is_not_serial(const char *name, size_t placed)
{
    char part[80];

    snprintf(part, sizeof part, "there is no serial order. %zu of %zu calls", placed, made.count);
    finish(name, false, part);
}

static const weir_rule none;

static void charges(void)
{
    begin(log_rule(2, WINDOW), none);
    took(1, 10, 1), took(2, 9, 1), took(3, 8, 0), took(4, 7, 0);
    is_serial("two of four overlapping calls are accepted under a limit of 2");

    begin(log_rule(2, WINDOW), none);
    took(1, 10, 1), took(2, 9, 1), took(3, 8, 1), took(4, 7, 0);
    is_not_serial("over-admission: three of four under a limit of 2", 3);

    begin(log_rule(2, WINDOW), none);
    took(1, 2, 1), told(SERIAL_TAKE, 3, 4, 1, 2, 1), told(SERIAL_TAKE, 5, 6, 1, 2, 0);
    is_not_serial("a lost charge: the second call does not find the first one's", 1);

    begin(log_rule(3, WINDOW), none);
    told(SERIAL_TAKE, 1, 2, 1, 3, 2), told(SERIAL_TAKE, 3, 4, 1, 3, 0);
    is_not_serial("a charge that counts twice", 1);

    begin(log_rule(2, WINDOW), none);
    told(SERIAL_TAKE, 1, 4, 1, 2, 1), told(SERIAL_TAKE, 2, 3, 1, 2, 1);
    is_not_serial("two calls decided on one snapshot", 1);

    begin(log_rule(2, WINDOW), none);
    took(1, 2, 0), took(3, 4, 1);
    is_not_serial("a refusal while nothing is charged", 0);
}

static void real_time(void)
{
    begin(log_rule(1, WINDOW), none);
    took(1, 4, 0), took(2, 3, 1);
    is_serial("a refusal that overlaps the charge it saw");

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 0), took(3, 4, 1);
    is_not_serial("a refusal by a charge that was made only afterwards", 0);

    begin(log_rule(2, WINDOW), none);
    took(1, 2, 1), told(SERIAL_PEEK, 3, 4, 1, 2, 2);
    is_not_serial("a stale read: the peek began after the charge had returned", 1);

    begin(log_rule(2, WINDOW), none);
    took(1, 3, 1), told(SERIAL_PEEK, 2, 4, 1, 2, 2);
    is_serial("the same peek while the charge is under way");

    begin(log_rule(2, WINDOW), none);
    took(1, 8, 1), told(SERIAL_PEEK, 2, 3, 1, 2, 1), told(SERIAL_PEEK, 4, 5, 1, 2, 2);
    is_not_serial("the first peek saw the charge, the second one not any more", 2);

    begin(log_rule(2, WINDOW), none);
    took(1, 2, 1), told(SERIAL_PEEK, 3, 4, 1, 2, 1)->answer.release_after_ns = WINDOW - 1;
    is_not_serial("one field is wrong", 1);
}

static void resets(void)
{
    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), add(SERIAL_RESET, 3, 4), took(5, 6, 1);
    is_serial("a reset gives back what was charged");

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), add(SERIAL_RESET, 3, 4), took(5, 6, 0);
    is_not_serial("a reset that is overtaken by an old refusal", 2);

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), add(SERIAL_RESET, 3, 6), took(4, 5, 0), took(7, 8, 1), took(9, 10, 0);
    is_serial("a refusal during the reset");

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), add(SERIAL_RESET, 3, 6), took(4, 8, 1), took(5, 7, 1);
    is_not_serial("one reset, two charges more", 3);

    begin(log_rule(1, WINDOW), none);
    took(1, 4, 1), add(SERIAL_RESET, 2, 3), add(SERIAL_RESET, 5, 8), took(6, 7, 1), took(9, 10, 1);
    is_serial("a reset that would change nothing when it begins, and does later");

    begin(counter_rule(4, WINDOW), none);
    took(1, 2, 1)->now = 250;
    add(SERIAL_RESET, 3, 4);
    told(SERIAL_TAKE, 5, 6, 1, 4, 3)->answer.release_after_ns = 225;
    is_not_serial("a reset that forgot the time: at 10, windows end at 200 and not at 300", 2);

    calls[2].answer.release_after_ns = 300 - 10 + 1;
    is_not_serial("and neither is the wait from 200 on", 2);

    calls[2].answer.release_after_ns = 300 - 10;
    calls[2].answer.remaining = 3;
    is_not_serial("one charge of 4 wears off in the window after its own", 2);
}

static void limit_changes(void)
{
    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), limits(3, 4, 2, 0), took(5, 6, 1), took(7, 8, 0);
    is_serial("a raised limit applies to what begins after its return");

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), limits(3, 4, 2, 0), took(5, 6, 0);
    is_not_serial("a raised limit that is masked by an old refusal", 2);

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), limits(3, 6, 2, 0), took(4, 5, 0), took(7, 8, 1);
    is_serial("either limit while it is being changed");

    begin(log_rule(1, WINDOW), none);
    took(1, 2, 1), limits(3, 8, 2, 0), told(SERIAL_PEEK, 4, 5, 1, 2, 1), told(SERIAL_PEEK, 6, 7, 0, 1, 0);
    is_not_serial("the new limit was seen, then the old one", 3);

    begin(log_rule(1, WINDOW), none);
    limits(1, 20, 2, 0), took(2, 9, 1), told(SERIAL_TAKE, 3, 4, 1, 2, 1), told(SERIAL_TAKE, 5, 6, 0, 2, 0);
    is_serial("a call that loaded the old limit, beside others that use the new one");

    /* The refusal by limit 1 stands behind the charge of the third call, which used 2; it had loaded 1 before. */
    begin(log_rule(1, WINDOW), none);
    took(1, 9, 0), limits(2, 3, 2, 0), told(SERIAL_TAKE, 4, 5, 1, 2, 1), told(SERIAL_PEEK, 6, 7, 1, 2, 1);
    calls[0].verb = SERIAL_TAKE;
    calls[0].answer = calls[2].answer;
    calls[0].answer = (weir_decision){
        .verdict = 0, .limit = 1, .retry_after_ns = WINDOW, .release_after_ns = WINDOW};
    is_serial("a call that loaded limits, saw them replaced, and was decided later");

    begin(log_rule(1, WINDOW), none);
    limits(1, 8, 1, 0), limits(2, 3, 2, 0), took(9, 10, 1), took(11, 12, 0);
    is_serial("limits that are in force already when they are set, and are set again after others");

    begin(log_rule(1, 1), log_rule(9, 1));
    limits(1, 2, 9, 1), took(3, 4, 1)->cost = 5;
    is_not_serial("torn limits: neither 1, 9 nor 9, 1 allows a cost of 5", 1);

    begin(log_rule(1, 1), log_rule(9, 1));
    limits(1, 8, 9, 1), took(2, 7, 1)->cost = 5;
    is_not_serial("torn limits, while they are being changed", 1);
}

static void lateness(void)
{
    begin(log_rule(1, WINDOW), none);
    floor_at(500, 3);
    took(1, 2, 1), told(SERIAL_TAKE, 4, 5, 1, 1, 0)->answer.release_after_ns = 590;
    is_not_serial("decided at a floor and not flagged", 1);

    calls[1].answer.flags = WEIR_LATE;
    is_serial("the same, flagged");

    calls[1].answer.release_after_ns = 500;
    is_not_serial("flagged, and the wait told from the floor", 1);

    calls[1].answer.release_after_ns = 590;
    floors[0].called = 6;
    is_not_serial("flagged, and the drop began only after the return", 1);

    floors[0].called = 3;
    took(6, 7, 0)->now = 599;
    took(8, 9, 1)->now = 600;
    is_serial("the charge of a late call stands at the floor");

    calls[2].verdict = 1;
    is_not_serial("and is not forgotten", 2);

    begin(log_rule(1, WINDOW), none);
    floor_at(500, 3);
    took(1, 2, 1)->now = 450;
    took(4, 5, 0)->now = 540;
    told(SERIAL_PEEK, 6, 7, 0, 1, 0)->answer.retry_after_ns = 540;
    calls[2].answer.release_after_ns = 540;
    is_serial("a late call, answered exactly: its key need not have met the floor");

    calls[2].answer.flags = WEIR_LATE;
    is_serial("the same at the floor, at which the charge still counts");

    calls[0].now = 500;
    calls[2].answer.retry_after_ns = calls[2].answer.release_after_ns = 590;
    is_not_serial("a call that its key's own time moves must not be flagged", 2);
}

static void failures(void)
{
    begin(log_rule(2, WINDOW), none);
    made.may_fail = true;
    told(SERIAL_TAKE, 1, 2, 0, 2, 2)->answer.retry_after_ns = 0;
    calls[0].answer.flags = WEIR_TABLE_FULL;
    took(3, 4, 0), told(SERIAL_TAKE, 5, 6, 1, 2, 1);
    is_serial("calls that found no room are recorded nowhere");

    calls[0].answer.retry_after_ns = 5;
    is_not_serial("without room, and yet a retry is told", 0);

    calls[0].answer.retry_after_ns = 0;
    made.admits = true;
    is_not_serial("refused where the policy admits", 0);

    begin(log_rule(1, WINDOW), none);
    made.may_fail = made.admits = true;
    took(1, 2, 1), took(3, 4, 1), told(SERIAL_PEEK, 5, 6, 1, 1, 1);
    is_serial("verdicts alone may be of the policy");

    calls[2].answer.remaining = 0;
    is_not_serial("but a charge of one is a charge", 2);
}

/* `width` calls at once, all accepted, then a refusal: an order must be found, whatever the costs are. */
static void wide(unsigned width, uint64_t limit, uint64_t refused_at, size_t placed)
{
    begin(log_rule(limit, WINDOW), none);
    for (unsigned i = 0; i < width; i++)
        took(1 + i, 100 + i, 1)->cost = i % 5 + 1;
    took(300, 301, 0)->cost = refused_at;
    if (placed == 0)
        is_serial("many calls at once");
    else
        is_not_serial("many calls at once, of which some charge was lost", placed);
}

int main(void)
{
    charges();
    real_time();
    resets();
    limit_changes();
    lateness();
    failures();
    wide(60, 200, 21, 0);
    wide(10, 31, 1, 10);
    printf("checker: %d wrong\n", wrong);
    return wrong != 0;
}
