/*
 * What a thread may do in a play, by name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SCHEDULE_ACTS_H
#define WEIR_TESTS_SCHEDULE_ACTS_H

#include "scene.h"

enum { ACTS = 16 };

struct act {
    const char *name;
    void (*act)(unsigned thread);
};

extern const struct act acts[ACTS];

/* The one they act on. */
extern struct scene scene;

#endif
