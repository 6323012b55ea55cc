/*
 * The scene of one run: a limiter with a few cells a segment, three keys, and what every call on them was answered.
 *
 *   HOT   charged at OLD, and at NOW, one charge below its limit
 *   OLD   charged up to its limit long ago: expired at NOW, and there to be dropped
 *   NEW   never charged
 *
 * Fillings: DEAD, HOT and OLD alone, one more key makes room; FULL, several segments; MOVING, a split has begun; BOUND,
 * max_keys is reached.
 *
 * Kinds of limiter, and how full the table is when the threads begin, are rows of tables, so that every act meets every
 * state of affairs. After a run each key's calls must have a serial order that the oracle accepts (A, B, C), walks must
 * have seen each key once (A), everything expires and is given back (F), and no memory is left, freed twice or touched
 * after it was freed (G).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_SCENE_H
#define WEIR_TESTS_SCHEDULE_SCENE_H

#include <weir/weir.h>

#include "../support/serial.h"

#define SCENE_NOW    (1000 * WEIR_SECOND)
#define SCENE_OLD    (100 * WEIR_SECOND)
#define SCENE_WINDOW (10 * WEIR_SECOND)

enum scene_kind { SCENE_CELL, SCENE_LOG, SCENE_SEVERAL, SCENE_KINDS };
enum scene_filling { SCENE_DEAD, SCENE_FULL, SCENE_MOVING, SCENE_BOUND, SCENE_FILLINGS };
enum scene_key { SCENE_HOT, SCENE_KEY_OLD, SCENE_NEW, SCENE_KEYS };

extern const char *const scene_kind_name[SCENE_KINDS];
extern const char *const scene_filling_name[SCENE_FILLINGS];

enum { SCENE_CALLS = 64, SCENE_FLOORS = 96, SCENE_WALKS = 20 };

/* What one weir_each saw. */
struct scene_walk {
    unsigned seen[SCENE_KEYS];
};

struct scene {
    enum scene_kind kind;
    enum scene_filling filling;
    weir *limiter;
    uint64_t stamp;
    struct serial_call calls[SCENE_KEYS][SCENE_CALLS];
    size_t call_count[SCENE_KEYS];
    struct serial_floor floors[SCENE_FLOORS];
    size_t floor_count;
    struct scene_walk walks[SCENE_WALKS];
    size_t walk_count;
    uint64_t starve; /* the allocation that fails, from 1, after the scene is set; 0: none */
    bool starved;    /* it was asked for, and failed */
};

/* Opens and fills; kind, filling and starve are set. */
void scene_set(struct scene *scene);

/* Checks everything named above, and closes. Ends the program where something is wrong. */
void scene_check(struct scene *scene);

/* The acts: one call each, recorded, or a batch of three. */
void scene_take(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now);
void scene_take_verdict(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now);
void scene_batch(struct scene *scene, unsigned thread, const enum scene_key keys[3], uint64_t now);
void scene_peek(struct scene *scene, unsigned thread, enum scene_key key, uint64_t now);
void scene_reset(struct scene *scene, unsigned thread, enum scene_key key);
void scene_limit(struct scene *scene, unsigned thread, uint64_t limit);
void scene_sweep(struct scene *scene, uint64_t now, uint64_t max_keys);
void scene_each(struct scene *scene);

/* The hash of a key, which finds its segment. */
uint64_t scene_hash(const struct scene *scene, enum scene_key key);

/* `now` may drop what is expired at it, less the lateness. */
void scene_floor(struct scene *scene, uint64_t now);

#endif
