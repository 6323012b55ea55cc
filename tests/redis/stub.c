/* The server that is none. */
#include "stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct visit {
    struct stub *stub;
    unsigned number;
};

static void *serve_one(void *argument)
{
    struct visit visit = *(struct visit *)argument;
    free(argument);
    visit.stub->serve(visit.stub, visit.stub->fd[visit.number], visit.number);
    shutdown(visit.stub->fd[visit.number], SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *argument)
{
    struct stub *stub = argument;
    for (;;) {
        int fd = accept(stub->listener, NULL, NULL);
        unsigned number = atomic_load(&stub->connections);
        struct visit *visit = fd < 0 || number == STUB_CONNECTIONS ? NULL : malloc(sizeof *visit);
        if (!visit)
            return NULL;
        *visit = (struct visit){stub, number};
        stub->fd[number] = fd;
        if (pthread_create(&stub->serving[number], NULL, serve_one, visit) != 0)
            abort();
        atomic_store(&stub->connections, number + 1);
    }
}

static int bind_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("stub");
        exit(1);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

void stub_start(struct stub *stub, stub_serve *serve)
{
    memset(stub, 0, sizeof *stub);
    stub->serve = serve;
    stub->listener = bind_somewhere(&stub->port);
    if (listen(stub->listener, 64) != 0)
        exit(1);
    snprintf(stub->url, sizeof stub->url, "redis://127.0.0.1:%u", (unsigned)stub->port);
    snprintf(stub->name, sizeof stub->name, "127.0.0.1:%u", (unsigned)stub->port);
    if (pthread_create(&stub->accepting, NULL, accept_all, stub) != 0)
        exit(1);
}

void stub_stop(struct stub *stub)
{
    atomic_store(&stub->stage, 1000);
    shutdown(stub->listener, SHUT_RDWR);
    pthread_join(stub->accepting, NULL);
    close(stub->listener);
    for (unsigned i = 0; i < atomic_load(&stub->connections); i++) {
        shutdown(stub->fd[i], SHUT_RDWR);
        pthread_join(stub->serving[i], NULL);
        close(stub->fd[i]);
    }
}

/* A line, without its end; false: there is none. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t length = 0;
    while (length + 1 < size && recv(fd, &line[length], 1, MSG_WAITALL) == 1) {
        if (line[length++] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    return false;
}

static bool skip(int fd, size_t bytes)
{
    char buffer[4096];
    while (bytes > 0) {
        ssize_t got = recv(fd, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, 0);
        if (got <= 0)
            return false;
        bytes -= (size_t)got;
    }
    return true;
}

bool stub_read(struct stub *stub, int fd)
{
    char line[64];
    if (!read_line(fd, line, sizeof line) || line[0] != '*')
        return false;
    for (unsigned long words = strtoul(line + 1, NULL, 10); words > 0; words--)
        if (!read_line(fd, line, sizeof line) || !skip(fd, strtoul(line + 1, NULL, 10) + 2))
            return false;
    atomic_fetch_add(&stub->commands, 1);
    return true;
}

void stub_send(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = send(fd, text, left, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        text += sent;
        left -= (size_t)sent;
    }
}

void stub_await_commands(struct stub *stub, unsigned count)
{
    for (int i = 0; i < 20000 && atomic_load(&stub->commands) < count; i++)
        usleep(1000);
}

void stub_await(struct stub *stub, unsigned stage)
{
    while (atomic_load(&stub->stage) < stage)
        sched_yield();
}

uint16_t stub_free_port(void)
{
    uint16_t port;
    close(bind_somewhere(&port));
    return port;
}

uint16_t stub_nobody(void)
{
    static uint16_t port;
    if (port == 0)
        (void)bind_somewhere(&port);
    return port;
}

void stub_deaf_open(struct stub_deaf *deaf)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *at = (struct sockaddr *)&address;
    socklen_t size = sizeof address;
    deaf->listener = socket(AF_INET, SOCK_STREAM, 0);
    bool failed = bind(deaf->listener, at, size) != 0 || listen(deaf->listener, 0) != 0 ||
                  getsockname(deaf->listener, at, &size) != 0;
    for (unsigned i = 0; i < sizeof deaf->filler / sizeof *deaf->filler; i++) {
        deaf->filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        failed |= connect(deaf->filler[i], at, size) != 0 && errno != EINPROGRESS;
    }
    if (failed)
        abort();
    deaf->port = ntohs(address.sin_port);
}

void stub_deaf_close(const struct stub_deaf *deaf)
{
    for (unsigned i = 0; i < sizeof deaf->filler / sizeof *deaf->filler; i++)
        close(deaf->filler[i]);
    close(deaf->listener);
}
