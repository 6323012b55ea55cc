/* The verb replay. */
#ifndef WEIRI_CLI_REPLAY_H
#define WEIRI_CLI_REPLAY_H

/* argv[0] is how the verb is called in messages. Returns the exit status. */
int weiri_replay(int argc, char **argv);

#endif
