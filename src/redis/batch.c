/* Many decisions, written at once. */
#include <errno.h>
#include <stdlib.h>

#include "redis/client.h"

/* At most so many are in memory at a time, and in one round trip. */
enum { CHUNK = 1024 };

/* A call of weir_redis_take_batch, or a stretch of its requests. */
typedef struct batch {
    weir_redis *limiter;
    const weir_request *requests;
    size_t count;
    uint64_t now;
    int *verdicts;
    weir_decision *decisions;
    weiri_redis_time time;
    weiri_redis_losses losses;
    int64_t accepted;
} batch;

static void answer(batch *run, size_t i, const weir_decision *decision)
{
    run->accepted += decision->verdict == 1;
    if (run->verdicts)
        run->verdicts[i] = decision->verdict;
    if (run->decisions)
        run->decisions[i] = *decision;
}

/* Answers what need not be asked; true: it must be. */
static bool begin(batch *run, size_t i, weiri_redis_job *job)
{
    const weir_decision bad = {.verdict = -EINVAL};
    if (weiri_redis_question_check(&run->limiter->rules, &run->requests[i], run->now) != 0) {
        answer(run, i, &bad);
        return false;
    }
    weiri_redis_job_begin(run->limiter, job, WEIRI_REDIS_TAKE, &run->requests[i], run->now);
    if (weiri_redis_job_recall(run->limiter, job, run->decisions != NULL)) {
        answer(run, i, &job->decision);
        return false;
    }
    if (run->decisions) /* requests that come after it in the batch are to see its charge */
        weiri_redis_outdate(&run->limiter->remembered, &job->subject);
    return true;
}

/* Decides the requests `from` ... `from` + count - 1; `jobs` and `asked` have room for them. */
static void decide_some(batch *run, size_t from, size_t count, weiri_redis_job *jobs, weiri_redis_job **asked)
{
    size_t left = 0, next = 0;
    for (size_t i = from; i < from + count; i++)
        if (begin(run, i, &jobs[left]))
            left++;
    if (left == 0)
        return;
    for (size_t i = 0; i < left; i++)
        asked[i] = &jobs[i];
    weiri_redis_jobs_ask(run->limiter, asked, left, &run->time);
    for (size_t i = 0; i < left; i++) {
        weiri_redis_job_end(run->limiter, &jobs[i], &run->losses);
        next = (size_t)(jobs[i].question.request - run->requests);
        answer(run, next, &jobs[i].decision);
    }
}

/* Without memory for many jobs: one after the other, with the one job that is on the stack. */
static void decide_all(batch *run)
{
    weiri_redis_job one, *one_asked;
    size_t room = run->count < CHUNK ? run->count : CHUNK;
    weiri_redis_job *jobs = room > 1 ? calloc(room, sizeof *jobs) : NULL;
    weiri_redis_job **asked = jobs ? calloc(room, sizeof *asked) : NULL;
    if (!asked)
        room = 1;
    for (size_t from = 0; from < run->count; from += room) {
        size_t count = run->count - from < room ? run->count - from : room;
        decide_some(run, from, count, asked ? jobs : &one, asked ? asked : &one_asked);
    }
    free(asked);
    free(jobs);
}

int64_t weir_redis_take_batch(weir_redis *limiter, const weir_request *requests, size_t count, uint64_t now,
                              int *verdicts, weir_decision *decisions)
{
    const weir_request any = weir_request_for("", 0);
    batch run = {.limiter = limiter,
                 .requests = requests,
                 .count = count,
                 .now = now,
                 .verdicts = verdicts,
                 .decisions = decisions,
                 .time = weiri_redis_server_time(&limiter->server)};
    int cancel;
    if (weiri_redis_question_check(&limiter->rules, &any, now) != 0)
        return -EINVAL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    decide_all(&run);
    weiri_redis_count_losses(limiter, &run.losses);
    pthread_setcancelstate(cancel, &cancel);
    return run.accepted;
}
