/* Files into records: opens, finds out the format, and counts and shows what cannot be read. */
#ifndef WEIRI_CLI_INPUT_H
#define WEIRI_CLI_INPUT_H

#include "reader_csv.h"
#include "records.h"

/* Lines at fault that are shown; the rest is counted. */
#define WEIRI_FAULTS_SHOWN 5

enum weiri_format { WEIRI_FORMAT_ANY, WEIRI_FORMAT_CLF, WEIRI_FORMAT_CSV };

typedef struct weiri_input {
    enum weiri_format format;
    weiri_fields fields;
    weiri_records records;
    uint64_t malformed;
    const char *name; /* of the file being read, for messages */
} weiri_input;

/* Reads one file, "-" being standard input. False: not all of it could be read, which has been told. */
bool weiri_input_read(weiri_input *input, const char *path);

/* Tells of the faults that were not shown. */
void weiri_input_end(const weiri_input *input);

#endif
