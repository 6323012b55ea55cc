/*
 * weir as a subject, with time of the caller's: each call by itself; calls in batches; calls that bring their identity;
 * keys that are known before their answers are needed, and prefetched.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_SUBJECT_WEIR_H
#define WEIR_BENCH_SUBJECT_WEIR_H

#include "subject.h"

extern const bench_subject bench_weir, bench_weir_batch, bench_weir_identity, bench_weir_prefetch;

/* The limiter behind the state of any of them. */
weir *bench_weir_of(void *state);

#endif
