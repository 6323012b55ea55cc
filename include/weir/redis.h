/*
 * weir/redis.h: one limit over many machines. The rules, requests and decisions of weir/weir.h, kept in Redis, so that
 * any number of processes and machines share one limit. docs/distributed.md tells the model, its guarantees and what
 * no such limiter can promise.
 *
 * Time is the server's own (its TIME), in whole microseconds: windows are rounded up to one, waits are never shorter
 * than the truth, and clocks of the callers' machines do not matter. Each decision is one script and one round trip.
 * Where the server's clock steps back, time stands still for a key; but a key expires one to two seconds after its
 * charges have left every window, and is gone then for a clock that steps back further.
 *
 * Range, checked at open and in weir_redis_set_limits, since Lua counts in doubles and these bounds keep every number
 * exact: limits up to 2^53-1 (log: 2^32-1), windows up to 2^50 us (35 years), times up to 2^52 us.
 *
 * Redis 6.0 or newer. A user that is not allowed everything needs evalsha, eval, time, get, set, zadd, zrange,
 * zrangebyscore, zrank, zcard, zrem, zremrangebyrank, zremrangebyscore, pexpire and del, on keys "{prefix:*" (with
 * the prefix percent-encoded, as in keys: docs/distributed.md); and select, where the URL names a database other than
 * 0; in a cluster cluster|slots and asking (Redis 7.0, before that cluster whole). Where pexpire alone is missing, keys
 * are written that never expire.
 *
 * Every function is thread-safe, unless it says otherwise; weir_redis_close must be the last call on its limiter.
 * Errors are negative errno values; nothing is printed, no signal is taken or sent (SIGPIPE included), and nothing
 * exits or aborts. A child of fork must not use limiters that were opened before, nor close them: it shares their
 * connections with its parent. Sockets are closed by exec.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_REDIS_H
#define WEIR_REDIS_H

#include <weir/weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Further bits of weir_decision.flags, for decisions that Redis did not make just now. */
enum weir_redis_flag {
    WEIR_REDIS_UNREACHED = 1u << 16,  /* Redis could not decide: options.when_unreached did */
    WEIR_REDIS_FALLBACK = 1u << 17,   /* the local limiter decided, with its share of the limits (beside UNREACHED) */
    WEIR_REDIS_UNKNOWN = 1u << 18,    /* the command was sent and its answer was lost: it may have been charged */
    WEIR_REDIS_REMEMBERED = 1u << 19  /* an earlier refusal by Redis, which still holds; charges that other processes
                                         made since, or calls of this one that were under way when it was refused, are
                                         not in `remaining` */
};

/* What is answered while Redis cannot be asked: not connected, no answer in time, or an error for an answer. */
enum weir_when_unreached {
    WEIR_UNREACHED_REFUSE = 0,  /* refused; retry_after_ns tells when Redis is tried again: 1 if by the next call */
    WEIR_UNREACHED_ADMIT = 1,   /* accepted, recorded nowhere; `remaining` is 0 */
    WEIR_UNREACHED_FALLBACK = 2 /* a local limiter with the same rules and a share of each limit */
};

typedef struct weir_redis weir_redis;

/* Made by weir_redis_options_default(), then changed field by field. Timeouts and pauses are 1 ns ... a day. */
typedef struct weir_redis_options {
    size_t struct_size;          /* sizeof(weir_redis_options); set by the constructor */
    const char *url;             /* redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path[?db=n];
                                    user, password and path percent-encoded. Default redis://127.0.0.1:6379/0 */
    const char *prefix;          /* begins the name of every key, after a brace; limiters of one prefix, and of the same
                                    rules in the same order, share their keys. Any bytes. Default "weir" */
    uint32_t cluster;            /* 1: `url` is one node of a Redis Cluster, whose other nodes are found through it and
                                    have the same user and password; the database must be 0. Breakers and
                                    `connections` are each node's own. Default 0 */
    uint32_t connections;        /* at most so many to a server, made as they are needed. Default 8 */
    uint64_t connect_timeout_ns; /* shared by the addresses that a name has. Default 50 ms */
    uint64_t command_timeout_ns; /* waiting for a free connection included. Default 50 ms */
    uint32_t when_unreached;     /* enum weir_when_unreached. Default WEIR_UNREACHED_REFUSE */
    uint32_t fallback_permille;  /* the local limiter's share of each limit, rounded down, at least 1: 1 ... 1000.
                                    Default 1000: each process the whole limit */
    uint32_t breaker_failures;   /* so many failures in a row, and the server is left alone for a while. Default 3 */
    uint32_t given_time;         /* 1: every call brings its `now`, for tests and replays; keys then live for an hour */
    uint64_t backoff_min_ns;     /* the first such while; each one after is twice as long, up to ... Default 100 ms */
    uint64_t backoff_max_ns;     /* ... this; a random part of up to a half is taken off. Default 5 s */
    uint64_t remember_ns;        /* a refusal is remembered until its call would pass, and at most for so long; so this
                                    is how late another process's weir_redis_reset, lost data, or a server's clock that
                                    was set forward may be seen. 0, and with given_time: never. At most a day.
                                    Default 1 s */
    uint64_t remember_keys;      /* how many refusals are remembered, at 64 bytes each. Default 16,384 */
    uint32_t plans;              /* as in weir_options */
    uint32_t reserved0;          /* 0 */
    const uint64_t *plan_limits; /* as in weir_options */
    char *error;                 /* NULL, or where weir_redis_open writes what is wrong, in words */
    size_t error_size;           /* bytes at `error` */
    uint64_t reserved[8];        /* 0 */
} weir_redis_options;

/* What weir_redis_stats tells; counted since open. */
typedef struct weir_redis_statistics {
    size_t struct_size;       /* set by the caller to sizeof(weir_redis_statistics) */
    uint64_t commands;        /* decisions, peeks, resets sent to Redis; sent again after NOSCRIPT, MOVED: once more */
    uint64_t round_trips;     /* times that an answer was waited for; a pipelined batch is one */
    uint64_t remembered;      /* answered by an earlier refusal */
    uint64_t unreached;       /* answered by options.when_unreached */
    uint64_t unknown;         /* of these, with the command's fate unknown */
    uint64_t connects;        /* connections made */
    uint64_t failures;        /* connections and commands that failed */
    uint64_t scripts_loaded;  /* times a script was sent whole */
    uint64_t redirected;      /* MOVED and ASK followed */
    uint64_t slot_maps;       /* times that a cluster's slot map was fetched */
    uint64_t breaker_open;    /* 1: the server (in a cluster: some node) is being left alone */
    uint64_t reserved[7];     /* 0 */
} weir_redis_statistics;

/* Options as above. Thread-safety: any. Cost: none. */
WEIR_API weir_redis_options weir_redis_options_default(void);

/*
 * Opens a limiter over Redis. No connection is made: the first decision does that.
 *   limiter   where the handle goes; set to NULL on error
 *   rules     rule_count rules, read during the call only; the name is not used
 *   options   NULL: weir_redis_options_default(); read during the call only, strings included
 * Returns 0; -EINVAL (a rule, field or option is out of range; options->error says which, in words, unless
 * struct_size is out of range itself); -ENOMEM; and what weir_open returns, since refusals are remembered by
 * identities of weir's, and for WEIR_UNREACHED_FALLBACK.
 */
WEIR_CHECKED int weir_redis_open(weir_redis **limiter, const weir_rule *rules, size_t rule_count,
                                 const weir_redis_options *options);

/* Closes a limiter, its connections and its memory; NULL does nothing. No call on it, and no weir_redis_async of it,
 * may be in use or follow. Keys in Redis stay until they expire. Returns 0, or -EDEADLK as weir_close does. */
WEIR_API int weir_redis_close(weir_redis *limiter);

/*
 * Decides, and records the charge when accepted.
 *   request   as for weir_take, but with the key's bytes: an identity alone is -EINVAL
 *   now       WEIR_NOW; with options.given_time ns, of which whole microseconds count
 *   decision  NULL, or where the whole answer goes
 * Returns 1 accepted, 0 refused, or -EINVAL as weir_take. That Redis cannot be asked is no error:
 * options.when_unreached decides and the decision is flagged, see above; weir_redis_error tells why. A command that may
 * have been carried out is never sent again.
 * In a cluster: where the node answers MOVED or ASK, and where it cannot be had and its slots have gone to another, the
 * question follows, at most 5 times; TRYAGAIN and CLUSTERDOWN are options.when_unreached's.
 * Time: at most connect_timeout_ns + command_timeout_ns, names looked up (by getaddrinfo) not included; nothing where
 * the server is being left alone or a remembered refusal answers. Waits for no other thread longer than that. An answer
 * that is there when the time is over counts: a process that was stopped meanwhile loses none. No call is a
 * cancellation point.
 * Cost: one round trip. Source: as weir_take; docs/distributed.md.
 */
WEIR_CHECKED int weir_redis_take(weir_redis *limiter, const weir_request *request, uint64_t now,
                                 weir_decision *decision);

/* What weir_redis_take would answer now, recording nothing. Parameters, result, time and cost as weir_redis_take. */
WEIR_CHECKED int weir_redis_peek(weir_redis *limiter, const weir_request *request, uint64_t now,
                                 weir_decision *decision);

/*
 * Decides `count` requests, one after the other, written 1,024 at once: the answers are those of so many
 * weir_redis_take, but other clients may come in between, and a request that the server refuses for want of the script
 * (after SCRIPT FLUSH) may come after later ones of its batch, if another client loads the script meanwhile. Each is
 * charged once. Parameters and result as weir_take_batch.
 * Time: as weir_redis_take for the whole batch. Cost: one round trip for every 1,024, or without memory for each.
 */
WEIR_CHECKED int64_t weir_redis_take_batch(weir_redis *limiter, const weir_request *requests, size_t count,
                                           uint64_t now, int *verdicts, weir_decision *decisions);

/*
 * Forgets a key's charges, not its time, in Redis and in the local limiter; remembered refusals of the key end in this
 * process. Returns 0, -EINVAL (as weir_redis_take), -ETIMEDOUT (its fate is unknown) or -ENOTCONN (not done).
 */
WEIR_API int weir_redis_reset(weir_redis *limiter, const weir_request *request, uint64_t now);

/*
 * As weir_set_limits: every decision of this process that begins after the return uses the new limits, and no refusal
 * remembered earlier answers it. Limits are not kept in Redis: each process brings its own.
 */
WEIR_CHECKED int weir_redis_set_limits(weir_redis *limiter, uint32_t plan, const uint64_t *limits, size_t count);

/* Fills what fits of *statistics, as weir_stats. Returns 0 or -EINVAL. */
WEIR_API int weir_redis_stats(const weir_redis *limiter, weir_redis_statistics *statistics);

/* Writes into `text` (size bytes, ended by 0) what went wrong last, in words: "READONLY You can't write against a read
 * only replica. (127.0.0.1:6379)"; "" where nothing has. Returns its whole length. */
WEIR_API size_t weir_redis_error(const weir_redis *limiter, char *text, size_t size);

/*
 * --- For event loops ---
 *
 * One weir_redis_async a loop, used by the loop's thread alone, which must not be cancelled meanwhile. It has one
 * connection, in a cluster one to each node, made as they are needed; limits, remembered refusals, the breakers, the
 * slot map, the policy, statistics and the last error are the limiter's, shared with all its threads and loops. Waits
 * for nothing but the lookup of a host's name (getaddrinfo) when it connects: in front of a loop, give an address, or
 * have a resolver that answers at once.
 */

enum weir_redis_events { WEIR_REDIS_READABLE = 1, WEIR_REDIS_WRITABLE = 2 };

/*
 * What an event loop does for us; weir/redis_epoll.h, weir/redis_libuv.h and weir/redis_libevent.h fill it in. All
 * functions are called by the loop's thread. A watch that was asked to end calls nothing any more.
 */
typedef struct weir_redis_loop {
    void *loop;
    void *(*watch)(void *loop, int fd, void (*ready)(void *argument, unsigned events), void *argument); /* or NULL */
    void (*want)(void *watch, unsigned events); /* which events it is to be told; 0 after `watch` */
    void (*unwatch)(void *watch);               /* fd is closed only later */
    void *(*timer)(void *loop, void (*fire)(void *argument), void *argument); /* not running; NULL: no memory */
    void (*arm)(void *timer, uint64_t after_ns); /* fires once; again: from now on; UINT64_MAX: not at all. A few
                                                    milliseconds early or late do no harm */
    void (*untimer)(void *timer);
} weir_redis_loop;

typedef struct weir_redis_async weir_redis_async;

/* `verdict` and *decision as of weir_redis_take; the decision is good until the callback returns. It may call every
 * function on `async` but weir_redis_async_close. */
typedef void (*weir_redis_answer)(void *argument, int verdict, const weir_decision *decision);

/* A client of `limiter` for one loop; both must outlive it. *loop is copied. Returns 0, -EINVAL or -ENOMEM. */
WEIR_CHECKED int weir_redis_async_open(weir_redis_async **async, weir_redis *limiter, const weir_redis_loop *loop);

/* Answers what is under way (options.when_unreached, flagged), and closes; NULL does nothing. Not from a callback. What
 * callbacks ask meanwhile is answered at once, likewise. */
WEIR_API void weir_redis_async_close(weir_redis_async *async);

/*
 * As weir_redis_take, without waiting. What need not be asked (a remembered refusal, a server that is left alone or
 * refuses the connection at once, a bad request) is answered at once: 1 or 0, with *decision filled, or -EINVAL, and
 * `answer` is not called. Else -EINPROGRESS, *decision is left as it is, and `answer` is called once: by the loop,
 * within the timeouts, or by weir_redis_async_close. -ENOMEM: neither asked nor answered. The key is copied; decision
 * may be NULL.
 *
 * Commands of one turn of the loop are written together, and answered in their order. If the connection is lost or one
 * command is late, all that was sent is answered by options.when_unreached (the answers to come could not be told
 * apart), flagged WEIR_REDIS_UNKNOWN where the whole command was written; the next call makes another connection, after
 * a while where the breaker says so. So no more should be under way than the server answers within the timeout. Where
 * the loop was held up, answers that are there when it goes on count, and what has no time left is not asked.
 *
 * In a cluster all this holds for each node's connection by itself. Calls wait for the first slot map within their own
 * time; MOVED and ASK are followed as by weir_redis_take. Where the slot's node cannot be had, options.when_unreached
 * answers, and the map is fetched again meanwhile, at most once in backoff_min_ns: a later call finds the replica that
 * was promoted. Calls that are sent on may come after later ones of their key.
 */
WEIR_CHECKED int weir_redis_async_take(weir_redis_async *async, const weir_request *request, uint64_t now,
                                       weir_decision *decision, weir_redis_answer answer, void *argument);

#ifdef __cplusplus
}
#endif

#endif
