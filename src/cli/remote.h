/* The same rules and records, decided by a Redis server. */
#ifndef WEIRI_CLI_REMOTE_H
#define WEIRI_CLI_REMOTE_H

#include "run.h"

/* Can such rules be asked there, as far as can be told without the server? False: `error` gets the words, and before
 * them the URL's option, or the algorithm's where it does not go with these rules over Redis. */
bool weiri_remote_check(const char *url, const weir_rule *rules, size_t count, const weiri_choice *choice, char *error,
                        size_t error_size);

/*
 * Decides all records in their order, at their times in whole microseconds, with keys of this run's own, which are
 * removed at the end however it ends; and fills run->remote, compared with the verdicts of `run`. False: it stopped
 * before the end, and what happened, to which records, has been told.
 */
bool weiri_remote_run(weiri_run *run, const weiri_records *records, const weir_rule *rules, size_t count,
                      const char *url);

#endif
