/*
 * What answers on a port of 127.0.0.1 as a test wants it, where a real server would not: a thread that accepts
 * connections, and one for each of them, which runs the test's function.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_REDIS_STUB_H
#define WEIR_TESTS_REDIS_STUB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUB_CONNECTIONS 64

struct stub;

/* Serves one connection, the `number`-th from 0; closed when it returns. */
typedef void stub_serve(struct stub *stub, int fd, unsigned number);

struct stub {
    stub_serve *serve;
    int listener;
    uint16_t port;
    char url[64];
    char name[64];         /* as error texts have it */
    atomic_uint connections;
    atomic_uint commands;  /* read, by all */
    atomic_uint stage;     /* for the test's own use */
    pthread_t accepting;
    pthread_t serving[STUB_CONNECTIONS];
    int fd[STUB_CONNECTIONS];
};

void stub_start(struct stub *stub, stub_serve *serve);

/* Shuts all connections down, and waits for the threads. */
void stub_stop(struct stub *stub);

/* Reads one command; false: the connection is at its end. */
bool stub_read(struct stub *stub, int fd);

void stub_send(int fd, const char *text);

/* Waits until so many commands were read, 20 s at most: what was sent may be read a good while later. */
void stub_await_commands(struct stub *stub, unsigned count);

/* Waits until stub->stage is at least this. */
void stub_await(struct stub *stub, unsigned stage);

/* A port that nobody has, for now. */
uint16_t stub_free_port(void);

/* One on which nobody listens, nor will as long as this process lives: it is taken. */
uint16_t stub_nobody(void);

/* A listener whose queue is full: the kernel drops what would connect. */
struct stub_deaf {
    uint16_t port;
    int listener;
    int filler[4];
};

void stub_deaf_open(struct stub_deaf *deaf);
void stub_deaf_close(const struct stub_deaf *deaf);

#endif
