/* The cache of refusals: what is looked up, what is written over. */
#include "redis/remembered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_AT_ALL = 0 };

#define NEVER_US ((UINT64_C(1) << 56) - 1)
#define OUT_OF_DATE UINT64_MAX /* as release_us: the verdict alone holds */
#define TOOK_MAX_US ((UINT64_C(1) << 24) - 1)

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* When it must be asked again: its opening, or the bound. */
static uint64_t end_of(const weiri_redis_remembered *remembered, const weiri_redis_refusal *refusal)
{
    if (refusal->retry_us == NOT_AT_ALL)
        return 0;
    uint64_t longest = sum(refusal->sent, remembered->longest);
    if (refusal->retry_us == NEVER_US)
        return longest;
    uint64_t opening = refusal->sent + refusal->retry_us * WEIR_MICROSECOND;
    return opening < longest ? opening : longest;
}

int weiri_redis_remembered_open(weiri_redis_remembered *remembered, uint64_t keys, uint64_t longest)
{
    const weir_rule rule = {.limit = 1, .window_ns = 1, .algorithm = WEIR_COUNTER, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    uint64_t sets = (keys + WEIRI_REDIS_WAYS - 1) / WEIRI_REDIS_WAYS;
    *remembered = (weiri_redis_remembered){.sets = sets, .longest = longest};
    if (keys == 0 || longest == 0)
        return 0;
    /* calloc: pages that no refusal has reached so far cost nothing. */
    remembered->refusals = calloc(remembered->sets, WEIRI_REDIS_WAYS * sizeof *remembered->refusals);
    if (!remembered->refusals)
        return -ENOMEM;
    int error = weir_open(&remembered->names, &rule, 1, &options);
    if (error) {
        free(remembered->refusals);
        remembered->refusals = NULL;
        return error;
    }
    for (unsigned i = 0; i < WEIRI_REDIS_LOCKS; i++)
        pthread_mutex_init(&remembered->lock[i].mutex, NULL);
    return 0;
}

int weiri_redis_remembered_close(weiri_redis_remembered *remembered)
{
    if (!remembered->refusals)
        return 0;
    int error = weir_close(remembered->names);
    if (error)
        return error;
    for (unsigned i = 0; i < WEIRI_REDIS_LOCKS; i++)
        pthread_mutex_destroy(&remembered->lock[i].mutex);
    free(remembered->refusals);
    remembered->refusals = NULL;
    return 0;
}

static weiri_redis_memory_lock *lock_of(weiri_redis_remembered *remembered, const weiri_redis_subject *subject)
{
    weiri_redis_memory_lock *lock = &remembered->lock[subject->set % WEIRI_REDIS_LOCKS];
    pthread_mutex_lock(&lock->mutex);
    return lock;
}

static weiri_redis_refusal *set_of(weiri_redis_remembered *remembered, const weiri_redis_subject *subject)
{
    return &remembered->refusals[subject->set * WEIRI_REDIS_WAYS];
}

weiri_redis_subject weiri_redis_subject_of(weiri_redis_remembered *remembered, const weir_request *request,
                                           uint64_t cost, uint64_t version)
{
    weiri_redis_subject subject = {.cost = cost, .version = version, .plan = request->plan};
    weir_identity identity;
    if (!remembered->refusals || weir_identify(remembered->names, request->key, request->key_len, &identity) != 0)
        return subject;
    memcpy(subject.word, identity.word, sizeof subject.word);
    subject.set = identity.hash % remembered->sets;
    weiri_redis_memory_lock *lock = lock_of(remembered, &subject);
    subject.era = lock->era;
    pthread_mutex_unlock(&lock->mutex);
    return subject;
}

static bool is_of_key(const weiri_redis_refusal *refusal, const weiri_redis_subject *subject)
{
    return refusal->retry_us != NOT_AT_ALL && refusal->word[0] == subject->word[0] &&
           refusal->word[1] == subject->word[1];
}

static bool covers(const weiri_redis_remembered *remembered, const weiri_redis_refusal *refusal,
                   const weiri_redis_subject *subject, uint64_t now)
{
    return is_of_key(refusal, subject) && refusal->plan == subject->plan && refusal->cost <= subject->cost &&
           refusal->version == (uint8_t)subject->version && now < end_of(remembered, refusal);
}

/* Statement 2. Where nothing is charged (the cost is above the limit), `remaining` does not grow. */
static bool covers_all(const weiri_redis_refusal *refusal, const weiri_redis_subject *subject, uint64_t now)
{
    if (refusal->cost != subject->cost || refusal->release_us == OUT_OF_DATE)
        return false;
    return refusal->release_us == 0 || now < refusal->sent + refusal->release_us * WEIR_MICROSECOND;
}

/* What is left of a wait that was told at the answer. */
static uint64_t left(const weiri_redis_refusal *refusal, uint64_t wait_us, uint64_t now)
{
    return refusal->sent + (refusal->took_us + wait_us) * WEIR_MICROSECOND - now;
}

static void tell(const weiri_redis_refusal *refusal, uint64_t now, weir_decision *decision)
{
    decision->verdict = 0;
    decision->rule = (uint32_t)refusal->rule;
    decision->remaining = refusal->remaining;
    decision->retry_after_ns = refusal->retry_us == NEVER_US ? WEIR_NEVER : left(refusal, refusal->retry_us, now);
    decision->release_after_ns = refusal->release_us == 0 ? 0 : left(refusal, refusal->release_us, now);
}

bool weiri_redis_recall(weiri_redis_remembered *remembered, const weiri_redis_subject *subject, uint64_t now,
                        weir_decision *decision)
{
    bool refused = false;
    if (!remembered->refusals)
        return false;
    weiri_redis_memory_lock *lock = lock_of(remembered, subject);
    const weiri_redis_refusal *set = set_of(remembered, subject);
    for (unsigned i = 0; i < WEIRI_REDIS_WAYS && !refused; i++) {
        if (!covers(remembered, &set[i], subject, now) || (decision && !covers_all(&set[i], subject, now)))
            continue;
        if (decision)
            tell(&set[i], now, decision);
        refused = true;
        lock->told++;
    }
    pthread_mutex_unlock(&lock->mutex);
    return refused;
}

/* Where a refusal goes: over one of the same key, plan and cost, else over what ends first. */
static weiri_redis_refusal *place_for(const weiri_redis_remembered *remembered, weiri_redis_refusal *set,
                                      const weiri_redis_subject *subject)
{
    weiri_redis_refusal *first = set;
    for (unsigned i = 0; i < WEIRI_REDIS_WAYS; i++) {
        if (is_of_key(&set[i], subject) && set[i].plan == subject->plan && set[i].cost == subject->cost)
            return &set[i];
        if (end_of(remembered, &set[i]) < end_of(remembered, first))
            first = &set[i];
    }
    return first;
}

static void write_down(weiri_redis_refusal *place, const weiri_redis_subject *subject, uint64_t sent, uint64_t took_us,
                       const weir_decision *decision)
{
    uint64_t wait = decision->retry_after_ns;
    uint64_t retry_us = wait == WEIR_NEVER ? NEVER_US : wait / WEIR_MICROSECOND;
    *place = (weiri_redis_refusal){
        .word = {subject->word[0], subject->word[1]},
        .sent = sent,
        .cost = subject->cost,
        .remaining = decision->remaining,
        .retry_us = retry_us & NEVER_US,
        .rule = (uint8_t)decision->rule,
        .release_us = decision->release_after_ns / WEIR_MICROSECOND,
        .plan = subject->plan,
        .took_us = (uint32_t)took_us & TOOK_MAX_US,
        .version = (uint8_t)subject->version,
    };
}

/* This process has charged the key, or may have. */
static void outdate(weiri_redis_refusal *set, const weiri_redis_subject *subject)
{
    for (unsigned i = 0; i < WEIRI_REDIS_WAYS; i++)
        if (is_of_key(&set[i], subject))
            set[i].release_us = OUT_OF_DATE;
}

void weiri_redis_remember(weiri_redis_remembered *remembered, const weiri_redis_subject *subject, uint64_t sent,
                          uint64_t answered, const weir_decision *decision, uint64_t (*newest)(void *argument),
                          void *argument)
{
    uint64_t took_us = (answered - sent + WEIR_MICROSECOND - 1) / WEIR_MICROSECOND;
    if (!remembered->refusals)
        return;
    weiri_redis_memory_lock *lock = lock_of(remembered, subject);
    weiri_redis_refusal *set = set_of(remembered, subject);
    if (decision->verdict == 1)
        outdate(set, subject);
    else if (lock->era == subject->era && took_us <= TOOK_MAX_US && newest(argument) == subject->version)
        write_down(place_for(remembered, set, subject), subject, sent, took_us, decision);
    pthread_mutex_unlock(&lock->mutex);
}

void weiri_redis_outdate(weiri_redis_remembered *remembered, const weiri_redis_subject *subject)
{
    if (!remembered->refusals)
        return;
    weiri_redis_memory_lock *lock = lock_of(remembered, subject);
    outdate(set_of(remembered, subject), subject);
    pthread_mutex_unlock(&lock->mutex);
}

void weiri_redis_forget(weiri_redis_remembered *remembered, const weiri_redis_subject *subject)
{
    if (!remembered->refusals)
        return;
    weiri_redis_memory_lock *lock = lock_of(remembered, subject);
    weiri_redis_refusal *set = set_of(remembered, subject);
    for (unsigned i = 0; i < WEIRI_REDIS_WAYS; i++)
        if (is_of_key(&set[i], subject))
            set[i] = (weiri_redis_refusal){0};
    lock->era++;
    pthread_mutex_unlock(&lock->mutex);
}

/* Writes to nothing that is empty: a page that no refusal has reached stays without memory. */
static void clear(weiri_redis_refusal *set)
{
    for (unsigned i = 0; i < WEIRI_REDIS_WAYS; i++)
        if (set[i].retry_us != NOT_AT_ALL)
            set[i] = (weiri_redis_refusal){0};
}

void weiri_redis_forget_all(weiri_redis_remembered *remembered)
{
    for (uint64_t set = 0; remembered->refusals && set < remembered->sets; set++) {
        weiri_redis_subject subject = {.set = set};
        weiri_redis_memory_lock *lock = lock_of(remembered, &subject);
        clear(set_of(remembered, &subject));
        pthread_mutex_unlock(&lock->mutex);
    }
}

uint64_t weiri_redis_told(weiri_redis_remembered *remembered)
{
    uint64_t told = 0;
    for (unsigned i = 0; remembered->refusals && i < WEIRI_REDIS_LOCKS; i++) {
        pthread_mutex_lock(&remembered->lock[i].mutex);
        told += remembered->lock[i].told;
        pthread_mutex_unlock(&remembered->lock[i].mutex);
    }
    return told;
}
