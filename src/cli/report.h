/* The report of a replay, on standard output. */
#ifndef WEIRI_CLI_REPORT_H
#define WEIRI_CLI_REPORT_H

#include "options.h"
#include "run.h"

typedef struct weiri_report {
    const weiri_options *options;
    const weiri_records *records;
    uint64_t malformed;
    const weiri_run *runs; /* those asked for, in the order asked */
    size_t run_count;
    const weiri_run *judge; /* whose refused keys are listed: the log's where it ran, else the first */
} weiri_report;

/* Errors of output stay on the stream: the end of the program tells of them. */
void weiri_report_text(const weiri_report *report);

/*
 * {"records", "keys", "malformed", "late", "algorithms": [{"algorithm", "accepted", "refused", "keys_refused",
 * "only_log", "only_this", "bytes", "ns_per_decision"}], "top": [{"key", "refused"}]}. only_log and only_this are null
 * where there was no log to compare with. A key that is no UTF-8 is escaped as in the text, and has its bytes in a
 * member "key_hex" too. With --redis, an algorithm has a member "redis": {"accepted", "refused", "differing",
 * "round_trips", "ns_per_decision"}.
 */
void weiri_report_json(const weiri_report *report);

#endif
