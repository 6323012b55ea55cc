/*
 * Refusals that Redis made, remembered until their calls would pass, so that a client that hammers costs no traffic.
 * Bounded: a fixed number of entries of 64 bytes, in sets of four; a key has one set, and what is new takes the place
 * of what ends first there.
 *
 * What an entry says. Redis refused a call of cost c, asked at `sent`, and answered that it would pass after w.
 *   1. Until sent + w, a call of the same key and plan, at least that cost and the same limits is refused by Redis too:
 *      charges made since only add up, a larger cost opens no earlier in any rule, and Redis decided at `sent` or
 *      later, so that its own opening time is no earlier. Exceptions, which Redis does not tell us: a reset by another
 *      process, lost data, a server's clock that was set forward. Hence the bound `longest`.
 *   2. The rest of the decision (rule, remaining, the waits) is good for the same cost alone, until `remaining` would
 *      have grown, and until this process has charged the key again. Waits are told from when the answer came: so
 *      they are never shorter than the truth.
 *   3. A refusal asked before set_limits or before a reset of the key is not told after it: set_limits changes the
 *      version, which entry and question bear; a reset takes the entries away and changes the era, and what was
 *      asked in an earlier era is not written down.
 *
 * Locks. A mutex for all sets whose number is equal modulo LOCKS; it guards their entries, its era and its count, and
 * is held for a look at four entries. Inside it, one lock may be taken: that of the limits, for their version. That
 * set_limits need not visit every entry, versions are compared: their low 8 bits, and whoever makes those turn over
 * clears all sets before that (weiri_redis_forget_all), so that no entry outlives the meaning of its bits. An entry
 * that was asked with an older version is not written down after that, since weiri_redis_remember compares the whole
 * version with the newest under the same lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIRI_REDIS_REMEMBERED_H
#define WEIRI_REDIS_REMEMBERED_H

#include <pthread.h>
#include <weir/weir.h>

enum { WEIRI_REDIS_WAYS = 4, WEIRI_REDIS_LOCKS = 64 };

typedef struct weiri_redis_refusal {
    uint64_t word[2]; /* the key's identity */
    uint64_t sent;    /* ns, CLOCK_MONOTONIC */
    uint64_t cost;
    uint64_t remaining;
    uint64_t retry_us : 56; /* all ones: never; 0: an empty entry */
    uint64_t rule : 8;
    uint64_t release_us; /* 0: nothing is charged; UINT64_MAX: the rest of the decision no longer holds */
    uint32_t plan;
    uint32_t took_us : 24; /* from `sent` to the answer, rounded up */
    uint32_t version : 8;
} weiri_redis_refusal;

_Static_assert(sizeof(weiri_redis_refusal) == 64, "what options.remember_keys counts");

typedef struct weiri_redis_memory_lock {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t era;  /* so many resets */
    uint64_t told; /* so many calls were answered */
} weiri_redis_memory_lock;

typedef struct weiri_redis_remembered {
    weiri_redis_refusal *refusals; /* sets x WEIRI_REDIS_WAYS; NULL: nothing is remembered */
    uint64_t sets;
    uint64_t longest; /* ns */
    weir *names;      /* makes identities, and nothing else */
    weiri_redis_memory_lock lock[WEIRI_REDIS_LOCKS];
} weiri_redis_remembered;

/* A call as it is remembered. */
typedef struct weiri_redis_subject {
    uint64_t word[2];
    uint64_t set;
    uint64_t cost;
    uint64_t version; /* of the limits it is, or was, asked with */
    uint64_t era;
    uint32_t plan;
} weiri_redis_subject;

/* keys or longest 0: nothing will be remembered. Returns 0, -ENOMEM or what weir_open returns. */
int weiri_redis_remembered_open(weiri_redis_remembered *remembered, uint64_t keys, uint64_t longest);

/* 0 or -EDEADLK (nothing was closed). */
int weiri_redis_remembered_close(weiri_redis_remembered *remembered);

/* Before asking. `cost`: as far as it matters to any rule. The key's length is in range. */
weiri_redis_subject weiri_redis_subject_of(weiri_redis_remembered *remembered, const weir_request *request,
                                           uint64_t cost, uint64_t version);

/* Is this call refused? decision NULL: the verdict is enough; else all but `limit` and `flags` is filled. */
bool weiri_redis_recall(weiri_redis_remembered *remembered, const weiri_redis_subject *subject, uint64_t now,
                        weir_decision *decision);

/* An answer of Redis to a question sent and answered at these times; `newest`: the version of the limits as it is now,
 * read under the lock. A refusal is written down; an acceptance tells that what was written is partly out of date. */
void weiri_redis_remember(weiri_redis_remembered *remembered, const weiri_redis_subject *subject, uint64_t sent,
                          uint64_t answered, const weir_decision *decision, uint64_t (*newest)(void *argument),
                          void *argument);

/* The key may be charged: of what was written about it, the verdicts alone hold from now on. */
void weiri_redis_outdate(weiri_redis_remembered *remembered, const weiri_redis_subject *subject);

/* After a reset of the key. */
void weiri_redis_forget(weiri_redis_remembered *remembered, const weiri_redis_subject *subject);
void weiri_redis_forget_all(weiri_redis_remembered *remembered);

uint64_t weiri_redis_told(weiri_redis_remembered *remembered);

#endif
