/* The client for event loops: what is answered at once, and what is asked. */
#include <errno.h>
#include <stdlib.h>

#include "redis/line.h"

struct weir_redis_async {
    weir_redis *limiter;
    bool closing;
    weiri_redis_line line; /* to limiter->server */
};

int weir_redis_async_open(weir_redis_async **async, weir_redis *limiter, const weir_redis_loop *loop)
{
    *async = NULL;
    if (!limiter || !loop || !loop->watch || !loop->want || !loop->unwatch || !loop->timer || !loop->arm ||
        !loop->untimer || limiter->cluster)
        return -EINVAL;
    weir_redis_async *made = calloc(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->limiter = limiter;
    int error = weiri_redis_line_open(&made->line, limiter, loop);
    if (error) {
        free(made);
        return error;
    }
    *async = made;
    return 0;
}

void weir_redis_async_close(weir_redis_async *async)
{
    if (!async)
        return;
    async->closing = true;
    weiri_redis_line_close(&async->line);
    free(async);
}

/* What options.when_unreached says, at once. */
static int decide_unasked(weir_redis *limiter, weiri_redis_job *job)
{
    weiri_redis_losses losses = {0, 0};
    job->fate = WEIRI_REDIS_DENIED;
    weiri_redis_job_end(limiter, job, &losses);
    weiri_redis_count_losses(limiter, &losses);
    return job->decision.verdict;
}

/* No connection can be made: that is told like a call that failed on one. */
static void failed_at_once(weir_redis_async *async, uint64_t admitted)
{
    const weiri_redis_tally nothing = {0};
    weiri_redis_server_report(&async->limiter->server, admitted, true);
    weiri_redis_count(async->limiter, &nothing, &async->line.why);
    async->line.why.text[0] = '\0';
}

static int ask(weir_redis_async *async, weiri_redis_job *job, weir_redis_answer answer, void *argument)
{
    weir_redis *limiter = async->limiter;
    uint64_t admitted = async->closing ? 0 : weiri_redis_server_admit(&limiter->server);
    if (!admitted)
        return decide_unasked(limiter, job);
    weiri_redis_call *call = weiri_redis_call_new(job, answer, argument);
    if (!call) {
        weiri_redis_server_abandon(&limiter->server, admitted);
        return -ENOMEM;
    }
    call->admitted = admitted;
    if (weiri_redis_line_ask(&async->line, call))
        return -EINPROGRESS;
    free(call);
    failed_at_once(async, admitted);
    return decide_unasked(limiter, job);
}

int weir_redis_async_take(weir_redis_async *async, const weir_request *request, uint64_t now, weir_decision *decision,
                          weir_redis_answer answer, void *argument)
{
    weir_redis *limiter = async->limiter;
    weiri_redis_job job;
    if (!answer || weiri_redis_question_check(&limiter->rules, request, now) != 0)
        return -EINVAL;
    weiri_redis_job_begin(limiter, &job, WEIRI_REDIS_TAKE, request, now);
    int verdict = 0;
    if (!weiri_redis_job_recall(limiter, &job, decision != NULL))
        verdict = ask(async, &job, answer, argument);
    if (decision && verdict >= 0)
        *decision = job.decision;
    return verdict;
}
