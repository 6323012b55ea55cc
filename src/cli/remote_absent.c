/* A program without hiredis: every question about a server is answered so. */
#include <stdio.h>

#include "memory.h"
#include "remote.h"
#include "say.h"

static const char absent[] = "this program was built without hiredis, and cannot ask Redis";

bool weiri_remote_check(const char *url, const weir_rule *rules, size_t count, const weiri_choice *choice, char *error,
                        size_t error_size)
{
    (void)rules, (void)count, (void)choice;
    snprintf(error, error_size, "--redis %s: %s", url, absent);
    return false;
}

bool weiri_remote_run(weiri_run *run, const weiri_records *records, const weir_rule *rules, size_t count,
                      const char *url)
{
    (void)run, (void)records, (void)rules, (void)count, (void)url;
    weiri_say("%s", absent);
    return false;
}

int weiri_memory(int argc, char **argv)
{
    (void)argc;
    weiri_say_as(argv[0]);
    weiri_say("%s", absent);
    return 2;
}
