#include "lfht.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE 1 /* the read section is inlined, as weir does it */
#endif
#include <urcu/urcu-bp.h>

#include <urcu/rculfhash.h> /* after the flavour */
#include <urcu/wfcqueue.h>

#include "sync/atomic.h"
#include "table/identity.h"
#include "window/counter.h"

enum { QUEUES = 64, DROPS_AT_INSERTION = 2, DROPS_IN_A_SECTION = 64 };

/*
 * state: { window index, current : 32 | previous : 32 }, as in a cell of weir; a read of its two words is a snapshot,
 * since the index only grows. DEAD in word 0 is for ever: whoever meets it takes the node out and looks again.
 */
typedef struct node {
    struct cds_lfht_node link;
    weiri_pair identity;
    weiri_a128 state;
    union {
        struct {
            struct cds_wfcq_node queued;
            uint64_t due; /* it has not expired before; the queue's */
        };
        struct rcu_head retired; /* once it is out of queue and table */
    };
} node;

_Static_assert(sizeof(node) == 64, "one line");

#define DEAD UINT64_MAX

/* Nodes by the time at which they could first have expired. Anybody puts in; who takes out has the mutex of `head`. */
typedef struct queue {
    _Alignas(64) struct cds_wfcq_head head;
    _Alignas(64) struct cds_wfcq_tail tail;
} queue;

struct lfht {
    struct cds_lfht *table;
    weiri_rule rule;
    uint64_t limit;
    uint64_t lateness;
    weiri_hash_key hash_key;
    queue queues[QUEUES];
};

static weiri_counter unpack(weiri_pair state)
{
    return (weiri_counter){state.word[0], state.word[1] >> 32, state.word[1] & UINT32_MAX};
}

static weiri_pair pack(weiri_counter counter)
{
    return (weiri_pair){{counter.index, counter.current << 32 | counter.previous}};
}

static node *node_of(struct cds_lfht_node *link)
{
    return link ? caa_container_of(link, node, link) : NULL;
}

/* The lowest 8 bits of an identity's hash are none, and cds_lfht uses the lowest ones. */
static unsigned long table_hash(const weir_identity *identity)
{
    return identity->hash >> 8;
}

lfht *lfht_open(const weir_rule *rule, uint64_t keys, uint64_t lateness)
{
    lfht *limiter = aligned_alloc(64, sizeof *limiter);
    uint64_t buckets = 64;
    while (buckets < keys)
        buckets *= 2;
    if (!limiter)
        return NULL;
    *limiter = (lfht){.rule = weiri_rule_make(rule, rule->limit),
                      .limit = rule->limit,
                      .lateness = lateness,
                      .hash_key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}},
                      .table = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_bp_flavor, NULL)};
    if (!limiter->table) {
        free(limiter);
        return NULL;
    }
    for (unsigned i = 0; i < QUEUES; i++)
        cds_wfcq_init(&limiter->queues[i].head, &limiter->queues[i].tail);
    return limiter;
}

void lfht_close(lfht *limiter)
{
    struct cds_lfht_iter iterator;
    node *each;
    if (!limiter)
        return;
    urcu_bp_barrier();
    urcu_bp_read_lock();
    cds_lfht_for_each_entry(limiter->table, &iterator, each, link) /* nobody else reads: freed at once */
    {
        cds_lfht_del(limiter->table, &each->link);
        free(each);
    }
    urcu_bp_read_unlock();
    cds_lfht_destroy(limiter->table, NULL);
    for (unsigned i = 0; i < QUEUES; i++)
        cds_wfcq_destroy(&limiter->queues[i].head, &limiter->queues[i].tail);
    free(limiter);
}

/* --- dropping --- */

static void destroy(struct rcu_head *retired)
{
    free(caa_container_of(retired, node, retired));
}

/* Takes a dead node out, if nobody else has. */
static void bury(lfht *limiter, node *dead)
{
    if (cds_lfht_del(limiter->table, &dead->link) == 0)
        urcu_bp_call_rcu(&dead->retired, destroy);
}

/* True: it has expired at `time`, and is dead from now on. */
static bool kill_expired(lfht *limiter, node *at, uint64_t time)
{
    weiri_pair state = weiri_load_snapshot_128(&at->state);
    if (state.word[0] == DEAD)
        return true;
    weiri_counter counter = unpack(state);
    return weiri_counter_expires(&counter, &limiter->rule) <= time &&
           weiri_cas_128(&at->state, state, (weiri_pair){{DEAD, 0}});
}

static uint64_t expires(const lfht *limiter, node *at)
{
    weiri_counter counter = unpack(weiri_load_snapshot_128(&at->state));
    return weiri_counter_expires(&counter, &limiter->rule);
}

static void enqueue(lfht *limiter, queue *home, node *at)
{
    at->due = expires(limiter, at);
    cds_wfcq_node_init(&at->queued);
    cds_wfcq_enqueue(&home->head, &home->tail, &at->queued);
}

/* Looks at up to `most` nodes that may have expired at `time`; one that was charged since goes back to the tail. False:
 * no other has. Inside a read section, the queue's mutex is held. */
static bool drop_some(lfht *limiter, queue *home, uint64_t time, unsigned most)
{
    for (unsigned i = 0; i < most; i++) {
        struct cds_wfcq_node *first = __cds_wfcq_first_blocking(&home->head, &home->tail);
        node *oldest = first ? caa_container_of(first, node, queued) : NULL;
        if (!oldest || oldest->due > time)
            return false;
        __cds_wfcq_dequeue_blocking(&home->head, &home->tail);
        if (kill_expired(limiter, oldest, time))
            bury(limiter, oldest);
        else
            enqueue(limiter, home, oldest);
    }
    return true;
}

static uint64_t drop_time(const lfht *limiter, uint64_t now)
{
    return now > limiter->lateness ? now - limiter->lateness : 0;
}

/* The new node to its queue, and some old ones out of it, if nobody else is at that. Inside the read section in which
 * it was inserted. */
static void queue_up(lfht *limiter, node *made, uint64_t hash, uint64_t now)
{
    queue *home = &limiter->queues[hash >> 58];
    enqueue(limiter, home, made);
    if (pthread_mutex_trylock(&home->head.lock) != 0)
        return;
    drop_some(limiter, home, drop_time(limiter, now), DROPS_AT_INSERTION);
    cds_wfcq_dequeue_unlock(&home->head, &home->tail);
}

void lfht_sweep(lfht *limiter, uint64_t now)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        queue *home = &limiter->queues[i];
        bool more;
        do {
            cds_wfcq_dequeue_lock(&home->head, &home->tail);
            urcu_bp_read_lock();
            more = drop_some(limiter, home, drop_time(limiter, now), DROPS_IN_A_SECTION);
            urcu_bp_read_unlock();
            cds_wfcq_dequeue_unlock(&home->head, &home->tail);
        } while (more);
    }
}

uint64_t lfht_keys(lfht *limiter)
{
    struct cds_lfht_iter iterator;
    struct cds_lfht_node *each;
    uint64_t keys = 0;
    urcu_bp_read_lock();
    cds_lfht_for_each(limiter->table, &iterator, each)
        keys++;
    urcu_bp_read_unlock();
    return keys;
}

/* --- deciding --- */

static int is_same(struct cds_lfht_node *link, const void *identity)
{
    return weiri_pair_equal(node_of(link)->identity, *(const weiri_pair *)identity);
}

/* A line of its own: else most would stand on two, and a look would miss twice. */
static node *node_new(const weir_identity *identity)
{
    void *memory;
    if (posix_memalign(&memory, 64, sizeof(node)) != 0)
        return NULL;
    node *made = memory;
    memset(made, 0, sizeof *made);
    cds_lfht_node_init(&made->link);
    made->identity = weiri_identity_pair(identity);
    return made;
}

static void answer(const lfht *limiter, const weiri_counter_view *view, uint64_t charge, uint64_t now, bool accepted,
                   weir_decision *decision)
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

/* One call. */
typedef struct asking {
    lfht *limiter;
    weir_identity identity;
    uint64_t charge;
    uint64_t now;
    node *made;     /* memory for a new key, if there is any that is not the table's so far */
    node *inserted; /* the table's */
} asking;

static node *find(const asking *ask)
{
    struct cds_lfht_iter iterator;
    weiri_pair wanted = weiri_identity_pair(&ask->identity);
    cds_lfht_lookup(ask->limiter->table, table_hash(&ask->identity), is_same, &wanted, &iterator);
    return node_of(cds_lfht_iter_get_node(&iterator));
}

/* Puts in a new key with its first charge. 1: done. 0: another was faster. -ENOMEM. */
static int add(asking *ask, weiri_counter charged)
{
    if (!ask->made && (ask->made = node_new(&ask->identity)) == NULL)
        return -ENOMEM;
    node *made = ask->made;
    weiri_pair first = pack(charged);
    memcpy(&made->state, &first, sizeof first); /* not shared so far */
    if (cds_lfht_add_unique(ask->limiter->table, table_hash(&ask->identity), is_same, &made->identity, &made->link) !=
        &made->link)
        return 0;
    ask->made = NULL;
    ask->inserted = made;
    return 1;
}

/* 1, 0, -ENOMEM, or -EAGAIN: another was faster, or the node is dead. */
static int attempt(asking *ask, weir_decision *decision)
{
    lfht *limiter = ask->limiter;
    node *found = find(ask);
    weiri_pair state = found ? weiri_load_snapshot_128(&found->state) : (weiri_pair){{0, 0}};
    if (state.word[0] == DEAD) {
        bury(limiter, found);
        return -EAGAIN;
    }
    weiri_counter_view view = weiri_counter_look(unpack(state), &limiter->rule, ask->now, 0);
    bool accepted = weiri_counter_accepts(&view, &limiter->rule, limiter->limit, ask->charge);
    if (accepted && ask->charge > 0) {
        view.at = weiri_counter_charged(&view, ask->charge);
        int done = found ? weiri_cas_128(&found->state, state, pack(view.at)) : add(ask, view.at);
        if (done <= 0)
            return done == 0 ? -EAGAIN : done;
    }
    if (decision)
        answer(limiter, &view, ask->charge, ask->now, accepted, decision);
    return accepted;
}

int lfht_take(lfht *limiter, const void *key, size_t key_len, uint64_t cost, uint64_t now, weir_decision *decision)
{
    asking ask = {.limiter = limiter, .charge = weiri_rule_charge(&limiter->rule, cost), .now = now};
    int verdict;
    weiri_identify(limiter->hash_key, key, key_len, &ask.identity);
    urcu_bp_read_lock();
    do
        verdict = attempt(&ask, decision);
    while (verdict == -EAGAIN);
    if (ask.inserted)
        queue_up(limiter, ask.inserted, ask.identity.hash, now);
    urcu_bp_read_unlock();
    free(ask.made);
    return verdict;
}
