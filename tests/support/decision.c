/* SPDX-License-Identifier: MIT */
#include "decision.h"

#include <stddef.h>

const char *decision_difference(const weir_decision *wanted, const weir_decision *got, uint64_t *wanted_value,
                                uint64_t *got_value)
{
#define COMPARE(field)                            \
    do {                                          \
        *wanted_value = (uint64_t)wanted->field;  \
        *got_value = (uint64_t)got->field;        \
        if (*wanted_value != *got_value)          \
            return #field;                        \
    } while (0)
    COMPARE(verdict);
    COMPARE(flags);
    COMPARE(rule);
    COMPARE(limit);
    COMPARE(remaining);
    COMPARE(retry_after_ns);
    COMPARE(release_after_ns);
    COMPARE(reserved0);
    COMPARE(reserved[0]);
    COMPARE(reserved[1]);
#undef COMPARE
    return NULL;
}
