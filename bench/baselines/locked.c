#include "locked.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "rules.h"
#include "table/identity.h"

enum {
    SHARD_BITS_MAX = 6,
    DROPS_AT_INSERTION = 2, /* more than one, so that what expires in a wave drains */
    DROPS_IN_A_HOLD = 64
};

/* What a look compares comes last in the handle; the rest of what it needs follows. */
typedef struct entry {
    UT_hash_handle hh;
    uint64_t identity[2];
    uint64_t due; /* it has not expired before: where it stands in the queue */
    uint64_t state[];
} entry;

/* uthash's list of insertions is the queue. */
typedef struct shard {
    _Alignas(64) pthread_mutex_t lock;
    entry *entries;
} shard;

struct locked {
    rules rules;
    unsigned shard_bits;
    uint64_t lateness;
    weiri_hash_key hash_key;
    shard shards[];
};

locked *locked_open(unsigned shard_bits, const weir_rule *given, unsigned rule_count, uint64_t lateness)
{
    if (shard_bits > SHARD_BITS_MAX)
        return NULL;
    size_t size = sizeof(locked) + (sizeof(shard) << shard_bits);
    locked *limiter = aligned_alloc(_Alignof(locked), size);
    if (!limiter)
        return NULL;
    memset(limiter, 0, size);
    rules_compile(&limiter->rules, given, rule_count);
    limiter->shard_bits = shard_bits;
    limiter->lateness = lateness;
    limiter->hash_key = (weiri_hash_key){{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    for (unsigned i = 0; i < 1U << shard_bits; i++)
        pthread_mutex_init(&limiter->shards[i].lock, NULL);
    return limiter;
}

static void entry_free(const locked *limiter, entry *at)
{
    rules_end(&limiter->rules, at->state);
    free(at);
}

void locked_close(locked *limiter)
{
    for (unsigned i = 0; limiter && i < 1U << limiter->shard_bits; i++) {
        entry *each, *next;
        HASH_ITER(hh, limiter->shards[i].entries, each, next)
        {
            HASH_DEL(limiter->shards[i].entries, each);
            entry_free(limiter, each);
        }
        pthread_mutex_destroy(&limiter->shards[i].lock);
    }
    free(limiter);
}

/* The highest bits of a hash choose the shard, the lowest 8 are none. */
static shard *shard_of(locked *limiter, uint64_t hash)
{
    return &limiter->shards[hash >> 32 >> (32 - limiter->shard_bits)];
}

static unsigned hash_in_shard(uint64_t hash)
{
    return (unsigned)(hash >> 8);
}

/* To the tail of the queue. False: no memory, and it is in no table. */
static bool enqueue(shard *home, entry *made, unsigned hash)
{
    HASH_ADD_BYHASHVALUE(hh, home->entries, identity, sizeof made->identity, hash, made);
    return made->hh.tbl != NULL;
}

/* Looks at up to `most` entries that may have expired at `time`. False: no other has. The mutex is held. */
static bool drop_some(const locked *limiter, shard *home, uint64_t time, unsigned most)
{
    for (unsigned i = 0; i < most; i++) {
        entry *oldest = home->entries;
        if (!oldest || oldest->due > time)
            return false;
        unsigned hash = oldest->hh.hashv;
        oldest->due = rules_expire(&limiter->rules, oldest->state);
        if (oldest->due > time && !oldest->hh.next)
            return false; /* the only one */
        HASH_DEL(home->entries, oldest);
        if (oldest->due <= time || !enqueue(home, oldest, hash))
            entry_free(limiter, oldest);
    }
    return true;
}

static uint64_t drop_time(const locked *limiter, uint64_t now)
{
    return now > limiter->lateness ? now - limiter->lateness : 0;
}

/* A new entry with nothing charged, or NULL. The mutex is held. */
static entry *insert(const locked *limiter, shard *home, const weir_identity *identity, uint64_t now)
{
    drop_some(limiter, home, drop_time(limiter, now), DROPS_AT_INSERTION);
    entry *made = malloc(sizeof *made + limiter->rules.state_size);
    if (!made)
        return NULL;
    memcpy(made->identity, identity->word, sizeof made->identity);
    rules_begin(&limiter->rules, made->state);
    if (enqueue(home, made, hash_in_shard(identity->hash)))
        return made;
    free(made);
    return NULL;
}

int locked_take(locked *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now,
                weir_decision *decision)
{
    weir_identity identity;
    weiri_identify(limiter->hash_key, key, key_len, &identity);
    shard *home = shard_of(limiter, identity.hash);
    entry *found;
    int verdict = -ENOMEM;
    pthread_mutex_lock(&home->lock);
    HASH_FIND_BYHASHVALUE(hh, home->entries, identity.word, sizeof identity.word, hash_in_shard(identity.hash), found);
    if (found) {
        verdict = rules_take(&limiter->rules, found->state, cost, now, decision);
    } else if ((found = insert(limiter, home, &identity, now)) != NULL) {
        verdict = rules_take(&limiter->rules, found->state, cost, now, decision);
        found->due = rules_expire(&limiter->rules, found->state);
    }
    pthread_mutex_unlock(&home->lock);
    return verdict;
}

void locked_sweep(locked *limiter, uint64_t now)
{
    uint64_t time = drop_time(limiter, now);
    for (unsigned i = 0; i < 1U << limiter->shard_bits; i++) {
        shard *home = &limiter->shards[i];
        bool more;
        do {
            pthread_mutex_lock(&home->lock);
            more = drop_some(limiter, home, time, DROPS_IN_A_HOLD);
            pthread_mutex_unlock(&home->lock);
        } while (more);
    }
}

uint64_t locked_keys(locked *limiter)
{
    uint64_t keys = 0;
    for (unsigned i = 0; i < 1U << limiter->shard_bits; i++) {
        pthread_mutex_lock(&limiter->shards[i].lock);
        keys += HASH_COUNT(limiter->shards[i].entries);
        pthread_mutex_unlock(&limiter->shards[i].lock);
    }
    return keys;
}
