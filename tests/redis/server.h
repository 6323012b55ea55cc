/*
 * A redis-server of a test's own, in a temporary directory, on a unix socket there and on a free port of 127.0.0.1. It
 * ends with the process that started it, however that ends; one that a test did not start is never spoken to.
 *
 *     struct redis_server server;
 *     redis_server_start(&server, (const char *const[]){"--maxmemory", "1", NULL});
 *     redisContext *link = redis_server_connect(&server);
 *     ...
 *     redisFree(link);
 *     redis_server_stop(&server);
 *
 * What cannot be done ends the process with a word why, since no test makes sense then. Start it from a thread that
 * lives as long as the server is needed: the kernel ends it with that thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_SERVER_H
#define WEIR_TESTS_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <sys/types.h>

#define REDIS_SERVER_ARGUMENTS 64

struct redis_server {
    pid_t pid; /* 0: not running */
    uint16_t port;
    char directory[64];
    char socket[96]; /* path */
    char url[128];   /* unix://<socket> */
    const char *arguments[REDIS_SERVER_ARGUMENTS]; /* what was asked for; must stay */
};

/* NULL, or why there can be no server here: the test prints it and exits with 77. */
const char *redis_server_missing(void);

/* Starts one that keeps nothing on disk, and waits until it answers. `more`: arguments, ended by NULL, or NULL; they
 * come last and win, and must stay until the stop. */
void redis_server_start(struct redis_server *server, const char *const *more);

/* Ends it and removes the directory. Nothing, where it was stopped before. */
void redis_server_stop(struct redis_server *server);

/* Ends it as kill -9 does, and waits for that; what it held in memory is lost. */
void redis_server_kill(struct redis_server *server);

/* Starts it again after a kill: the same port, socket, directory and arguments. Waits until it answers. */
void redis_server_restart(struct redis_server *server);

/* SIGSTOP, and waits until it stands still; and SIGCONT. */
void redis_server_freeze(struct redis_server *server);
void redis_server_thaw(struct redis_server *server);

/* A blocking connection of the test's own, over the socket. */
redisContext *redis_server_connect(const struct redis_server *server);

/* Asks, and ends the process where there is no answer or an error for one. To be freed with freeReplyObject. */
redisReply *redis_server_ask(redisContext *link, const char *format, ...);

/* The same, for its side effect. */
#define REDIS_SERVER_TELL(...) freeReplyObject(redis_server_ask(__VA_ARGS__))

/* The whole number in the answer. */
long long redis_server_number(redisContext *link, const char *format, ...);

/* The number that INFO tells by this name ("rdb_changes_since_last_save"). */
long long redis_server_info(redisContext *link, const char *name);

#endif
