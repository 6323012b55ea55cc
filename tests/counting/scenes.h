/*
 * What is counted: kinds of limiter, and on each some paths of a call, as rows of data. A path is what is done to a key
 * beforehand, and then the one call that is counted. Everything is the same in every run: keys, times, and the key of
 * the hash, which the programs that link this take from __wrap_getrandom.
 *
 * Each path is run on two keys, in two parts of the table: lines that both calls meet are common to all keys, the
 * others are the key's own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_COUNTING_SCENES_H
#define WEIR_TESTS_COUNTING_SCENES_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/weir.h>

enum { SCENE_BATCH = 32, SCENE_BEFORE = 4 };

#define SCENE_NOW (1000 * WEIR_SECOND)

/* Kinds of limiter: weir's, each under one name in the tables, and the baselines. */
enum scene_kind {
    SCENE_COUNTER,
    SCENE_LOG,
    SCENE_COSTS, /* a log per cost */
    SCENE_BUCKETS,
    SCENE_RULES,    /* a log and a counter */
    SCENE_LARGE,    /* a counter that may reach 2^32, per cost: in a node */
    SCENE_LONG,     /* a log of 200 records */
    SCENE_COUNTERS, /* for batches */
    SCENE_LOGS,
    SCENE_FULL_COUNTER,
    SCENE_FULL_LOG,
    SCENE_WEIR_KINDS,
    SCENE_BASELINE = SCENE_WEIR_KINDS
};

enum scene_what {
    SCENE_NOTHING,
    SCENE_TAKE,
    SCENE_PEEK,
    SCENE_RESET,
    SCENE_TAKES, /* one batch, of as many keys */
    SCENE_FREEZE /* a split of the key's segment begins, and its helper stops when it has frozen this key */
};

/* Something done to a key. */
struct scene_act {
    enum scene_what what;
    unsigned times; /* 0: once */
    uint64_t cost;  /* 0: 1 */
    uint64_t after; /* ms after SCENE_NOW */
    int want;       /* the last verdict */
    bool whole;     /* the whole decision is asked for */
    bool identity;  /* the request brings it */
};

struct scene_path {
    const char *name;
    unsigned kinds; /* bits, by scene_kind */
    bool fresh;     /* the key has never been seen */
    struct scene_act before[SCENE_BEFORE];
    struct scene_act call;
};

/* A limiter, weir's or a baseline. */
struct scene_subject {
    const char *name;
    enum scene_kind kind;
    unsigned number;                /* for `open` */
    void *(*open)(unsigned number); /* NULL: no memory */
    void (*close)(void *state);
    int (*act)(void *state, const struct scene_act *act, const uint64_t *keys);
    uint64_t (*hash)(void *state, uint64_t key); /* its highest bit parts the table in two */
    bool (*near)(void *state, uint64_t key);     /* is it, or would it be, where it is first looked for? */
    void *state;
};

/* The watcher, which the program sets: called just before each counted call, and just after. */
struct scene_watcher {
    void (*begin)(void);
    void (*end)(void);
};
extern struct scene_watcher scene_watcher;

/* A subject's act stands between these. */
void scene_begin(void);
void scene_end(void);

extern const struct scene_path scene_paths[];
extern const unsigned scene_path_count;

/* How many keys, and decisions, the counted call has. */
unsigned scene_decisions(const struct scene_path *path);

/* One of weir's kinds, not opened so far: its memory will be in the arena. */
struct scene_subject scene_weir(enum scene_kind kind);

/* Opens a subject, fills its table with the keys that paths are run on, and for each path of its kind does what comes
 * beforehand and has `each` make the counted call on both. Ends the program where something fails. */
void scene_run(struct scene_subject *subject,
               void (*each)(const struct scene_subject *subject, const struct scene_path *path,
                            uint64_t keys[2][SCENE_BATCH]));

/* The counted call, which the watcher is told of. */
void scene_call(const struct scene_subject *subject, const struct scene_path *path, const uint64_t *keys);

#endif
