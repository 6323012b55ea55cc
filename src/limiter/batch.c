/*
 * Batches. What so many calls spend waiting for memory, one after the other, a batch waits for together, in phases over
 * up to SECTION requests:
 *
 *   identify   checks the requests, and hashes their keys, short ones several at once
 *   locate     fetches the directory's entries, then the segments and the lines where the keys' cells should be
 *   find       looks for the cells; where they lead to nodes, fetches those
 *   decide     one after the other, in order
 *
 * Only the last phase reads or writes a state, so the answers are those of one call after the other, for repeated keys
 * too. What the earlier ones found may have moved since: a cell keeps its key for ever, and where its state is frozen,
 * or the key was not there, the call looks again. All but the first phase share one read section.
 */
#include "call.h"

#include "../table/siphash_lanes.h"

enum { SECTION = 64 }; /* calls in one read section: a grace period waits for no more */

/* One request on its way. */
typedef struct item {
    weir_identity identity;
    bool good; /* in range; else nothing but the verdict follows */
    const weiri_apointer *entry;
    weiri_segment *segment;
    weiri_finding finding;
} item;

typedef struct batch {
    weir *limiter;
    const weir_request *requests;
    size_t count;
    uint64_t now;
    weir_decision *decisions; /* or NULL */
    bool ready;               /* this thread may enter read sections */
    item items[SECTION];
} batch;

/* Short keys that are hashed together, and which requests they belong to. */
typedef struct shorts {
    size_t count;
    weiri_pair words[SECTION];
    uint64_t hashes[SECTION];
    uint8_t lengths[SECTION], at[SECTION];
} shorts;

static void identify(batch *work)
{
    const weir *limiter = work->limiter;
    shorts keys; /* not initialised but for its count */
    keys.count = 0;
    for (size_t i = 0; i < work->count; i++) {
        const weir_request *request = &work->requests[i];
        item *each = &work->items[i];
        each->good = weiri_request_good(limiter, request) && request->plan < limiter->plans;
        if (!each->good)
            continue;
        if (request->identity || request->key_len > WEIRI_KEY_INLINE) {
            weiri_request_identity(limiter, request, &each->identity);
            continue;
        }
        keys.words[keys.count] = weiri_key_words(request->key, request->key_len);
        keys.lengths[keys.count] = (uint8_t)request->key_len;
        keys.at[keys.count++] = (uint8_t)i;
    }
    weiri_siphash_shorts(limiter->table.hash_key, keys.words, keys.lengths, keys.count, keys.hashes);
    for (size_t i = 0; i < keys.count; i++)
        weiri_identity_short(keys.words[i], keys.lengths[i], keys.hashes[i], &work->items[keys.at[i]].identity);
}

static void locate(batch *work)
{
    for (item *each = work->items; each < work->items + work->count; each++) {
        if (!each->good)
            continue;
        each->entry = weiri_directory_entry(&work->limiter->table.directory, each->identity.hash);
        __builtin_prefetch(each->entry);
    }
    for (item *each = work->items; each < work->items + work->count; each++) {
        if (!each->good)
            continue;
        each->segment = weiri_load_acquire_pointer(each->entry);
        weiri_segment_prefetch(each->segment, each->identity.hash);
    }
}

static void find(batch *work)
{
    for (item *each = work->items; each < work->items + work->count; each++) {
        if (!each->good)
            continue;
        each->finding = weiri_find(each->segment, weiri_identity_pair(&each->identity), each->identity.hash);
        if (work->limiter->nodes && each->finding.found == WEIRI_HELD)
            weiri_node_approach(each->finding.cell);
    }
}

/* The general way, for request i; the gate's holder where `holding`. */
static weiri_ask ask_for(const batch *work, size_t i)
{
    return (weiri_ask){.limiter = work->limiter,
                       .identity = &work->items[i].identity,
                       .now = work->now,
                       .cost = work->requests[i].cost};
}

/* One request, inside the read section. */
static int decide(batch *work, size_t i, bool *slow)
{
    weir *limiter = work->limiter;
    weir_decision *decision = work->decisions ? &work->decisions[i] : NULL;
    if (!work->items[i].good) {
        if (decision)
            *decision = (weir_decision){.verdict = -EINVAL};
        return -EINVAL;
    }
    if (!work->ready)
        return WEIRI_CLOSED_GATE; /* by itself, it is told so */
    const weiri_limits *limits = weiri_limits_of(limiter, work->requests[i].plan);
    if (!decision && !limiter->nodes) {
        int verdict = weiri_cell_quick(limiter, work->items[i].finding, work->items[i].segment->floor, limits,
                                       work->now, work->requests[i].cost);
        if (verdict != WEIRI_NOT_QUICK)
            return verdict;
    }
    weiri_ask ask = ask_for(work, i);
    ask.limits = limits;
    int verdict = limiter->nodes ? weiri_node_call(&ask, decision) : weiri_cell_call(&ask, decision);
    *slow = *slow || ask.slow;
    return verdict;
}

/* From `from` on, in one read section; returns where it ended: at one that met a closed fork gate, or at the end. */
static size_t decide_some(batch *work, size_t from, int64_t *accepted, int *verdicts)
{
    bool slow = false;
    work->ready = weiri_gate_ready();
    if (work->ready) {
        weiri_rcu_enter();
        locate(work);
        find(work);
    }
    for (; from < work->count; from++) {
        int verdict = decide(work, from, &slow);
        if (verdict == WEIRI_CLOSED_GATE)
            break;
        *accepted += verdict == 1;
        if (verdicts)
            verdicts[from] = verdict;
    }
    if (work->ready)
        weiri_rcu_leave();
    if (slow)
        weiri_relieve(work->limiter);
    return from;
}

/* Up to SECTION requests; returns how many were accepted. */
static int64_t take_section(batch *work, int *verdicts)
{
    int64_t accepted = 0;
    identify(work);
    for (size_t at = 0; at < work->count; at++) {
        at = decide_some(work, at, &accepted, verdicts);
        if (at == work->count)
            break;
        weiri_ask ask = ask_for(work, at); /* it met a closed gate: by itself, it waits */
        int verdict =
            weiri_decide_generally(&ask, work->requests[at].plan, work->decisions ? &work->decisions[at] : NULL);
        accepted += verdict == 1;
        if (verdicts)
            verdicts[at] = verdict;
    }
    return accepted;
}

int64_t weir_take_batch(weir *limiter, const weir_request *requests, size_t count, uint64_t now, int *verdicts,
                        weir_decision *decisions)
{
    int64_t accepted = 0;
    if (!weiri_resolve_now(limiter, &now))
        return -EINVAL;
    for (size_t at = 0; at < count; at += SECTION) {
        batch work; /* not initialised: each phase fills what the next ones read */
        work.limiter = limiter;
        work.requests = requests + at;
        work.count = count - at < SECTION ? count - at : SECTION;
        work.now = now;
        work.decisions = decisions ? decisions + at : NULL;
        accepted += take_section(&work, verdicts ? verdicts + at : NULL);
    }
    return accepted;
}
