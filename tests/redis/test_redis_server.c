/*
 * The server that the other tests here start: whether it is theirs, and ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "server.h"

static void it_has_the_arguments_it_was_given(void)
{
    struct redis_server server;

    redis_server_start(&server, (const char *const[]){"--maxmemory", "12345678", NULL});
    redisContext *link = redis_server_connect(&server);
    CHECK(redis_server_info(link, "maxmemory") == 12345678);
    CHECK(redis_server_info(link, "process_id") == server.pid);
    CHECK(redis_server_info(link, "tcp_port") == server.port);
    redisFree(link);
    redis_server_stop(&server);
}

static void a_restart_is_empty_and_on_the_same_place(void)
{
    struct redis_server server;

    redis_server_start(&server, NULL);
    redisContext *link = redis_server_connect(&server);
    pid_t first = server.pid;

    REDIS_SERVER_TELL(link, "SET a b");
    redis_server_kill(&server);
    CHECK(kill(first, 0) == -1 && errno == ESRCH);
    redisFree(link);
    redis_server_restart(&server);
    link = redis_server_connect(&server);
    CHECK(redis_server_number(link, "DBSIZE") == 0);
    CHECK(redis_server_info(link, "tcp_port") == server.port);
    redisFree(link);
    redis_server_stop(&server);
    CHECK(access(server.socket, F_OK) == -1);
}

static void it_ends_with_the_process_that_started_it(void)
{
    struct redis_server server = {0};
    int said[2];
    int status = 0;

    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* so that its end can be waited for here */
    CHECK(pipe(said) == 0);
    pid_t child = fork();
    if (child == 0) {
        redis_server_start(&server, NULL);
        redis_server_freeze(&server); /* even one that stands still */
        /* Without stopping it. */
        _exit(write(said[1], &server, sizeof server) == sizeof server ? 0 : 1);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(read(said[0], &server, sizeof server) == sizeof server);
    CHECK(waitpid(server.pid, &status, 0) == server.pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    server.pid = 0;
    redis_server_stop(&server); /* the directory alone is left */
    close(said[0]);
    close(said[1]);
}

int main(void)
{
    NEEDS_REDIS();
    it_has_the_arguments_it_was_given();
    a_restart_is_empty_and_on_the_same_place();
    it_ends_with_the_process_that_started_it();
    return checks_end();
}
