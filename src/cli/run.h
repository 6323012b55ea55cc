/* One algorithm over all records, and how it compares to the log. */
#ifndef WEIRI_CLI_RUN_H
#define WEIRI_CLI_RUN_H

#include <weir/weir.h>

#include "limits.h"
#include "records.h"

#define WEIRI_DISAGREEMENTS_SHOWN 10

/* What a server answered to the same calls (--redis). */
typedef struct weiri_remote {
    bool asked;
    bool removed; /* its keys are gone */
    uint64_t accepted;
    uint64_t differing; /* calls that the server and the limiter here answer differently */
    uint64_t round_trips;
    uint64_t elapsed_ns;
} weiri_remote;

typedef struct weiri_run {
    weiri_choice choice;
    uint64_t accepted, refused, keys_refused;
    uint64_t bytes;      /* the limiter's at the end, without what was retired */
    uint64_t elapsed_ns; /* by all decisions together */
    uint32_t *refused_of;    /* by key */
    unsigned char *verdicts; /* a bit a record: accepted */
    bool compared;
    uint64_t only_log, only_this;                  /* calls that only one of both accepts */
    uint32_t disagreement[WEIRI_DISAGREEMENTS_SHOWN]; /* the first ones, by index of the record */
    size_t disagreements;
    weiri_remote remote;
} weiri_run;

/*
 * The rules, all with this algorithm, and with windows in steps of `step` ns, rounded up: a limiter knows no unit of
 * time.
 */
void weiri_run_choose(weir_rule *chosen, const weir_rule *rules, size_t count,
                      const weiri_choice *choice, uint64_t step);

/* Opens a limiter with such rules. Returns as weir_open; `error` gets its words. */
int weiri_run_open(weir **limiter, const weir_rule *rules, size_t count, const weiri_choice *choice, uint64_t step,
                   weir_allocator allocator, char *error, size_t error_size);

/* ns of a clock that only measures. */
uint64_t weiri_run_clock(void);

/*
 * Decides all records in their order, at their times in whole steps of `step` ns: 1, or what a server counts in that is
 * to answer the same. The rules have been opened before: only memory can fail, and ends the program.
 */
weiri_run weiri_run_all(const weiri_records *records, const weir_rule *rules, size_t count, const weiri_choice *choice,
                        uint64_t step);

/* Fills in where the run and the log's differ. */
void weiri_run_compare(weiri_run *run, const weiri_run *log, const weiri_records *records);

/* Did the run accept this record? */
bool weiri_run_accepted(const weiri_run *run, size_t record);

/*
 * The keys refused most often, most first (as often: the one seen first comes first); at most `most`, their number goes
 * to *found. To be freed.
 */
uint32_t *weiri_run_top(const weiri_run *run, const weiri_records *records, uint64_t most, size_t *found);

void weiri_run_free(weiri_run *run);

#endif
