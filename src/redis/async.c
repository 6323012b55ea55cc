/* The client for event loops: what is answered at once, and what is asked. */
#include <errno.h>
#include <stdlib.h>

#include "redis/lines.h"

struct weir_redis_async {
    weir_redis *limiter;
    bool closing;
    weiri_redis_line line; /* to limiter->server; else, in a cluster: */
    weiri_redis_lines lines;
};

int weir_redis_async_open(weir_redis_async **async, weir_redis *limiter, const weir_redis_loop *loop)
{
    *async = NULL;
    if (!limiter || !loop || !loop->watch || !loop->want || !loop->unwatch || !loop->timer || !loop->arm ||
        !loop->untimer)
        return -EINVAL;
    weir_redis_async *made = calloc(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->limiter = limiter;
    int error = limiter->cluster ? weiri_redis_lines_open(&made->lines, limiter, loop)
                                 : weiri_redis_line_open(&made->line, limiter, &limiter->server, loop);
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
    if (async->limiter->cluster)
        weiri_redis_lines_close(&async->lines);
    else
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

static int ask_server(weir_redis_async *async, weiri_redis_job *job, weir_redis_answer answer, void *argument)
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
    weiri_redis_line_refuse(&async->line, admitted);
    return decide_unasked(limiter, job);
}

static int ask_cluster(weir_redis_async *async, weiri_redis_job *job, weir_redis_answer answer, void *argument)
{
    const weir_request *request = job->question.request;
    job->slot = weiri_redis_slot(&async->limiter->rules, request->key, request->key_len);
    if (async->closing)
        return decide_unasked(async->limiter, job);
    weiri_redis_call *call = weiri_redis_call_new(job, answer, argument);
    if (!call)
        return -ENOMEM;
    if (weiri_redis_lines_ask(&async->lines, call))
        return -EINPROGRESS;
    free(call);
    return decide_unasked(async->limiter, job);
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
        verdict = limiter->cluster ? ask_cluster(async, &job, answer, argument)
                                   : ask_server(async, &job, answer, argument);
    if (decision && verdict >= 0)
        *decision = job.decision;
    return verdict;
}
