/* One decision: remembered, asked, or left to the policy. */
#include "redis/client.h"

#include <errno.h>

void weiri_redis_job_begin(weir_redis *limiter, weiri_redis_job *job, enum weiri_redis_verb verb,
                           const weir_request *request, uint64_t now)
{
    weiri_redis_limits limits = weiri_redis_limits_of(&limiter->rules, request->plan);
    uint64_t cost = limiter->by_cost ? request->cost : 1;
    job->question = (weiri_redis_question){.verb = verb, .request = request, .now = now, .limits = limits};
    job->subject = weiri_redis_subject_of(&limiter->remembered, request, cost, limits.version);
    job->fate = WEIRI_REDIS_PENDING;
    job->asking = false;
    job->node = job->next = NULL;
}

bool weiri_redis_job_recall(weir_redis *limiter, weiri_redis_job *job, bool whole)
{
    weir_decision *decision = &job->decision;
    *decision = (weir_decision){.flags = WEIR_REDIS_REMEMBERED};
    if (!weiri_redis_recall(&limiter->remembered, &job->subject, weiri_redis_now(), whole ? decision : NULL))
        return false;
    decision->limit = job->question.limits.limit[decision->rule];
    return true;
}

static uint64_t newest_version(void *argument)
{
    return weiri_redis_limits_version(argument);
}

void weiri_redis_job_end(weir_redis *limiter, weiri_redis_job *job, weiri_redis_losses *losses)
{
    if (job->fate == WEIRI_REDIS_DONE) {
        bool recorded = job->question.verb == WEIRI_REDIS_TAKE && job->decision.verdict == 1;
        if (recorded || job->decision.verdict == 0)
            weiri_redis_remember(&limiter->remembered, &job->subject, job->sent, job->answered, &job->decision,
                                 newest_version, &limiter->rules);
        return;
    }
    bool lost = job->fate == WEIRI_REDIS_LOST;
    if (lost && job->question.verb == WEIRI_REDIS_TAKE)
        weiri_redis_outdate(&limiter->remembered, &job->subject);
    uint64_t wait = limiter->cluster ? weiri_redis_cluster_wait(limiter->cluster, job->slot)
                                     : weiri_redis_server_wait(&limiter->server);
    weiri_redis_policy_decide(&limiter->policy, &job->question, wait, lost, &job->decision);
    losses->unreached++;
    losses->unknown += (job->decision.flags & WEIR_REDIS_UNKNOWN) != 0;
}

void weiri_redis_count(weir_redis *limiter, const weiri_redis_tally *tally, const weiri_redis_text *why)
{
    pthread_mutex_lock(&limiter->lock);
    limiter->tally.commands += tally->commands;
    limiter->tally.round_trips += tally->round_trips;
    limiter->tally.loads += tally->loads;
    limiter->tally.redirected += tally->redirected;
    if (why->text[0])
        limiter->error = *why;
    pthread_mutex_unlock(&limiter->lock);
}

/* The one server. */
static void ask_it(weir_redis *limiter, weiri_redis_inquiry *inquiry, weiri_redis_job **jobs, size_t count)
{
    weiri_redis_asking asking = weiri_redis_asking_of(inquiry, &limiter->server, jobs, count);
    weiri_redis_ask(&asking);
    for (size_t i = 0; i < count && !asking.had; i++)
        jobs[i]->fate = WEIRI_REDIS_DENIED;
}

void weiri_redis_jobs_ask(weir_redis *limiter, weiri_redis_job **jobs, size_t count, weiri_redis_time *time)
{
    weiri_redis_inquiry inquiry = {.rules = &limiter->rules, .time = *time};
    if (limiter->cluster)
        weiri_redis_cluster_ask(limiter->cluster, &inquiry, jobs, count);
    else
        ask_it(limiter, &inquiry, jobs, count);
    *time = inquiry.time;
    weiri_redis_count(limiter, &inquiry.tally, &inquiry.why);
}

void weiri_redis_count_losses(weir_redis *limiter, const weiri_redis_losses *losses)
{
    if (losses->unreached == 0)
        return;
    pthread_mutex_lock(&limiter->lock);
    limiter->unreached += losses->unreached;
    limiter->unknown += losses->unknown;
    pthread_mutex_unlock(&limiter->lock);
}

/* A thread that is cancelled while it asks would keep a connection: the request waits until the call is over. */
static int decide(weir_redis *limiter, enum weiri_redis_verb verb, const weir_request *request, uint64_t now,
                  weir_decision *decision)
{
    weiri_redis_job job, *jobs = &job;
    weiri_redis_losses losses = {0, 0};
    int cancel;
    if (weiri_redis_question_check(&limiter->rules, request, now) != 0)
        return -EINVAL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    weiri_redis_job_begin(limiter, &job, verb, request, now);
    if (!weiri_redis_job_recall(limiter, &job, decision != NULL)) {
        weiri_redis_time time = weiri_redis_server_time(&limiter->server);
        weiri_redis_jobs_ask(limiter, &jobs, 1, &time);
        weiri_redis_job_end(limiter, &job, &losses);
        weiri_redis_count_losses(limiter, &losses);
    }
    pthread_setcancelstate(cancel, &cancel);
    if (decision)
        *decision = job.decision;
    return job.decision.verdict;
}

int weir_redis_take(weir_redis *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return decide(limiter, WEIRI_REDIS_TAKE, request, now, decision);
}

int weir_redis_peek(weir_redis *limiter, const weir_request *request, uint64_t now, weir_decision *decision)
{
    return decide(limiter, WEIRI_REDIS_PEEK, request, now, decision);
}

int weir_redis_reset(weir_redis *limiter, const weir_request *request, uint64_t now)
{
    weiri_redis_job job, *jobs = &job;
    int cancel;
    if (weiri_redis_question_check(&limiter->rules, request, now) != 0)
        return -EINVAL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    weiri_redis_time time = weiri_redis_server_time(&limiter->server);
    weiri_redis_job_begin(limiter, &job, WEIRI_REDIS_RESET, request, now);
    weiri_redis_jobs_ask(limiter, &jobs, 1, &time);
    weiri_redis_policy_reset(&limiter->policy, request);
    weiri_redis_forget(&limiter->remembered, &job.subject);
    pthread_setcancelstate(cancel, &cancel);
    if (job.fate == WEIRI_REDIS_DONE)
        return 0;
    return job.fate == WEIRI_REDIS_LOST ? -ETIMEDOUT : -ENOTCONN;
}
