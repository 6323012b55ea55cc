/*
 * The paths, and which kinds of limiter have them. The window is 10 s; every limit is 5, but that of the long log, 200.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenes.h"

enum {
    COUNTER = 1 << SCENE_COUNTER,
    LOG = 1 << SCENE_LOG,
    COSTS = 1 << SCENE_COSTS,
    BUCKETS = 1 << SCENE_BUCKETS,
    RULES = 1 << SCENE_RULES,
    LARGE = 1 << SCENE_LARGE,
    LONG = 1 << SCENE_LONG,
    BATCHES = 1 << SCENE_COUNTERS | 1 << SCENE_LOGS,
    FULL = 1 << SCENE_FULL_COUNTER | 1 << SCENE_FULL_LOG,
    BASELINE = 1 << SCENE_BASELINE,
    NODES = LOG | BUCKETS | RULES,
    WEIR = COUNTER | NODES
};

/* What is done beforehand, and the calls. */
#define TAKE(n)         {.what = SCENE_TAKE, .times = (n), .want = 1}
#define TAKE_AT(n, t)   {.what = SCENE_TAKE, .times = (n), .after = (t), .want = 1}
#define TAKE_COST(c)    {.what = SCENE_TAKE, .cost = (c), .want = 1}
#define TAKE_COST_AT(c, t) {.what = SCENE_TAKE, .cost = (c), .after = (t), .want = 1}
#define TAKE_WHOLE      {.what = SCENE_TAKE, .whole = true, .want = 1}
#define REFUSE          {.what = SCENE_TAKE}
#define REFUSE_AT(t)    {.what = SCENE_TAKE, .after = (t)}
#define REFUSE_WHOLE    {.what = SCENE_TAKE, .whole = true}
#define REFUSE_COST(c)  {.what = SCENE_TAKE, .cost = (c)}
#define WHOLE_COST(c)   {.what = SCENE_TAKE, .cost = (c), .whole = true}
#define FREEZE          {.what = SCENE_FREEZE}

const struct scene_path scene_paths[] = {
    {"accepted", WEIR | COSTS | LARGE | BASELINE, .before = {TAKE(2)}, .call = TAKE(1)},
    {"accepted, whole decision", WEIR | BASELINE, .before = {TAKE(2)}, .call = TAKE_WHOLE},
    {"accepted, identity given", COUNTER | LOG, .before = {TAKE(2)},
     .call = {.what = SCENE_TAKE, .want = 1, .identity = true}},
    {"accepted, window changed", WEIR | BASELINE, .before = {TAKE(3)}, .call = TAKE_AT(1, 12000)},
    {"accepted, one of 200 expires", LONG, .before = {TAKE(1), TAKE_AT(199, 100)}, .call = TAKE_AT(1, 10050)},
    {"accepted, new key", WEIR | BASELINE, .fresh = true, .call = TAKE(1)},
    {"accepted, batch of 32, a decision", BATCHES, .call = {.what = SCENE_TAKES, .want = 1}},
    {"refused, first", WEIR | COSTS | BASELINE, .before = {TAKE(5)}, .call = REFUSE},
    {"refused, first, whole decision", NODES, .before = {TAKE(5)}, .call = REFUSE_WHOLE},
    {"refused, again", WEIR | COSTS | LARGE | BASELINE, .before = {TAKE(5), REFUSE}, .call = REFUSE},
    {"refused, again, whole decision", WEIR | COSTS | LARGE | BASELINE, .before = {TAKE(5), REFUSE_WHOLE},
     .call = REFUSE_WHOLE},
    {"refused, whole decision after a verdict", NODES, .before = {TAKE(5), REFUSE}, .call = REFUSE_WHOLE},
    {"refused, a larger cost", COSTS, .before = {TAKE_COST(3), REFUSE_COST(3)}, .call = REFUSE_COST(4)},
    {"refused, a larger cost, whole decision", COSTS, .before = {TAKE_COST(3), WHOLE_COST(3), WHOLE_COST(4)},
     .call = WHOLE_COST(4)},
    {"refused, two costs in turn, whole decision", COSTS,
     .before = {TAKE_COST(2), TAKE_COST_AT(2, 100), WHOLE_COST(4), WHOLE_COST(3)}, .call = WHOLE_COST(4)},
    {"refused, a smaller cost", COSTS, .before = {TAKE_COST(3), REFUSE_COST(4)}, .call = REFUSE_COST(3)},
    {"refused, a smaller cost, again", COSTS, .before = {TAKE_COST(3), REFUSE_COST(4), REFUSE_COST(3)},
     .call = REFUSE_COST(3)},
    {"refused, above the limit, new key", COUNTER | COSTS | LARGE, .fresh = true, .call = REFUSE_COST(6)},
    {"refused, late", WEIR, .before = {TAKE_AT(5, 500), REFUSE_AT(500)}, .call = REFUSE_AT(100)},
    {"refused, late, whole decision", WEIR,
     .before = {TAKE_AT(5, 500), REFUSE_WHOLE, {.what = SCENE_TAKE, .after = 500, .whole = true}},
     .call = REFUSE_WHOLE},
    {"refused, identity given", COUNTER | LOG, .before = {TAKE(5), REFUSE},
     .call = {.what = SCENE_TAKE, .identity = true}},
    {"refused, batch of 32, a decision", BATCHES, .before = {TAKE(5), REFUSE}, .call = {.what = SCENE_TAKES}},
    {"peek, accepted", WEIR, .before = {TAKE(2)}, .call = {.what = SCENE_PEEK, .want = 1}},
    {"peek, refused again", WEIR, .before = {TAKE(5), REFUSE}, .call = {.what = SCENE_PEEK}},
    {"reset", WEIR, .before = {TAKE(2)}, .call = {.what = SCENE_RESET}},
    {"refused, max_keys reached, new key", FULL, .fresh = true, .call = REFUSE},
    /* Last, since they change the table. */
    {"accepted, in a segment that splits", WEIR, .before = {TAKE(2), FREEZE}, .call = TAKE(1)},
    {"refused, again, in a segment that splits", WEIR, .before = {TAKE(5), REFUSE, FREEZE}, .call = REFUSE},
};

unsigned scene_decisions(const struct scene_path *path)
{
    return path->call.what == SCENE_TAKES ? SCENE_BATCH : 1;
}

const unsigned scene_path_count = sizeof scene_paths / sizeof scene_paths[0];
