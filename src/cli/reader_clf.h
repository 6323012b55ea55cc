/*
 * The Common Log Format and what begins like it (the Combined Log Format adds a referer and an agent):
 *     client identity user [08/Aug/2016:16:49:16 +0800] "request" status bytes ...
 * The key is the client, the bytes before the first space, whatever they are. The cost is the size of the answer in
 * bytes, 0 where that is "-". What follows is not looked at. A quote inside the request is escaped by a backslash.
 */
#ifndef WEIRI_CLI_READER_CLF_H
#define WEIRI_CLI_READER_CLF_H

#include <stdbool.h>

#include "entry.h"

/* Reads one line, given without its end. Pure; takes any bytes, and time linear in their number. */
bool weiri_clf_parse(const char *line, size_t len, weiri_entry *entry, weiri_fault *fault);

#endif
