/*
 * node: the state of a key that does not fit a cell. The cell's state is then
 *
 *   word 0   | node's address, or FRESH | FROZEN : 1 |        word 1   | drop time, or beside a node its bound |
 *
 *   UNINIT --install--> { node, B } --sweep--> { FRESH, T } --install--> { node, B' } --sweep--> { FRESH, T' } ...
 *                        B grows when a sweep has looked
 *
 * A drop time T means: a node was dropped as expired at T, and no decision on this key runs earlier any more. A node
 * that is installed after it bears it in `drop`.
 *
 * A bound B means: the node does not expire before B, whatever happens to it (N6), so a sweep as of an earlier time
 * need not look at the node, which is a miss and a lock. Word 1 only grows: B <= T <= B' <= T'. So who reads FRESH by its words across a later node (S3) may see it with a time between T and T'. Nothing is charged
 * in either, and of the time such a look tells only whether the call is late: as at T, or as at T'. No swap takes it.
 *
 *   node     published refusals, the tag last | lock, dead | drop | states of the rules: heads, then rings
 *               |__ a refused call this __|
 *                                   |__ an accepted one this, and of a log the first records behind it
 *
 * What a call touches stands together, in the order in which it needs it, so that it is on few lines wherever the block
 * begins: aligned memory would leave holes (see WEIRI_SEGMENT_ALIGNMENT), and gained nothing that could be measured. A
 * retired node's header takes the place of its states, which nobody looks at once it is dead.
 *
 * Rules (proofs in docs/design.md):
 *  N1  A node is installed with its first charge already made, by a swap that expects what was looked at.
 *  N2  Only who holds the lock looks at or changes `dead`, `drop` and the states.
 *  N3  Migrations copy the pointer and never look inside: a node is always live to them. Only a sweep, under the lock,
 *      sets `dead`; from then on nobody charges it. Whoever finds it dead swaps the cell to FRESH with its drop time.
 *  N4  A node is retired by its sweep, once, after the authoritative cell no longer holds it.
 *  N5  A pointer read from a FROZEN cell is followed only if the successor's cell was seen, later in the same read
 *      section, absent or UNINIT: then the sweep had not got to N4, and the section keeps the memory.
 *  N6  A bound is what weiri_expires_surely told of this very node, before it was installed or under its lock; nothing
 *      lowers that: charges move the newest stamp later or leave it, resets leave it, limits do not enter. It tells
 *      nothing of records in a log, which leave before their node expires: sweeps that trim look at every log.
 *
 * Published refusals. A refusal worked out under the lock holds for every later call with at least its cost and the
 * same limits until it ends, while nothing changes. So it is written down, and such calls are refused by loads alone.
 * Beside the newest one, another is kept, as far as three more words can tell it; the tag says how.
 *
 *   writer (under the lock)            reader
 *     tag = the next number              t = tag            (acquire; it holds nothing: take the lock)
 *     fields (release)                   fields             (acquire)
 *     tag = that number, what holds      tag == t ?         (relaxed; else take the lock)
 *
 * A field that a later writer wrote carries, by release and acquire, that writer's next number before it: the second
 * look differs, and numbers only grow. Every change of the states clears the tag before it; a reader that saw the tag
 * stands before that change in the serial order. What is written anew under the lock, from what stood there, has seen
 * no change. A raised limit is another object with another version, which the reader compares: it reads the plan's
 * limits first, so it uses limits that were in force during the call.
 *
 * What a published refusal answers; `time` is the later of `now` and the floor that the reader knows:
 *   verdicts         under its limits, of `low` and more, at time < until
 *   whole decisions  of these the ones of at most `high`, at from <= time < grows; of calls before the floor only where
 *                    it is `late`
 * and why that is what the lock would say:
 *   - Charges in a window do not grow by themselves, so a refusal holds at every earlier time too. `remaining` does not
 *     fall by itself and first grows at `grows`: from `from` until then it is the same.
 *   - When a refusal ends, and by which rule, depends on the cost alone; `remaining` and `grows` on the rule and the
 *     time alone. So of two refusals by one rule under the same limits, both hold in the time of both where they tell
 *     the same of what remains, and for the costs of both where they end together (COSTS, SPAN).
 *   - No rule opens earlier for a larger cost. So where two costs end together, by the same rule, every cost in between
 *     ends then: and by that rule, since one of lower index that ended then too would also for the larger cost. Above
 *     the limit of the first rule, every cost does.
 *   - `late`: it was worked out for a call before its floor, which is `from`, and some rule's newest charge was before
 *     that: so every call before a floor from there on is late. Where it is not, one from `from` on and not before its
 *     floor is not late.
 * A sole counter publishes itself: by the copy every call that it refuses is answered, whatever its cost, time or plan.
 *
 * So what takes the lock each time, though refused (of a sole counter: nothing):
 *   - whole decisions in turn: of three or more, those that end apart; of two, those by two rules, under two plans, or
 *     that differ both in their end and in what remains
 *   - verdicts in turn under three plans or more, or under two beside a decision that is neither's
 *   - the whole decision of a call before its floor that is not late, or before what a sweep has let the key forget,
 *     records or an earlier node
 * and once each: the first, one of a smaller cost, one after `remaining` has grown or the refusal has ended.
 * Given up first is what has ended, then what tells no more than the new one, then decisions that are over; the
 * smallest cost under the same limits last.
 */
#ifndef WEIRI_LIMITER_NODE_H
#define WEIRI_LIMITER_NODE_H

#include "../sync/spinlock.h"
#include "limiter.h"

#define WEIRI_FRESH UINT64_C(2)

/* What holds of what is published: in the tag's lowest bits, below its number. */
enum weiri_holds {
    WEIRI_HOLDS_NOTHING,
    WEIRI_HOLDS_ONE,     /* refusal */
    WEIRI_HOLDS_COSTS,   /* and another of other costs, told in the same span: other[] is low, until, high */
    WEIRI_HOLDS_SPAN,    /* and another of the same costs, told in another: other[] is from, grows, remaining */
    WEIRI_HOLDS_VERDICT, /* and another verdict: other[] is low, until, terms */
    WEIRI_HOLDS_COUNTER, /* the only rule, a counter */
    WEIRI_HOLDS = 7
};

/* The fields that a verdict needs stand last. */
typedef struct weiri_refusal {
    weiri_a64 other[3];
    union {
        struct {
            weiri_a64 remaining; /* the whole decision holds */
            weiri_a64 from;      /* from here on, */
            weiri_a64 grows;     /* before `remaining` grows; UINT64_MAX: never, 0: a verdict alone */
            weiri_a64 until;     /* it holds before this time, ns; WEIR_NEVER: always */
            weiri_a64 low;       /* smallest cost it holds for */
            weiri_a64 terms;     /* version of limits : 36 | costs above `low` that end so : 24 | rule : 3 | late : 1 */
        };
        struct { /* of the only rule; `terms` stay 0, the version of no limits */
            weiri_a64 unused;
            weiri_a64 drop, index, current, previous;
        };
    };
    weiri_a64 tag;
} weiri_refusal;

enum { WEIRI_TERMS_LATE = 1, WEIRI_TERMS_RULE = 1, WEIRI_TERMS_COSTS = 4, WEIRI_TERMS_VERSION = 28 };
#define WEIRI_COSTS_ALL   ((UINT64_C(1) << 24) - 1) /* however many */
#define WEIRI_VERSION_MAX ((UINT64_C(1) << 36) - 1) /* under later limits nothing is published */

typedef struct weiri_node {
    weiri_refusal refusal;
    weiri_spinlock lock;
    bool dead;
    bool pooled;   /* its memory is a block of the pool */
    bool retired;  /* its header stands where the states were; for those who look whether N4 is kept */
    uint64_t drop; /* no decision runs earlier: what had expired by then is gone, where dead the whole node */
    _Alignas(8) unsigned char states[];
} weiri_node;

_Static_assert(sizeof(weiri_node) + sizeof(weiri_log) - offsetof(weiri_node, refusal.tag) == 64,
               "what every accepted call of a log touches is as long as a line");
_Static_assert(sizeof(weiri_counter) >= sizeof(weiri_retired) && sizeof(weiri_buckets) >= sizeof(weiri_retired) &&
                   sizeof(weiri_log) >= sizeof(weiri_retired),
               "a retired header has room in the first state");

/* Memory that logs need before a charge, one set for each rule; kept from one attempt to the next. */
typedef struct weiri_supplies {
    struct {
        weiri_log_need need;
        void *chunk, *index;
        size_t chunk_size, index_size;
    } of[WEIR_RULES_MAX];
} weiri_supplies;

static inline bool weiri_is_node(weiri_pair state)
{
    return state.word[0] > WEIRI_FRESH + WEIRI_FROZEN;
}

static inline weiri_node *weiri_node_of(weiri_pair state)
{
    return (weiri_node *)(uintptr_t)(state.word[0] & ~WEIRI_FROZEN);
}

/* What calls touch, on its way all at once: else its lines would be missed one after the other. */
static inline void weiri_node_prefetch(const weiri_node *node)
{
    const char *from = (const char *)&node->refusal.until;
    __builtin_prefetch(from);
    __builtin_prefetch(from + 64);
    __builtin_prefetch(from + 128);
}

static inline bool weiri_is_log(const weir *limiter, unsigned rule)
{
    return limiter->rules.rule[rule].algorithm == WEIR_LOG;
}

static inline weiri_log *weiri_log_of(const weir *limiter, weiri_node *node, unsigned rule)
{
    return (weiri_log *)(void *)(node->states + limiter->rules.rule[rule].offset);
}

/* --- supplies.c --- */

/*
 * Gives each log what this charge needs, as far as it is there. True: all have enough. `supplies` may be NULL: nothing
 * is there; else what is lacking is noted in it.
 */
bool weiri_supply(weiri_node *node, const weiri_ask *ask, const weiri_views *views, weiri_supplies *supplies);

/* Allocates what is lacking. Outside any lock. */
bool weiri_supplies_get(weir *limiter, weiri_supplies *supplies);
void weiri_supplies_free(weir *limiter, weiri_supplies *supplies);

/* Takes all memory out of the logs of a node: under the lock. weiri_husks_free then frees it: outside. */
typedef struct weiri_husks {
    weiri_chunk *chunks[WEIR_RULES_MAX];
    void *index[WEIR_RULES_MAX];
    size_t index_size[WEIR_RULES_MAX];
} weiri_husks;
void weiri_node_gut(weir *limiter, weiri_node *node, weiri_husks *husks);
void weiri_husks_free(weir *limiter, weiri_husks *husks);

/* --- node.c --- */

/* Bytes of a node as a block of the pool; 0: not pooled. */
size_t weiri_node_block(const weir *limiter);

/* Not shared with anybody: frees the node and all its logs hold. */
void weiri_node_free(weir *limiter, weiri_node *node);

/* A dead node, after N4. Its logs are empty already. */
void weiri_node_retire(weir *limiter, weiri_node *node);

/* --- quick.c --- */

/* The commonest call: one rule, a log, which accepts the charge and has room for it. False: nothing was done. Under the
 * lock. */
bool weiri_charge_quick(weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision);

/* --- refusal.c --- */

/* Nothing is published any more. Under the lock, before a change. Only who has the lock writes the tag, so a plain look
 * is enough; the stores that follow, of a later publication, release. */
static inline void weiri_refusal_clear(weiri_node *node)
{
    uint64_t tag = weiri_load_relaxed_64(&node->refusal.tag);
    if (tag & WEIRI_HOLDS)
        weiri_store_relaxed_64(&node->refusal.tag, (tag | WEIRI_HOLDS) + 1);
}

/* Writes down what was worked out at `floor`, and ends at `until`. Under the lock. */
void weiri_refusal_publish(weiri_node *node, const weiri_ask *ask, uint64_t floor, uint64_t until,
                           const weir_decision *decision);

/* Is this call refused by what is published? Fills `decision` if any. Loads alone. */
bool weiri_refusal_covers(const weiri_node *node, const weiri_ask *ask, uint64_t floor, weir_decision *decision);

#endif
