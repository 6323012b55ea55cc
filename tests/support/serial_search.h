/*
 * The search of serial_check: how far it is, and in which ways a call can be answered there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SERIAL_SEARCH_H
#define WEIR_TESTS_SERIAL_SEARCH_H

#include "oracle_state.h"
#include "serial.h"

#define NOT_SO_FAR SIZE_MAX

/* A call and where the search has it. */
struct serial_entry {
    const struct serial_call *call;
    size_t number; /* in the history */
    size_t since;  /* may have loaded limits of its plan from before this change on; NOT_SO_FAR: present ones alone */
    bool placed;
};

/* The limits of one plan along the order so far: `was[k]` stood before change k. */
struct serial_plan {
    const uint64_t *now;
    const uint64_t **was;
    size_t changes;
};

struct serial_search {
    const struct serial_history *history;
    struct serial_entry *entries; /* by `called` */
    size_t count;
    size_t first; /* all entries before it are placed */
    size_t *order;
    size_t placed;
    struct serial_plan *plans;
    struct oracle **levels; /* the state after so many changing calls; the one after the present is scratch */
    struct oracle_print done; /* of the set of placed calls */
    struct oracle_print *seen;
    size_t seen_count;
    size_t seen_room;
    bool gave_up;
    size_t *best_order;
    size_t best;
    struct oracle *best_state;
    size_t *best_next;
    size_t best_next_count;
};

/* One way in which a call can be answered. */
struct serial_way {
    size_t limits; /* 0: those in force; k: those of k changes ago */
    size_t floor;  /* 0: at `now`; k: at the floor k-1 of the history */
};

/* All that the ways of one call have in common. */
struct serial_asking {
    struct serial_search *search;
    const struct serial_entry *entry;
    struct oracle *before;
    struct oracle *after; /* is written to */
};

/* --- serial_ways.c --- */

bool serial_is_take(const struct serial_call *call);
bool serial_is_asking(const struct serial_call *call); /* a take or a peek */
bool serial_has_decision(const struct serial_call *call);

/* Does some rule charge the call? */
bool serial_would_record(const struct serial_history *history, const struct serial_call *call);

/* Is it flagged as recorded nowhere? */
bool serial_is_unrecorded(const struct serial_call *call);

/* Is it answered as documented where nothing can be recorded? */
bool serial_may_be_unrecorded(const struct serial_history *history, const struct serial_call *call);

/* The next way, from *way on, in which the call gets the answer that it got; asking->after is then the state after. */
bool serial_next_way(const struct serial_asking *asking, struct serial_way *way);

#endif
