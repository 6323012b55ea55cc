/*
 * Two decisions held against each other, field by field.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_DECISION_H
#define WEIR_TESTS_DECISION_H

#include <weir/types.h>

/* The name of the first field that differs, and both its values; NULL: the decisions are the same. */
const char *decision_difference(const weir_decision *wanted, const weir_decision *got, uint64_t *wanted_value,
                                uint64_t *got_value);

#endif
