/*
 * The baselines of bench/, as subjects of scenes.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_COUNTING_BASELINES_H
#define WEIR_TESTS_COUNTING_BASELINES_H

#include "scenes.h"

extern const unsigned baseline_count;

/* Not opened so far. */
struct scene_subject baseline(unsigned number);

#endif
