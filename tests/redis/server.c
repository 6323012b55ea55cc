/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "redis-server"
#define SERVERS 16        /* running at once */
#define START_MS 10000    /* a machine under load is slow to start one */

static struct redis_server *running[SERVERS]; /* what is stopped when `owner` exits */
static pid_t owner;                           /* a forked child does not stop its parent's servers */

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void must_be_done(int result, const char *what)
{
    if (result < 0)
        give_up(what, strerror(errno));
}

const char *redis_server_missing(void)
{
    const char *path = getenv("PATH");
    char file[4096];

    for (const char *end; path != NULL && *path != '\0'; path = *end == '\0' ? end : end + 1) {
        end = strchrnul(path, ':');
        snprintf(file, sizeof file, "%.*s/" PROGRAM, (int)(end - path), path);
        if (access(file, X_OK) == 0)
            return NULL;
    }
    return PROGRAM " is not installed";
}

/* ---- Those that run, so that none outlives the process ---- */

static void stop_all(void)
{
    for (size_t i = 0; i < SERVERS && owner == getpid(); i++)
        if (running[i] != NULL)
            redis_server_stop(running[i]);
}

static void enter(struct redis_server *server)
{
    size_t place = 0;

    if (owner != getpid()) {
        owner = getpid();
        memset(running, 0, sizeof running);
        atexit(stop_all);
    }
    while (place < SERVERS && running[place] != NULL)
        place++;
    if (place == SERVERS)
        give_up(PROGRAM, "too many at once");
    running[place] = server;
}

static void leave(const struct redis_server *server)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (running[i] == server)
            running[i] = NULL;
}

/* ---- Start ---- */

/* A socket bound to a port of 127.0.0.1; 0: any that is free. -1: this one is not. */
static int bound(uint16_t port, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must_be_done(fd, "socket");
    if (bind(fd, (struct sockaddr *)address, length) == 0) {
        must_be_done(getsockname(fd, (struct sockaddr *)address, &length), "getsockname");
        return fd;
    }
    close(fd);
    return -1;
}

/* Free, as is the one 10,000 above, where a node of a cluster hears the others. */
static uint16_t free_port(void)
{
    struct sockaddr_in address, above;

    for (int tries = 0; tries < 1000; tries++) {
        int fd = bound(0, &address), other = -1;
        uint16_t port = ntohs(address.sin_port);

        if (fd >= 0 && port <= UINT16_MAX - 10000)
            other = bound((uint16_t)(port + 10000), &above);
        close(fd);
        if (other < 0)
            continue;
        close(other);
        return port;
    }
    give_up(PROGRAM, "no port is free");
    return 0;
}

/* In the child. */
static _Noreturn void become(const struct redis_server *server, pid_t parent)
{
    char port[8];
    const char *words[24 + REDIS_SERVER_ARGUMENTS] = {
        PROGRAM, "--port", port, "--bind", "127.0.0.1", "--unixsocket", server->socket, "--dir", server->directory,
        "--logfile", "log", "--save", "", "--appendonly", "no", "--daemonize", "no", "--enable-debug-command", "yes"};
    size_t count = 0;

    snprintf(port, sizeof port, "%u", server->port);
    while (words[count] != NULL)
        count++;
    for (size_t i = 0; server->arguments[i] != NULL; i++)
        words[count++] = server->arguments[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        execvp(PROGRAM, (char *const *)(uintptr_t)words);
    _exit(127);
}

/* It has ended; says so, with the end of its log. */
static void ended_early(struct redis_server *server)
{
    char command[160];

    snprintf(command, sizeof command, "tail -n 5 %s/log >&2", server->directory);
    if (system(command) != 0)
        fputs("no log\n", stderr);
    server->pid = 0;
    give_up(PROGRAM, "ended at its start");
}

static bool answers(const struct redis_server *server)
{
    redisContext *link = redisConnectUnix(server->socket);
    redisReply *reply = link == NULL || link->err != 0 ? NULL : redisCommand(link, "PING");
    /* An error is an answer too: NOAUTH, LOADING. */
    bool heard = reply != NULL && !(reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) == 0);

    if (reply != NULL)
        freeReplyObject(reply);
    if (link != NULL)
        redisFree(link);
    return heard;
}

static void launch(struct redis_server *server)
{
    pid_t parent = getpid();

    server->pid = fork();
    must_be_done(server->pid, "fork");
    if (server->pid == 0)
        become(server, parent);
    for (int waited = 0; !answers(server); waited++) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid)
            ended_early(server);
        if (waited == START_MS)
            give_up(PROGRAM, "does not answer");
        nanosleep(&(struct timespec){0, 1000000}, NULL); /* a process tells nobody when its socket is there */
    }
}

void redis_server_start(struct redis_server *server, const char *const *more)
{
    memset(server, 0, sizeof *server);
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        if (i + 1 == REDIS_SERVER_ARGUMENTS)
            give_up(PROGRAM, "too many arguments");
        server->arguments[i] = more[i];
    }
    snprintf(server->directory, sizeof server->directory, "/tmp/weir-redis-XXXXXX");
    if (mkdtemp(server->directory) == NULL)
        give_up(server->directory, strerror(errno));
    snprintf(server->socket, sizeof server->socket, "%s/socket", server->directory);
    snprintf(server->url, sizeof server->url, "unix://%s", server->socket);
    server->port = free_port();
    enter(server);
    launch(server);
}

void redis_server_restart(struct redis_server *server)
{
    launch(server);
}

/* ---- Stop ---- */

static void end_by(struct redis_server *server, int signal_number)
{
    if (server->pid == 0)
        return;
    kill(server->pid, signal_number);
    kill(server->pid, SIGCONT); /* a frozen one would not hear it */
    must_be_done(waitpid(server->pid, NULL, 0), "waitpid");
    server->pid = 0;
}

void redis_server_kill(struct redis_server *server)
{
    end_by(server, SIGKILL);
}

void redis_server_stop(struct redis_server *server)
{
    char command[96];

    if (server->directory[0] == '\0')
        return;
    end_by(server, SIGKILL); /* nothing of it is to be kept */
    leave(server);
    snprintf(command, sizeof command, "rm -rf %s", server->directory);
    server->directory[0] = '\0';
    must_be_done(system(command) == 0 ? 0 : -1, command);
}

void redis_server_freeze(struct redis_server *server)
{
    must_be_done(kill(server->pid, SIGSTOP), "SIGSTOP");
    must_be_done(waitpid(server->pid, NULL, WUNTRACED), "waitpid");
}

void redis_server_thaw(struct redis_server *server)
{
    must_be_done(kill(server->pid, SIGCONT), "SIGCONT");
}

/* ---- Questions of the test's own ---- */

redisContext *redis_server_connect(const struct redis_server *server)
{
    redisContext *link = redisConnectUnix(server->socket);

    if (link == NULL || link->err != 0)
        give_up(server->socket, link == NULL ? "out of memory" : link->errstr);
    return link;
}

static redisReply *ask(redisContext *link, const char *format, va_list arguments)
{
    redisReply *reply = redisvCommand(link, format, arguments);

    if (reply == NULL)
        give_up(format, link->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        give_up(format, reply->str);
    return reply;
}

redisReply *redis_server_ask(redisContext *link, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    redisReply *reply = ask(link, format, arguments);
    va_end(arguments);
    return reply;
}

long long redis_server_number(redisContext *link, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    redisReply *reply = ask(link, format, arguments);
    va_end(arguments);
    if (reply->type != REDIS_REPLY_INTEGER)
        give_up(format, "the answer is no number");
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

long long redis_server_info(redisContext *link, const char *name)
{
    redisReply *reply = redis_server_ask(link, "INFO everything");
    char line[80];

    snprintf(line, sizeof line, "\n%s:", name);
    const char *found = strstr(reply->str, line);
    if (found == NULL)
        give_up(name, "INFO does not tell it");
    long long number = strtoll(found + strlen(line), NULL, 10);
    freeReplyObject(reply);
    return number;
}
