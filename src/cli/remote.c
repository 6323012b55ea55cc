#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weir/redis.h>

#include "console.h"
#include "remote.h"
#include "say.h"

enum { BATCH = 64 };

/* Keys live for an hour after they were last written: beyond it, what was charged first may be gone. */
static const uint64_t time_max = 59 * WEIR_MINUTE;

/* One algorithm's way through the records. */
typedef struct passage {
    weiri_run *run;
    const weiri_records *records;
    weir_redis *limiter;
    size_t at;     /* the next record */
    bool charged;  /* there may be keys of this run */
    uint64_t start;
    weir_request requests[BATCH];
    weir_decision decisions[BATCH];
} passage;

bool weiri_remote_check(const char *url, const weir_rule *rules, size_t count, const weiri_choice *choice, char *error,
                        size_t error_size)
{
    weir_redis_options options = weiri_console_options(url, "weir");
    weir_rule chosen[WEIR_RULES_MAX];
    weir_redis *limiter;
    char why[256] = "";
    int failed;

    weiri_run_choose(chosen, rules, count, choice, 1);
    options.error = why;
    options.error_size = sizeof why;
    failed = weir_redis_open(&limiter, chosen, count, &options);
    if (failed == -ENOMEM)
        weiri_out_of_memory();
    if (failed == 0)
        weir_redis_close(limiter);
    else if (strncmp(why, "rule ", 5) == 0)
        snprintf(error, error_size, "--algorithm %s over Redis: %s", choice->name, why);
    else
        snprintf(error, error_size, "--redis %s: %s", url, why);
    return failed == 0;
}

/* "weir replay: Redis, counter: record 5 of 7: ..." */
static void say_where(const passage *on, size_t record, const char *what)
{
    char at[WEIRI_THOUSANDS_ROOM], of[WEIRI_THOUSANDS_ROOM];

    weiri_say("Redis, %s: record %s of %s: %s", on->run->choice.name, weiri_thousands(at, record + 1),
              weiri_thousands(of, on->records->count), what);
}

/* Requests of one time, as many as there are and a batch holds. */
static size_t gather(passage *on)
{
    const weiri_record *first = &on->records->record[on->at];
    size_t count = 0;

    while (count < BATCH && on->at + count < on->records->count &&
           first[count].time / WEIR_MICROSECOND == first->time / WEIR_MICROSECOND) {
        const weiri_key *key = &on->records->key[first[count].key];

        on->requests[count] = weir_request_for(key->bytes, key->len);
        on->requests[count].cost = first[count].cost;
        count++;
    }
    return count;
}

/* The first record of the batch that Redis did not answer; `count`: it answered all. */
static size_t first_unanswered(const passage *on, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (on->decisions[i].flags & WEIR_REDIS_UNREACHED)
            return i;
    return count;
}

/* What became of the rest of a batch that was not answered to its end. */
static void say_unanswered(const passage *on, size_t count, size_t from)
{
    char why[400], text[512], number[WEIRI_THOUSANDS_ROOM];
    uint64_t unknown = 0;

    for (size_t i = from; i < count; i++)
        unknown += (on->decisions[i].flags & WEIR_REDIS_UNKNOWN) != 0;
    weir_redis_error(on->limiter, why, sizeof why);
    say_where(on, on->at + from, why);
    if (unknown > 0)
        snprintf(text, sizeof text,
                 "%s of the calls from here on may have been charged or not: their answers were lost",
                 weiri_thousands(number, unknown));
    else
        snprintf(text, sizeof text, "it was not carried out, nor any after it");
    say_where(on, on->at + from, text);
}

static void compare(passage *on, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool accepted = on->decisions[i].verdict == 1;

        on->run->remote.accepted += accepted;
        on->run->remote.differing += accepted != weiri_run_accepted(on->run, on->at + i);
    }
}

/* Asks the next batch. False: this is the end of it, which has been told. */
static bool ask_batch(passage *on)
{
    size_t count = gather(on), unanswered;
    uint64_t now = on->records->record[on->at].time;

    if (weir_redis_take_batch(on->limiter, on->requests, count, now, NULL, on->decisions) < 0) {
        say_where(on, on->at, "its time is beyond what Redis can count, 2^52 us (the year 2112)");
        return false;
    }
    unanswered = first_unanswered(on, count);
    for (size_t i = 0; i < count; i++)
        on->charged = on->charged || on->decisions[i].verdict == 1 || (on->decisions[i].flags & WEIR_REDIS_UNKNOWN);
    if (unanswered < count) {
        say_unanswered(on, count, unanswered);
        return false;
    }
    compare(on, count);
    on->at += count;
    return true;
}

static bool ask_all(passage *on)
{
    on->start = weiri_run_clock();
    while (on->at < on->records->count) {
        if (!ask_batch(on))
            return false;
        if (weiri_run_clock() - on->start > time_max) {
            say_where(on, on->at - 1, "an hour is over, and with it the life of the first keys");
            return false;
        }
    }
    return true;
}

static void finish(passage *on)
{
    weir_redis_statistics statistics = {.struct_size = sizeof statistics};
    weiri_remote *remote = &on->run->remote;

    remote->asked = true;
    remote->elapsed_ns = weiri_run_clock() - on->start;
    weir_redis_stats(on->limiter, &statistics);
    remote->round_trips = statistics.round_trips;
}

/* True: nothing of the run is left. */
static bool remove_keys(const passage *on, const weir_rule *chosen, size_t count, const weir_redis_options *options)
{
    weiri_console console;
    bool removed;

    if (!on->charged)
        return true;
    removed = weiri_console_open(&console, chosen, count, options) &&
              weiri_console_remove(&console, on->records->key, on->records->keys);
    if (!removed)
        weiri_say("Redis, %s: keys that begin with {%s: stay until they expire, within an hour: %s",
                  on->run->choice.name, options->prefix, console.why.text);
    weiri_console_close(&console);
    return removed;
}

bool weiri_remote_run(weiri_run *run, const weiri_records *records, const weir_rule *rules, size_t count,
                      const char *url)
{
    char prefix[WEIRI_CONSOLE_PREFIX] = "";
    weir_redis_options options = weiri_console_options(url, prefix);
    weir_rule chosen[WEIR_RULES_MAX];
    passage on = {.run = run, .records = records};
    bool done;

    weiri_console_prefix(prefix, "weir-replay-");
    weiri_run_choose(chosen, rules, count, &run->choice, 1);
    if (weir_redis_open(&on.limiter, chosen, count, &options) != 0) /* it was before: no memory */
        weiri_out_of_memory();
    done = ask_all(&on);
    finish(&on);
    weir_redis_close(on.limiter);
    run->remote.removed = remove_keys(&on, chosen, count, &options);
    return done;
}
