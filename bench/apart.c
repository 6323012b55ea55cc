#include "row.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A row's bytes, in as many pieces as they come. 1: all of them; 0: the end instead; -1: the end in the middle. */
static int receive(int from, void *row, size_t size)
{
    char *at = row;
    for (size_t got = 0; got < size;) {
        ssize_t piece = read(from, at + got, size - got);
        if (piece <= 0)
            return got > 0 || piece < 0 ? -1 : 0;
        got += (size_t)piece;
    }
    return 1;
}

static void send_row(void *argument, const bench_row *row)
{
    const int *to = argument;
    const char *at = (const char *)row;
    for (size_t sent = 0; sent < sizeof *row;) {
        ssize_t piece = write(*to, at + sent, sizeof *row - sent);
        if (piece <= 0)
            bench_fail("a result cannot be handed over");
        sent += (size_t)piece;
    }
}

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* A server has threads. In a process that has one alone, the C library's mutexes and allocator use no atomic operation,
 * which would flatter whoever takes mutexes. */
static void be_threaded(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) != 0)
        bench_fail("a thread cannot be started");
}

int bench_apart(void (*work)(const void *parameters, const bench_sink *sink), const void *parameters,
                const bench_sink *sink)
{
    int ends[2], status = 0, received;
    bench_row row;
    fflush(NULL);
    if (pipe(ends) != 0) {
        perror("weir-bench: pipe");
        return -1;
    }
    pid_t process = fork();
    if (process == 0) {
        const bench_sink pipe_sink = {send_row, &ends[1]};
        close(ends[0]);
        be_threaded();
        work(parameters, &pipe_sink);
        _exit(0); /* at once: nobody wants its memory freed */
    }
    close(ends[1]);
    while (process > 0 && (received = receive(ends[0], &row, sizeof row)) > 0)
        bench_put(sink, &row);
    close(ends[0]);
    if (process > 0 && waitpid(process, &status, 0) == process && status == 0)
        return 0;
    fprintf(stderr, "weir-bench: a measurement in a process of its own failed (status %d)\n", status);
    return -1;
}
