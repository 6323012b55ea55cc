/*
 * CSV with a header line: RFC 4180, by libcsv. Lines end in LF, CRLF or CR; a quoted field may hold line ends, commas
 * and doubled quotes; blank lines are nothing. A record has as many fields as the header, or is at fault.
 *
 * Which columns: as named, where they are; else the first of these names that the header has, in any case of letters:
 *     time   time, timestamp, ts, @timestamp, datetime, date
 *     key    key, client, client_ip, ip, remote_addr, user, user_id; none of them: all records share one empty key
 *     cost   cost; else each record costs 1
 * A cost may be a sum of columns, a+b. An empty name means "no such column".
 */
#ifndef WEIRI_CLI_READER_CSV_H
#define WEIRI_CLI_READER_CSV_H

#include <stdbool.h>

#include "entry.h"

/* Names of columns; NULL: look for the usual ones. */
typedef struct weiri_fields {
    const char *time;
    const char *key;
    const char *cost;
    bool cost_needed; /* a header without a column of costs is an error */
} weiri_fields;

/* Where records go, each with the number of the line it begins in. */
typedef struct weiri_sink {
    void (*entry)(void *argument, uint64_t line, const weiri_entry *entry);
    void (*fault)(void *argument, uint64_t line, const weiri_fault *fault);
    void *argument;
} weiri_sink;

typedef struct weiri_csv weiri_csv;

/* `fields`, `sink` and what they point to must outlive the reader. Never NULL. */
weiri_csv *weiri_csv_new(const weiri_fields *fields, const weiri_sink *sink);

/*
 * Reads on: any bytes, best line by line, since each call counts as one line. False: the header does not have what it
 * must, and weiri_csv_problem says what; nothing more will be read.
 */
bool weiri_csv_feed(weiri_csv *csv, const char *bytes, size_t len);

/* The input is at its end, which may lack its line end. False: as weiri_csv_feed. */
bool weiri_csv_finish(weiri_csv *csv);

/* Did a quote that is never closed swallow the rest of the input? Its fault has said so. */
bool weiri_csv_cut_short(const weiri_csv *csv);

/* What is wrong with the header, in words. */
const char *weiri_csv_problem(const weiri_csv *csv);

void weiri_csv_free(weiri_csv *csv);

/* Is this line a header that has a column of times, by its usual names? */
bool weiri_csv_recognises(const char *line, size_t len);

#endif
