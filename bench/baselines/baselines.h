/*
 * What one would write without weir, as subjects. Small and fair: the same algorithm, keys and hash (SipHash-1-3 under
 * a random key).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_BASELINES_H
#define WEIR_BENCH_BASELINES_H

#include "../subject.h"

extern const bench_subject bench_sharded;

#endif
