/*
 * weir as a server has it: the limiter's own clock (CLOCK_MONOTONIC) and the janitor thread. `now` of a call is not
 * looked at, so that it cannot take part in contests, whose time is made; for scenarios about memory that is left
 * behind.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SUBJECT_TENDED_H
#define WEIR_BENCH_SUBJECT_TENDED_H

#include "subject.h"

extern const bench_subject bench_tended;

/* A state for it with options of one's own; NULL where that failed. The state is the limiter. */
weir *bench_tended_open(const bench_setup *setup, uint64_t max_lateness_ns, uint64_t sweep_interval_ns);

#endif
