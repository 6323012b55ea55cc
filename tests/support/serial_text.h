/*
 * What serial_check tells about a search that failed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SERIAL_TEXT_H
#define WEIR_TESTS_SERIAL_TEXT_H

#include "oracle_state.h"
#include "serial.h"

/* The numbers of the calls in the order of `called`. The caller frees them. */
size_t *serial_by_called(const struct serial_history *history);

/* The key that the oracle knows the history's key by, and the call as it would be put to it. */
weir_request serial_request(const struct serial_call *call);

/* Where the search came furthest: `order` are `placed` calls, `next` those that could have followed, and the oracle's
 * state there. */
struct serial_failure {
    const char *reason;
    const size_t *order;
    size_t placed;
    const size_t *next;
    size_t next_count;
    struct oracle *oracle;
};

void serial_explain(const struct serial_history *history, const struct serial_failure *failure, char *explanation,
                    size_t size);

#endif
