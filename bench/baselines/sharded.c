#include "sharded.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "table/identity.h"
#include "window/counter.h"

enum { SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS };

/* Times of the last charges, oldest at `first`; `stamp` has room for the limit. */
typedef struct ring {
    uint64_t newest;
    uint32_t first, used;
    uint64_t stamp[];
} ring;

/* What a look compares comes first; the key stands behind the state. */
typedef struct entry {
    UT_hash_handle hh;
    union {
        weiri_counter counter;
        ring log;
    } of;
} entry;

typedef struct shard {
    _Alignas(64) pthread_mutex_t lock;
    entry *entries;
} shard;

struct sharded {
    weiri_rule rule;
    uint64_t limit;
    size_t entry_size; /* without the key */
    weiri_hash_key hash_key;
    shard shards[SHARDS];
};

sharded *sharded_open(const weir_rule *rule)
{
    sharded *limiter = aligned_alloc(64, sizeof *limiter);
    if (!limiter)
        return NULL;
    memset(limiter, 0, sizeof *limiter);
    limiter->rule = weiri_rule_make(rule, rule->limit);
    limiter->limit = rule->limit;
    limiter->entry_size = offsetof(entry, of) + (rule->algorithm == WEIR_LOG
                                                     ? sizeof(ring) + rule->limit * sizeof(uint64_t)
                                                     : sizeof(weiri_counter));
    limiter->hash_key = (weiri_hash_key){{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_init(&limiter->shards[i].lock, NULL);
    return limiter;
}

void sharded_close(sharded *limiter)
{
    for (unsigned i = 0; limiter && i < SHARDS; i++) {
        entry *each, *next;
        HASH_ITER(hh, limiter->shards[i].entries, each, next)
        {
            HASH_DEL(limiter->shards[i].entries, each);
            free(each);
        }
        pthread_mutex_destroy(&limiter->shards[i].lock);
    }
    free(limiter);
}

/* A new entry with nothing charged, or NULL. */
static entry *insert(const sharded *limiter, shard *home, const void *key, size_t key_len, unsigned hash)
{
    entry *made = malloc(limiter->entry_size + key_len);
    if (!made)
        return NULL;
    memset(made, 0, limiter->entry_size);
    char *own = (char *)made + limiter->entry_size;
    memcpy(own, key, key_len);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, home->entries, own, (unsigned)key_len, hash, made);
    if (!made->hh.tbl) {
        free(made);
        return NULL;
    }
    return made;
}

static void answer_counter(const sharded *limiter, const weiri_counter_view *view, uint64_t charge, uint64_t now,
                           int accepted, weir_decision *decision)
{
    uint64_t limit = limiter->limit;
    *decision = (weir_decision){.verdict = accepted, .limit = limit};
    decision->remaining = weiri_counter_remaining(view, &limiter->rule, limit);
    if (!accepted)
        decision->retry_after_ns =
            charge > limit ? WEIR_NEVER : weiri_counter_opens(view, &limiter->rule, limit, charge) - now;
    if ((view->at.current | view->at.previous) != 0)
        decision->release_after_ns =
            weiri_counter_opens(view, &limiter->rule, limit, decision->remaining + 1) - now;
}

static int take_counter(const sharded *limiter, weiri_counter *counter, uint64_t cost, uint64_t now,
                        weir_decision *decision)
{
    uint64_t charge = weiri_rule_charge(&limiter->rule, cost);
    weiri_counter_view view = weiri_counter_look(*counter, &limiter->rule, now, 0);
    int accepted = weiri_counter_accepts(&view, &limiter->rule, limiter->limit, charge);
    if (accepted) {
        view.at = weiri_counter_charged(&view, charge);
        *counter = view.at;
    }
    if (decision)
        answer_counter(limiter, &view, charge, now, accepted, decision);
    return accepted;
}

static int take_log(const sharded *limiter, ring *log, uint64_t now, weir_decision *decision)
{
    const uint32_t limit = (uint32_t)limiter->limit;
    const uint64_t window = limiter->rule.window;
    uint64_t time = now > log->newest ? now : log->newest;
    while (log->used > 0 && time >= window && log->stamp[log->first] <= time - window) {
        log->first = log->first + 1 < limit ? log->first + 1 : 0;
        log->used--;
    }
    int accepted = log->used < limit;
    if (accepted) {
        uint32_t at = log->first + log->used;
        log->stamp[at < limit ? at : at - limit] = time;
        log->newest = time;
        log->used++;
    }
    if (decision) {
        uint64_t wait = log->stamp[log->first] + window - now;
        *decision = (weir_decision){.verdict = accepted,
                                    .limit = limit,
                                    .remaining = limit - log->used,
                                    .retry_after_ns = accepted ? 0 : wait,
                                    .release_after_ns = wait};
    }
    return accepted;
}

int sharded_take(sharded *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                 weir_decision *decision)
{
    weir_identity identity;
    weiri_identify(limiter->hash_key, key, key_len, &identity);
    shard *home = &limiter->shards[identity.hash >> (64 - SHARD_BITS)];
    unsigned hash = (unsigned)(identity.hash >> 8); /* the lowest 8 bits are no hash, the highest chose the shard */
    entry *found;
    int verdict = -ENOMEM;
    pthread_mutex_lock(&home->lock);
    HASH_FIND_BYHASHVALUE(hh, home->entries, key, (unsigned)key_len, hash, found);
    if (!found)
        found = insert(limiter, home, key, key_len, hash);
    if (found)
        verdict = limiter->rule.algorithm == WEIR_LOG
                      ? take_log(limiter, &found->of.log, now, decision)
                      : take_counter(limiter, &found->of.counter, cost, now, decision);
    pthread_mutex_unlock(&home->lock);
    return verdict;
}
