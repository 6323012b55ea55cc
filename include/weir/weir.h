/*
 * weir/weir.h: the limiter. May this user do this now?
 *
 * A limiter holds 1 to 8 rules and any number of keys. Every function is thread-safe and needs no registration, except
 * that weir_close must be the last call on its limiter. Errors are negative errno values; nothing is printed, no signal
 * is taken, and nothing exits or aborts.
 *
 * Progress, told per function: "lock-free" means that some thread always completes, however others are preempted;
 * "key's lock" means that a call waits at most for calls on the same key, each holding the lock for a number of steps
 * that grows at most with the logarithm of the limit (with buckets: with their number).
 *
 * Cancellation: calls are no cancellation points, so that a thread cancelled meanwhile finishes its call first, provided
 * that the host's own callbacks are none; asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) is not supported
 * inside a call.
 *
 * fork: handlers are installed by the first weir_open, which waits for forks that have begun (those that began before
 * a plug-in with libweir.a was first opened are not noticed: let none be on then); a child goes on from a copy of every
 * limiter. weir uses liburcu's bp flavour and calls its fork hooks: a host that uses the same flavour must not call them
 * again. fork is not allowed inside a read section of the host's own.
 *
 * Several copies of weir in a process (plug-ins that libweir.a was linked into, libweir.so beside them) find each other
 * through the loader and fork together. Releases that cannot refuse each other: weir_open is -EBUSY in all copies but
 * those of the release that came first. Plug-ins linked against libweir.so share one copy.
 *
 * seccomp: a filter that refuses membarrier belongs before the process starts to use liburcu (as one that exec passes
 * on): then nothing differs. One that comes later costs: what is retired is kept until weir_close, since no grace
 * period can be had (weir_statistics.retired_bytes tells), and after the first fork, which takes a fifth of a second,
 * calls that take a key's lock share a counter. No such filter may be put on all threads while one of them waits for a
 * grace period: liburcu aborts. Decisions are the same with all of them.
 *
 * dlclose: the code stays mapped, since threads that have called weir run liburcu's code when they end. libweir.so is
 * linked so; a shared object that libweir.a was linked into is kept by the first weir_open, where the C library has
 * dlopen (glibc before 2.34: in a process that has libdl; else link it with -z nodelete).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#define WEIR_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define WEIR_API
#define WEIR_CHECKED
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

typedef struct weir weir;

/*
 * Options with CLOCK_MONOTONIC and the janitor on, which sweeps and does what weir_reclaim does: for a server.
 * Thread-safety: any. Cost: none.
 */
WEIR_API weir_options weir_options_default(void);

/*
 * Options without clock and thread: every `now` comes from the caller, is trusted, and WEIR_NOW is -EINVAL. For
 * simulation, replay, tests, and a host with a time of its own. The caller calls weir_sweep and weir_reclaim.
 * Thread-safety: any. Cost: none.
 */
WEIR_API weir_options weir_options_manual(void);

/*
 * Opens a limiter.
 *   limiter   where the handle goes; set to NULL on error
 *   rules     rule_count rules, read during the call only
 *   options   NULL: weir_options_default(); read during the call only
 * Returns 0; -EINVAL (a rule, field or option is out of range; options->error says which, in words); -ENOMEM; -EAGAIN
 * (the janitor thread cannot be started); -EDEADLK (with a janitor, inside a read section of liburcu-bp); -EBUSY
 * (another release of weir is in use in this process, and the two cannot fork together: see above).
 * Thread-safety: any. Cost: some allocations, at first use in a process a thread.
 */
WEIR_CHECKED int weir_open(weir **limiter, const weir_rule *rules, size_t rule_count, const weir_options *options);

/*
 * Closes a limiter and frees all its memory; NULL does nothing. No call on it may be running or follow. Waits for the
 * janitor to leave it. A process may end with limiters open; only where it is to end by its last thread ending, without
 * exit, those with a janitor must be closed, since that is a thread as well.
 * Returns 0; -EDEADLK inside a read section of liburcu-bp (nothing was closed).
 */
WEIR_API int weir_close(weir *limiter);

/*
 * A request for `key` with cost 1 and plan 0. The key is not copied: it must stay while the request is used.
 */
static inline weir_request weir_request_for(const void *key, size_t key_len)
{
    weir_request request = {key, key_len, NULL, 1, 0, 0, 0, {0, 0}};
    return request;
}

/*
 * May `key` do one more thing now? Cost 1, plan 0, the limiter's own clock. Recorded when accepted.
 * Returns true or false; what would be an error in weir_take (a key too long, a limiter without a clock) is answered as
 * options.when_full says.
 * Progress and cost: as weir_take, plus a reading of the clock.
 */
WEIR_CHECKED bool weir_allow(weir *limiter, const void *key, size_t key_len);

/*
 * Decides, and records the charge when accepted.
 *   request   whose key, cost and plan
 *   now       ns on the limiter's clock, or WEIR_NOW; late, equal and backward times are legal and grant nothing
 *   decision  NULL (the verdict alone: cheaper, and without a division), or where the whole answer goes
 * Returns 1 accepted, 0 refused, or -EINVAL (key_len, plan, flags, reserved fields, now out of range, an identity of
 * another limiter, WEIR_NOW without a clock): nothing was recorded, and *decision is not filled. A full table or lack
 * of memory is no error: the call is decided by options.when_full and flagged in the decision. A thread's first call
 * makes it known to liburcu; without memory for that nothing is looked at, and the rest of the decision is 0.
 * Progress: lock-free where the only rule is a counter below 2^32; else key's lock, and a refusal that an earlier one
 * covers (same key and plan, at least its cost, nothing changed since) takes no lock and stores nothing. For a whole
 * decision it must say the same but for the time: same cost (or one between two that end together, or any above the
 * limit of the first rule), same `rule` and `remaining`. Two are covered in turn where they are of one rule and plan
 * and end together or tell the same `remaining`, so of two costs; a verdict beside a decision, and verdicts under two
 * plans, always; any refusal of a counter that is the only rule. A third, and two that differ in more, take the lock in
 * turn; so do whole decisions of calls before a sweep's time that are not late, or whose key that sweep dropped or made
 * smaller, and the first after `remaining` has grown. On a limiter without a janitor, a call that changed the table and
 * finds more than max(1 MiB, a thirty-second) of the memory retired frees some of it, or waits for one grace period,
 * before it returns.
 * Cost: one SipHash of the key, one cache line of the table; for nodes one or two more.
 * Source: sliding log and counters as in docs/algorithms.md.
 */
WEIR_CHECKED int weir_take(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision);

/*
 * What weir_take would answer now, without recording anything: accepted, rule and retry_after_ns are those of the take;
 * remaining and release_after_ns as they stand. Does not foresee a full table or lack of memory.
 * Parameters, result, errors, progress: as weir_take; changes nothing however often it is called.
 */
WEIR_CHECKED int weir_peek(weir *limiter, const weir_request *request, uint64_t now, weir_decision *decision);

/*
 * Decides `count` requests, one after the other, all at the same `now`: the answers are those of so many weir_take.
 *   verdicts   NULL, or count results: 1, 0 or -errno of each request
 *   decisions  NULL, or count decisions (verdict -errno where a request was bad)
 * Returns the number accepted (at most INT64_MAX), or -EINVAL where `now` is bad (nothing was decided). A bad request
 * stops nothing: the others are decided.
 * Progress: as weir_take for each; one read section for every 64, in which nothing is waited for.
 * Cost: as weir_take for each, but what so many calls would wait for memory, one after the other, is waited for
 * together: among millions of keys a quarter of it. The best size is from some 8 to 64.
 */
WEIR_CHECKED int64_t weir_take_batch(weir *limiter, const weir_request *requests, size_t count, uint64_t now,
                                     int *verdicts, weir_decision *decisions);

/*
 * Brings what a decision on this key reads first into the processor's cache, for a server that knows the key before it
 * needs the answer: a call that follows soon does not wait for it. Decides and changes nothing.
 *   request  as for weir_take; the cost and plan are not looked at, and nothing happens where it is not in range
 * With a key, both calls hash it: bring its identity (weir_identify) to hash once.
 * Thread-safety: any. Progress: wait-free. Cost: one SipHash of the key, no waiting for memory beyond the directory's.
 */
WEIR_API void weir_prefetch(const weir *limiter, const weir_request *request);

/*
 * Works out a key's identity once, for requests that come again (request.identity): spares the hashing.
 * Returns 0 or -EINVAL (key_len).
 * Thread-safety: any. Progress: wait-free. Cost: one SipHash-1-3-128 of the key.
 * Source: Aumasson and Bernstein, SipHash: a fast short-input PRF (2012).
 */
WEIR_CHECKED int weir_identify(const weir *limiter, const void *key, size_t key_len, weir_identity *identity);

/*
 * Forgets a key's charges, not its time: the next call finds nothing charged, at an effective time no earlier than
 * before. The request's cost and plan are not looked at. A key that is not held stays so.
 * Returns 0, -EINVAL (as weir_take), or -ENOMEM (a thread's first call, see weir_take).
 * Progress: lock-free for an inline counter, else key's lock.
 */
WEIR_API int weir_reset(weir *limiter, const weir_request *request);

/*
 * Replaces the limits of one plan, all together: every decision that begins after the return uses them, none sees a
 * mixture. Charges stay as they are: a lowered limit may leave a key in debt.
 *   limits  `count` of them, one for each rule, in the rules' order
 * Returns 0, -EINVAL (no such plan, count is not the number of rules, a limit is 0 or beyond options.max_limit or the
 * algorithm's range: nothing changed), -ENOMEM (nothing changed).
 * Progress: a lock among callers of weir_set_limits; decisions never wait for it.
 */
WEIR_CHECKED int weir_set_limits(weir *limiter, uint32_t plan, const uint64_t *limits, size_t count);

/*
 * Drops keys whose charges have been outside every window for max_lateness, and gives small the memory that held them
 * (freed by weir_reclaim, or by the janitor). Never waits for a grace period.
 *   now       as weir_take
 *   max_keys  about how many keys to look at before returning (a segment of some 40 is looked at whole); 0: all
 * A bounded call goes on where the last bounded one stopped. Returns 1 when this call reached the end of the table,
 * 0 when it stopped before, -EINVAL (now), -ENOMEM (a thread's first call, see weir_take).
 * Thread-safety: any; two bounded sweeps at once may look at the same keys. Progress: never waits for a key's lock
 * (tried, and tried once more at the end).
 */
WEIR_API int weir_sweep(weir *limiter, uint64_t now, uint64_t max_keys);

/*
 * Frees what was retired, after waiting one RCU grace period (some milliseconds). What another call is freeing at the
 * same time is freed when that returns. Of a large table it also gives empty regions of memory back to the system, and
 * lays full ones on large pages, which may take about a millisecond for each 2 MiB.
 * Not needed where there is a janitor, which does all this.
 * Returns 0; -EDEADLK inside a read section of liburcu-bp; -EPERM where the kernel refuses the membarrier call that a
 * grace period needs (nothing freed, nothing lost).
 */
WEIR_API int weir_reclaim(weir *limiter);

/*
 * Calls `visit` for each key held whose charges are not droppable at `now`, in no order that means anything. A key
 * present throughout is seen exactly once; one that comes or goes meanwhile at most once. `visit` runs outside any lock
 * and read section, and may call every function on the limiter except weir_close; a result other than 0 stops the walk.
 * Returns 0, what `visit` returned, -EINVAL (now), -ENOMEM.
 */
WEIR_API int weir_each(weir *limiter, uint64_t now, int (*visit)(void *argument, const weir_key *key), void *argument);

/*
 * Fills what fits of *statistics (struct_size set by the caller to the size of its own); fields that this library does
 * not know are set to 0.
 * Returns 0, or -EINVAL (struct_size is too small). Thread-safety: any. Progress: wait-free. Cost: some dozen cache
 * lines.
 */
WEIR_API int weir_stats(const weir *limiter, weir_statistics *statistics);

/*
 * The limiter's clock, ns; WEIR_NOW (an invalid time) for a limiter without one.
 */
WEIR_CHECKED uint64_t weir_now(const weir *limiter);

/*
 * The library's version, "MAJOR.MINOR.PATCH". Never NULL.
 */
WEIR_CHECKED const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
