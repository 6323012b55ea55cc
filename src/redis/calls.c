/* Queues of calls, and their end. */
#include "redis/calls.h"

#include <stdlib.h>
#include <string.h>

weiri_redis_call *weiri_redis_call_new(const weiri_redis_job *job, weir_redis_answer answer, void *argument)
{
    const weir_request *request = job->question.request;
    weiri_redis_call *call = malloc(sizeof *call + request->key_len);
    if (!call)
        return NULL;
    *call = (weiri_redis_call){.job = *job, .request = *request, .answer = answer, .argument = argument,
                               .limit = UINT64_MAX};
    if (request->key_len > 0)
        memcpy(call->key, request->key, request->key_len);
    call->request.key = call->key;
    call->job.question.request = &call->request;
    return call;
}

void weiri_redis_calls_add(weiri_redis_calls *calls, weiri_redis_call *call)
{
    call->next = NULL;
    if (calls->last)
        calls->last->next = call;
    else
        calls->first = call;
    calls->last = call;
    calls->count++;
}

weiri_redis_call *weiri_redis_calls_take(weiri_redis_calls *calls)
{
    weiri_redis_call *call = calls->first;
    if (!call)
        return NULL;
    calls->first = call->next;
    if (!calls->first)
        calls->last = NULL;
    calls->count--;
    return call;
}

void weiri_redis_calls_put_before(weiri_redis_calls *calls, weiri_redis_calls *from)
{
    if (!from->first)
        return;
    from->last->next = calls->first;
    calls->first = from->first;
    if (!calls->last)
        calls->last = from->last;
    calls->count += from->count;
    *from = (weiri_redis_calls){0};
}

static void tell_breaker(weiri_redis_server *server, const weiri_redis_call *call)
{
    if (call->report == WEIRI_REDIS_ABANDONED)
        weiri_redis_server_abandon(server, call->admitted);
    else
        weiri_redis_server_report(server, call->admitted, call->report == WEIRI_REDIS_FAILED);
}

/* Calls that end together have succeeded or failed together: that counts once. */
void weiri_redis_calls_report(weiri_redis_server *server, const weiri_redis_calls *calls)
{
    const weiri_redis_call *told = NULL;
    for (const weiri_redis_call *call = calls->first; call; call = call->next) {
        if (told && told->admitted == call->admitted && told->report == call->report)
            continue;
        tell_breaker(server, call);
        told = call;
    }
}

void weiri_redis_calls_answer(weir_redis *limiter, weiri_redis_calls *calls)
{
    weiri_redis_calls ended = *calls;
    weiri_redis_losses losses = {0, 0};
    weiri_redis_call *call;
    *calls = (weiri_redis_calls){0};
    for (call = ended.first; call; call = call->next)
        weiri_redis_job_end(limiter, &call->job, &losses);
    weiri_redis_count_losses(limiter, &losses);
    while ((call = weiri_redis_calls_take(&ended))) {
        call->answer(call->argument, call->job.decision.verdict, &call->job.decision);
        free(call);
    }
}
