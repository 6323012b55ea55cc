/* The verb memory. */
#ifndef WEIRI_CLI_MEMORY_H
#define WEIRI_CLI_MEMORY_H

/* argv[0] is how the verb is called in messages. Returns the exit status. */
int weiri_memory(int argc, char **argv);

#endif
