/*
 * weir/types.h: what a caller hands to the limiter and gets back. Types and constants only; the functions are in
 * weir.h.
 *
 * Times are uint64_t nanoseconds, at most 2^63-1, all of one limiter on one clock. Durations are nanoseconds too.
 * weir_rule, weir_request and weir_decision are 64 bytes each: they are array strides and never grow. Reserved fields
 * must be 0; weir_rule and weir_request are refused with -EINVAL where they are not.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TYPES_H
#define WEIR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_MICROSECOND UINT64_C(1000)
#define WEIR_MILLISECOND UINT64_C(1000000)
#define WEIR_SECOND      UINT64_C(1000000000)
#define WEIR_MINUTE      (60 * WEIR_SECOND)
#define WEIR_HOUR        (60 * WEIR_MINUTE)
#define WEIR_DAY         (24 * WEIR_HOUR)

/* As `now`: read the limiter's own clock. -EINVAL on a limiter with manual time. */
#define WEIR_NOW UINT64_MAX

/* As retry_after_ns: no wait helps, the charge is larger than the limit. */
#define WEIR_NEVER UINT64_MAX

/* The largest time, in ns. */
#define WEIR_TIME_MAX ((uint64_t)INT64_MAX)

/* The longest window, in ns: 2^62. */
#define WEIR_WINDOW_MAX (UINT64_C(1) << 62)

/* Rules a limiter may have. */
#define WEIR_RULES_MAX 8

/* Bytes a key may have; 0 is a key like any other. */
#define WEIR_KEY_MAX 65535

/* How a rule counts. */
enum weir_algorithm {
    WEIR_LOG = 1,     /* exact: every charge with its time; limit at most 2^32-1 */
    WEIR_COUNTER = 2, /* two numbers a key: aligned windows, the previous one weighted */
    WEIR_BUCKETS = 3  /* a ring of buckets+1 numbers a key; never admits more than the log */
};

/* What a rule charges for one call. */
enum weir_meter {
    WEIR_PER_REQUEST = 1, /* 1 */
    WEIR_PER_COST = 2     /* the request's cost, 0 ... 2^64-1 */
};

/* One rule: at most `limit` in any window of `window_ns`. */
typedef struct weir_rule {
    uint64_t limit;     /* 1 ... 2^63-1 (log: 2^32-1); the limit of plan 0 where no plans are given */
    uint64_t window_ns; /* 1 ... 2^62 */
    uint32_t algorithm; /* enum weir_algorithm */
    uint32_t meter;     /* enum weir_meter */
    uint64_t buckets;   /* WEIR_BUCKETS: 1 ... window_ns; others: 0 */
    uint32_t flags;     /* 0 */
    uint32_t reserved0; /* 0 */
    const char *name;   /* shown in error texts; may be NULL; read by weir_open alone */
    uint64_t reserved[2]; /* 0 */
} weir_rule;

/* A key as one limiter sees it: made by weir_identify, good for that limiter only, for as long as it is open. */
typedef struct weir_identity {
    uint64_t word[2]; /* up to 15 key bytes and their number, or 120 bits of a keyed hash and a mark */
    uint64_t hash;    /* finds the key's place */
    uint64_t owner;   /* the limiter that made it */
} weir_identity;

/* One question. */
typedef struct weir_request {
    const void *key;               /* key_len bytes; may be NULL where key_len is 0 or identity is given */
    size_t key_len;                /* 0 ... 65,535 */
    const weir_identity *identity; /* NULL, or from weir_identify: key and key_len are then not looked at */
    uint64_t cost;                 /* what rules with WEIR_PER_COST charge */
    uint32_t plan;                 /* whose limits apply; below the options' plans */
    uint32_t flags;                /* 0 */
    uint64_t receipt;              /* reserved, 0 */
    uint64_t reserved[2];          /* 0 */
} weir_request;

/* Bits of weir_decision.flags. */
enum weir_decision_flag {
    WEIR_LATE = 1,       /* `now` was earlier than the floor left where something was dropped: decided at the floor */
    WEIR_TABLE_FULL = 2, /* max_keys reached: not recorded; decided by options.when_full; retry_after_ns 0 = unknown */
    WEIR_NO_MEMORY = 4   /* an allocation failed: as WEIR_TABLE_FULL */
};

/* One answer. */
typedef struct weir_decision {
    int32_t verdict;           /* 1 accepted, 0 refused, or -errno in a batch */
    uint32_t flags;            /* enum weir_decision_flag */
    uint32_t rule;             /* refused: the refusing rule that opens last; accepted: the one with least remaining */
    uint32_t reserved0;        /* 0 */
    uint64_t limit;            /* that rule's limit */
    uint64_t remaining;        /* the largest charge that rule would still accept at the same `now` */
    uint64_t retry_after_ns;   /* 0 when accepted; else the wait after which the same call passes; or WEIR_NEVER */
    uint64_t release_after_ns; /* the wait until `remaining` next grows; 0 when nothing is charged */
    uint64_t reserved[2];      /* 0 */
} weir_decision;

/* Where time comes from. */
enum weir_clock {
    WEIR_CLOCK_MANUAL = 0,    /* no clock: every `now` comes from the caller */
    WEIR_CLOCK_MONOTONIC = 1, /* CLOCK_MONOTONIC */
    WEIR_CLOCK_BOOTTIME = 2,  /* CLOCK_BOOTTIME: goes on while the machine sleeps */
    WEIR_CLOCK_REALTIME = 3,  /* CLOCK_REALTIME: may step; a step back grants nothing, a step forward may */
    WEIR_CLOCK_CUSTOM = 4     /* options.clock_read; no janitor */
};

/* What happens to a call that cannot be recorded (max_keys reached, no memory). */
enum weir_when_full { WEIR_FULL_REFUSE = 0, WEIR_FULL_ADMIT = 1 };

/*
 * Memory. `allocate` returns `size` bytes aligned to `alignment` (a power of two, 16 ... 4096), or NULL; `release` gets
 * the same size back. Both are called from any thread, the janitor's included, at times inside a read section of RCU:
 * they must neither call weir nor wait for an RCU grace period. If they take locks around fork (pthread_atfork), those
 * handlers must be registered before the first weir_open.
 */
typedef struct weir_allocator {
    void *(*allocate)(void *argument, size_t alignment, size_t size);
    void (*release)(void *argument, void *memory, size_t size);
    void *argument;
} weir_allocator;

/* Made by weir_options_default() or weir_options_manual(), then changed field by field. */
typedef struct weir_options {
    size_t struct_size;          /* sizeof(weir_options); set by both constructors */
    uint32_t clock;              /* enum weir_clock */
    uint32_t when_full;          /* enum weir_when_full */
    uint64_t (*clock_read)(void *argument); /* WEIR_CLOCK_CUSTOM: ns; called from any thread, at times inside a read
                                               section of RCU: as the allocator, it must neither call weir nor wait */
    void *clock_argument;
    uint64_t max_lateness_ns;    /* how old a `now` may be and still get the exact answer: 0 ... 2^63-1, or UINT64_MAX:
                                    endless, nothing is ever dropped. Default 1 s */
    uint64_t sweep_interval_ns;  /* the janitor's pause between sweeps; 0: an eighth of the longest window, at least
                                    100 ms and at most 5 s */
    uint32_t janitor;            /* 1: the process's one janitor thread sweeps and frees; 0: the caller does. Ignored
                                    for manual and custom clocks, which have none */
    uint32_t plans;              /* number of plans; 0: one, with the rules' own limits */
    const uint64_t *plan_limits; /* plans x rules limits, plan by plan; read by weir_open alone */
    uint64_t max_limit;          /* what any limit may reach by weir_set_limits; 0: as far as the algorithm goes, but
                                    below 2^32 for a counter whose limits all are. One counter rule that stays below
                                    2^32 is kept inline, without a node or a lock */
    uint64_t max_keys;           /* keys held at once; 0: no bound. A fork in the middle of another thread's insertion
                                    may cost the child one of them */
    weir_allocator allocator;    /* all NULL: the C library's */
    char *error;                 /* NULL, or where weir_open writes what is wrong, in words */
    size_t error_size;           /* bytes at `error` */
    uint64_t reserved[8];        /* 0 */
} weir_options;

/* What weir_stats tells. Sums over counters that move: exact when no call is running. */
typedef struct weir_statistics {
    size_t struct_size;     /* set by the caller to sizeof(weir_statistics) */
    uint64_t keys;          /* keys held: charged, or expired and not dropped so far */
    uint64_t bytes;         /* memory in use, retired memory included; as asked of the allocator */
    uint64_t retired_bytes; /* of these, waiting for a grace period */
    uint64_t swept;         /* keys dropped since open */
    uint64_t splits;        /* segments split or grown since open */
    uint64_t compactions;   /* segments rebuilt at the same capacity or less since open */
    uint64_t cells_helped;  /* cells copied by callers that met a migration under way */
    uint64_t reserved[8];   /* 0 */
} weir_statistics;

/* One key, as weir_each shows it. Good until the callback returns. */
typedef struct weir_key {
    const void *key;        /* the key's bytes; of a key over 15 bytes the 16 bytes of its identity */
    size_t key_len;         /* 0 ... 15, or 16 */
    bool hashed;            /* true: `key` holds an identity, since the key was longer than 15 bytes */
    weir_identity identity; /* for a request about this key, whatever its length */
} weir_key;

#ifdef __cplusplus
}
static_assert(sizeof(weir_rule) == 64 && sizeof(weir_request) == 64 && sizeof(weir_decision) == 64, "array strides");
#else
_Static_assert(sizeof(weir_rule) == 64 && sizeof(weir_request) == 64 && sizeof(weir_decision) == 64, "array strides");
#endif

#endif
