/*
 * What one would write without weir, as subjects. Small and fair: the same algorithms, keys and hash (SipHash-1-3 under
 * a key), the same lateness (weir's default), and expired keys are let go of too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_BASELINES_H
#define WEIR_BENCH_BASELINES_H

#include "../subject.h"

extern const bench_subject bench_mutex, bench_sharded, bench_lfht;

#endif
